"""The online learners against a slow twin: dense A and B, solved afresh in every round.

`Twin` is written from the readings alone (`A = gamma I + sum m m'`, `B = sum m y'`, scores
`B' (A + m m')^-1 m` or `B' A^-1 m`) with `np.linalg.solve` and Python loops; it shares no code and no
recursion with the package. After every round and every answer, `P = A^-1`, `W = A^-1 B`, scores,
variance, margin, probability, prediction, ask, learning and counters must agree, for every composition of
the catalogue in both schemes, over generated embeddings, labels, orders, draws, parameters and budgets,
with answers of every kind that come at once, late, in another order, or never.

Where a comparison is too close to call in floating point (within 1e-9 of a threshold, in the scale of the
scores, and not an exact tie) the two may differ rightly: such an example is rejected there, after all the
rounds before it were compared.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, strategies as st
from hypothesis.extra.numpy import arrays

from querist import ALGORITHMS, Learner
from querist.online.checks import Answer
from querist.online.composition import OnlineParts
from querist.parameters import parameters_of

ROUNDING, DOUBT = 1e-13, 1e-9
"""Scores closer than ROUNDING times their scale are equal; up to DOUBT nobody can tell."""


def sign(x: float, scale: float) -> int:
    """-1, 0 or 1 of a score, or of a difference of scores."""
    if ROUNDING * scale < abs(x) <= DOUBT * scale:
        reject()
    return 0 if abs(x) <= ROUNDING * scale else int(math.copysign(1, x))


def exceeds(x: float, bound: float, scale: float = 1.0) -> bool:
    """Whether x > bound. Equality is only believed where both are 0: a row of zeros."""
    if abs(x - bound) <= DOUBT * scale and not x == bound == 0:
        reject()
    return x > bound


# -- the twin ---------------------------------------------------------------------


@dataclass
class Problem:
    A: np.ndarray
    B: np.ndarray
    asked_r: float = 0.0


@dataclass
class Open:
    node: int
    round: int
    certain: bool
    asks: list[bool]


@dataclass
class Seen:
    scores: list[float]
    r: list[float]
    prediction: int
    margin: float
    probability: float
    certain: bool
    asks: list[bool]
    ask: bool


@dataclass
class Twin:
    """One algorithm, as the readings tell it."""

    rows: np.ndarray
    n_classes: int
    query: str
    update: str
    target: str = "rival"
    scheme: str = "multiclass"
    gamma: float = 1.0
    second_order: bool = True
    scores_under: str = "A_t"
    numbers: dict[str, float] = field(default_factory=dict)
    budget: int | None = None
    tie_order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        d = self.rows.shape[1]
        self.binary = self.scheme == "one-vs-rest"
        self.one_line = self.binary and self.n_classes == 2
        heads = 1 if self.binary else self.n_classes
        many = self.n_classes if self.binary and not self.one_line else 1
        start = (self.gamma if self.second_order else 1.0) * np.eye(d)
        self.problems = [Problem(start.copy(), np.zeros((d, heads))) for _ in range(many)]
        self.t = 0
        self.questions = 0
        self.updates = 0
        self.open: list[Open] = []

    def scale(self, node: int) -> float:
        """Scores of a short row are small: doubts are measured in the variance before any label."""
        m = self.rows[node]
        return min(1.0, float(m @ m) / (self.gamma if self.second_order else 1.0))

    def score(self, problem: Problem, m: np.ndarray) -> tuple[list[float], float]:
        r = float(m @ np.linalg.solve(problem.A, m))
        under_f = self.second_order and not self.binary and self.scores_under == "A_t"
        A = problem.A + np.outer(m, m) if under_f else problem.A
        return [float(x) for x in problem.B.T @ np.linalg.solve(A, m)], r

    def best(self, scores: list[float], among: list[int], scale: float) -> int:
        """The best-scored class; among equals the first in order of precedence."""
        ranked = [k for k in self.tie_order if k in among]
        top = ranked[0]
        for k in ranked[1:]:
            if sign(scores[k] - scores[top], scale) > 0:
                top = k
        return top

    def probability(self, problem: Problem, margin: float, r: float) -> tuple[float, bool]:
        """(p, whether without a draw) under the query rule, for round t + 1."""
        t, x = self.t + 1, self.numbers
        if self.query == "random":
            return x["p"], False
        if self.query == "margin":
            gain = margin**2 / 2 + 2 * margin
            if exceeds(self.n_classes * r / (1 + r), gain):
                return 1.0, True
            return 2 * x["h"] / (2 * x["h"] + gain - self.n_classes * r / (1 + r)), False
        if self.query == "always":
            yes = True
        elif self.query == "variance":
            yes = exceeds(r / (1 + r), t ** -x["kappa"])
        elif self.query == "epsilon":
            yes = not exceeds(x["eps"], r / (1 + r))
        elif self.query == "threshold":
            # The first rounds have margins of 0, and so has a threshold of 0.
            yes = not exceeds(margin, x["tau"], max(1e-3, r))
        elif self.query == "log":
            yes = not exceeds(margin**2, x["alpha"] * r * math.log(t + 1), max(1e-3, r))
        else:
            bracket = x["base"] + x["history"] * problem.asked_r + x["log"] * math.log(t / x["delta"])
            yes = not exceeds(margin**2, r * bracket, max(1e-3, r))
        return float(yes), yes

    def look(self, node: int, u: float) -> Seen:
        m, scale = self.rows[node], self.scale(node)
        found = [self.score(problem, m) for problem in self.problems]
        r = [each[1] for each in found]
        scores = [s for each, _ in found for s in each]
        if self.one_line:
            side = sign(scores[0], scale)
            prediction, margin = self.tie_order[0] if side == 0 else (side + 1) // 2, abs(scores[0])
        else:
            prediction = self.best(scores, list(range(self.n_classes)), scale)
            margin = max(0.0, scores[prediction] - max(s for k, s in enumerate(scores) if k != prediction))
        margins = [abs(s) for s in scores] if self.binary else [margin]
        ps = [self.probability(*each) for each in zip(self.problems, margins, r, strict=True)]
        spent = self.budget is not None and self.questions >= self.budget
        asks = [certain or exceeds(p, u) for p, certain in ps]
        asks = [each and not spent for each in asks]
        return Seen(
            scores, r, prediction, margin, max(p for p, _ in ps), any(c for _, c in ps), asks, any(asks)
        )

    def close(self, node: int, seen: Seen) -> None:
        self.t += 1
        if not seen.ask:
            return
        self.questions += 1
        for problem, asks, r in zip(self.problems, seen.asks, seen.r, strict=True):
            problem.asked_r += r * asks
        self.open.append(Open(node, self.t, seen.certain, seen.asks))

    def mistakes(self, node: int, seen: Seen, allowed: set[int]) -> tuple[bool, list[bool]]:
        """Whether the round is wrong, and which problems are; a binary score of 0 always is."""
        if not self.binary:
            return seen.prediction not in allowed, [seen.prediction not in allowed]
        ys = [1 if k in allowed else -1 for k in ([1] if self.one_line else range(self.n_classes))]
        wrong = [y * sign(s, self.scale(node)) <= 0 for y, s in zip(ys, seen.scores, strict=True)]
        return (wrong[0] if self.one_line else seen.prediction not in allowed), wrong

    def answer(self, node: int, answer: Any) -> list[bool]:
        """Take an answer to the oldest open question about the node; which problems learned."""
        question = next(q for q in self.open if q.node == node)
        self.open.remove(question)
        everything = set(range(self.n_classes))
        allowed = answer if isinstance(answer, set) else set() if answer is Answer.NONE else {answer}
        if answer is Answer.UNSURE or allowed == everything or (self.one_line and not allowed):
            return [False] * len(self.problems)
        m, seen = self.rows[node], self.look(node, 1.0)
        _, wrong = self.mistakes(node, seen, allowed)
        learned = []
        for c, problem in enumerate(self.problems):
            takes = (
                wrong[c] or self.update == "always" or (self.update == "certain" and question.certain)
            ) and question.asks[c]
            if self.binary:
                named = (1 if self.one_line else c) in allowed
                takes = takes and not (named and len(allowed) > 1)
                y = np.array([1.0 if named else -1.0])
            else:
                y = self.target_vector(seen.scores, allowed, self.scale(node))
            if takes:
                problem.B += np.outer(m, y)
                problem.A += np.outer(m, m) * self.second_order
            learned.append(takes)
        self.updates += any(learned)
        return learned

    def target_vector(self, scores: list[float], allowed: set[int], scale: float) -> np.ndarray:
        y = np.zeros(self.n_classes)
        others = [k for k in range(self.n_classes) if k not in allowed]
        if allowed:
            y[self.best(scores, sorted(allowed), scale)] = 1
        if self.target == "rival":
            y[self.best(scores, others, scale)] = -1
        return y


COMPOSITIONS: dict[str, dict[str, Any]] = {
    "gpa": {"query": "always", "update": "mistake", "second_order": False},
    "ollgc": {"query": "always", "update": "mistake", "scheme": "one-vs-rest"},
    "sslgc": {"query": "variance", "update": "mistake", "scheme": "one-vs-rest"},
    "cmog": {"query": "always", "update": "mistake"},
    "cmog_selected": {"query": "margin", "update": "mistake"},
    "msg": {"query": "margin", "update": "certain"},
    "bbq": {"query": "variance", "update": "always"},
    "bbq_eps": {"query": "epsilon", "update": "always"},
    "dgs": {"query": "confidence", "update": "always", "scores_under": "A_{t-1}"},
    "random_sampling": {"query": "random", "update": "always"},
    "margin_threshold": {"query": "threshold", "update": "always"},
}

NUMBERS: dict[str, dict[str, st.SearchStrategy[float]]] = {
    "always": {},
    "random": {"p": st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])},
    "variance": {"kappa": st.sampled_from([0.0, 0.2, 0.4, 0.8, 1.0])},
    "epsilon": {"eps": st.sampled_from([0.0, 1e-3, 0.1, 0.4, 0.9])},
    "margin": {"h": st.sampled_from([1e-6, 1e-2, 0.3, 10.0])},
    "confidence": {
        "delta": st.sampled_from([0.05, 0.5, 1.0]),
        "base": st.sampled_from([0.01, 0.1, 1.0]),
        "history": st.sampled_from([0.0, 0.1, 4.0]),
        "log": st.sampled_from([0.0, 0.05, 36.0]),
    },
    "threshold": {"tau": st.sampled_from([0.0, 0.03, 0.4, 1.1])},
    "log": {"alpha": st.sampled_from([0.01, 0.3, 2.0])},
}


def schemes(name: str) -> list[str]:
    has_both = "scheme" in parameters_of(ALGORITHMS[name])
    return ["multiclass", "one-vs-rest"] if has_both else ["multiclass"]


CASES = [(name, scheme) for name in COMPOSITIONS for scheme in schemes(name)]


@dataclass
class Case:
    """A learner, its twin, and a script of rounds."""

    learner: Learner
    twin: Twin
    labels: list[int]
    order: list[int]
    uniforms: list[float]
    script: list[tuple[str, int]]


@st.composite
def cases(draw: st.DrawFn, name: str, scheme: str) -> Case:
    n, d, K = draw(st.integers(1, 7)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    # Numbers on a grid: equal rows and exact ties are common, near ties are not. Long rows come with a
    # large gamma, so that rounding leaves exact ties within the learner's own tie rule.
    length = draw(st.sampled_from([1.0, 0.01, 20.0]))
    rows = draw(arrays(np.int8, (n, d), elements=st.integers(-24, 24))) / 8 * length
    parts = dict(COMPOSITIONS[name])
    accepts = parameters_of(ALGORITHMS[name])
    parameters: dict[str, Any] = {}
    if "scheme" in accepts:
        parameters["scheme"] = parts["scheme"] = scheme
    for option in ("update", "target"):
        choices = {"update": ["mistake", "always", "certain"], "target": ["rival", "one-hot"]}[option]
        if option in accepts and draw(st.booleans()):
            parameters[option] = parts[option] = draw(st.sampled_from(choices))
    for gamma in ("gamma", "mu"):
        if gamma in accepts:
            parameters[gamma] = parts["gamma"] = draw(st.sampled_from([0.5, 1.0, 10.0])) * length**2
    if "second_order" in accepts:
        parameters["second_order"] = parts["second_order"] = draw(st.booleans())
    if "alpha" in accepts and draw(st.booleans()):
        parts["query"] = "log"
    parts["numbers"] = {key: draw(values) for key, values in NUMBERS[parts["query"]].items()}
    parameters |= parts["numbers"]
    budget = draw(st.one_of(st.none(), st.integers(0, 6)))
    tie_order = tuple(draw(st.permutations(range(K))))
    learner = ALGORITHMS[name](rows, K, budget=budget, tie_order=tie_order, **parameters)
    twin = Twin(rows, K, budget=budget, tie_order=tie_order, **parts)
    rounds = draw(st.integers(1, 14))

    def several(element: st.SearchStrategy[Any], size: int) -> list[Any]:
        return draw(st.lists(element, min_size=size, max_size=size))

    return Case(
        learner,
        twin,
        labels=several(st.integers(0, K - 1), n),
        order=several(st.integers(0, n - 1), rounds),
        uniforms=several(st.sampled_from([0.0, 1e-4, 0.05, 0.3, 0.62, 0.97]), rounds),
        script=several(
            st.tuples(st.sampled_from(["now", "now", "late", "set", "unsure", "none"]), st.integers(0, 99)),
            rounds,
        ),
    )


# -- comparison -----------------------------------------------------------------------


def agree(a: Any, b: Any, natural: float = 1.0) -> None:
    """To nine digits of the largest entry, or twelve of the size that such numbers naturally have."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.abs(b).max(initial=0.0) + 1e-12 * natural)


