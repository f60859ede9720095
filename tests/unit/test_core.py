"""A light core: `label`, `ask`, `embed` and classifiers without the extras, and without what POSIX has."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from querist.cli import main

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [
    "requests", "matplotlib", "jinja2", "markupsafe", "pandas", "polars",
    "networkx", "igraph", "pynndescent", "river", "sknetwork", "skactiveml", "scikit_posthocs", "torch",
    "fastapi", "starlette", "uvicorn", "psycopg", "dask", "distributed",
]  # fmt: skip
POSIX = ["termios", "tty", "fcntl", "resource", "pwd", "grp"]
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in [name for name in sys.modules if name.partition(".")[0] in HIDDEN]:
    del sys.modules[name]
sys.meta_path.insert(0, Hidden())
"""


def without(hidden, code, cwd, typed=""):
    """What a new process prints in which these modules cannot be imported."""
    lines = f"HIDDEN = {sorted(hidden)!r}\n{HIDING}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", lines], input=typed, capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "QUERIST_DATA": ".", "QUERIST_CACHE": "."},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


WORK = """
import querist
from querist.cli import main

found = querist.label([("a", "b"), ("b", "c"), ("d", "e")], {"a": "x", "d": "y"})
print("\\nlabels:", *found.labels)
assert querist.CLASSIFIERS["wvrn"]().fit([(0, 1), (1, 2)], {0: "x", 2: "y"}).predict() is not None
given = ["edges.csv", "--nodes", "nodes.csv"]
assert main(["label", *given, "--labels", "labels.csv", "--out", "core.csv"]) == 0
assert main(["embed", "edges.csv", "--out", "rows.npy"]) == 0
assert main(["ask", *given, "--classes", "even,odd", "--out", "asked.csv"]) == 0
print("\\nhidden:", *(name for name in HIDDEN if name in sys.modules))
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Sixty nodes in two groups, with words, dates, categories and numbers."""
    place = tmp_path_factory.mktemp("core")
    edges = [(k, (k + 2 * step) % 60) for k in range(60) for step in (1, 2)]
    (place / "edges.csv").write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in edges))
    rows = [
        f"n{k},{'red' if k % 3 else 'blue'},2020-01-{k % 28 + 1:02},"
        f"the {k % 7} of 'w{k % 5}' and so on {k},{k / 7},,{k % 4 == 0}"
        for k in range(60)
    ]
    (place / "nodes.csv").write_text("\n".join(["node,colour,seen,note,size,empty,flag", *rows, ""]))
    labels = "".join(f"n{k},{('even', 'odd')[k % 2]}\n" for k in range(12))
    (place / "labels.csv").write_text(f"node,label\n{labels}")
    return place


@pytest.mark.slow
def test_the_core_labels_asks_and_embeds(example, monkeypatch):
    """Nothing of the extras is imported, and a table comes out as it does with them."""
    said = without([*EXTRAS, *POSIX], WORK, example, typed="even\nodd\neven\nleave\n")
    assert "\nlabels: x x x y y\n" in said
    assert "\nhidden:\n" in said
    assert "3 answers" in said
    monkeypatch.chdir(example)
    given = [
        "label",
        "edges.csv",
        "--nodes",
        "nodes.csv",
        "--labels",
        "labels.csv",
        "--out",
        "with_extras.csv",
    ]
    assert main(given) == 0
    assert (example / "core.csv").read_bytes() == (example / "with_extras.csv").read_bytes()


MISSING = {
    "download": "querist.load_graph('cora')",
    "report": "import querist.report.charts",
    "serve": "querist.connect",
    "torch": "querist.embed([(0, 1), (1, 2)], 1, device='cuda')",
    "peers": "querist.RiverBudgetedLeastSquares",
    "cluster": "from querist.cluster.run import connected; connected('tcp://x').__enter__()",
}


