"""How few labels are enough? `querist.label` beside tuned peers on ten graphs, on the same splits.

1, 2 and 5 % of every class (rounded up) are labelled, five draws each; all others are the test. The peers'
settings are chosen for every split by the same 5-fold cross-validation on its seeds:

- scikit-network: diffusion (steps, centring) and PageRank (damping);
- GraphLearning: Laplace learning (reweighting) and Poisson learning (nothing to choose);
- PyG: GCN and APPNP (`label_efficiency_networks.py`, best on a GPU).

Parts are run one by one, possibly on several machines, and merged:

    python benchmarks/label_efficiency.py --parts prepare ours classic --out DIR [--sets cora genes]
    python benchmarks/label_efficiency_networks.py --prepared DIR/prepared --out DIR
    python benchmarks/label_efficiency.py --merge --out DIR

Other draws than the reported ones, into another folder: `--seed 1000 --trials 20`.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

import querist
from querist.experiment.tasks.collective import draw
from querist.labelling.folds import stratified
from querist.labels import one_hot

SETS = (
    "cora",
    "citeseer",
    "pubmed",
    "amazon_photo",
    "coauthor_cs",
    "dblp_four_area_1711",
    "genes",
    "facebook_pages",
    "blogcatalog_attr",
    "debian_sections",
)
SHARES = (0.01, 0.02, 0.05)


class Draws(NamedTuple):
    """Which draws of labels: those reported, unless other ones are asked for."""

    trials: int = 5
    seed: int = 0


def splits(graph: Any, draws: Draws) -> dict[str, tuple[Any, Any]]:
    """For each split its seeds, and the fold of each."""
    found = {}
    for share in SHARES:
        for trial in range(draws.trials):
            seeds = np.flatnonzero(draw(one_hot(graph.codes, graph.n_classes), share, draws.seed, trial))
            found[f"{share}_{trial}"] = seeds, stratified(graph.codes[seeds], 5, seed=trial)
    return found


# -- parts -----------------------------------------------------------------------------------


def prepare(graph: Any, out: Path, draws: Draws) -> None:
    """Adjacency, attributes, codes, seeds and folds as plain arrays, for machines without Querist."""
    folder = out / "prepared"
    folder.mkdir(parents=True, exist_ok=True)
    S, X, cut = graph.adjacency, graph.attributes, splits(graph, draws)
    arrays = {f"seeds_{name}": seeds.astype(np.int32) for name, (seeds, _) in cut.items()}
    arrays |= {f"folds_{name}": folds.astype(np.int8) for name, (_, folds) in cut.items()}
    np.savez_compressed(
        folder / f"{graph.name}.npz",
        codes=graph.codes.astype(np.int16),
        splits=np.array(list(cut)),
        S_data=S.data.astype(np.float32),
        S_indices=S.indices.astype(np.int32),
        S_indptr=S.indptr.astype(np.int32),
        X_data=X.data.astype(np.float32),
        X_indices=X.indices.astype(np.int32),
        X_indptr=X.indptr.astype(np.int32),
        X_columns=X.shape[1],
        **arrays,
    )


def ours(graph: Any, draws: Draws, share: float, workspace: Any) -> dict[str, dict[str, float]]:
    """`auto`, each of its members alone (its classes' shares matched, or not), two classifiers."""
    from querist.collective.catalogue import CLASSIFIERS
    from querist.collective.problem import pose
    from querist.labelling.choose import choose
    from querist.labelling.combine import matched

    found: dict[str, dict[str, float]] = {}
    for name, (seeds, _) in splits(graph, draws).items():
        if not name.startswith(f"{share}_"):
            continue
        given = np.full(graph.n_nodes, -1)
        given[seeds] = graph.codes[seeds]
        started, busy = time.perf_counter(), time.process_time()
        outcome = choose(pose(graph, given, classes=range(graph.n_classes), missing=-1), workspace=workspace)
        spent = {"seconds": time.perf_counter() - started, "processor": time.process_time() - busy}
        shares = np.bincount(graph.codes[seeds], minlength=graph.n_classes) / len(seeds)
        answers = {"auto": outcome.probabilities, **outcome.logits_by_member}
        for method, L in outcome.logits_by_member.items():  # as `label(..., method=)` gives it
            answers[f"{method} matched"] = L + matched(L, shares, "softmax")
        for method in ("gmnr", "wvrn"):
            model = CLASSIFIERS[method](classes=range(graph.n_classes), missing=-1).fit(graph, given)
            answers[method] = model.probabilities_
        for method, scores in answers.items():
            found.setdefault(method, {})[name] = tested(graph, seeds, scores)
        found.setdefault("estimate", {})[name] = outcome.estimate.accuracy
        found.setdefault("ece", {})[name] = calibration(graph, seeds, outcome.probabilities)
        for key, value in spent.items():
            found.setdefault(key, {})[name] = value
    return found


def tested(graph: Any, seeds: Any, scores: Any) -> float:
    """The accuracy on the nodes that are no seeds."""
    test = graph.codes >= 0
    test[seeds] = False
    return float((scores.argmax(axis=1) == graph.codes)[test].mean())


def calibration(graph: Any, seeds: Any, P: Any) -> float:
    from querist.labelling.calibrate import calibration_error

    test = graph.codes >= 0
    test[seeds] = False
    return calibration_error(P[test].max(axis=1), (P.argmax(axis=1) == graph.codes)[test])


# -- the peers that know only the graph ----------------------------------------------------------


def scikit_network(kind: str, **options: Any) -> Callable[..., Any]:
    def fit(graph: Any, seeds: Any) -> Any:
        from querist.collective.catalogue import CLASSIFIERS

        given = np.full(graph.n_nodes, -1)
        given[seeds] = graph.codes[seeds]
        model = CLASSIFIERS[kind](classes=range(graph.n_classes), missing=-1, **options)
        return model.fit(graph, given).probabilities_

    return fit


def graph_learning(kind: str, **options: Any) -> Callable[..., Any]:
    def fit(graph: Any, seeds: Any) -> Any:
        import graphlearning as gl
        import scipy.sparse as sp

        part = np.flatnonzero(np.isin(graph.components, graph.components[seeds]) & (graph.degrees > 0))
        P = np.tile(
            np.bincount(graph.codes[seeds], minlength=graph.n_classes) / seeds.size, (graph.n_nodes, 1)
        )
        place = np.full(graph.n_nodes, -1)
        place[part] = np.arange(part.size)
        inside = seeds[place[seeds] >= 0]
        present, codes = np.unique(graph.codes[inside], return_inverse=True)
        model = getattr(gl.ssl, kind)(sp.csr_matrix(graph.adjacency[part][:, part]), **options)
        told = model.fit(place[inside], codes)
        answer = np.zeros((part.size, graph.n_classes))
        answer[:, present[: told.shape[1]]] = told - told.min()
        P[part] = answer + 1e-9
        return P / P.sum(axis=1, keepdims=True)

    return fit


CLASSIC: dict[str, dict[str, Callable[..., Any]]] = {
    "diffusion": {
        f"steps {steps}, centring {centring}": scikit_network("diffusion", steps=steps, centring=centring)
        for centring in (True, False)
        for steps in (10, 3, 30)
    },
    "pagerank": {f"damping {d}": scikit_network("pagerank", damping=d) for d in (0.85, 0.5, 0.7, 0.95)},
    "laplace": {f"reweighting {w}": graph_learning("laplace", reweighting=w) for w in ("none", "wnll")},
    "poisson": {"gradient descent": graph_learning("poisson", solver="gradient_descent")},
}
"""The first setting of each is taken untuned: its default, save that Poisson learning's conjugate gradients
do not converge on graphs of several components, where gradient descent does."""


def classic(graph: Any, draws: Draws, share: float, workspace: Any) -> dict[str, dict[str, float]]:
    """Each graph method with its default, and with the setting of the best cross-validated accuracy."""
    found: dict[str, dict[str, float]] = {}
    for name, (seeds, folds) in splits(graph, draws).items():
        if not name.startswith(f"{share}_"):
            continue
        for peer, settings in CLASSIC.items():
            merits, answers = {}, {}
            for setting, fit in settings.items():
                try:
                    right = [
                        (fit(graph, seeds[folds != f])[seeds[folds == f]].argmax(axis=1), seeds[folds == f])
                        for f in range(5)
                    ]
                    answers[setting] = tested(graph, seeds, fit(graph, seeds))
                except Exception as problem:  # a peer that fails has no answer, and that is said
                    warnings.warn(f"{peer}, {setting}, {graph.name}, {name}: {problem!r}", stacklevel=2)
                    continue
                merits[setting] = np.mean(np.concatenate([said == graph.codes[rows] for said, rows in right]))
            if merits:
                found.setdefault(peer, {})[name] = answers[max(merits, key=merits.get)]
                found.setdefault(f"{peer} untuned", {})[name] = answers.get(
                    next(iter(settings)), float("nan")
                )
    return found


# -- the table -------------------------------------------------------------------------------------

PEERS = ("diffusion", "pagerank", "laplace", "poisson", "gcn", "appnp")
NO_METHOD = ("estimate", "ece", "seconds", "processor", "auto")


def gathered(out: Path) -> dict[str, dict[str, dict[str, float]]]:
    """set -> method -> split -> accuracy, from all files of the parts."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for path in sorted(out.glob("*.json")):
        told = json.loads(path.read_text())
        own = found.setdefault(told["set"], {})
        if "tuned" in told:
            for kind, table in told["tuned"].items():
                own.setdefault(kind, {}).update(table)
                own.setdefault(f"{kind} untuned", {}).update(told["untuned"][kind])
        else:
            for method, table in told["found"].items():
                own.setdefault(method, {}).update(table)
    return found


def mean(table: dict[str, float] | None, share: float) -> float:
    told = [value for name, value in (table or {}).items() if name.startswith(f"{share}_")]
    return float(np.mean(told)) if told else float("nan")


def singles_of(own: dict[str, dict[str, float]], share: float) -> dict[str, float]:
    """Our methods one by one."""
    other = {*PEERS, *(f"{peer} untuned" for peer in PEERS), *NO_METHOD}
    told = {method: mean(table, share) for method, table in own.items() if method not in other}
    return {method: value for method, value in told.items() if np.isfinite(value)}


def show(out: Path, trials: int) -> None:
    """Every number as Markdown, then the goals."""
    found = gathered(out)
    for share in SHARES:
        print(f"\n**{share:.0%} of every class**, mean accuracy of {trials} draws\n")
        print(f"| set | auto | {' | '.join(PEERS)} | best single of ours |")
        print("|---|" + "---:|" * (1 + len(PEERS)) + "---|")
        rows, apart = [], []
        for name in SETS:
            own = found.get(name, {})
            auto, peers = mean(own.get("auto"), share), [mean(own.get(peer), share) for peer in PEERS]
            if not np.isfinite(auto):
                print(f"| {name} | not run |" + " |" * (1 + len(PEERS)))
                continue
            singles = singles_of(own, share)
            best = max(singles, key=singles.__getitem__)
            apart.append((auto - singles[best], name))
            rows.append([auto, *peers])
            print(_line(name, rows[-1], f"{best} {singles[best]:.3f}"))
        if rows:
            goals(np.array(rows), apart)
            notes(found, share)


def _line(name: str, values: Any, last: str = "") -> str:
    """A row; the best number in bold, what is not there left empty."""
    best = np.nanmax(values)
    cells = ["" if np.isnan(v) else f"**{v:.3f}**" if v == best else f"{v:.3f}" for v in values]
    return f"| {name} | {' | '.join(cells)} | {last} |"


def goals(table: Any, apart: list[tuple[float, str]]) -> None:
    """`table` (sets, 1 + peers). A peer that failed on a set has no mean."""
    means = table.mean(axis=0)
    print(_line("mean", means))
    whole = means[1:][np.isfinite(means[1:])]
    if not whole.size:
        print("\nNo peer was run on all of these sets.")
        return
    each = table[:, 0] - np.nanmax(table[:, 1:], axis=1)
    print(f"\nAgainst the best peer on average {100 * (means[0] - whole.max()):+.1f} points, ", end="")
    print(f"against the best peer of each set {100 * each.mean():+.1f}; ", end="")
    print(f"first on {int((each > 0).sum())} of {len(table)}.")
    far, where = min(apart)
    print(f"Against our best single method: {100 * far:+.1f} points on {where}, the furthest below.")


def notes(found: dict[str, Any], share: float) -> None:
    """The untuned peers, and how honest and how slow `auto` was."""
    over = lambda key: np.nanmean([mean(own.get(key), share) for own in found.values()])  # noqa: E731
    print("Untuned: " + ", ".join(f"{peer} {over(f'{peer} untuned'):.3f}" for peer in PEERS) + ".")
    print(f"Expected accuracy {over('estimate'):.3f}, calibration error {over('ece'):.3f}, ", end="")
    print(f"{over('processor'):.1f} s of processor a labelling.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", nargs="*", choices=("prepare", "ours", "classic"), default=[])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--shares", type=float, nargs="*", default=list(SHARES))
    parser.add_argument("--trials", type=int, default=Draws().trials)
    parser.add_argument("--seed", type=int, default=Draws().seed, help="of the draws; another gives others")
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draws = Draws(options.trials, options.seed)
    from querist.labelling.workspace import Workspace

    graphs = {name: querist.datasets.load_graph(name) for name in options.sets} if options.parts else {}
    workspaces = {name: Workspace(graph) for name, graph in graphs.items()}
    for name in options.sets if "prepare" in options.parts else ():
        prepare(graphs[name], options.out, draws)
    for part, run in (("ours", ours), ("classic", classic)):
        for share in options.shares if part in options.parts else ():
            for name in options.sets:
                path = options.out / f"{part}_{name}_{share}.json"
                if path.exists():
                    continue
                started = time.perf_counter()
                found = run(graphs[name], draws, share, workspaces[name])
                path.write_text(json.dumps({"set": name, "found": found}))
                print(f"{part} {name} {share}: {time.perf_counter() - started:.0f} s", flush=True)
    if options.merge:
        show(options.out, options.trials)


if __name__ == "__main__":
    main()
