"""What strangers look for beside the code: how to cite, what changed; workflows and forms that are valid."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from querist.version import VERSION
from querist_papers import PAPERS, items_of

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROGRAMS = Path(sys.executable).parent
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_workflows_are_valid_and_safe():
    files = sorted((GITHUB / "workflows").glob("*.yml"))
    assert len(files) >= 3
    words = [PROGRAMS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run(
        [PROGRAMS / "zizmor", "--offline", "--no-progress", GITHUB],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_action_is_pinned_by_its_hash():
    uses = re.findall(r"uses: (.+)", "".join(p.read_text() for p in (GITHUB / "workflows").glob("*.yml")))
    assert len(uses) > 10
    assert [use for use in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_the_first_page_installs_only_what_can_be_installed():
    """Querist is on no package index, so a command that asks one for it would fail."""
    for page in ("README.md", "docs/index.md", "docs/start.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
        assert blocks[0].startswith("make demo") and "\nmake test" in blocks[0], page
        assert not re.search(r"pip install '?querist\b", "".join(blocks)), page


def test_the_workflows_try_what_is_promised():
    tests = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = tests["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert named == matrix["python"]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    everything = "".join(path.read_text(encoding="utf-8") for path in (GITHUB / "workflows").glob("*.yml"))
    called = set(re.findall(r"- run: make (\w+)", everything))
    assert called == {"lowest", "fuzz", "installed", "site"} and called <= targets


def left_out_on_other_systems():
    """The names that tests/conftest.py lists."""
    tree = ast.parse((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    values = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return [name for each in ("POSIX_ONLY", "LINUX_ONLY") for name in ast.literal_eval(values[each])]


@pytest.mark.parametrize("name", left_out_on_other_systems())
def test_what_is_left_out_on_other_systems_is_there(name):
    path, _, test = name.partition("::")
    assert (ROOT / path).exists()
    assert not test or f"def {test}" in (ROOT / path).read_text(encoding="utf-8")


def test_the_citation_names_this_version_and_the_five_papers():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == VERSION and cited["license"] == PROJECT["license"]
    assert cited["authors"] == PROJECT["authors"]
    assert cited["abstract"].strip() == PROJECT["description"] and cited["keywords"] == PROJECT["keywords"]
    by_name = {paper["notes"].split()[0]: paper for paper in cited["references"]}
    assert {*by_name} == {*PAPERS}
    for name, paper in by_name.items():
        about = items_of(name)[0].paper.about
        said = [
            paper["title"].strip(),
            str(paper["year"]),
            *(each["family-names"] for each in paper["authors"]),
        ]
        assert all(part in about for part in said), about


def test_the_changelog_keeps_to_its_form():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith("# Changelog\n")
    versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert all(re.fullmatch(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - .+", line) for line in versions)
    assert f"[{VERSION}]" in versions[0] or f"[{VERSION}]" in versions[1]
    for part in text.split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def spellings(tree):
    """Names of parameters, keywords and annotated variables, and two texts that once meant multilabel."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword):
            yield node.arg
        elif isinstance(node, ast.AnnAssign):
            yield node.target.attr if isinstance(node.target, ast.Attribute) else node.target.id
        elif isinstance(node, ast.Constant) and node.value in ("softmax", "sigmoid"):
            yield node.value


@pytest.mark.slow
def test_several_labels_per_node_are_spelled_multilabel():
    found = {
        (name, path.name)
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "papers" / "src").rglob("*.py")]
        for name in spellings(ast.parse(path.read_text(encoding="utf-8")))
    }
    old = {"several", "label_matrix", "given_codes", "one_label", "softmax", "sigmoid"}
    assert [each for each in sorted(found, key=str) if each[0] in old] == []
    assert {("multilabel", "labels.py"), ("multilabel", "goals.py"), ("multilabel", "model.py")} <= found
    assert "several" in spellings(ast.parse("def of(x, several: bool): ..."))


def test_issue_forms_ask_for_what_is_needed():
    for path in (GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= form.keys()
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids))
        assert all(field["attributes"]["label"] for field in form["body"])


@pytest.mark.parametrize("extra", ["download", "report", "serve", "cluster", "mpi", "torch", "peers", "all"])
def test_every_extra_is_explained(extra):
    assert extra in PROJECT["optional-dependencies"]
    assert f"| `{extra}` |" in (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")


def test_every_upper_bound_has_its_reason():
    for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if re.search(r'^\s+"[\w\[\].-]+[^"]*(<|==|~=)', line):
            assert "#" in line, line


def bounds(*extras):
    """The lowest version that is allowed of each library of the core and of these extras."""
    lines = [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    found = re.findall(
        r"^(?!querist)([\w-]+)(?:\[\w+\])?>=([\d.]+)", "\n".join(PROJECT["dependencies"] + lines), re.M
    )
    return {name.lower(): numbers(version) for name, version in found}


def numbers(version):
    return tuple(int(part) for part in re.sub(r"(\.0)+$", "", version).split("."))


def locked(name):
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return {
        name: numbers(version) for name, version in re.findall(r"^([\w.-]+)==([\d.]+)", text, re.MULTILINE)
    }


def test_the_oldest_versions_are_those_that_are_tried():
    """`make locks` where this fails."""
    lowest = bounds("download", "report", "serve", "cluster", "peers")
    tried = locked("lowest.txt")
    assert len(lowest) > 25
    assert {name: tried[name] for name in lowest} == lowest


def test_the_lock_of_development_has_every_library_in_an_allowed_version():
    """`make locks` where this fails."""
    lock, wanted = locked("dev.txt"), bounds("download", "report", "serve", "cluster", "peers", "site", "dev")
    assert wanted.keys() <= lock.keys()
    assert all(lock[name] >= least for name, least in wanted.items())
