"""Which questions serve the labels that are made in the end? Accuracy of `auto` after 50, 100, 200 answers.

Query strategies, random questions, and k-means centres: the nodes nearest to the centres of as many clusters
of the rows as there are answers, which must know that number before the first question; the pool need not. A
start is a random first question, from which a strategy goes on, or the seed of the clusters. Labels are made
of the answers by `auto`, as `ask` does; accuracy counts the nodes nobody was asked about. Vectors become
graphs of their ten nearest neighbours and stay the attributes.

Last come the answers after which a strategy is as good as 200 random ones, between the counts by straight
lines.

    python benchmarks/questions.py [--data cora citeseer pubmed] [--starts 10] [--first 0]
                                   [--answers 50 100 200] [--ways pool ambiguity centres] [--json]
                                   [--svg docs/images]
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import querist
from querist.asking.model import RANKS, QuickModel, leading
from querist.asking.specification import RANDOM, resolve_strategy
from querist.asking.strategies import STRATEGIES
from querist.collective.problem import pose
from querist.datasets.resolve import read_set
from querist.embedding import Embedding
from querist.labelling.choose import choose
from querist.labelling.rows import CHOOSING_RANK, quick_rows
from querist.labelling.suggest import best
from querist.labelling.workspace import Workspace
from querist.report import charts
from querist.report.figures import PAGE_SIZE, Figure, standalone
from querist.tables.formats import Vectors
from querist.types import Codes

DATA = ("cora", "citeseer", "pubmed")
ANSWERS = (50, 100, 200)
CENTRES = "centres"
POOL = "pool"
WAYS = (POOL, "ambiguity", CENTRES)


def load(name: str) -> Any:
    """A graph; vectors become that of their ten nearest neighbours and stay its attributes."""
    found = read_set(name)
    if isinstance(found, Vectors):
        return querist.from_points(found.X, labels=found.y.tolist(), name=name)
    return found


@dataclass
class Asked:
    """A graph with its answers, and what all ways to ask share."""

    graph: Any
    codes: Codes
    rows: Embedding
    workspace: Workspace
    seconds: list[float] = field(default_factory=list)
    """How long the questions of strategies took, each."""

    @staticmethod
    def of(name: str) -> "Asked":
        graph = load(name)
        bare = graph.without_labels()
        return Asked(bare, np.asarray(graph.codes), quick_rows(bare, max(RANKS)), Workspace(bare))

    def random(self, start: int, answers: Sequence[int]) -> dict[int, Codes]:
        """Questions drawn at random, by their number."""
        order = np.random.default_rng(start).permutation(np.flatnonzero(self.codes >= 0))
        return {count: order[:count] for count in answers}

    def by_strategy(self, name: str, start: int, answers: Sequence[int]) -> dict[int, Codes]:
        """Questions of a strategy, or of the default for the graph, the first one drawn at random."""
        strategy = STRATEGIES[resolve_strategy(name, graph=self.graph)]
        asked, free = [int(self.random(start, [1])[1][0])], self.codes >= 0
        model = QuickModel.start(self.rows, self.n_classes, centred=strategy.centred)
        while len(asked) < max(answers):
            started = time.thread_time()
            free[asked[-1]] = False
            model = model.learn(asked[-1], int(self.codes[asked[-1]]))
            row = best(strategy(model), free)
            assert row is not None
            asked.append(row)
            self.seconds.append(time.thread_time() - started)
        return {count: np.array(asked[:count]) for count in answers}

    def centres(self, start: int, answers: Sequence[int]) -> dict[int, Codes]:
        """The nodes nearest to the centres of k-means."""
        from sklearn.cluster import KMeans

        rows, found = leading(self.rows, CHOOSING_RANK), {}
        for count in answers:
            distances = KMeans(count, random_state=start, n_init=1, max_iter=50).fit(rows).transform(rows)
            distances[self.codes < 0] = np.inf
            found[count] = np.unique(distances.argmin(axis=0))
        return found

    def accuracy(self, asked: Codes, picked: bool) -> float:
        """Of the labels that `auto` makes, on the nodes nobody was asked about."""
        given = np.full(self.graph.n_nodes, -1)
        given[asked] = self.codes[asked]
        problem = pose(self.graph, given, classes=range(self.n_classes), missing=-1)
        found = choose(problem, workspace=self.workspace, picked=picked)
        free = self.codes >= 0
        free[asked] = False
        return float((found.probabilities.argmax(axis=1) == self.codes)[free].mean())

    @property
    def n_classes(self) -> int:
        return int(self.codes.max()) + 1


def measure(name: str, ways: Sequence[str], starts: range, answers: Sequence[int]) -> dict[str, Any]:
    place = Asked.of(name)
    print(place.graph.describe(), file=sys.stderr)
    special: dict[str, Callable[..., dict[int, Codes]]] = {RANDOM: place.random, CENTRES: place.centres}
    curves: dict[str, list[list[float]]] = {}
    for way in (RANDOM, *ways):
        curves[way] = []
        for start in starts:
            picks = special[way](start, answers) if way in special else place.by_strategy(way, start, answers)
            curves[way].append([place.accuracy(asked, way != RANDOM) for asked in picks.values()])
            print(name, way, start, np.round(curves[way][-1], 4).tolist(), file=sys.stderr, flush=True)
    target = float(np.mean(curves[RANDOM], axis=0)[-1])
    return {
        "data": name,
        "starts": [starts.start, starts.stop - 1],
        "answers": list(answers),
        "accuracy": curves,
        "as_random": {way: reach(answers, np.mean(curves[way], axis=0).tolist(), target) for way in ways},
        "seconds_per_question": float(np.mean(place.seconds)) if place.seconds else None,
    }


def reach(answers: Sequence[int], curve: Sequence[float], target: float) -> float | None:
    """Answers after which the curve is at the target and stays so, by straight lines; None if it never is.

    >>> reach([50, 100, 200], [0.6, 0.7, 0.8], 0.75), reach([50, 100], [0.8, 0.9], 0.7)
    (150.0, 50.0)
    """
    below = [k for k, value in enumerate(curve) if value < target]
    if not below:
        return float(answers[0])
    last = below[-1]
    if last + 1 == len(curve):
        return None
    share = (target - curve[last]) / (curve[last + 1] - curve[last])
    return answers[last] + share * (answers[last + 1] - answers[last])


def table(result: dict[str, Any]) -> str:
    """Mean accuracies, and how far each way is ahead of random questions, with the standard error."""
    first, last = result["starts"]
    counts = result["answers"]
    lines = [
        f"{result['data']}, mean of the starts {first} to {last}",
        f"{'':12}" + "".join(f"{count:>7}" for count in counts) + "    ahead of random, points    as random",
    ]
    control = np.array(result["accuracy"][RANDOM])
    for way, found in result["accuracy"].items():
        ahead = 100 * (np.array(found) - control)
        error = ahead.std(axis=0, ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else np.zeros(len(counts))
        means = "".join(f"{value:7.3f}" for value in np.mean(found, axis=0))
        if way == RANDOM:
            lines.append(f"{way:12}{means}")
            continue
        points = "  ".join(f"{a:+5.1f} ({e:.1f})" for a, e in zip(ahead.mean(axis=0), error, strict=True))
        needed = result["as_random"][way]
        lines.append(f"{way:12}{means}   {points}   {'-' if needed is None else round(needed)}")
    return "\n".join(lines)


def means(results: Sequence[dict[str, Any]]) -> str:
    """How far each way is ahead of random questions, on average over the sets."""
    mean = lambda way: np.mean([np.mean(r["accuracy"][way], axis=0) for r in results], axis=0)  # noqa: E731
    ways = [way for way in results[0]["accuracy"] if way != RANDOM]
    ahead = {way: "".join(f"{100 * a:+7.1f}" for a in mean(way) - mean(RANDOM)) for way in ways}
    said = f"mean of {len(results)} sets, points ahead of random after {results[0]['answers']} answers"
    return "\n".join([said, *(f"{way:12}{points}" for way, points in ahead.items())])


def drawing(result: dict[str, Any]) -> str:
    """The first strategy and random asking."""
    way = next(iter(result["as_random"]))
    x = np.array(result["answers"])
    drawn = {
        shown: (x, np.mean(result["accuracy"][name], axis=0))
        for name, shown in ((way, f"pool, {way}"), (RANDOM, RANDOM))
    }

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        charts.curves(axes, drawn, x_label="answers", y_label=f"accuracy on {result['data']}")
        charts.few_ticks(axes.yaxis, percent=True)

    said = f"Accuracy of the labels made of so many answers on {result['data']}: {way} and random questions"
    return standalone(Figure("questions", draw, size=PAGE_SIZE, description=said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first start")
    parser.add_argument("--answers", type=int, nargs="+", default=list(ANSWERS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=[POOL, *STRATEGIES, CENTRES])
    parser.add_argument("--svg", type=Path, help="a folder for the curves, questions_cora.svg and so on")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results = []
    for name in given.data:
        starts = range(given.first, given.first + given.starts)
        results.append(measure(name, given.ways, starts, sorted(given.answers)))
        if not given.json:
            print(table(results[-1]), end="\n\n", flush=True)
        if given.svg:
            (given.svg / f"questions_{name}.svg").write_text(drawing(results[-1]), encoding="utf-8")
    if given.json:
        print(json.dumps(results))
    elif len(results) > 1:
        print(means(results))


if __name__ == "__main__":
    main()
