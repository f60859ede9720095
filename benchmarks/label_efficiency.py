"""How few labels are enough? `querist.label` beside tuned peers, on the same draws of labels.

Two protocols: *class*, 1, 2 or 5 % of every class (rounded up) are labelled; *random*, as many nodes in all,
drawn at random. All others are the test. The sets stand in groups (`label_efficiency_table.py`); on some of
them constants of ours were fixed, which is said. The peers' settings are chosen by 5-fold cross-validation on
the seeds of two draws of their own, once for a set, a protocol and a share (`--tune-each`: on each draw's own
seeds, save the networks'). Each stands in two forms: as it is, and *matched*, with the shares of the classes
matched to those of the seeds as ours are:

- `label_efficiency_peers.py`: graph methods, logistic regressions, Correct & Smooth;
- `label_efficiency_networks.py`: GCN, APPNP, GRAND, GPR-GNN (best on a GPU).

Parts are run one by one, possibly on several machines, go on where they stopped, and are merged:

    python benchmarks/label_efficiency.py --parts prepare ours peers --out DIR [--sets cora genes]
    python benchmarks/label_efficiency_networks.py --prepared DIR/prepared --out DIR
    python benchmarks/label_efficiency.py --merge --out DIR [--json]

Other draws than the reported ones, into another folder: `--seed 1000`.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

import label_efficiency_table as table
import querist
from label_efficiency_peers import Features, Split, answers, chosen
from label_efficiency_table import ALL, PROTOCOLS, SHARES
from querist.datasets.resolve import read_set
from querist.experiment.tasks.collective import draw
from querist.labelling.combine import logits, matched
from querist.labelling.folds import stratified
from querist.labels import Labels
from querist.tables.formats import Vectors

LARGE = ("coauthor_cs", "coauthor_physics", "debian_sections", "github_social")
"""Sets of which fewer draws are made."""
TUNING = 2
"""Draws apart from the reported ones on which the peers' settings are chosen."""
APART = 77_000
"""What is added to the seed for these."""


class Draws(NamedTuple):
    """Which draws of labels: those reported, unless other ones are asked for."""

    draws: int = 20
    large: int = 5
    seed: int = 0

    def of(self, name: str) -> range:
        return range(min(self.draws, self.large) if name in LARGE else self.draws)


def load(name: str) -> Any:
    """A graph; vectors become that of their ten nearest neighbours and stay its attributes."""
    found = read_set(name)
    if isinstance(found, Vectors):
        return querist.from_points(found.X, labels=found.y.tolist(), name=name)
    return found


def drawn(codes: Any, protocol: str, share: float, seed: int, trial: int) -> Any:
    """(m,) the labelled nodes of a draw, in order."""
    chosen = np.flatnonzero(draw(Labels(codes, tuple(range(int(codes.max()) + 1))), share, seed, trial))
    if protocol == "class":
        return chosen
    generator = np.random.default_rng((seed, trial, round(1000 * share)))
    return np.sort(generator.choice(np.flatnonzero(codes >= 0), chosen.size, replace=False))


# -- parts -----------------------------------------------------------------------------------


def prepare(graph: Any, out: Path, draws: Draws) -> None:
    """Adjacency, attributes, codes and seeds as small plain arrays, for machines without Querist."""
    folder = out / "prepared"
    folder.mkdir(parents=True, exist_ok=True)
    import scipy.sparse as sp

    arrays = {"codes": graph.codes.astype(np.int8), **packed("S", sp.triu(graph.adjacency, 1, format="csr"))}
    if graph.attributes is not None:
        arrays |= packed("X", graph.attributes) | {"X_columns": np.array(graph.attributes.shape[1])}
    for protocol, share in pairs():
        for trial in draws.of(graph.name):
            seeds = drawn(graph.codes, protocol, share, draws.seed, trial)
            arrays[f"seeds_{protocol}_{share}_{trial}"] = small(seeds)
        for trial in range(TUNING):
            seeds = drawn(graph.codes, protocol, share, draws.seed + APART, trial)
            arrays[f"seeds_{protocol}_{share}_t{trial}"] = small(seeds)
            folds = stratified(graph.codes[seeds], 5, seed=trial)
            arrays[f"folds_{protocol}_{share}_t{trial}"] = folds.astype(np.int8)
    np.savez_compressed(folder / f"{graph.name}.npz", **arrays)


def packed(name: str, M: Any) -> dict[str, Any]:
    """A sparse matrix as the lengths of its rows, its columns and its values (one, where all are equal)."""
    equal = M.nnz > 0 and bool((M.data == M.data[0]).all())
    data = M.data[:1] if equal else M.data
    return {
        f"{name}_counts": small(np.diff(M.indptr)),
        f"{name}_indices": small(M.indices),
        f"{name}_data": small(data) if (data == data.astype(np.uint16)).all() else data.astype(np.float32),
    }


