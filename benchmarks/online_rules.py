"""Which rule asks the better questions? The query rules of the papers and both controls, by one learner.

Largest components, the embedding of `evaluate online` (normalised, rank 100), its shuffles, attributes
unseen, every parameter at its default. Two tables:

- paced: every rule asks the same number of questions (5, 10 and 20 % of the nodes), at the same times (`pace`
  1), and its learner learns every answer; rules differ only in which nodes they ask about. In the one-vs-rest
  scheme learners are those of sslgc13, which learn on mistakes, and errors are means over the classes.
- as they are: every algorithm of the papers with its own questions and updates. Beside it as many random
  questions, as many questions by the margin that come as early, and how many questions a plain margin
  threshold needs for the same error: the fewest over TAUS whose mean error is no larger.

A difference counts where the paired t-test over the shuffles has p < .05. Nothing was fixed on any of the
sets: the rules have the parameters of their papers' catalogue, and a pace leaves them none.

    python benchmarks/online_rules.py [SET ...] [--shuffles 10] [--gamma 1] [--budget 0.1 ...] [--json]
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

import querist
from querist.experiment.results import CONTROL, MARGIN
from querist.experiment.tasks.online import EmbeddedGraph, OnlineTask, controls
from querist.parameters import effective
from querist.stats import paired_t

SETS = (
    *("cora", "citeseer", "cora_ml", "dblp_four_area_1711", "political_blogs", "digits"),
    *("lastfm_asia", "amazon_photo", "pubmed"),
)
SHUFFLES = {"pubmed": 5}
"""Where fewer than asked for are run."""

ALWAYS, MISTAKE = {"update": "always"}, {"update": "mistake", "scheme": "one-vs-rest"}
PACED: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "multiclass": {
        "random": ("random_sampling", ALWAYS),
        "margin": ("margin_threshold", ALWAYS),
        "msg": ("msg", ALWAYS),
        "bbq": ("bbq", ALWAYS),
        "dgs": ("dgs", ALWAYS),
    },
    "one-vs-rest": {
        "random": ("random_sampling", MISTAKE),
        "margin": ("margin_threshold", MISTAKE),
        "sslgc": ("sslgc", MISTAKE),
    },
}
OWN: dict[str, dict[str, Any]] = {"msg": {}, "bbq": {}, "dgs": {"alpha": 1.0}, "sslgc": {}}
TAUS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)


class Bench:
    """One set, its rows, and runs over its shuffles."""

    def __init__(self, name: str, shuffles: int, gamma: float) -> None:
        self.graph = querist.datasets.load_graph(name).largest_component()
        print(self.graph.describe(), file=sys.stderr, flush=True)
        self.shuffles = min(shuffles, SHUFFLES.get(name, shuffles))
        self.gamma = gamma
        bare = self.graph.without_labels()
        self.place = EmbeddedGraph(self.graph, bare, lambda: querist.embed(bare), ranked=True)

    def trace(self, method: str, given: Mapping[str, Any], shuffle: int, questions: int | None = None) -> Any:
        """One run."""
        own = {**given, ("mu" if method == "sslgc" else "gamma"): self.gamma}
        return OnlineTask().played(self.place, method, own, 0, shuffle, questions)

    def row(self, table: str, line: str, traces: list[Any], **more: Any) -> dict[str, Any]:
        """The numbers of a line."""
        errors = [trace.error_rate for trace in traces]
        return {
            "table": table,
            "set": self.graph.name,
            "gamma": self.gamma,
            "line": line,
            "questions": float(np.mean([trace.queries for trace in traces])),
            "error": float(np.mean(errors)),
            "standard_error": float(np.std(errors, ddof=1) / np.sqrt(len(errors))),
            "errors": errors,
            **more,
        }

    def paced(self, shares: list[float]) -> Iterator[dict[str, Any]]:
        """Every rule at the same questions."""
        n = int(self.graph.labelled.size)
        for scheme, rules in PACED.items():
            for share in shares:
                spent = {"budget": max(1, round(share * n)), "pace": 1.0, "rounds": n}
                for line, (method, given) in rules.items():
                    traces = [self.trace(method, {**given, **spent}, s) for s in range(self.shuffles)]
                    yield self.row("paced", line, traces, share=share, scheme=scheme)

    def as_they_are(self) -> Iterator[dict[str, Any]]:
        """The papers' algorithms with their own questions, and what the controls do with as many."""
        plain: dict[str, list[tuple[float, float]]] = {}
        for method, given in OWN.items():
            factory = querist.ALGORITHMS[method]
            full = effective(factory, {**given, ("mu" if method == "sslgc" else "gamma"): self.gamma}, ())
            scheme = full.get("scheme", "multiclass")
            lines: dict[str, list[Any]] = {"": [], CONTROL: [], MARGIN: []}
            for shuffle in range(self.shuffles):
                trace = self.trace(method, given, shuffle)
                lines[""].append(trace)
                for prefix, (other, like, questions) in controls(method, given, full, trace).items():
                    lines[prefix].append(self.trace(other, like, shuffle, questions))
            if scheme not in plain:
                plain[scheme] = [self.plain(tau, full, scheme) for tau in TAUS]
            own = self.row("own", method, lines[""], scheme=scheme)
            enough = [asked for asked, error in plain[scheme] if error <= own["error"]]
            yield own | {"margin_needs": min(enough, default=None)}
            for prefix, words in ((CONTROL, "random"), (MARGIN, "margin")):
                yield self.row("own", f"{method}: {words}", lines[prefix], scheme=scheme)

    def plain(self, tau: float, full: Mapping[str, Any], scheme: str) -> tuple[float, float]:
        """Questions and error of a margin threshold as it is, with the updates of the control."""
        update = "mistake" if full["update"] == "mistake" else "always"
        given = {"tau": tau, "update": update, "scheme": scheme}
        traces = [self.trace("margin_threshold", given, s) for s in range(self.shuffles)]
        return float(np.mean([t.queries for t in traces])), float(np.mean([t.error_rate for t in traces]))