@pytest.mark.slow
def test_what_is_missing_is_named_with_what_to_install(tmp_path):
    code = "import json, querist\nsaid = {}\n" + "".join(
        f"try:\n    {call}\nexcept querist.QueristError as missing:\n    said[{extra!r}] = str(missing)\n"
        for extra, call in MISSING.items()
    )
    said = json.loads(without(EXTRAS, code + "print(json.dumps(said))", tmp_path))
    assert said.keys() == MISSING.keys()
    for extra, text in said.items():
        assert re.search(rf" needs \w+; pip install 'querist\[{extra}\]'", text), text


def declared(extra):
    """The distributions of an extra, with those of the extras it names."""
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    found = set()
    for line in lines:
        if line.startswith("querist["):
            found |= {name for other in line[8:].rstrip("]").split(",") for name in declared(other)}
        else:
            found.add(re.split(r"[^\w.-]", line)[0].lower().replace("_", "-"))
    return found


GUARDED = {
    "serve": "serve",
    "cluster": "cluster",
    "operator": "torch",
    "collective": "torch",
    "report": "report",
    "papers": "report",
}
"""Packages that import what their entry point has asked for already."""


NEEDING = re.compile(r"needing\('(\w+)'")


def optional_imports():
    """Every import of what the core does not bring: where, what, and the extra that is named around it."""
    core, standard = declared(None), {*sys.stdlib_module_names, "querist"}
    names = packages_distributions()
    for path in sorted((ROOT / "src" / "querist").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        around, skipped = {}, set()
        for node in ast.walk(tree):
            if isinstance(node, ast.With) and (named := NEEDING.match(ast.unparse(node.items[0]))):
                around |= {id(own): named[1] for own in ast.walk(node)}
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                skipped |= {id(own) for own in ast.walk(node)}
        for node in ast.walk(tree):
            if id(node) in skipped or not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            modules = (
                [own.name for own in node.names]
                if isinstance(node, ast.Import)
                else [node.module or "querist"]
            )
            for module in (own.partition(".")[0] for own in modules):
                owners = {own.lower().replace("_", "-") for own in names.get(module, [])}
                if module not in standard and not owners & core and owners:
                    folders = path.relative_to(ROOT / "src" / "querist").parts
                    package = "operator" if "device" in folders else folders[0]
                    yield path.name, owners, around.get(id(node), GUARDED.get(package))


@pytest.mark.slow
def test_every_import_of_an_extra_names_it():
    found = list(optional_imports())
    assert len(found) > 20
    for where, owners, extra in found:
        assert extra is not None, f"{where} imports {owners} outside of `with needing(...)`"
        assert owners & declared(extra), f"{where} says {extra!r}, which has no {owners}"


@pytest.mark.slow
def test_a_terminal_without_single_keys_takes_lines(example):
    """As on Windows: a key, or the name of a class, and Enter."""
    import pexpect

    hidden = f"HIDDEN = {POSIX!r}\n{HIDING}"
    code = f"{hidden}\nfrom querist.cli import main\nsys.exit(main(sys.argv[1:]))"
    person = pexpect.spawn(
        sys.executable,
        ["-c", code, "ask", "edges.csv", "--classes", "zero,one", "--journal", "own.db", "--out", "own.csv"],
        cwd=example, timeout=300, encoding="utf-8", env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    person.expect("node n")
    person.sendline("one")
    person.expect("node n")
    person.sendline("leave")
    person.expect("1 answer")
    person.expect(pexpect.EOF)
    person.wait()
    assert person.exitstatus == 0


TURNS = """
import sys, time
from pathlib import Path
from querist.experiment.store import taking_turns

log, me = Path("log"), sys.argv[1] if len(sys.argv) > 1 else "?"
for _ in range(20):
    with taking_turns(Path("runs")):
        before = log.read_text()
        time.sleep(0.002)
        log.write_text(before + "x")
"""


@pytest.mark.slow
def test_processes_take_turns_without_posix_locks(tmp_path):
    """Three processes that each read and write a file whole lose nothing of each other."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "log").write_text("")
    code = f"HIDDEN = {POSIX!r}\n{HIDING}\n{TURNS}"
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    running = [subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=own) for _ in range(3)]
    assert [process.wait(300) for process in running] == [0, 0, 0]
    assert len((tmp_path / "log").read_text()) == 60
