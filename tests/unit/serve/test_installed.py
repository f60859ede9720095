"""What a stranger installs: wheel and sdist, the core alone and its size, then with extras every verb.

All tests stand in one file, so that the packages are built once and one environment grows from test to test.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from fresh_install import FIRST_LABELS, sizes
from querist.version import VERSION

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]
PATIENCE = 120_000
"""Milliseconds that a page has: this server has never run before, and compiles as it goes."""


def run(*words, **options):
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=900, check=False, **options
    )


def pip(*words, **options):
    return run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words, **options)


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    place = tmp_path_factory.mktemp("packages")
    found = pip("download", "--no-deps", "--dest", place / "index", "hatchling")
    if found.returncode:
        pytest.skip(f"there is no package index here to install from: {found.stderr[-300:]}")
    for project in (ROOT, ROOT / "papers"):
        built = run(sys.executable, "-m", "build", "--outdir", place, project)
        assert built.returncode == 0, built.stderr
    return place / f"querist-{VERSION}-py3-none-any.whl", place / f"querist-{VERSION}.tar.gz"


class Environment:
    """A new environment, and what is run in it: nothing of this one is seen there."""

    def __init__(self, place):
        self.programs, self.folder = place / "environment" / "bin", place / "work"
        venv.create(place / "environment")
        self.folder.mkdir()
        hidden = ("PYTHON", "QUERIST")
        self.variables = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
        self.variables |= {"NUMBA_CACHE_DIR": str(place / "kernels"), "QUERIST_CACHE": str(place / "cache")}

    def install(self, *wanted):
        # What is not compiled now is compiled when it is first imported: most of it never.
        python = self.programs / "python"
        added = pip("--python", python, "install", "--no-compile", *wanted)
        assert added.returncode == 0, added.stderr

    def querist(self, *words, code=0, **options):
        """What a command prints."""
        done = run(self.programs / "querist", *words, cwd=self.folder, env=self.variables, **options)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def python(self, code):
        done = run(self.programs / "python", "-c", code, cwd=self.folder, env=self.variables)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def core(packages, tmp_path_factory):
    """The wheel and what it says it needs, no more."""
    place = tmp_path_factory.mktemp("installed")
    made = Environment(place)
    made.install(packages[0])
    (made.folder / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\nc,d\nd,e\ne,f\nf,d\n")
    (made.folder / "labels.csv").write_text("node,label\na,x\nf,y\nb,x\n")
    yield made
    shutil.rmtree(place)


def test_both_packages_hold_what_they_should(packages):
    wheel, sdist = packages
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = archive.read(f"querist-{VERSION}.dist-info/METADATA").decode()
    assert {"querist/py.typed", "querist/serve/static/labeller.js", "querist/report/templates/style.css"} <= {
        *names
    }
    assert not [name for name in names if not name.startswith(("querist/", f"querist-{VERSION}.dist-info/"))]
    assert f"querist-{VERSION}.dist-info/licenses/LICENSE" in names
    assert f"\nVersion: {VERSION}\n" in about and "\nLicense-Expression: Apache-2.0\n" in about
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "src/querist/version.py"} <= inside


def test_the_core_leaves_the_extras_out(core):
    there = {one.name.lower() for one in sizes(core.programs.parent)}
    assert {"querist", "numpy", "numba", "llvmlite", "pyarrow"} <= there
    assert not there & {"matplotlib", "jinja2", "requests", "pandas", "networkx"}


def test_first_labels_in_three_lines(core):
    assert len(FIRST_LABELS.splitlines()) == 3
    assert core.python(FIRST_LABELS).split() == ["x", "x", "x", "y", "y"]


def test_the_core_at_the_terminal(core):
    assert "Label your data:" in core.querist("--help")
    assert core.querist("-V") == f"querist {VERSION}\n"
    core.querist("label", "edges.csv", "--labels", "labels.csv", "--out", "labelled.csv")
    rows = (core.folder / "labelled.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in rows[1:]] == [
        [node, "x" if node in "abc" else "y"] for node in "abcdef"
    ]
    said = core.querist("ask", "edges.csv", "--classes", "x,y", "--out", "asked.csv", input="x\ny\nleave\n")
    assert "2 answers" in said and (core.folder / "asked.csv").is_file()


@pytest.fixture(scope="module")
def served(packages, core):
    """The same with `[serve]`."""
    core.install(f"{packages[0]}[serve]")
    return core


def test_one_command_leads_to_the_first_answer(served, browser):
    command = [served.programs / "querist", "serve", "--demo", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=served.folder, env=served.variables, stdout=subprocess.PIPE, text=True
    )
    try:
        link = next(line for line in server.stdout if line.startswith("Answer questions:")).split()[-1]
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(link)
        page.locator("#question").wait_for()
        page.locator("#classes button").first.click()
        page.locator("#past .saved").wait_for()
        page.close()
    finally:
        server.terminate()
        server.wait(60)
    with sqlite3.connect(served.folder / "querist-demo.db") as store:
        kinds = [kind for (kind,) in store.execute("SELECT kind FROM events ORDER BY seq")]
    assert kinds.count("answer") == 1


@pytest.fixture(scope="module")
def full(packages, served):
    """The same with `[report]`."""
    served.install(f"{packages[0]}[report]")
    (served.folder / "mine.toml").write_text(
        'title = "Two"\ntask = "label"\ndataset = "karate"\nmethod = ["walks", "wvrn"]\nrepeats = 1\n'
        "protocol.labelled = [0.4]\n"
    )
    (served.folder / "rows.csv").write_text(
        "a,b,label\n" + "".join(f"{k},{k % 3},{k % 2}\n" for k in range(40))
    )
    return served


VERBS = {
    "demo": ["demo"],
    "datasets": ["datasets"],
    "algorithms": ["algorithms"],
    "embed": ["embed", "karate", "--out", "rows.npy"],
    "evaluate online": ["evaluate", "online", "karate", "--repeats", "1"],
    "evaluate collective": ["evaluate", "collective", "karate", "--method", "wvrn", "--repeats", "1"],
    "evaluate label": ["evaluate", "label", "karate", "--repeats", "1"],
    "evaluate ask": ["evaluate", "ask", "karate", "--budget", "5", "--repeats", "1"],
    "label": ["label", "edges.csv", "--labels", "labels.csv", "--out", "all.parquet", "--report", "all.html"],
    "evaluate stream": ["evaluate", "stream", "rows.csv", "--repeats", "1"],
    "evaluate transduce": ["evaluate", "transduce", "rows.csv", "--repeats", "1"],
    "experiment": ["experiment", "mine.toml", "--out", "mine"],
    "ask": ["ask", "edges.csv", "--classes", "x,y", "--journal", "two.db", "--out", "two.csv"],
    "campaign create": ["campaign", "create", "edges.csv", "--labels", "labels.csv", "--store", "own.db"],
    "campaign list": ["campaign", "list", "--store", "own.db"],
    "campaign export": ["campaign", "export", "--out", "own.csv", "--store", "own.db"],
    "campaign token": ["campaign", "token", "--name", "Ada", "--store", "own.db"],
    "campaign backup": ["campaign", "backup", "copy.db", "--store", "own.db"],
    "campaign move": ["campaign", "move", "moved.db", "--store", "own.db"],
    "campaign repair": ["campaign", "repair", "whole.db", "--store", "own.db"],
}
OF_PAPERS = {
    "reproduce": ["reproduce", "pounce08", "figure1", "--quick", "--out", "papers"],
    "bound": ["bound", "karate"],
}
GROUPS = {"evaluate", "campaign"}
TOP = {verb for verb in VERBS if " " not in verb} | GROUPS

COMPILING = {"demo", "experiment", *(verb for verb in VERBS if verb.startswith("evaluate"))}
"""Verbs that compile for most of a minute where nothing is compiled yet: `make installed` runs them too."""
TRIED = [verb for verb in VERBS if verb not in COMPILING or "QUERIST_INSTALLED" in os.environ]


@pytest.mark.parametrize("verb", TRIED)
def test_with_extras_every_verb_works(full, verb):
    """`serve` has its own test above; the verbs of `campaign` go on from the one that `create` makes."""
    full.querist(*VERBS[verb], input="leave\n")


def listed(environment, *group):
    """The verbs that help lists."""
    shown = environment.querist(*group, "--help").partition("-h, --help")[2]
    return {" ".join([*group, verb]) for verb in re.findall(r"^  (\w+) +[A-Z]", shown, re.MULTILINE)}


def test_no_verb_is_left_out(core):
    assert listed(core) - {"serve"} == TOP
    for group in GROUPS:
        assert listed(core, group) == {verb for verb in VERBS if verb.startswith(f"{group} ")}


def test_the_verbs_of_the_papers_say_what_to_install(core):
    said = core.querist("reproduce", "sslgc13", "--quick", code=2)
    assert "querist-papers, which is not installed" in said


@pytest.fixture(scope="module")
def with_papers(packages, full):
    """The same with the plugin, from a folder that serves as an index."""
    folder = packages[0].parent
    full.install("--find-links", folder, f"querist-papers=={VERSION}")
    return full


def test_the_plugin_brings_its_verbs_and_rivals(packages, with_papers):
    place = packages[0].parent
    with zipfile.ZipFile(place / f"querist_papers-{VERSION}-py3-none-any.whl") as archive:
        names = archive.namelist()
    assert {"querist_papers/py.typed", "querist_papers/sslgc13/report.md"} <= {*names}
    assert (place / f"querist_papers-{VERSION}.tar.gz").is_file()
    assert "table2" in with_papers.querist("reproduce")
    assert listed(with_papers) - {"serve"} == TOP | {*OF_PAPERS}
    assert "fastonl" in with_papers.querist("algorithms")


@pytest.mark.skipif("QUERIST_INSTALLED" not in os.environ, reason="they compile: make installed runs them")
@pytest.mark.parametrize("verb", OF_PAPERS)
def test_every_verb_of_the_plugin_works(with_papers, verb):
    with_papers.querist(*OF_PAPERS[verb])