def better(row: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """1 where a line errs less than another on the same shuffles, -1 where more, 0 where nobody can tell."""
    if paired_t(row["errors"], other["errors"]).p >= 0.05:
        return 0
    return 1 if row["error"] < other["error"] else -1


def judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with `against_random` and `against_margin`, as `better` says."""
    found = []
    for row in rows:
        peers = {
            other["line"].rpartition(": ")[2]: other
            for other in rows
            if all(other.get(key) == row.get(key) for key in ("table", "set", "share", "scheme"))
            and (row["table"] == "paced" or other["line"].startswith(f"{row['line'].partition(':')[0]}:"))
        }
        control = row["line"].rpartition(": ")[2] in ("random", "margin")
        found.append(
            row
            | {
                f"against_{name}": better(row, peers[name])
                for name in ("random", "margin")
                if not (control and row["line"].endswith(name)) and name in peers
            }
        )
    return found


SIGNS = {1: "+", 0: "=", -1: "-", None: " "}


def show(row: Mapping[str, Any]) -> str:
    """A line of the tables."""
    signs = [SIGNS[row.get(f"against_{control}")] for control in ("random", "margin")]
    needs = row.get("margin_needs", "")
    return (
        f"{row['set']:<20} {row['scheme']:<12} {row['line']:<14} {row['questions']:>8,.0f}  "
        f"{row['error']:.4f}  {row['standard_error']:.4f}  {signs[0]:^6}  {signs[1]:^6}  "
        f"{'never' if needs is None else needs and f'{needs:,.0f}':>12}"
    )


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How often each rule is better and worse than each control."""
    lines = list(dict.fromkeys((row["table"], row["scheme"], row["line"]) for row in rows))
    said = []
    for table, scheme, line in lines:
        mine = [r for r in rows if (r["table"], r["scheme"], r["line"]) == (table, scheme, line)]
        for control in ("random", "margin"):
            verdicts = [r[f"against_{control}"] for r in mine if f"against_{control}" in r]
            if verdicts and ": " not in line:
                said.append(
                    f"{table:<6} {scheme:<12} {line:<8} against {control}: better {verdicts.count(1)}, equal "
                    f"{verdicts.count(0)}, worse {verdicts.count(-1)}"
                )
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SETS), help="names of data sets")
    parser.add_argument("--shuffles", type=int, default=10, help="at least 2")
    parser.add_argument("--gamma", type=float, default=1.0, help="of every learner")
    parser.add_argument(
        "--budget", type=float, nargs="+", default=[0.05, 0.1, 0.2], help="shares of the nodes"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.shuffles < 2:
        parser.error("--shuffles must be 2 or more: differences are judged over them")
    if not options.json:
        print(
            f"{'set':<20} {'scheme':<12} {'rule':<14} {'asked':>8}  {'error':<6}  {'s.e.':<6}  "
            "random  margin  margin needs"
        )
    rows: list[dict[str, Any]] = []
    for name in options.sets:
        bench = Bench(name, options.shuffles, options.gamma)
        mine = judged([*bench.paced(options.budget), *bench.as_they_are()])
        rows += mine
        if not options.json:
            print("\n".join(map(show, mine)), flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print("\n".join(["+ better than the control, - worse, = neither", *summary(rows)]))


if __name__ == "__main__":
    main()