def agree_state(learner: Learner, twin: Twin) -> None:
    state = learner._state
    start = 1 / twin.gamma if twin.second_order else 1.0
    if twin.second_order:  # the learner keeps the lower triangle up to date
        agree(np.tril(state.P), np.tril([np.linalg.inv(problem.A) for problem in twin.problems]), start)
    W = np.hstack([np.linalg.solve(problem.A, problem.B) for problem in twin.problems]).T
    agree(state.W, W, start * np.abs(twin.rows).max())
    if twin.query == "confidence":
        agree(state.variances, [problem.asked_r for problem in twin.problems])
    assert (learner.round, learner.questions, learner.updates) == (twin.t, twin.questions, twin.updates)
    assert learner.pending == tuple(question.node for question in twin.open)


def agree_decision(learner: Learner, node: int, u: float, seen: Seen) -> Any:
    decision = learner.decide(node, u)
    agree(decision.scores, seen.scores)
    agree(decision.variances, seen.r)
    agree(decision.variance, max(seen.r))
    assert decision.prediction == seen.prediction
    if learner.n_classes > 2 or len(seen.scores) > 1:
        two = sorted(seen.scores)[-2:]
        agree([decision.margin, 1.0], [two[1] - two[0], 1.0])
    else:
        agree([decision.margin, 1.0], [abs(seen.scores[0]), 1.0])
    agree([decision.probability, 1.0], [seen.probability, 1.0])
    assert decision.certain == seen.certain
    assert decision.asks.tolist() == seen.asks
    assert decision.ask == seen.ask
    return decision


