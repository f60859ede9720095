"""Is `ask` as right as it says? Its confidence, the interval of the audit, the progress line, the stop rule.

A campaign starts from one known label, drawn at random, and asks as many questions of the pool as the largest
number of `--answers`, and `--audit` random questions. The table has, for each data set:

- accuracy, confidence and ECE of the labels made from so many answers, on nodes nobody was asked about; ECE
  is the mean distance between confidence and accuracy in 15 equal bins;
- held, width: campaigns whose 95 % interval of the audit holds that accuracy, and the median width in points;
- progress: the mean absolute difference in points of `expected_accuracy` and the accuracy of the model on
  all nodes, after each quarter of the questions; auto: the same at the end, for the labels of `auto`;
- gain: the expected gain of an answer, as a multiple of the accuracy gained, after the first quarter.

Without an audit there is no progress line. No constant was fixed on the report half.

    python benchmarks/confidence.py [--data cora citeseer] [--starts 5] [--answers 140] [--audit 40] [--json]
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import querist
from querist.asking import campaign
from querist.asking.campaign import Asking
from querist.labelling import labelling
from querist.types import Bools, Codes, Floats
from questions import load

HALVES = {
    "development": [
        "cora_ml",
        "dblp_four_area",
        "amazon_photo",
        "political_blogs",
        "flickr_attr",
        "imdb_coactor",
    ],
    "report": ["cora", "citeseer", "pubmed", "lastfm_asia", "blogcatalog_attr", "chameleon_filtered"],
}
BINS, EVERY = 15, 5


class SharedWork:
    """Embeds each graph once for all its campaigns, which changes no result."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, int], tuple[Any, Any]] = {}
        rows, workspace = campaign.quick_rows, labelling.Workspace
        setattr(campaign, "quick_rows", lambda graph, rank, **_: self.once("rows", graph, rows, rank))  # noqa: B010
        setattr(labelling, "Workspace", lambda graph, **_: self.once("workspace", graph, workspace))  # noqa: B010

    def once(self, what: str, graph: Any, make: Callable[..., Any], *options: Any) -> Any:
        key = what, id(graph)
        if key not in self.made:
            self.made[key] = graph, make(graph, *options)  # keeps the graph, so that no other gets its id
        return self.made[key][1]