def small(numbers: Any) -> Any:
    """Whole numbers in the narrowest type."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def ours(graph: Any, seeds: Any, workspace: Any) -> dict[str, float]:
    """`auto`, each of its members alone, what it says of itself, and its time."""
    from querist.collective.problem import pose
    from querist.labelling.choose import choose

    given = np.full(graph.n_nodes, -1)
    given[seeds] = graph.codes[seeds]
    problem = pose(graph, given, classes=range(graph.n_classes), missing=-1)
    started, busy = time.perf_counter(), time.process_time()
    outcome = choose(problem, workspace=workspace)
    spent = {"seconds": time.perf_counter() - started, "processor": time.process_time() - busy}
    P, estimate = outcome.probabilities, outcome.estimate
    said = {"estimate": float(estimate.correct.mean()), "low": estimate.low, "high": estimate.high}
    found = {"auto": tested(graph, seeds, P), "ece": calibration(graph, seeds, P), **said, **spent}
    return found | both_forms(graph, seeds, outcome.logits_by_member)


def both_forms(graph: Any, seeds: Any, tables: dict[str, Any]) -> dict[str, float]:
    """The accuracy of tables of logits, as they are and matched to the shares of the seeds."""
    shares = np.bincount(graph.codes[seeds], minlength=graph.n_classes) / len(seeds)
    found = {}
    for name, L in tables.items():
        found[name] = tested(graph, seeds, L)
        found[f"{name} matched"] = tested(graph, seeds, L + matched(L, shares, False))
    return found


def tested(graph: Any, seeds: Any, scores: Any) -> float:
    """The accuracy on the nodes that are no seeds."""
    test = graph.codes >= 0
    test[seeds] = False
    return float((scores.argmax(axis=1) == graph.codes)[test].mean())


def calibration(graph: Any, seeds: Any, P: Any) -> float:
    from querist.labelling.decisions.calibrate import calibration_error

    test = graph.codes >= 0
    test[seeds] = False
    return calibration_error(P[test].max(axis=1), (P.argmax(axis=1) == graph.codes)[test])


def peers(split: Split, settings: dict[str, Any]) -> dict[str, float]:
    """Every peer that runs on a processor."""
    found = answers(split, settings)
    return both_forms(split.graph, split.seeds, {name: logits(P, False) for name, P in found.items()})


# -- running them ------------------------------------------------------------------------------


def pairs() -> Iterator[tuple[str, float]]:
    return ((protocol, share) for protocol in PROTOCOLS for share in SHARES)


@dataclass
class Run:
    """A part on one set; a file for each protocol and share gets the draws that it does not hold yet."""

    part: str
    graph: Any
    draws: Draws
    out: Path
    tune_each: bool = False

    @cached_property
    def workspace(self) -> Any:
        from querist.labelling.workspace import Workspace

        return Workspace(self.graph)

    @cached_property
    def features(self) -> Features:
        return Features(self.graph)

    def split(self, protocol: str, share: float, trial: int, apart: int = 0) -> Split:
        seeds = drawn(self.graph.codes, protocol, share, self.draws.seed + apart, trial)
        return Split(self.features, seeds, stratified(self.graph.codes[seeds], 5, seed=trial))

    def settings(self, protocol: str, share: float) -> dict[str, Any]:
        return chosen([self.split(protocol, share, trial, APART) for trial in range(TUNING)])

    def file(self, protocol: str, share: float) -> None:
        name = self.graph.name
        path = self.out / f"{self.part}_{name}_{protocol}_{share}.json"
        told = json.loads(path.read_text()) if path.exists() else {"set": name, "found": {}}
        held = {split for values in told["found"].values() for split in values}
        missing = [t for t in self.draws.of(name) if f"{protocol}_{share}_{t}" not in held]
        started = time.perf_counter()
        if missing and self.part == "peers" and not self.tune_each:
            settings = self.settings(protocol, share)
            told["setting"] = {peer: str(setting) for peer, setting in settings.items()}
        for trial in missing:
            split = self.split(protocol, share, trial)
            if self.part == "ours":
                values = ours(self.graph, split.seeds, self.workspace)
            else:
                values = peers(split, chosen([split]) if self.tune_each else settings)
            for method, value in values.items():
                told["found"].setdefault(method, {})[f"{protocol}_{share}_{trial}"] = round(value, 6)
            path.with_suffix(".part").write_text(json.dumps(told))
            path.with_suffix(".part").rename(path)
        seconds = time.perf_counter() - started
        print(f"{self.part} {name} {protocol} {share}: {len(missing)} draws, {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", nargs="*", choices=("prepare", "ours", "peers"), default=[])
    parser.add_argument("--sets", nargs="*", default=list(ALL))
    parser.add_argument("--protocols", nargs="*", choices=PROTOCOLS, default=list(PROTOCOLS))
    parser.add_argument("--shares", type=float, nargs="*", default=list(SHARES))
    parser.add_argument("--draws", type=int, default=Draws().draws)
    parser.add_argument("--draws-large", type=int, default=Draws().large, help=f"of {', '.join(LARGE)}")
    parser.add_argument("--seed", type=int, default=Draws().seed, help="of the draws; another gives others")
    parser.add_argument(
        "--tune-each", action="store_true", help="peers' settings anew on each draw's own seeds"
    )
    parser.add_argument("--merge", action="store_true", help="print the tables")
    parser.add_argument("--json", action="store_true", help="with --merge: the same numbers as JSON")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draws = Draws(options.draws, options.draws_large, options.seed)
    for part in options.parts:
        for name in options.sets:
            one = Run(part, load(name), draws, options.out, options.tune_each)
            if part == "prepare":
                prepare(one.graph, options.out, draws)
                continue
            for protocol, share in pairs():
                if protocol in options.protocols and share in options.shares:
                    one.file(protocol, share)
    if options.merge:
        table.show(options.out, options.json)


if __name__ == "__main__":
    main()
