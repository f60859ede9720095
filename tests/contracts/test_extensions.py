"""CONTRIBUTING.md is true: a thing that is registered is found by help, by name and by experiments.

A rule of the pool, an embedding and a collective method are written into a module of their own, as a user
would do it, and imported; nothing else is told of them.
"""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import querist
from querist.asking.rules import RULES
from querist.cli import main
from querist.collective.catalogue import CLASSIFIERS
from querist.embedding.kinds import KINDS, known
from querist.errors import UnknownNameError
from querist.experiment import Specification
from querist.experiment.runner import run_here

ROOT = Path(__file__).parents[2]

MODULE = '''
"""A rule, an embedding and a classifier of somebody else."""

import numpy as np

from querist.asking.rules import pool_rule
from querist.collective import CLASSIFIERS
from querist.collective.relational import WVRN
from querist.embedding import Embedding
from querist.embedding.kinds import Kind, register


@pool_rule("toy_rule", "it has the most neighbours of all")
def by_degree(model):
    return np.asarray(model.rows.sum(axis=1))


def settled(rank, *, tol, seed, toy_scale: float = 1.0):
    return {"tol": tol, "seed": seed, "toy_scale": float(toy_scale)}


def make(graph, rank, *, progress, tol, seed, toy_scale):
    rows = toy_scale * np.random.default_rng(seed).standard_normal((graph.n_nodes, rank))
    return Embedding(rows, graph.components, rank=rank, kind="toy_embedding", layout=(rank, 0, 0))


register(
    Kind(
        "toy_embedding", "random rows", settled, make,
        memory=lambda graph, rank, **settings: 8.0 * graph.n_nodes * rank,
        row=lambda embedding, M, degrees, weights: M.mean(axis=0),
    )
)


class ToyClassifier(WVRN):
    """wvRN under another name."""


CLASSIFIERS["toy_method"] = ToyClassifier
'''


@pytest.fixture
def extended(tmp_path):
    """The module is imported, and forgotten afterwards."""
    known()
    path = tmp_path / "toy_extension.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_extension", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_extension"] = module
    spec.loader.exec_module(module)
    yield
    del RULES["toy_rule"], KINDS["toy_embedding"], CLASSIFIERS["toy_method"], sys.modules["toy_extension"]


def test_help_and_lists_name_them(extended, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    listed = ""
    for words in (["embed", "--help"], ["ask", "--help"], ["algorithms"]):
        assert main(words) == 0
        listed += capsys.readouterr().out
    assert "toy_embedding" in listed
    assert "toy_rule" in listed and "it has the most neighbours of all" in listed


def test_calls_take_them_by_name_and_suggest_them(extended):
    karate = querist.load("karate")
    assert querist.embed(karate, 3, kind="toy_embedding", toy_scale=2.0).rows.shape == (34, 3)
    asked = querist.ask(karate, karate.labels, budget=3, choose="toy_rule", method="toy_method")
    assert asked.state.turns[0].about["reason"] == "it has the most neighbours of all"
    assert len(asked.labels) == 34
    for call in (
        lambda: querist.embed(karate, 3, kind="toy_embeding"),
        lambda: querist.ask(karate, karate.labels, budget=3, choose="toy_rul"),
        lambda: querist.label(karate, {0: "Mr. Hi", 33: "Officer"}, method="toy_metod"),
    ):
        with pytest.raises(UnknownNameError, match="did you mean 'toy_"):
            call()


def test_experiments_run_them(extended):
    karate = querist.load("karate")
    for specification in (
        Specification("collective", "karate", "toy_method", protocol={"labelled": 0.2}, repeats=2),
        Specification("online", "karate", "msg", repeats=2,
                      representation={"kind": "toy_embedding", "rank": 4, "toy_scale": 2.0}),
        Specification("ask", "karate", "toy_rule", repeats=1, protocol={"budget": 4, "marks": [2, 4]}),
    ):  # fmt: skip
        result, _ = run_here(specification, karate)
        assert all(np.isfinite(value) for value in result.outcomes[0].numbers.values())


def test_the_table_of_contributing_names_files_that_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.search(r"\| to add \| touch \|\n\|---\|---\|\n((?:\|.*\n)+)", page).group(1)
    named = re.findall(r"`(\w+/(?:[\w/]+\.py)?)`", rows)
    assert len(named) >= 8
    for place in named:
        assert (ROOT / "src" / "querist" / place).exists(), place
