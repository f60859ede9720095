"""Rare classes: are the labels, the probabilities and the intervals of `label` fit to act on?

    python benchmarks/rare.py [--sets NAME,...] [--shares 0.01,0.05] [--draws 10] [--peers NAME,...]
                              [--out DIR] [--json]

The problems are those of rare_problems.py. Labels of a share of all nodes are drawn at random. A draw with
fewer than 5 labels of the class is passed over (its labels must be said to be too few, which is checked on
the first such draw); TRIES draws are looked at, so that where 5 are unlikely there are fewer draws. Those
that remain have more labels of the class than its share: the protocol, not the labels, is to blame for a part
of the error there.

Of every draw, on the unlabelled nodes: F1 of the class with `goal="f1"`, and that of the best threshold on
the same probabilities, chosen with hindsight; the calibration error of the class among the first twice the
class's size; log-loss, and that of the labels' share as a constant; whether the stated intervals of precision
and recall hold the truth, and how wide they are.

Peers, which call a node by its likelier class: `sknetwork` is scikit-network's diffusion or PageRank with the
setting of the best cross-validated F1 of the class, then log-loss; `gcn` a graph convolutional network of 16
hidden units (label_efficiency_networks.py), its rate and epochs chosen likewise. Settings are chosen on the
first draw of a problem and a share.

Every draw is a small file in `--out`; those that are there are not done again. The constants of
labelling/decisions were fixed on cora, cora_ml, lastfm_asia, amazon_photo and planted graphs, and three draws
of uai2010 were looked at meanwhile.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import querist
from querist.labelling.decisions.calibrate import calibration_error
from querist.labelling.decisions.estimate import LEAST, average_precision
from querist.labelling.decisions.summary import too_few
from querist.labelling.folds import stratified
from querist.labels import Labels
from rare_problems import PROBLEMS, rare_problem

SHARES = (0.01, 0.05)
DRAWS, TRIES = 10, 60
CLASSES = ("rest", "rare")
HIDDEN, RATES, EPOCHS, FOLDS = 16, (0.01, 0.05), (50, 100, 200), 3
GAP, ERROR, COVER = 0.05, 0.08, (0.90, 0.98)
"""What is to be reached: F1 behind the best threshold, calibration error, share of intervals that hold."""

Numbers: TypeAlias = dict[str, Any]


# -- problems --------------------------------------------------------------------------------------


def problem(name: str) -> Any:
    """A graph whose classes are CLASSES."""
    found = rare_problem(name)
    return replace(found.graph, known=Labels(found.codes, CLASSES))


def drawn(codes: Any, share: float, tries: int = TRIES) -> Iterator[tuple[int, Any]]:
    """Numbers of draws, and the labelled nodes of each."""
    for trial in range(tries):
        generator = np.random.default_rng((trial, round(1000 * share)))
        yield trial, np.sort(generator.choice(codes.size, round(share * codes.size), replace=False))


# -- measures --------------------------------------------------------------------------------------


def f1(truth: Any, called: Any) -> float:
    """Of 0/1 truth and calls; 0 where nothing is right."""
    both = truth.sum() + called.sum()
    return float(2 * (truth * called).sum() / both) if both else 0.0


def best_f1(truth: Any, p: Any) -> float:
    """The F1 of the best threshold on p; equal ones are called together."""
    order = np.argsort(-p, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(p[order])), p.size - 1)
    right = np.cumsum(truth[order])[ends]
    return float((2 * right / (ends + 1 + truth.sum())).max())


def log_loss(truth: Any, p: Any) -> float:
    kept = np.clip(p, 1e-12, 1 - 1e-12)
    return float(-np.mean(np.where(truth > 0, np.log(kept), np.log1p(-kept))))


def ours(graph: Any, seeds: Any) -> Numbers:
    """Everything that is measured of `label` in one draw."""
    truth, free = graph.codes, np.ones(graph.n_nodes, dtype=bool)
    free[seeds] = False
    started = time.process_time()
    found = querist.label(
        graph.without_labels(),
        {graph.nodes[i]: CLASSES[truth[i]] for i in seeds},
        classes=CLASSES,
        goal="f1",
    )
    seconds = time.process_time() - started
    share = truth[seeds].mean()
    p = np.where(found.reached, found.probabilities[:, 1], share)[free]
    called, own = found.said[free, 1], truth[free]
    right = float((called * own).sum())
    first = np.argsort(-p, kind="stable")[: 2 * int(own.sum())]
    said = found.estimate.classes[1]
    actual = {"precision": right / max(1, called.sum()), "recall": right / own.sum()}
    intervals = {
        name: {"truth": value, "low": getattr(said, name).low, "high": getattr(said, name).high}
        for name, value in actual.items()
        if name == "recall" or called.any()
    }
    return {
        "labels": int(truth[seeds].sum()),
        "f1": f1(own, called),
        "best_f1": best_f1(own, p),
        "likeliest_f1": f1(own, p > 0.5),
        "average_precision": average_precision(own, p),
        "calibration_error": calibration_error(p[first], own[first]),
        "log_loss": log_loss(own, p),
        "constant_log_loss": log_loss(own, np.full(own.size, share)),
        "intervals": intervals,
        "seconds": round(seconds, 1),
    }


def says_too_few(graph: Any, seeds: Any) -> bool:
    """Whether a labelling from fewer than LEAST labels of the class says so, by any method."""
    found = querist.label(
        graph.without_labels(),
        {graph.nodes[i]: CLASSES[graph.codes[i]] for i in seeds},
        classes=CLASSES,
        method="diffusion",
    )
    return any(text.startswith("rare:") for text in too_few(found))


# -- peers -----------------------------------------------------------------------------------------

Peer: TypeAlias = Callable[[Any, Any, Any], tuple[float, Any]]
"""From a graph, seeds and a setting (None: to be chosen) to F1 and the setting."""


def sknetwork(graph: Any, seeds: Any, setting: Any) -> tuple[float, Any]:
    from label_efficiency_peers import Features, Split, diffusion, pagerank

    split = Split(Features(graph), seeds, stratified(graph.codes[seeds], 5, seed=0))
    fits = {
        f"{kind.__name__} {key}": fit
        for kind in (diffusion, pagerank)
        for key, fit in kind(split, {}).items()
    }

    def merit(name: str) -> tuple[float, float]:
        p = np.zeros(seeds.size)
        for fold in np.unique(split.folds):
            out = split.folds == fold
            p[out] = fits[name](~out, seeds[out])[:, 1]
        return f1(split.codes, p > 0.5), -log_loss(split.codes, p)

    setting = max(fits, key=merit) if setting is None else setting
    free = np.setdiff1d(np.arange(graph.n_nodes), seeds)
    P = fits[setting](np.ones(seeds.size, dtype=bool), slice(None))
    return f1(graph.codes[free], P[free].argmax(axis=1)), setting


def gcn(graph: Any, seeds: Any, setting: Any) -> tuple[float, Any]:
    import scipy.sparse as sp
    import torch

    import label_efficiency_networks as networks
    from label_efficiency import packed

    torch.manual_seed(0)
    torch.set_num_threads(1)
    networks.DENSE = 0.05
    arrays = {"codes": graph.codes.astype(np.int8)}
    arrays |= packed("S", sp.triu(abs(graph.adjacency), 1, format="csr"))
    if graph.attributes is not None:
        X = sp.csr_array(graph.attributes)
        if (X.data < 0).any():  # numbers, no counts
            dense = X.toarray()
            X = sp.csr_array((dense - dense.mean(axis=0)) / np.maximum(dense.std(axis=0), 1e-12))
        arrays |= packed("X", X) | {"X_columns": np.array(X.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(path, **arrays)
        task = networks.Task(path, "cpu")
    scaling = "raw" if graph.attributes is not None and graph.attributes.shape[1] < 100 else "row"

    def judge(logits: Any, jobs: Any) -> list[tuple[Any, Any]]:
        P = logits.softmax(dim=-1)[:, :, 1].numpy()
        return [(graph.codes[job.judged], P[job.judged, b]) for b, job in enumerate(jobs)]

    def trained(rate: float, jobs: Any, epochs: Sequence[int]) -> list[Any]:
        return networks.train(task, "gcn", networks.Setting(scaling, HIDDEN, rate, 0), jobs, judge, epochs)

    if setting is None:
        folds, merits = stratified(graph.codes[seeds], FOLDS, seed=0), {}
        parts = [folds == fold for fold in range(FOLDS) if (folds == fold).any()]
        jobs = [networks.Job(seeds[~out], seeds[out]) for out in parts]
        for rate in RATES:
            told = trained(rate, jobs, EPOCHS)
            for place, epochs in enumerate(EPOCHS):
                truth, p = (np.concatenate([curve[place][part] for curve in told]) for part in (0, 1))
                merits[rate, epochs] = f1(truth, p > 0.5), -log_loss(truth, p)
        setting = max(merits, key=merits.__getitem__)
    rate, epochs = setting
    free = np.setdiff1d(np.arange(graph.n_nodes), seeds)
    ((truth, p),) = trained(rate, [networks.Job(seeds, free)], [int(epochs)])[0]
    return f1(truth, p > 0.5), setting


PEERS: dict[str, Peer] = {"sknetwork": sknetwork, "gcn": gcn}


# -- the work --------------------------------------------------------------------------------------


def work(name: str, share: float, draws: int, peers: Sequence[str], out: Path) -> None:
    """The draws of a problem and a share that are not in `out` yet, or lack a peer."""
    graph, done, passed = None, 0, False
    settings: dict[str, Any] = dict.fromkeys(peers)

    def whole() -> Any:
        nonlocal graph
        graph = problem(name) if graph is None else graph
        return graph

    codes_file = out / f"{name}_codes.npy"
    if not codes_file.is_file():
        np.save(codes_file, whole().codes)
    codes = np.load(codes_file)
    for trial, seeds in drawn(codes, share):
        if done == draws:
            return
        file = out / f"{name}_{share}_{trial}.json"
        numbers = json.loads(file.read_text()) if file.is_file() else {}
        if codes[seeds].sum() < LEAST:
            if not passed and not numbers and codes[seeds].sum():
                keep(file, {"labels": int(codes[seeds].sum()), "says_too_few": says_too_few(whole(), seeds)})
            passed = passed or bool(codes[seeds].sum())
            continue
        done += 1
        if "f1" not in numbers:
            numbers |= ours(whole(), seeds)
            keep(file, numbers)
        for peer in peers:
            settings[peer] = settings[peer] or numbers.get(f"{peer}_setting")
            if peer not in numbers:
                numbers[peer], settings[peer] = PEERS[peer](whole(), seeds, settings[peer])
                numbers[f"{peer}_setting"] = settings[peer]
                keep(file, numbers)
        print(f"{name} {share:.0%} draw {trial}: {brief(numbers)}", file=sys.stderr, flush=True)


def keep(file: Path, numbers: Numbers) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(numbers))
    part.rename(file)


def brief(numbers: Numbers) -> str:
    shown = ("labels", "f1", "best_f1", "calibration_error", *(p for p in PEERS if p in numbers), "seconds")
    return ", ".join(f"{name} {round(numbers[name], 3)}" for name in shown if name in numbers)


# -- the table -------------------------------------------------------------------------------------


def summary(found: dict[str, list[Numbers]]) -> Numbers:
    """Means by problem and share, intervals pooled, and whether each target is reached."""
    rows: dict[str, Numbers] = {}
    for key, draws in found.items():
        full = [numbers for numbers in draws if "f1" in numbers]
        few = [numbers["says_too_few"] for numbers in draws if "says_too_few" in numbers]
        names = [name for name in full[0] if not isinstance(full[0][name], dict | str | list)] if full else []
        means = {
            name: float(np.mean([numbers[name] for numbers in full]))
            for name in names
            if all(name in numbers for numbers in full)
        }
        rows[key] = {"draws": len(full), **means, "says_too_few": all(few) if few else None}
    pooled = {}
    for name in ("precision", "recall"):
        said = [
            n["intervals"][name] for draws in found.values() for n in draws if name in n.get("intervals", ())
        ]
        if said:
            pooled[name] = {
                "intervals": len(said),
                "cover": float(np.mean([one["low"] <= one["truth"] <= one["high"] for one in said])),
                "median_width": float(np.median([one["high"] - one["low"] for one in said])),
            }
    return {"problems": rows, "intervals": pooled, "reached": reached(rows, pooled)}


def reached(rows: dict[str, Numbers], pooled: Numbers) -> dict[str, str]:
    """Each target with the problems that miss it."""
    measured = {key: row for key, row in rows.items() if row["draws"]}

    def missing(is_missed: Callable[[Numbers], bool], of: str = "f1") -> str:
        there = {key: row for key, row in measured.items() if row.get(of) is not None}
        missed = [key for key, row in there.items() if is_missed(row)]
        return f"{len(there) - len(missed)} of {len(there)}" + (
            f"; not {', '.join(missed)}" if missed else ""
        )

    verdicts = {
        f"F1 within {GAP} of the best threshold": missing(lambda row: row["best_f1"] - row["f1"] > GAP),
        f"calibration error at most {ERROR}": missing(lambda row: row["calibration_error"] > ERROR),
        "log-loss below the constant's": missing(lambda row: row["log_loss"] >= row["constant_log_loss"]),
        "says where labels are too few": missing(lambda row: not row["says_too_few"], "says_too_few"),
    }
    for peer in PEERS:
        if any(peer in row for row in measured.values()):
            text = f"F1 above {peer}"
            verdicts[text] = missing(lambda row, peer=peer: row[peer] >= row["f1"], peer)
    if pooled:
        covers = [own["cover"] for own in pooled.values()]
        total = float(np.average(covers, weights=[own["intervals"] for own in pooled.values()]))
        held = "yes" if COVER[0] <= total <= COVER[1] else "no"
        verdicts[f"intervals hold in {COVER[0]:.0%} to {COVER[1]:.0%}"] = f"{held}: {total:.1%}"
    return verdicts


def show(numbers: Numbers) -> None:
    columns = {
        "draws": "draws", "labels": "labels", "f1": "F1", "best_f1": "best", "likeliest_f1": "likelier class",
        **{peer: peer for peer in PEERS}, "calibration_error": "calibration", "log_loss": "log-loss",
        "constant_log_loss": "constant", "average_precision": "AP", "seconds": "s",
    }  # fmt: skip
    print("| problem |", " | ".join(columns.values()), "|")
    print("|---" * (len(columns) + 1) + "|")
    for key, row in numbers["problems"].items():
        cells = [row.get(name) for name in columns]
        text = [
            "" if v is None else str(v) if isinstance(v, int) else f"{v:.1f}" if v > 2 else f"{v:.3f}"
            for v in cells
        ]
        print(f"| {key} |", " | ".join(text), "|")
    for name, own in numbers["intervals"].items():
        print(
            f"{own['intervals']} intervals of {name} hold the truth in {own['cover']:.1%}, "
            f"median width {own['median_width']:.2f}"
        )
    for target, verdict in numbers["reached"].items():
        print(f"{target}: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(PROBLEMS))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--peers", default=",".join(PEERS), help="empty for none")
    parser.add_argument("--out", type=Path, default=Path("querist-results/rare"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sets, shares = given.sets.split(","), [float(share) for share in given.shares.split(",")]
    peers = [peer for peer in given.peers.split(",") if peer]
    for share in shares:
        for name in sets:
            work(name, share, given.draws, peers, given.out)
    found = {
        f"{name} {share:.0%}": [
            json.loads(file.read_text()) for file in sorted(given.out.glob(f"{name}_{share}_*.json"))
        ]
        for name in sets
        for share in shares
    }
    numbers = summary({key: draws for key, draws in found.items() if draws})
    if given.json:
        print(json.dumps(numbers, indent=1))
    else:
        show(numbers)


if __name__ == "__main__":
    main()
