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

from fresh_install import FIRST_LABELS, sizes, table
from querist.version import VERSION

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PATIENCE = 120_000
"""Milliseconds that a page has: this server has never run before, and compiles as it goes."""
MOST_MEGABYTES = 400
"""Of 2**20 bytes: what the wheel and all that it needs add to an empty environment."""


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
    built = run(sys.executable, "-m", "build", "--outdir", place, ROOT)
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

    def install(self, wanted):
        # What is not compiled now is compiled when it is first imported: most of it never.
        python = self.programs / "python"
        added = pip("--python", python, "install", "--no-compile", wanted)
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


def test_the_core_is_light(core):
    found = sizes(core.programs.parent)
    print(*table(found), sep="\n")
    assert sum(one.files for one in found) / 2**20 < MOST_MEGABYTES
    there = {one.name.lower() for one in found}
    assert {"querist", "numpy", "numba", "llvmlite"} <= there
    assert not there & {
        "pyarrow",
        "matplotlib",
        "jinja2",
        "pooch",
        "requests",
        "pandas",
        "tomli-w",
        "networkx",
    }


def test_first_labels_in_three_lines(core):
    assert len(FIRST_LABELS.splitlines()) == 3
    assert core.python(FIRST_LABELS).split() == ["x", "x", "x", "y", "y"]


def test_the_core_at_the_terminal(core):
    assert "Commands:" in core.querist("--help")
    assert core.querist("-V") == f"querist {VERSION}\n"
    core.querist("label", "edges.csv", "--labels", "labels.csv", "--out", "labelled.csv")
    rows = (core.folder / "labelled.csv").read_text().splitlines()
    assert [line.split(",")[:2] for line in rows[1:]] == [
        [node, "x" if node in "abc" else "y"] for node in "abcdef"
    ]
    said = core.querist("ask", "edges.csv", "--classes", "x,y", "--out", "asked.csv", input="x\ny\nleave\n")
    assert "2 answers" in said and (core.folder / "asked.csv").is_file()
    said = core.querist("label", "edges.csv", "--labels", "labels.csv", "--out", "labelled.parquet", code=2)
    assert "a parquet file needs pyarrow; pip install 'querist[files]'" in said


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
    "online": ["online", "karate", "--shuffles", "1"],
    "classify": ["classify", "karate", "--method", "wvrn", "--trials", "1"],
    "label": ["label", "edges.csv", "--labels", "labels.csv", "--out", "all.parquet", "--report", "all.html"],
    "bound": ["bound", "karate"],
    "stream": ["stream", "rows.csv", "--repeats", "1"],
    "transduce": ["transduce", "rows.csv", "--trials", "1"],
    "reproduce": ["reproduce"],
    "experiment": ["experiment", "mine.toml", "--out", "mine"],
    "ask": ["ask", "edges.csv", "--classes", "x,y", "--journal", "two.db", "--out", "two.csv"],
    "campaign": ["campaign", "create", "edges.csv", "--classes", "x,y", "--store", "own.db"],
}


COMPILING = {"demo", "online", "bound", "stream", "transduce", "experiment"}
"""Verbs that compile for most of a minute where nothing is compiled yet: `make installed` runs them too."""
TRIED = [verb for verb in VERBS if verb not in COMPILING or "QUERIST_INSTALLED" in os.environ]


@pytest.mark.parametrize("verb", TRIED)
def test_with_extras_every_verb_works(full, verb):
    """`serve` has its own test above."""
    full.querist(*VERBS[verb], input="leave\n")


def test_no_verb_is_left_out(core):
    listed = re.findall(r"^  (\w+) +[A-Z]", core.querist("--help").partition("Commands:")[2], re.MULTILINE)
    assert {*listed} == {*VERBS, "serve"}
