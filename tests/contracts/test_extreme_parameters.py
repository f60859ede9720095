"""Values that are far too large, or of a wrong type, are refused in words of ours, or harmless."""

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import querist
from querist import ALGORITHMS, CLASSIFIERS, STREAMS
from querist.embedding.kinds import known
from querist.errors import InputError, QueristError
from querist.parameters import parameters_of

N = 24
RING = [(i, (i + 1) % N) for i in range(N)] + [(0, 9), (3, 17)]
WORDS = (np.random.default_rng(0).random((N, 6)) < 0.5).astype(float)
GRAPH = querist.as_graph(RING, nodes=N, attributes=WORDS)
EXTREME = (1e300, -1e300, 1e308, 10**30, 10**400, 2**63, 2**40, float("nan"), float("inf"), -1, 0, 5e-324)
WRONG = ("many", b"1", 1j, [1], {}, object(), np.array(1.0), np.array([1.0]), Fraction(1, 2), np.True_)
"""No values of any parameter that is a number, and but for some texts of none at all."""
X = np.random.default_rng(1).normal(size=(20, 4))
CODES = np.arange(N) % 3

OTHERS = {"progress", "tie_order", "classes", "kernel"}
"""Parameters that are no numbers."""


LONG = {"max_iter", "steps", "sweeps"}
"""Parameters that count rounds: as many as are asked for are made, and take their time."""


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
            if parameter in LONG and value > 2**30:
                continue
            with np.errstate(all="ignore"), suppress(QueristError):
                found = use(**{parameter: value})
                assert np.isfinite(found).all(), (parameter, value)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "constant",
            1e300,
            "constant = 1e+300; it must be a finite number, -1e+150 or more and at most 1e+150",
        ),
        ("constant", 10**400, "must be a finite number"),
        ("constant", "many", "constant = 'many'; it must be a finite number"),
        ("max_constants", 1e300, "max_constants = 1e+300; it must be a whole number, 1 or more"),
        ("max_constants", 2**63, "it must be a whole number, 9,223,372,036,854,775,807 or less"),
        ("steps", float("nan"), "steps = nan; it must be a whole number, 0 or more"),
        ("neighbours", float("inf"), "neighbours = inf; it must be a whole number, 1 or more"),
    ],
)
def test_an_option_of_an_embedding_is_refused(option, value, said):
    (kind,) = (name for name, each in known().items() if option in each.options)
    with pytest.raises(InputError) as refused:
        querist.embed(GRAPH, 4, kind=kind, cache=False, **{option: value})
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
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier(name):
    """Rows of reachable nodes are probabilities, and the history is finite."""
    labels = np.where(np.arange(N) % 2 == 0, CODES, -1)

    def fitted(**own):
        model = CLASSIFIERS[name](**own).fit(GRAPH, labels)
        assert model.probabilities_.min() >= 0, own
        assert model.probabilities_.sum(axis=1) == pytest.approx(1), own
        return np.append(model.probabilities_, model.history_.objective)

    tried(CLASSIFIERS[name], fitted)


def looked_at(parameters):
    """Parameters whose values are checked by their annotation: not classes, `missing` or a callable."""
    return [name for name in parameters if name not in ("classes", "missing", "progress")]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_value_of_a_wrong_type_is_refused_by_every_classifier(name):
    kind = CLASSIFIERS[name]
    for parameter in looked_at(parameters_of(kind)):
        for value in WRONG[1:]:  # some parameters are texts
            if value is np.True_ and parameters_of(kind)[parameter].kind is bool:
                continue
            with pytest.raises(InputError, match=rf"^{parameter} = .*; it must be "):
                kind(**{parameter: value}).fit(GRAPH, {0: "a", 1: "b"})
    for value in ("x", None, 1):
        with pytest.raises(InputError, match=r"^progress = .*; it must be a function"):
            kind(progress=value).fit(GRAPH, {0: "a", 1: "b"})
    with pytest.raises(InputError, match="give a list of the classes"):
        kind(classes=np.array(1.0)).fit(GRAPH, {0: "a", 1: "b"})
    for parameter in numbers(kind):
        for value in ("many", True, float("nan"), float("inf")):
            with pytest.raises(InputError, match=rf"^{parameter} = .*; it must be "):
                kind(**{parameter: value}).fit(GRAPH, {0: "a", 1: "b"})


@pytest.mark.parametrize("name", known())
def test_a_value_of_a_wrong_type_is_refused_by_every_embedding(name):
    others = {option for kind in known().values() for option in kind.options}
    options = parameters_of(querist.embed, others) | known()[name].options
    for parameter in looked_at(options):
        for value in WRONG[1:]:
            if value is np.True_ and options[parameter].kind is bool:
                continue
            with pytest.raises(InputError, match=rf"^{parameter} = .*; it must be "):
                querist.embed(GRAPH, **{"kind": name, "cache": False, parameter: value})


@pytest.mark.parametrize("value", [np.int64(2), np.int8(2), 2])
def test_whole_numbers_of_numpy_are_numbers(value):
    assert CLASSIFIERS["gmnr"](lam=value, max_iter=value).fit(GRAPH, {0: "a", 1: "b"}).n_iter_ == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("name", ["wvrn", "harmonic", "label_spreading", "pagerank"])
def test_numbers_of_numpy_are_numbers(name, kind):
    parameter = {"wvrn": "decay", "harmonic": "ridge", "label_spreading": "alpha", "pagerank": "damping"}[
        name
    ]
    one, other = (
        CLASSIFIERS[name](**{parameter: value}).fit(GRAPH, {0: "a", 1: "b"}).predict_proba()
        for value in (0.5, kind(0.5))
    )
    assert other == pytest.approx(one, abs=1e-6)


@pytest.mark.parametrize("weight", [1.0, 1e20])
def test_smoothing_that_loses_the_counts_is_refused(weight):
    """Far below, more weight changes nothing any more; far above, rows were zero or summed to 150."""
    graph = querist.as_graph([(i, j, weight) for i, j in RING], nodes=N, attributes=WORDS)
    for solver in ("factor", "cg"):
        for name in ("gmnr", "mrgm"):
            with pytest.raises(InputError, match=r"lam = 1e\+308 times weights .*pass at most lam=\de"):
                CLASSIFIERS[name](lam=1e308, solver=solver).fit(graph, {0: "a", 1: "b"})
            rows = [
                CLASSIFIERS[name](lam=lam / weight, solver=solver)
                .fit(graph, {0: "a", 1: "b"})
                .predict_proba()
                for lam in (1e7, 1e10)
            ]
            assert rows[0] == pytest.approx(rows[1], abs=1e-5)


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
        InputError, match=r"a budget of 2,147,483,\d+ items needs about .* are available; give a"
    ):
        STREAMS["bls"](3, budget_labelled=2**31).run(X, np.arange(20) % 3)