def ece(confidence: Floats, right: Bools) -> float:
    """The mean distance of confidence and accuracy over equal bins, weighted by their nodes."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, confidence - right)).sum() / confidence.size)


def accuracy_now(asking: Asking, codes: Codes) -> float:
    """Of the labels that the model would make, answers included."""
    model = asking.state.model
    right = np.asarray(model.reached & (model.scores.argmax(axis=1) == codes))
    right[list({**asking.state.known, **asking.state.answers()})] = True
    return float(right[codes >= 0].mean())


def run(graph: Any, codes: Codes, start: int, answers: Sequence[int], audit: int) -> dict[str, Any]:
    """One campaign, and what came of it."""
    first, most = int(np.random.default_rng(start).choice(np.flatnonzero(codes >= 0))), max(answers)
    asking = querist.ask(
        graph,
        budget=most + audit,
        classes=range(int(codes.max()) + 1),
        labels={graph.nodes[first]: int(codes[first])},
        audit=audit,
        seed=start,
    )
    progress, gains = [], []
    while (question := asking.question) is not None:
        if codes[question.row] < 0:
            asking.skip()
            continue
        count = len(asking.state.answers(audit=False))
        if count % EVERY == 0 and not question.audit:
            gains.append([count, asking.state.model.expected_gain(question.row), accuracy_now(asking, codes)])
        asking.answer(int(codes[question.row]))
        if not question.audit and count + 1 in {most * k // 4 for k in (1, 2, 3, 4)}:
            progress.append([asking.expected_accuracy, accuracy_now(asking, codes)])
    chosen, made = list(asking.state.answers(audit=False).items()), {}
    for count in sorted(answers):
        found = asking.label_from(dict(chosen[:count]))
        free = codes >= 0
        free[[first, *asking.state.answers(audit=True), *(row for row, _ in chosen[:count])]] = False
        right = np.array([-1 if name is None else name for name in found.labels]) == codes
        seen = free & found.reached
        made[count] = {
            "accuracy": float(right[free].mean()),
            "confidence": float(found.probability[seen].mean()),
            "ece": ece(found.probability[seen], right[seen]),
        }
    right[~free] = True
    end = [asking.expected_accuracy, float(right[codes >= 0].mean())]
    low, high = (0.0, 1.0) if asking.audit is None else asking.audit.interval
    holds = bool(low <= made[most]["accuracy"] <= high)
    return {"labels": made, "progress": progress, "end": end, "gains": gains, "interval": [low, high, holds]}


def measure(name: str, starts: int, answers: Sequence[int], audit: int) -> dict[str, Any]:
    """The means over the campaigns on a data set; their widths and gains one by one."""
    graph = load(name)
    bare, codes, runs = graph.without_labels(), np.asarray(graph.codes), []
    for start in range(starts):
        runs.append(run(bare, codes, start, answers, audit))
        said = {
            count: {key: round(x, 3) for key, x in own.items()} for count, own in runs[-1]["labels"].items()
        }
        print(name, start, said, file=sys.stderr, flush=True)
    off = lambda pairs: float(np.mean([abs(a - b) for a, b in pairs if a is not None] or [np.nan]))  # noqa: E731
    late = [[gain for gain in each["gains"] if gain[0] >= max(answers) / 4] for each in runs]
    gained = sum(own[-1][2] - own[0][2] for own in late if own)
    return {
        "data": name,
        "campaigns": len(runs),
        "labels": {
            count: {
                key: float(np.mean([each["labels"][count][key] for each in runs]))
                for key in runs[0]["labels"][count]
            }
            for count in sorted(answers)
        },
        "held": sum(each["interval"][2] for each in runs),
        "widths": [each["interval"][1] - each["interval"][0] for each in runs],
        "progress": off([pair for each in runs for pair in each["progress"]]),
        "progress_auto": off([each["end"] for each in runs]),
        "gain": EVERY * sum(gain[1] for own in late for gain in own[:-1]) / max(gained, 1e-9),
    }


def mean(results: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Of several data sets, each counting the same; widths are pooled, and of gains it is the median."""
    counts = results[0]["labels"]
    return {
        "data": name,
        "campaigns": sum(each["campaigns"] for each in results),
        "labels": {
            count: {
                key: float(np.mean([each["labels"][count][key] for each in results])) for key in counts[count]
            }
            for count in counts
        },
        "held": sum(each["held"] for each in results),
        "widths": [width for each in results for width in each["widths"]],
        **{key: float(np.mean([each[key] for each in results])) for key in ("progress", "progress_auto")},
        "gain": float(np.median([each["gain"] for each in results])),
    }


def line(found: dict[str, Any]) -> str:
    """A row of the table."""
    labels = "".join(
        f"{100 * own['accuracy']:8.1f}{100 * own['confidence']:7.1f}{own['ece']:7.3f}"
        for own in found["labels"].values()
    )
    width = 100 * float(np.median(found["widths"]))
    audit = (
        f"{found['held']:6d} of {found['campaigns']:<3d}{width:6.1f}" if width < 100 else f"{'no audit':>19}"
    )
    progress = f"{100 * found['progress']:9.1f}{100 * found['progress_auto']:6.1f}"
    return f"{found['data']:20}{labels}{audit}{progress}{found['gain']:7.1f}"


def head(answers: Sequence[int]) -> str:
    """The names of the columns."""
    labels = "".join(f"{f'acc {count}':>8}{'conf':>7}{'ECE':>7}" for count in sorted(answers))
    return f"{'':20}{labels}{'held':>6}{'':7}{'width':>5}{'progress':>9}{'auto':>6}{'gain':>7}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[name for half in HALVES.values() for name in half])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--answers", type=int, nargs="+", default=[140])
    parser.add_argument("--audit", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    SharedWork()
    results = []
    if not given.json:
        print(head(given.answers))
    for name in given.data:
        results.append(measure(name, given.starts, given.answers, given.audit))
        if not given.json:
            print(line(results[-1]), flush=True)
    halves = {half: [each for each in results if each["data"] in names] for half, names in HALVES.items()}
    results += [mean(own, half) for half, own in {**halves, "all": results}.items() if own]
    if given.json:
        print(json.dumps(results))
    else:
        print("\n".join(line(found) for found in results if found["data"] in (*HALVES, "all")))


if __name__ == "__main__":
    main()
