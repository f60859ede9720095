"""The job: MSG sees the digits one at a time, guesses, and asks where it is unsure.

Beside it, on the same digits in the same order: the same learner asking as often
but at random, several times; as often and as early, where its margin is smallest;
and about everything.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from querist.datasets import digits
from querist.embedding import embed
from querist.experiment.results import Spread
from querist.experiment.tasks.online import learner_seed, pace_of, random_rounds, shuffled
from querist.graph import Graph
from querist.online import ALGORITHMS, Learner, Trace
from querist.progress import Progress
from querist.types import Bools, Codes, Floats

RANK, GAMMA, H = 25, 0.1, 0.001
SETTINGS = {"rank": RANK, "laplacian": "combinatorial", "constant": 1.0, "gamma": GAMMA, "h": H}
TUNED_ON = 1000
"""The settings were chosen on 20 shuffles of this seed: the fewest wrong guesses among those that ask about
at most one digit in eight. Tried: both Laplacians; rank 15, 20, 25, 30, 40, 60, 100; gamma .01, .1, 1, 10;
h 1e-4, 1e-3, 1e-2."""

DRAWS = 20
STEP = 4
"""Rounds between two looks at what the learner would say of the rest, unless it has asked nothing since."""

Show: TypeAlias = Callable[[str, float, str], None]
"""Called with (stage, fraction done, a few words)."""


@dataclass(frozen=True, eq=False)
class DemoRun:
    """One pass over the digits.

    node, predicted, asked, mistaken : (rounds,), as in a `Trace`
    questions : (looks,) questions asked up to each look, from 0
    rest_wrong : (looks,) share of the digits not asked about so far that would be labelled wrongly now
    """

    node: Codes
    predicted: Codes
    asked: Bools
    mistaken: Bools
    questions: Codes
    rest_wrong: Floats

    @property
    def error_rate(self) -> float:
        """Share of wrong guesses, each made before any answer."""
        return float(self.mistaken.mean())

    def error_curve(self) -> Floats:
        """(rounds,) error rate up to every round."""
        return np.cumsum(self.mistaken) / np.arange(1, self.mistaken.size + 1)


@dataclass(frozen=True, eq=False)
class DemoRuns:
    """All runs on one shuffle, and the seconds they took."""

    graph: Graph
    seed: int
    chosen: DemoRun
    random: tuple[DemoRun, ...]
    margin: DemoRun
    everything: DemoRun
    seconds: float

    @property
    def questions(self) -> int:
        """How many were asked: by MSG, and by each control."""
        return int(self.chosen.asked.sum())

    @property
    def random_error(self) -> Spread:
        """Share of wrong guesses when asking at random."""
        return Spread(tuple(run.error_rate for run in self.random))

    @property
    def random_rest_wrong(self) -> Spread:
        """Share wrong at the end on what random asking never asked about."""
        return Spread(tuple(float(run.rest_wrong[-1]) for run in self.random))


def play(seed: int = 0, show: Show = lambda stage, fraction, text: None, draws: int = DRAWS) -> DemoRuns:
    """Build the graph, embed it, and run everything on the shuffle of this seed."""
    started = time.perf_counter()
    show("graph", 0.0, "joining each digit to the 10 nearest")
    graph = digits()
    show("graph", 1.0, f"{graph.n_nodes:,} digits, {graph.n_edges:,} edges")
    rows = embed(
        graph.without_labels(),
        RANK,
        normalised=False,
        progress=lambda done, text: show("embedding", done, text),
    )
    show("embedding", 1.0, f"{rows.n_columns} numbers for each digit")

    assert graph.codes is not None
    codes, order = graph.codes, shuffled(graph.codes, seed, 0)
    show("asking", 0.0, "compiling; the first time takes some seconds")
    msg, random_sampling = ALGORITHMS["msg"], ALGORITHMS["random_sampling"]
    learner = msg(rows, graph.n_classes, gamma=GAMMA, h=H, seed=learner_seed(seed, 0)).by_row()
    chosen = _pass(learner, order, codes, show=lambda done, text: show("asking", done, text))

    count, random = int(chosen.asked.sum()), []
    for draw in range(draws):
        learner = random_sampling(rows, graph.n_classes, p=0.5, gamma=GAMMA)
        random.append(_pass(learner, order, codes, random_rounds(order.size, count, (seed, 0, 2, draw))))
        show("random", (draw + 1) / draws, f"draw {draw + 1} of {draws}")
    spent = {"budget": count, "pace": pace_of(chosen.asked), "rounds": order.size}
    learner = ALGORITHMS["margin_threshold"](
        rows, graph.n_classes, gamma=GAMMA, seed=learner_seed(seed, 0), **spent
    )
    margin = _pass(learner.by_row(), order, codes)
    everything = _pass(random_sampling(rows, graph.n_classes, p=1.0, gamma=GAMMA), order, codes)
    return DemoRuns(graph, seed, chosen, tuple(random), margin, everything, time.perf_counter() - started)


def _pass(
    learner: Learner,
    order: Codes,
    codes: Codes,
    uniforms: Floats | None = None,
    show: Progress | None = None,
) -> DemoRun:
    """Run a learner over the order, looking every few rounds at what it would say of the rest."""
    unasked = np.ones(codes.size, dtype=np.bool_)
    looks = [(0, 1.0)]
    traces, wrong = list[Trace](), 0
    for start in range(0, order.size, STEP):
        stop = min(start + STEP, order.size)
        trace = learner.run(order[start:stop], codes, None if uniforms is None else uniforms[start:stop])
        traces.append(trace)
        if trace.asked.any():  # otherwise it has learned nothing, and would say the same
            unasked[trace.row[trace.asked]] = False
            rest = np.flatnonzero(unasked)
            missed = learner.predict(rest) != codes[rest]
            looks.append((learner.questions, float(missed.mean()) if rest.size else 0.0))
        wrong += int(trace.mistaken.sum())
        if show is not None:
            show(
                stop / order.size,
                f"{stop:,} rounds, {learner.questions:,} questions, {100 * wrong / stop:.1f} % wrong so far",
            )
    questions, rest_wrong = zip(*looks, strict=True)
    return DemoRun(
        node=order,
        predicted=np.concatenate([trace.predicted for trace in traces]),
        asked=np.concatenate([trace.asked for trace in traces]),
        mistaken=np.concatenate([trace.mistaken for trace in traces]),
        questions=np.array(questions, dtype=np.int64),
        rest_wrong=np.array(rest_wrong),
    )
