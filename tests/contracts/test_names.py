"""Names: no class name twice, no metaphors, and a wrong name in any registry is answered with the nearest."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import querist
from querist import ALGORITHMS, CLASSIFIERS, STREAMS
from querist.asking import STRATEGIES
from querist.errors import QueristError, UnknownNameError
from querist.labelling.members import MEMBERS
from querist.registry import Registry

SOURCES = sorted(Path(querist.__file__).parent.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}

METAPHORS = {
    "consult", "door", "ground", "heard", "loud", "loudness", "opinion", "told", "voice", "voiced",
}  # fmt: skip


def test_no_class_name_occurs_twice():
    homes = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path.parent.name}/{path.name}")
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def words_of(name):
    """The words of a name, by its underscores and capitals."""
    return set(re.findall(r"[a-z]+", re.sub(r"([A-Z][a-z])", r"_\1", name).lower()))


def test_no_name_is_a_metaphor():
    found = set()
    for path, tree in TREES.items():
        names = {path.stem} | {
            value
            for node in ast.walk(tree)
            for part in ("name", "id", "attr", "arg")
            if isinstance(value := getattr(node, part, None), str)
        }
        found |= {f"{path.parent.name}/{path.name}: {name}" for name in names if words_of(name) & METAPHORS}
    assert found == set()


def test_the_words_of_a_name():
    assert words_of("voiced") == {"voiced"}
    assert words_of("_GroundLevel") == {"ground", "level"}
    assert words_of("background") == {"background"}


REGISTRIES = {
    "algorithm": ALGORITHMS,
    "classifier": CLASSIFIERS,
    "stream learner": STREAMS,
    "method": MEMBERS,
    "query strategy": STRATEGIES,
}


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_registry_says_did_you_mean(kind):
    registry = REGISTRIES[kind]
    assert isinstance(registry, Registry)
    for name in registry:
        typo = name + "x"
        assert typo not in registry
        with pytest.raises(UnknownNameError, match=f"unknown {kind} {typo!r}; did you mean {name!r}"):
            registry[typo]


def _embed(**wrong):
    return querist.embed(querist.load_graph("karate"), 4, **wrong)


def _weighting():
    from querist.embedding.kinds.diffusion import weighted

    return weighted(querist.as_graph([(0, 1)]).adjacency, "tfifd")


def _setting():
    from querist.parameters import read_settings

    return read_settings(ALGORITHMS["msg"], ["gama=1"])


def _paper():
    from querist_papers import items_of

    return items_of("msg61")


def _item():
    from querist_papers import item_of, items_of

    return item_of("msg16", items_of("msg16")[0].name + "x")


def _task():
    from querist.experiment.tasks import task_of

    return task_of("onlin")


def _bound():
    from querist_papers.theory import bounds_of

    return bounds_of("cmgo", None, None, [], 2, {})


KARATE = [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        (lambda: querist.load_graph("karat"), "karate"),
        (lambda: querist.label(KARATE, {0: "a", 1: "b"}, method="smoothd"), "smoothed"),
        (lambda: querist.label(KARATE, {0: "a", 1: "b"}, method="GMNR"), "gmnr"),
        (lambda: querist.ask(KARATE, classes=["a", "b"], strategy="ambigity"), "ambiguity"),
        (lambda: _embed(kind="spectrl"), "spectral"),
        (lambda: querist.ALGORITHMS["msg"](_embed(), 2, gama=1.0), "gamma"),
        (_weighting, "tfidf"),
        (_setting, "gamma"),
        (_paper, "msg16"),
        (_item, ""),
        (_task, "online"),
        (_bound, "cmog"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(wrong, meant):
    with pytest.raises(QueristError, match=f"did you mean '{meant}"):
        wrong()
