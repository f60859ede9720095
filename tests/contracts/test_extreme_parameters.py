"""Numbers that are far too large, or none at all, are refused at the door in words of ours, or harmless."""

from contextlib import suppress

import numpy as np
import pytest

import querist
from querist import ALGORITHMS, CLASSIFIERS, STREAMS
from querist.errors import InputError, QueristError
from querist.parameters import parameters_of

N = 24
RING = [(i, (i + 1) % N) for i in range(N)] + [(0, 9), (3, 17)]
WORDS = (np.random.default_rng(0).random((N, 6)) < 0.5).astype(float)
GRAPH = querist.as_graph(RING, nodes=N, attributes=WORDS)
EXTREME = (1e300, -1e300, 10**30, 2**63, 2**40, float("nan"), float("inf"), -1, 5e-324)
X = np.random.default_rng(1).normal(size=(20, 4))
CODES = np.arange(N) % 3

OTHERS = {"progress", "tie_order", "classes", "kernel", "kernel_params"}
"""Parameters that are no numbers."""


ALLOWED = {("max_iter", 2**40)}
"""What is done as it is asked for, and takes its time."""


def numbers(factory):
    """The parameters of a factory that hold a number, by the annotation."""
    known = parameters_of(factory, OTHERS)
    return [
        name
        for name, each in known.items()
        if {float, int} & {each.kind, *getattr(each.kind, "__args__", ())}
    ]


def tried(factory, use):
    """Every number of a factory as every extreme value: what is refused is refused by us."""
    for parameter in numbers(factory):
        for value in EXTREME:
            if (parameter, value) in ALLOWED:
                continue
            with np.errstate(all="ignore"), suppress(QueristError):
                found = use(**{parameter: value})
                assert np.isfinite(found).all(), (parameter, value)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("constant", 1e300, "constant 1e+300 is too large: its square must be finite; give one from -1e+150"),
        ("constant", 10**400, "must be a finite number"),
        ("constant", "many", "constant many must be a finite number"),
        ("max_constants", 1e300, "max_constants = 1e+300; it must be a whole number, 1 or more"),
        ("max_constants", 2**63, "it must be a whole number, 9,223,372,036,854,775,807 or less"),
        ("steps", float("nan"), "steps = nan; it must be a whole number, 0 or more"),
        ("neighbours", float("inf"), "neighbours = inf; it must be a whole number, 1 or more"),
    ],
)
def test_an_option_of_an_embedding_is_refused(option, value, said):
    with pytest.raises(InputError) as refused:
        querist.embed(GRAPH, 4, kind="pagerank", cache=False, **{option: value})
    assert said in str(refused.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["msg", "pounce", "paced", "bbq", "fastonl", "ollgc"])
def test_a_learner_on_a_graph(name):
    place = GRAPH if name in ("pounce", "paced", "fastonl") else querist.embed(GRAPH, 5, cache=False)
    tried(
        ALGORITHMS[name],
        lambda **own: ALGORITHMS[name](place, 3, **own).by_row().run(range(N), CODES).predicted,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bls", "pa1", "spasc", "ressl", "sklearn_sgd"])
def test_a_learner_on_a_stream(name):
    tried(STREAMS[name], lambda **own: STREAMS[name](3, **own).run(X, np.arange(20) % 3).predicted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gmnr", "wvrn", "ica"])
def test_a_classifier(name):
    labels = np.where(np.arange(N) % 2 == 0, CODES, -1)
    tried(CLASSIFIERS[name], lambda **own: CLASSIFIERS[name](**own).fit(GRAPH, labels).predict_proba())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["seed", "costs"])
def test_a_number_of_label(name):
    labels = {k: int(CODES[k]) for k in range(0, N, 2)}
    for value in EXTREME:
        with np.errstate(all="ignore"), suppress(QueristError):
            given = {(0, 1): value} if name == "costs" else value
            P = querist.label(GRAPH, labels, **{name: given}).probabilities
            assert np.isfinite(P).all() and abs(P.sum(axis=1) - 1).max() < 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["budget", "audit", "noise", "repeats", "overlap", "unanswered", "stop", "seed"]
)
def test_a_number_of_ask(name):
    for value in EXTREME:
        with np.errstate(all="ignore"), suppress(QueristError):
            settings = {"budget": 6, "classes": [0, 1, 2], name: value}
            done = querist.ask(GRAPH, lambda node: int(CODES[node]), **settings)
            assert done.asked <= settings["budget"]


def test_a_budget_that_does_not_fit_is_refused():
    with pytest.raises(
        InputError, match=r"a budget of 2,147,483,\d+ items would take .* GiB are free; give a"
    ):
        STREAMS["bls"](3, budget_labelled=2**31).run(X, np.arange(20) % 3)
