"""What the README and the docs say can be done, can be done.

Python blocks run as printed, and so does every `querist` line of a bash block, in a folder that holds the
files which the pages speak of; a set that is not there skips its line. Only what takes many minutes is not
run (`LONG`): a whole table of a paper, or a cluster. Every relative link leads to a file.
"""

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from registered import families

import querist
from querist.cli.app import app
from querist.cli.entry import main
from querist.errors import DownloadError
from querist.labelling import write_example

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "howto").glob("*.md"))]
LINKED = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
LONG = re.compile(r"^reproduce (?!.*--quick)\S|--all|--cluster|^serve")
"""A table or figure by the full protocol, all of them, a cluster that must be started first, or a server:
that has a test of its own."""


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [(page.name, found) for page in PAGES for found in fence.findall(page.read_text())]


def commands() -> list[list[str]]:
    lines = [line for _, text in blocks("bash") for line in text.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    own = [line[1:] for line in words if line and line[0] == "querist"]
    return [list(line) for line in dict.fromkeys(map(tuple, own))]  # what two pages say is run once


def groups() -> set[str]:
    """The verbs that have verbs of their own."""
    return {group.typer_instance.info.name for group in app.registered_groups}


def verbs() -> set[str]:
    return groups() | {command.callback.__name__ for command in app.registered_commands}


@pytest.fixture
def nothing_stays_registered() -> Iterator[None]:
    """What a page registers, to show how that is done, is gone after the test."""
    before = {family: set(registry) for family, (registry, _) in families().items()}
    yield
    for family, (registry, _) in families().items():
        for name in set(registry) - before[family]:
            del registry[name]


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_stays_registered")
@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(code, page, "exec"), {"__name__": "docs"})
    except DownloadError as absent:
        pytest.skip(str(absent))


@pytest.mark.slow
@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_exist(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words[0] in verbs(), f"there is no `querist {words[0]}`"
    monkeypatch.setenv("COLUMNS", "200")
    main([*(words[:2] if words[0] in groups() else words[:1]), "--help"])
    help_text = capsys.readouterr().out
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert option in help_text, f"`querist {words[0]}` has no {option}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages speak of."""
    home = tmp_path_factory.mktemp("docs")
    write_example(home / "digits")
    papers = querist.datasets.sbm()
    ids = [f"n{node}" for node in range(papers.n_nodes)]
    rows, columns = papers.adjacency.nonzero()
    edges = [f"{ids[i]},{ids[j]}" for i, j in zip(rows, columns, strict=True) if i < j]
    topics = [("theory", "neural", "genetic")[code] for code in papers.codes]
    texts = [f"{node},{topic} of networks" for node, topic in zip(ids, topics, strict=True)]
    known = [f"{node},{topic}" for node, topic in zip(ids, topics, strict=True)]

    def put(name: str, *lines: str) -> None:
        (home / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    for name in ("edges.csv", "papers.csv"):
        put(name, "source,target", *edges)
    put("abstracts.csv", "node,text", *texts)
    put("people.csv", "node,label", *known)
    put("nodes.csv", "node,label", *known)
    put("known.csv", "node,label", *known)
    put("newer.csv", "source,target", "n0,late")
    put("newer_abstracts.csv", "node,text", "late,theory of late networks")
    paid = [f"{k},{edge},{k % 5 + 1}" for k, edge in enumerate(edges)]
    put("payments.csv", "day,payer,payee,amount", *paid)
    put(
        "checked.csv",
        "verdict,account",
        *(f"{topic},{node}" for node, topic in zip(ids, topics, strict=True)),
    )
    audited = [
        f"{node},{'fraud' if topic == 'genetic' else 'fine'}" for node, topic in zip(ids, topics, strict=True)
    ]
    put("transfers.csv", "source,target", *edges)
    put("audited.csv", "node,label", *audited[::2])
    put("costs.csv", "true,said,cost", "fraud,fine,20", "fine,fraud,1")
    put("judge.py", "print('spam')")
    put("rows.csv", "x,y,class", *(f"{k % 7},{k % 3},{'ab'[k % 7 > 3]}" for k in range(300)))
    put("mine.toml", blocks("toml")[0][1])
    graph = querist.as_graph(home / "papers.csv", nodes=home / "abstracts.csv")
    some = dict(zip(ids[:30], topics, strict=False))
    querist.label(graph, some, method="smoothed").save(home / "papers.npz")
    store = ["--store", str(home / "lab.db")]
    assert main(["campaign", "create", str(home / "papers.csv"), "--classes", "a,b", *store]) == 0
    return home


@pytest.mark.slow
@pytest.mark.parametrize("words", [w for w in commands() if not LONG.search(" ".join(w))], ids=" ".join)
def test_commands_run_as_printed(
    words: list[str],
    files: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(shutil.copytree(files, tmp_path / "here"))
    typed = "q\n" if words[0] == "ask" else (files / "rows.csv").read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if words[0] == "ask" and "--extend" in words:  # it goes on with a campaign
        begun = ["papers.csv", "--nodes", "abstracts.csv", "--oracle", "known.csv", "--budget", "3"]
        assert main(["ask", *begun, "--journal", "papers.journal"]) == 0
    code, said = main(words), capsys.readouterr()
    if "could not fetch" in said.err:
        pytest.skip(said.err)
    assert code == 0, said.err
    assert said.out


@pytest.mark.slow
@pytest.mark.parametrize("words", [w for w in commands() if w[0] == "serve"], ids=" ".join)
def test_servers_start_as_printed(words: list[str], files: Path, tmp_path: Path) -> None:
    here = shutil.copytree(files, tmp_path / "here")
    if "papers.journal" in words:
        begun = ["papers.csv", "--nodes", "abstracts.csv", "--oracle", "known.csv", "--budget", "3"]
        ask = [sys.executable, "-m", "querist", "ask", *begun, "--journal", "papers.journal"]
        subprocess.run(ask, cwd=here, check=True, capture_output=True)
    command = [sys.executable, "-m", "querist", *words, "--port", "0"]
    server = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        said = [server.stdout.readline() for _ in range(2)]
        links = re.findall(r"http://127.0.0.1:\d+/enter\?token=\S+", "".join(said))
        assert links, said
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(links[-1], timeout=30) as page:
            assert page.status == 200
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