def reply(kind: str, number: int, label: int, n_classes: int) -> Any:
    """An answer of a kind; `number` varies it."""
    if kind == "set":
        return {label, (label + 1 + number) % n_classes, *range(number % n_classes)}
    return {"unsure": Answer.UNSURE, "none": Answer.NONE}.get(kind, label)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), CASES)
@given(st.data())
def test_every_round_and_answer_agrees(name: str, scheme: str, data: st.DataObject) -> None:
    play(data.draw(cases(name, scheme)))


MIDDLING: dict[str, dict[str, float]] = {
    "always": {},
    "random": {"p": 0.5},
    "variance": {"kappa": 0.5},
    "epsilon": {"eps": 0.2},
    "margin": {"h": 0.05},
    "threshold": {"tau": 0.3},
    "confidence": {"delta": 0.5, "base": 0.05, "history": 0.05, "log": 0.02},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_a_longer_game_agrees(name: str, scheme: str) -> None:
    """Eighty rounds in general position, the same every time: single problems ask, histories grow."""
    rng = np.random.default_rng(7)
    n, K, rounds = 30, 4, 80
    rows = rng.standard_normal((n, 5))
    parts = COMPOSITIONS[name] | {"scheme": scheme, "numbers": MIDDLING[COMPOSITIONS[name]["query"]]}
    own = {"scheme": scheme} if len(schemes(name)) > 1 else {}
    kinds = rng.choice(["now", "now", "now", "late", "late", "set", "unsure", "none"], size=rounds)
    case = Case(
        ALGORITHMS[name](rows, K, **own, **parts["numbers"]),
        Twin(rows, K, tie_order=tuple(range(K)), **parts),
        labels=rng.integers(K, size=n).tolist(),
        order=rng.integers(n, size=rounds).tolist(),
        uniforms=rng.random(rounds).tolist(),
        script=list(zip(kinds.tolist(), rng.integers(99, size=rounds).tolist(), strict=True)),
    )
    play(case)
    assert case.learner.updates > 5


def play(case: Case) -> None:
    """Every round and every answer of a case, by the learner and by its twin."""
    learner, twin = case.learner, case.twin
    agree_state(learner, twin)
    for node, u, (kind, number) in zip(case.order, case.uniforms, case.script, strict=True):
        seen = twin.look(node, u)
        decision = agree_decision(learner, node, u, seen)
        learner.commit(decision)
        twin.close(node, seen)
        agree_state(learner, twin)
        # Answer this question, or any other open one, or none.
        if kind == "late":
            whom = [] if number % 3 == 0 or not twin.open else [twin.open[number % len(twin.open)].node]
        else:
            whom = [node] if seen.ask else []
        for asked in whom:
            answer = reply(kind, number, case.labels[asked], learner.n_classes)
            learned = twin.answer(asked, answer)
            assert learner.learn(asked, answer) == any(learned)
            agree_state(learner, twin)
    # What is still open is answered newest first.
    for question in reversed(twin.open.copy()):
        learned = twin.answer(question.node, case.labels[question.node])
        assert learner.learn(question.node, case.labels[question.node]) == any(learned)
        agree_state(learner, twin)
    assert learner.pending == ()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), CASES)
