"""How many mistakes with so many questions? Online learners on the graph alone, on the same shuffles.

Largest components, attributes unseen. Lines:

- paced: ours, with its defaults;
- random, same pace: the same learner, asking as often at the same times about random nodes;
- random, first: the same learner, asking about the first nodes until the budget is spent;
- margin, same pace: the same learner, asking at the same times about the closest calls (`spread` 0);
- msg: msg16 on the normalised embedding, h and gamma chosen for every line on these very shuffles, in its
  favour;
- all labels: our learner without a budget;
- fastonl: Zhou, Sun and Babanezhad (2023), all labels.

The constants of `paced` were fixed on the sets of DEVELOPED; its form, before, on Cora, Citeseer and PubMed.
Time is the processor time of one thread, without the embedding. The shuffles are those of `evaluate online`.

    python benchmarks/online_questions.py [SET ...] [--shuffles 20] [--budget N ...] [--fastonl 3] [--json]
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

import querist
from querist.experiment.tasks.online import learner_seed, shuffled

DEVELOPED = ("citeseer", "cora_ml", "political_blogs", "dblp_four_area_1711", "amazon_computers")
BUDGETS: dict[str, tuple[int, ...]] = {
    "cora": (920, 500),
    "pubmed": (930,),
    "lastfm_asia": (1000, 300),
    "amazon_photo": (1000, 300),
    "facebook_pages": (2000, 600),
    "citeseer": (800, 400),
    "cora_ml": (800, 400),
    "political_blogs": (300, 100),
    "dblp_four_area_1711": (600, 300),
    "amazon_computers": (1000, 300),
}
SHUFFLES = {"pubmed": 5, "facebook_pages": 5, "amazon_computers": 5}
"""Where fewer than asked for are run."""


class Bench:
    """One set: its graph, its embeddings, and runs over its shuffles."""

    def __init__(self, name: str, shuffles: int) -> None:
        self.graph = querist.datasets.load_graph(name).largest_component()
        print(self.graph.describe(), file=sys.stderr, flush=True)
        self.shuffles = min(shuffles, SHUFFLES.get(name, shuffles))
        bare = self.graph.without_labels()
        self.local, self.spectral = querist.embed(bare, kind="pagerank"), querist.embed(bare)
        print(self.local.report(), file=sys.stderr, flush=True)

    def run(self, line: str, budget: int | None, make: Callable[[int], Any], shuffles: int) -> dict[str, Any]:
        """Mean and standard error of a learner's error rate, its questions and its time a round."""
        graph, errors, questions, seconds = self.graph, [], [], 0.0
        make(0).by_row().run([0, 1], graph.codes)
        for shuffle in range(shuffles):
            order = shuffled(graph.codes, 0, shuffle)
            learner = make(learner_seed(0, shuffle)).by_row()
            started = time.thread_time()
            trace = learner.run(order, graph.codes)
            seconds += time.thread_time() - started
            errors.append(trace.error_rate)
            questions.append(trace.questions)
        return {
            "set": graph.name,
            "line": line,
            "budget": budget,
            "questions": float(np.mean(questions)),
            "error": float(np.mean(errors)),
            "standard_error": float(np.std(errors, ddof=1) / np.sqrt(shuffles)) if shuffles > 1 else None,
            "shuffles": shuffles,
            "ms_a_round": 1e3 * seconds / shuffles / graph.labelled.size,
        }

    def lines(self, budgets: Sequence[int], fastonl: int) -> list[dict[str, Any]]:
        """All lines of the set."""
        K, found, all_of = self.graph.n_classes, [], querist.ALGORITHMS
        ours, n = all_of["paced"], self.graph.n_nodes
        for budget in budgets:
            for line, options in (
                ("paced", {}),
                ("random, same pace", {"at_random": True}),
                ("random, first", {"at_random": True, "pace": float(n)}),
                ("margin, same pace", {"spread": 0.0}),
            ):
                found.append(
                    self.run(
                        line,
                        budget,
                        lambda seed, o=options, b=budget: ours(self.local, K, seed=seed, budget=b, **o),
                        self.shuffles,
                    )
                )
            rivals = [
                self.run(
                    f"msg, h {h:g}, gamma {gamma:g}",
                    budget,
                    lambda seed, h=h, g=gamma, b=budget: all_of["msg"](
                        self.spectral, K, seed=seed, budget=b, h=h, gamma=g
                    ),
                    self.shuffles,
                )
                for h, gamma in product((1e-4, 1e-3, 1e-2, 1e-1), (0.01, 1.0))
            ]
            found.append(min(rivals, key=lambda row: row["error"]))
        found.append(self.run("all labels", None, lambda seed: ours(self.local, K, seed=seed), self.shuffles))
        if fastonl:
            shuffles = min(fastonl, self.shuffles)
            found.append(
                self.run("fastonl", None, lambda seed: all_of["fastonl"](self.graph, K, seed=seed), shuffles)
            )
        return found


def show(row: dict[str, Any]) -> str:
    """A line of the table."""
    spread = "" if row["standard_error"] is None else f"{row['standard_error']:.4f}"
    return (
        f"{row['set']:<20} {row['line']:<26} {row['questions']:>7,.0f}  {row['error']:.4f}  {spread:>6}  "
        f"{row['shuffles']:>3}  {row['ms_a_round']:>8.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "sets", nargs="*", default=list(BUDGETS), help=f"of {', '.join(BUDGETS)}; any other with --budget"
    )
    parser.add_argument("--shuffles", type=int, default=20)
    parser.add_argument("--budget", type=int, nargs="+", help="questions; those of the set unless given")
    parser.add_argument("--fastonl", type=int, default=3, help="shuffles of FastONL, which is slow; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    unknown = set(options.sets) - set(BUDGETS)
    if unknown and not options.budget:
        parser.error(f"no budget is known for {', '.join(sorted(unknown))}; give --budget")
    if not options.json:
        print(f"{'set':<20} {'line':<26} {'asked':>7}  {'error':<6}  {'s.e.':>6}  {'of':>3}  ms a round")
    rows = []
    for name in options.sets:
        for row in Bench(name, options.shuffles).lines(options.budget or BUDGETS[name], options.fastonl):
            rows.append(row | {"developed_on": name in DEVELOPED})
            if not options.json:
                print(show(row), flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
