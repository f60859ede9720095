"""Which questions find most nodes of a rare class? Finds within half the size of the class.

The problems are those of rare_problems.py. A start is one node of the class, drawn at random and known; the
questions are those of `ask(find=...)`, about the likeliest node, and random ones, with the same learner. Last
come the finds as a share of the greedy ones, mean over the problems and the smallest; and the finds that were
expected of the next 50 questions half-way, against those that came.

    python benchmarks/finding.py [--data coauthor_cs ...] [--starts 3] [--first 0]
                                 [--ways greedy random] [--most 1000] [--json]

"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from querist.asking.choosers import Chance, target_scores, tried
from querist.asking.model import RANKS
from querist.asking.options import GREEDY
from querist.asking.specification import RANDOM, CampaignSpec
from querist.asking.state import CampaignState
from querist.asking.store.events import Event
from querist.embedding import Embedding
from querist.labelling.rows import quick_rows
from rare_problems import PROBLEMS, RareProblem, rare_problem

AHEAD = 50


def played(problem: RareProblem, rows: Embedding, way: str, start: int, budget: int) -> dict[str, float]:
    """Finds of a campaign, and what was expected half-way of the questions after."""
    codes = problem.codes
    first = int(np.random.default_rng(start).choice(np.flatnonzero(codes == 1)))
    find = None if way == RANDOM else problem.target
    own = CampaignSpec(
        graph="", nodes=len(codes), edges=0, classes=problem.classes, strategy=way, seed=start, find=find
    )
    state = CampaignState(own, problem.graph, rows)
    state.apply(Event(1, 0.0, "known", {"rows": [first], "codes": [1]}))
    finds, expected = [], float("nan")
    for t in range(budget):
        if t == budget // 2 and way != RANDOM:
            z = np.sort(target_scores(state.model, 1)[state.free])[::-1]
            expected = float(Chance.learned(*tried(state.turns, 1)).of(z[:AHEAD]).sum())
        pick = state.pick()
        assert pick is not None
        asked = {"row": pick.row, "audit": False, "value": pick.value, "chance": pick.chance}
        state.apply(Event(2 * t + 2, 0.0, "question", asked))
        state.apply(Event(2 * t + 3, 0.0, "answer", {"row": pick.row, "code": int(codes[pick.row])}))
        finds.append(int(codes[pick.row]))
    came = sum(finds[budget // 2 :][:AHEAD])
    return {"finds": float(sum(finds)), "expected": expected, "came": float(came)}


def measure(name: str, ways: Sequence[str], starts: range, most: int) -> dict[str, Any]:
    """All ways on one problem."""
    problem = rare_problem(name)
    rows = quick_rows(problem.graph, max(RANKS))
    size = int(problem.codes.sum())
    budget = min(size // 2, most)
    found: dict[str, list[dict[str, float]]] = {}
    for way in ways:
        found[way] = []
        for start in starts:
            found[way].append(played(problem, rows, way, start, budget))
            print(name, way, start, found[way][-1], file=sys.stderr, flush=True)
    return {"data": name, "class": problem.target, "size": size, "share": problem.share, "budget": budget} | {
        "ways": found
    }


def table(results: Sequence[dict[str, Any]]) -> str:
    """Mean finds by problem and way, ratios to greedy and random, and expected against actual finds."""
    ways = list(results[0]["ways"])
    lines = [f"{'problem':18}{'share':>7}{'budget':>8}" + "".join(f"{way:>9}" for way in ways)]
    ratios: dict[str, list[float]] = {way: [] for way in ways}
    for r in results:
        mean = {way: float(np.mean([one["finds"] for one in r["ways"][way]])) for way in ways}
        shown = "".join(f"{mean[way]:9.1f}" for way in ways)
        lines.append(f"{r['data']:18}{r['share']:7.1%}{r['budget']:8}{shown}")
        for way in ways:
            if "greedy" in mean:
                ratios[way].append(mean[way] / max(mean["greedy"], 1e-9))
    for word, of in (("mean", np.mean), ("least", min)):
        if "greedy" in ways:
            shown = "".join(f"{of(ratios[way]):9.3f}" for way in ways)
            lines.append(f"{f'of greedy, {word}':33}{shown}")
    for way in (way for way in ways if way != RANDOM):
        pairs = [(one["expected"], one["came"]) for r in results for one in r["ways"][way]]
        expected, came = np.sum(pairs, axis=0)
        lines.append(f"{way}: of the next {AHEAD}, {expected:.0f} expected in all and {came:.0f} found")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first start")
    parser.add_argument("--ways", nargs="+", default=[GREEDY, RANDOM], choices=[GREEDY, RANDOM])
    parser.add_argument("--most", type=int, default=10**9, help="questions at most, of half the class")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    starts = range(given.first, given.first + given.starts)
    results = [measure(name, given.ways, starts, given.most) for name in given.data]
    print(json.dumps(results) if given.json else table(results))


if __name__ == "__main__":
    main()