@given(st.data(), st.booleans())
def test_run_agrees(name: str, scheme: str, data: st.DataObject, oracle: bool) -> None:
    case = data.draw(cases(name, scheme))
    learner, twin = case.learner, case.twin
    rounds, mistaken, learned = [], [], []
    for node, u in zip(case.order, case.uniforms, strict=True):
        seen = twin.look(node, u)
        rounds.append(seen)
        mistaken.append(twin.mistakes(node, seen, {case.labels[node]}))
        twin.close(node, seen)
        learned.append(twin.answer(node, case.labels[node]) if seen.ask else [False] * len(twin.problems))
    trace = learner.run(
        case.order, case.labels.__getitem__ if oracle else np.array(case.labels), case.uniforms
    )
    assert trace.predicted.tolist() == [seen.prediction for seen in rounds]
    assert trace.asked.tolist() == [seen.ask for seen in rounds]
    judged = [seen.ask or not oracle for seen in rounds]
    assert trace.judged.tolist() == judged
    assert trace.mistaken.tolist() == [
        wrong and known for (wrong, _), known in zip(mistaken, judged, strict=True)
    ]
    assert trace.updated.tolist() == [any(each) for each in learned]
    agree(trace.variance, [max(seen.r) for seen in rounds])
    agree(np.append(trace.margin, 1.0), [*(seen.margin for seen in rounds), 1.0])
    if trace.problems is not None:
        assert trace.problems.asked.tolist() == [seen.asks for seen in rounds]
        assert trace.problems.updated.tolist() == learned
        assert trace.problems.mistaken.tolist() == [
            [each and known for each in wrong] for (_, wrong), known in zip(mistaken, judged, strict=True)
        ]
    agree_state(learner, twin)


def test_the_twin_knows_every_composition() -> None:
    composed = {name for name, make in ALGORITHMS.items() if make(np.eye(2), 2)._parts is OnlineParts}
    assert composed == set(COMPOSITIONS)
