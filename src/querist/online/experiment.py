"""One algorithm on many shuffles of a data set: means, spreads, and the fair control.

Shuffle s of a seed is a permutation of the labelled nodes drawn from
`default_rng((seed, s))`. The learner's own draws get a seed derived from the same
pair. So a shuffle is the same whatever the algorithm, and however many are run.

The fair control asks at random, in the same shuffles and as often, with the same
kind of learner: what an algorithm gains over it, its choice of questions gained.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from querist.errors import InputError
from querist.labels import UNLABELLED
from querist.online.catalogue import ALGORITHMS, Factory
from querist.online.trace import Trace
from querist.types import Codes, Floats

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (shuffles done, shuffles in all)."""


@dataclass(frozen=True)
class Spread:
    """A number for every run; `std` is the deviation within these runs (ddof = 0)."""

    runs: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the runs."""
        return float(np.mean(self.runs))

    @property
    def std(self) -> float:
        """Over the runs, taken as all there are."""
        return float(np.std(self.runs))

    def as_dict(self) -> dict[str, Any]:
        """`{"mean", "std", "runs"}`, ready for JSON."""
        return {"mean": self.mean, "std": self.std, "runs": list(self.runs)}


@dataclass(frozen=True)
class Summary:
    """What came of the runs. In the one-vs-rest scheme every number is the average over the binary problems.

    `rounds` is the length of each run; `seconds` is the time of all, without compilation.
    """

    error_rate: Spread
    queries: Spread
    updates: Spread
    rounds: int
    seconds: float

    @property
    def share(self) -> float:
        """The part of the rounds in which a question was asked."""
        return self.queries.mean / self.rounds

    def as_dict(self) -> dict[str, Any]:
        """The three spreads, ready for JSON."""
        return {name: getattr(self, name).as_dict() for name in ("error_rate", "queries", "updates")}


def shuffled_runs(
    embedding: Any,
    codes: Codes,
    n_classes: int,
    factory: Factory,
    parameters: Mapping[str, Any] | None = None,
    *,
    shuffles: int = 20,
    seed: int = 0,
    progress: Progress | None = None,
) -> Summary:
    """Run an algorithm on every shuffle, each time from scratch.

    `codes` holds a class code a node, -1 where unlabelled: such nodes are left out.
    `parameters` go to the factory, a budget among them.

    >>> from querist import ALGORITHMS, datasets, embed
    >>> karate = datasets.load("karate")
    >>> summary = shuffled_runs(embed(karate, rank=8), karate.codes, 2, ALGORITHMS["msg"], shuffles=5)
    >>> f"{summary.queries.mean:.1f} questions, {summary.error_rate.mean:.1%} wrong"
    '11.4 questions, 12.9% wrong'
    """
    if shuffles < 1:
        raise InputError(f"{shuffles} shuffles; give at least 1")
    runs = _Runs(embedding, codes, n_classes, factory, dict(parameters or {}), seed)
    return runs.play([None] * shuffles, progress)


def shuffled_run(
    embedding: Any,
    codes: Codes,
    n_classes: int,
    factory: Factory,
    parameters: Mapping[str, Any],
    *,
    seed: int = 0,
    shuffle: int = 0,
    questions: int | None = None,
    rounds: int | None = None,
) -> Trace:
    """One run from scratch, over one shuffle or its first `rounds`.

    With `questions` the factory is that of `random_sampling(p=0.5)`, and it asks exactly so often.
    """
    order = shuffled(codes, seed, shuffle)[:rounds]
    draws = None if questions is None else random_rounds(order.size, questions, (seed, shuffle, 2))
    learner = factory(embedding, n_classes, seed=learner_seed(seed, shuffle), **parameters).by_row()
    return learner.run(order, codes, uniforms=draws)


def random_control(
    embedding: Any,
    codes: Codes,
    n_classes: int,
    like: Summary,
    parameters: Mapping[str, Any],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Summary:
    """Random asking in the same shuffles, each with as many questions as the run it stands beside.

    `like` is the summary to compare with, `parameters` are all parameters of its algorithm.
    """
    factory = ALGORITHMS["random_sampling"]
    runs = _Runs(embedding, codes, n_classes, factory, control_parameters(parameters), seed)
    return runs.play([round(count) for count in like.queries.runs], progress)


def control_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that make `random_sampling` the same kind of learner as an algorithm with these.

    A learner that learns from certain questions becomes one that learns every answer: random questions
    are never certain, and learning less would make the control too easy to beat.
    """
    return {
        "p": 0.5,
        "gamma": parameters.get("gamma", parameters.get("mu", 1.0)),
        "second_order": parameters.get("second_order", "gamma" in parameters or "mu" in parameters),
        "update": "mistake" if parameters.get("update") == "mistake" else "always",
        "target": parameters.get("target", "rival"),
        "scheme": parameters.get("scheme", "multiclass"),
    }


def shuffled(codes: Codes, seed: int, shuffle: int) -> Codes:
    """The labelled nodes in the order of one shuffle."""
    return np.random.default_rng((seed, shuffle)).permutation(np.flatnonzero(codes != UNLABELLED))


def learner_seed(seed: int, shuffle: int) -> int:
    """The seed of a learner's own draws in one shuffle."""
    return int(np.random.SeedSequence((seed, shuffle, 1)).generate_state(1)[0])


def random_rounds(rounds: int, count: int, seed: Sequence[int]) -> Floats:
    """(rounds,) uniforms with which `random_sampling(p=0.5)` asks in exactly `count` rounds, at random."""
    uniforms = np.full(rounds, 0.75)
    uniforms[np.random.default_rng(tuple(seed)).choice(rounds, size=count, replace=False)] = 0.25
    return uniforms


@dataclass(frozen=True)
class _Runs:
    """All that stays the same from shuffle to shuffle."""

    embedding: Any
    codes: Codes
    n_classes: int
    factory: Factory
    parameters: dict[str, Any]
    seed: int

    def play(self, counts: Sequence[int | None], progress: Progress | None) -> Summary:
        """One run an entry of `counts`: how many questions a random run asks, None for an algorithm."""
        if not (self.codes != UNLABELLED).any():
            raise InputError("no node is labelled, so there is no answer to give; label some nodes first")
        self._run(0, None, rounds=1)  # compiles, so that the clock below counts runs alone
        started, traces = time.perf_counter(), []
        for shuffle, count in enumerate(counts):
            traces.append(self._run(shuffle, count))
            if progress is not None:
                progress(shuffle + 1, len(counts))
        return Summary(
            error_rate=Spread(tuple(t.error_rate for t in traces)),
            queries=Spread(tuple(t.queries for t in traces)),
            updates=Spread(tuple(t.updates for t in traces)),
            rounds=len(traces[0]),
            seconds=time.perf_counter() - started,
        )

    def _run(self, shuffle: int, count: int | None, rounds: int | None = None) -> Trace:
        return shuffled_run(
            self.embedding,
            self.codes,
            self.n_classes,
            self.factory,
            self.parameters,
            seed=self.seed,
            shuffle=shuffle,
            questions=count,
            rounds=rounds,
        )
