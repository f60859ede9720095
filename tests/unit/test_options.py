"""Options are declared once: keywords, help and checks come from the class."""

import inspect
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import querist
from querist.adapters.sklearn import OF_LABEL, GraphLabelClassifier
from querist.asking.options import CampaignKeywords, CampaignOptions
from querist.embedding.kinds import EmbeddingKeywords, known
from querist.errors import InputError, UnknownNameError
from querist.graph.neighbours import PointKeywords, PointOptions
from querist.graph_options import FileKeywords, FileOptions, GraphKeywords, GraphOptions
from querist.labelling.options import LabelKeywords, LabelOptions
from querist.options import Options, option
from querist.serve.options import NewCampaignKeywords, NewCampaignOptions

ROOT = Path(__file__).parents[2]
DECLARED = [
    (CampaignOptions, CampaignKeywords),
    (NewCampaignOptions, NewCampaignKeywords),
    (LabelOptions, LabelKeywords),
    (GraphOptions, GraphKeywords),
    (FileOptions, FileKeywords),
    (PointOptions, PointKeywords),
]
TAKING = [
    (querist.ask, CampaignOptions),
    (querist.label, LabelOptions),
    (querist.as_graph, GraphOptions),
    (querist.from_points, PointOptions),
]


@dataclass(frozen=True, kw_only=True)
class Kettle(Options):
    fuel: str = option("gas", "What heats it")
    volts: int = option(230, "Tension", only=("fuel", ("mains", "battery")))


@pytest.mark.parametrize(("cls", "keywords"), DECLARED, ids=lambda each: each.__name__)
def test_the_keywords_for_type_checkers_are_the_options(cls: type[Options], keywords: Any) -> None:
    assert get_type_hints(keywords) == {name: own.kind for name, own in cls.declared().items()}


def test_the_keywords_of_embed_are_the_options_of_the_kinds_that_come_with_querist() -> None:
    own = {name: each.kind for kind in known().values() for name, each in kind.options.items()}
    assert get_type_hints(EmbeddingKeywords) == own


@pytest.mark.parametrize(("function", "cls"), TAKING, ids=lambda each: each.__name__)
def test_help_lists_each_option_with_its_default(function: Any, cls: type[Options]) -> None:
    text = " ".join(function.__doc__.split())
    shown = inspect.signature(function).parameters
    for name, own in cls.declared().items():
        assert f"{name} : {own.sentence}" in text
        assert shown[name].default == own.default
    assert len(shown) - len(cls.declared()) <= 8


@pytest.mark.parametrize(("function", "cls"), TAKING, ids=lambda each: each.__name__)
def test_an_unknown_option_is_refused_and_so_is_an_object_of_another_class(
    function: Any, cls: type[Options]
) -> None:
    with pytest.raises(UnknownNameError, match="unknown option 'sede'"):
        function([(0, 1)], sede=1)
    name = next(iter(cls.declared()))
    with pytest.raises(InputError, match=f"pass {cls.__name__}"):
        function([(0, 1)], options=Kettle())
    with pytest.raises(InputError, match=f"options= and {name}= are both given"):
        function([(0, 1)], options=cls(), **{name: None})


def test_a_choice_is_checked_where_it_is_declared() -> None:
    assert CampaignOptions(strategy="greedy").changed() == ["strategy"]
    for make, word in (
        (partial(LabelOptions, method="walk"), "walks"),
        (partial(CampaignOptions, strategy="margn"), "margin"),
    ):
        with pytest.raises(UnknownNameError, match=f"did you mean '{word}'"):
            make()


def test_an_option_that_does_nothing_beside_another_is_refused() -> None:
    assert Kettle(fuel="mains", volts=110).changed() == ["fuel", "volts"]
    with pytest.raises(
        InputError, match=r"volts = 110 does nothing with fuel = 'gas'; leave it out, or pass fuel = 'mains'"
    ):
        Kettle(volts=110)


def test_the_classifier_of_scikit_learn_has_the_options_of_label_by_name() -> None:
    """`get_params` needs each parameter in the signature; its defaults are those of the declaration."""
    shown = inspect.signature(GraphLabelClassifier).parameters
    renamed = {"missing_label": "missing", "random_state": "seed"} | {name: name for name in OF_LABEL}
    for name, own in renamed.items():
        assert shown[name].default == LabelOptions.declared()[own].default, name
    # A vector of labels has one per node, and none of a node that is not there.
    assert LabelOptions.declared().keys() - renamed.values() == {"multilabel", "ignore_unknown"}
    assert set(GraphLabelClassifier().get_params()) == {"graph", "k", *renamed}


SNIPPET = """
import querist

graph = querist.as_graph([(0, 1), (1, 2)], parallel="sum")
querist.label(graph, {0: "a", 2: "b"}, goal="f1", seed=3)
querist.ask(graph, {0: "a", 2: "b"}, budget=1)
querist.embed(graph, 2, damping=0.5, kind="diffusion")
querist.from_points([[0.0], [1.0]], k=1)
querist.ask(graph, {}, budjet=1)
querist.label(graph, {}, metod="walks")
querist.label(graph, {}, goal="recall")
querist.as_graph([(0, 1)], paralel="sum")
querist.embed(graph, 2, dampin=0.5)
querist.from_points([[0.0], [1.0]], neighbours=1)
"""


@pytest.mark.slow
def test_type_checkers_reject_what_is_no_option(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(file)],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [int(line.split(":")[1]) for line in errors] == [9, 10, 11, 12, 13, 14], done.stdout + done.stderr
    for line, name in zip(
        errors, ["budjet", "metod", "goal", "paralel", "dampin", "neighbours"], strict=True
    ):
        assert f'"{name}"' in line, line
