"""Every option of `label` changes something, or is refused: none is taken and ignored."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import querist
from querist.cli import main
from querist.collective import CLASSIFIERS
from querist.errors import InputError
from querist.graph_options import FileOptions
from querist.labelling import GraphFiles, LabelOptions, from_files
from querist.labelling.members import MEMBERS

KARATE = querist.load_graph("karate")
BARE = KARATE.without_labels()
EVERY_OTHER = {node: KARATE.labels[node] for node in range(0, 34, 2)}
WORDS = np.random.default_rng(0).poisson(1.0, (34, 12)) + 3.0 * np.eye(34, 12)
METHODS = ["auto", *MEMBERS, *CLASSIFIERS]


def shown(graph: Any, labels: Any = None, **keywords: Any) -> tuple[Any, ...]:
    """What a user can tell of a labelling, or the error."""
    try:
        found = querist.label(graph, labels, **keywords)
    except InputError as error:
        return (str(error),)
    return found.probabilities.round(6).tobytes(), str(found.labels), str(found.estimate), found.choice.why


@dataclass(frozen=True)
class Case:
    """Values that change something about `labels`, and keywords beside which the option does nothing."""

    value: Any
    labels: Any = None
    beside: tuple[tuple[dict[str, Any], str], ...] = ()


CASES = {
    "method": Case("walks"),
    "multilabel": Case(True),
    "picked": Case(True),
    "goal": Case("balanced", {0: "a", 1: "a", 2: "a", 32: "b"}, (({"costs": {}}, "give one"),)),
    "costs": Case({("Mr. Hi", "Officer"): 50.0}, beside=(({"goal": "f1"}, "give one"),)),
    "missing": Case("Officer", {**EVERY_OTHER, 1: "other"}),
    "ignore_unknown": Case(True, {**EVERY_OTHER, "gone": "Officer"}, (({"labels": None}, "leave it out"),)),
    "seed": Case(3),
    "device": Case("cpu", beside=(({"method": "wvrn"}, "runs on the processor"),)),
}


def test_every_option_has_a_case() -> None:
    assert sorted(CASES) == sorted(LabelOptions.declared())


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_option_changes_something_or_is_refused(name: str) -> None:
    if name == "device":
        pytest.importorskip("torch")
    case = CASES[name]
    labels = EVERY_OTHER if case.labels is None else case.labels
    assert shown(BARE, labels, **{name: case.value}) != shown(BARE, labels)
    for beside, message in case.beside:
        with pytest.raises(InputError, match=message):
            querist.label(KARATE, **{"labels": labels, name: case.value, **beside})


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_attributes_and_seed_change_something_or_are_refused(method: str) -> None:
    if method in ("pagerank", "diffusion"):
        pytest.importorskip("sknetwork")
    found = shown(BARE, EVERY_OTHER, attributes=WORDS, method=method)
    other = shown(BARE, EVERY_OTHER, attributes=WORDS[::-1], method=method)
    assert found != other or "do nothing" in found[0], found[0]
    described = querist.as_graph(BARE, attributes=WORDS)
    known = {node: KARATE.labels[node] for node in range(0, 34, 3)}
    assert shown(described, known, method=method) != shown(described, known, method=method, seed=1)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: querist.label(KARATE, classes=["Officer", "Mr. Hi"]), "leave classes out"),
        (lambda: CLASSIFIERS["wvrn"](top_k=1).fit(BARE, EVERY_OTHER), "top_k = 1 does nothing"),
        (lambda: CLASSIFIERS["wvrn"](threshold=0.5).fit(BARE, EVERY_OTHER), "threshold = 0.5 does nothing"),
        (
            lambda: CLASSIFIERS["wvrn"](threshold=0.5, top_k=1).fit(BARE, {0: {"a"}, 33: {"a", "b"}}),
            "give one of the two",
        ),
        (lambda: CLASSIFIERS["wvrn"]().fit(BARE, EVERY_OTHER, attributes=WORDS), "attributes do nothing"),
        (
            lambda: CLASSIFIERS["gmnr"](features="links").fit(BARE, EVERY_OTHER, attributes=WORDS),
            "attributes do nothing",
        ),
    ],
)
def test_what_does_nothing_in_a_classifier_is_refused(fit: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit()


# -- files -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    heads, tails = KARATE.adjacency.nonzero()
    edges = [f"{i},{j}\n" for i, j in zip(heads, tails, strict=True) if i < j]
    Path("edges.csv").write_text("source,target\n" + "".join(edges))
    Path("labels.csv").write_text("node,label\n" + "".join(f"{i},{k}\n" for i, k in EVERY_OTHER.items()))
    Path("more.csv").write_text("source,target\n33,new\n")
    from_files("edges.csv", "labels.csv", save="kept.npz", method="wvrn")
    return tmp_path


ABOUT_EDGES = ("source", "target", "weight", "parallel")
VALUES = {"parallel": "sum", "missing": "0", "multilabel": None, "picked": None, "ignore_unknown": None}
VALUES |= {"goal": "f1", "costs": "costs.csv", "seed": "1", "device": "cpu", "method": "walks"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({**LabelOptions.on("command line"), **FileOptions.declared()}))
def test_options_that_a_saved_labelling_has_no_use_for_are_refused(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = VALUES.get(name, "column")
    Path("costs.csv").write_text("true,said,cost\nMr. Hi,Officer,2\n")
    beside = ["--labels", "labels.csv"] if name in ABOUT_EDGES else ["--extend", "more.csv"]
    words = [f"--{name.replace('_', '-')}", *([] if value is None else [value])]
    assert main(["label", "kept.npz", "-o", "new.csv", *beside, *words]) == 2
    err = capsys.readouterr().err
    assert name in err and "leave" in err
    assert not Path("new.csv").exists()


def test_options_about_labels_and_edges_of_a_saved_labelling_are_taken_with_their_tables(
    folder: Path,
) -> None:
    files = GraphFiles("kept.npz", missing="Officer", ignore_unknown=True)
    assert set(from_files(files, "labels.csv").seeds.labels.values()) == {"Mr. Hi"}
    Path("more.csv").write_text("source,target\n33,new\n33,new\n")
    for parallel, weight in (("sum", 2), ("max", 1)):
        grown = from_files(GraphFiles("kept.npz", extend=["more.csv"], parallel=parallel)).labelling.graph
        assert grown.adjacency[[33], [34]] == weight
    with pytest.raises(InputError, match="ignore_unknown: no table of labels"):
        from_files(replace(files, edges="karate", missing=None))


@pytest.mark.parametrize("keywords", [{"probabilities": True}, {"safe_csv": True}])
def test_what_is_about_the_file_of_labels_needs_one(keywords: dict[str, bool], folder: Path) -> None:
    with pytest.raises(InputError, match="give out="):
        from_files("edges.csv", "labels.csv", **keywords)
