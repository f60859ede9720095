"""What the README and the docs say can be done, can be done.

Python blocks run as printed. Every `querist` line in a bash block names a verb and options that exist; lines
on bundled data run. Every relative link leads to a file.
"""

import re
import shlex
from pathlib import Path

import pytest

from querist.cli.app import app
from querist.cli.entry import main
from querist.errors import DownloadError

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BUNDLED = {"digits", "karate", "two_moons", "three_clusters"}
QUICK = {"datasets", "algorithms"}


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [(page.name, found) for page in PAGES for found in fence.findall(page.read_text())]


def commands() -> list[list[str]]:
    lines = [line for _, text in blocks("bash") for line in text.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line and line[0] == "querist"]


def verbs() -> set[str]:
    return {command.callback.__name__ for command in app.registered_commands}


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_blocks_run(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(code, page, "exec"), {"__name__": "docs"})
    except DownloadError as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_exist(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert words[0] in verbs(), f"there is no `querist {words[0]}`"
    monkeypatch.setenv("COLUMNS", "200")
    main([words[0], "--help"])
    help_text = capsys.readouterr().out
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert option in help_text, f"`querist {words[0]}` has no {option}"


@pytest.mark.parametrize("words", [w for w in commands() if w[0] in QUICK or set(w) & BUNDLED], ids=" ".join)
def test_quick_commands_run(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
