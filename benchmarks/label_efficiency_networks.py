"""The tuned graph networks of `label_efficiency.py`: PyG's GCN and APPNP, hundreds trained at once.

Reads what `label_efficiency.py --parts prepare` wrote, needs torch alone (with a GPU in reasonable time), and
writes one JSON a data set:

    python benchmarks/label_efficiency_networks.py --prepared DIR --out DIR [--device cuda] [--sets genes]

The networks are those of PyG's examples: GCN `A drop(relu(A drop(X) W1)) W2` and APPNP (a two-layer
perceptron, then 10 steps of personalised PageRank with teleport 0.1), dropout one half, Adam, weight decay
5e-4, `A` the symmetrically normalised adjacency with self-loops. Hidden units, learning rate, scaling of the
attributes and epochs are chosen for every split by 5-fold cross-validation on its seeds (accuracy, then
log-loss), on the folds that `prepare` drew; the network is then trained again on all seeds.

All folds of all splits of a graph share its adjacency and attributes, so their networks are trained side
by side as one wide network with separate losses: the same arithmetic as one PyG model each
(tests/unit/labelling/test_label_efficiency.py compares the two), save that models trained together share the
dropout mask of the inputs.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

SCALINGS, HIDDEN, RATES, EPOCHS = ("raw", "row", "tfidf"), (16, 64), (0.01, 0.05), (25, 50, 100, 200, 300)
UNTUNED = {"gcn": ("row", 16, 0.01, 200), "appnp": ("row", 64, 0.01, 200)}
DROPOUT, DECAY, TELEPORT, STEPS = 0.5, 5e-4, 0.1, 10
WIDE = 3e8
"""Floats of one hidden layer over all networks that are trained together."""


class Propagate(torch.autograd.Function):
    """`Z <- (1 - a) A Z + a X` from `Z = X`, `steps` times, for a symmetric sparse A; its own transpose.

    One step without teleport (a = 0) is `A X`.
    """

    @staticmethod
    def forward(ctx: Any, A: Any, X: Any, steps: int = 1, teleport: float = 0.0) -> Any:
        ctx.held = A, steps, teleport
        Z = X
        for _ in range(steps):
            Z = torch.addmm(X, A, Z, beta=teleport, alpha=1 - teleport) if teleport else A @ Z
        return Z

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        return None, Propagate.forward(ctx, ctx.held[0], gradient[0].contiguous(), *ctx.held[1:]), None, None


class Times(torch.autograd.Function):
    """`X W` for a sparse X whose transpose is at hand."""

    @staticmethod
    def forward(ctx: Any, X: Any, transposed: Any, W: Any) -> Any:
        ctx.transposed = transposed
        return X @ W

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        return None, None, ctx.transposed @ gradient[0].contiguous()


class Inputs:
    """Sparse attributes (n, f); dropping an entry of a sparse matrix is dropping it of the dense one."""

    def __init__(self, X: sp.csr_array, device: str) -> None:
        order = sp.csr_array((np.arange(1, X.nnz + 1), X.indices, X.indptr), shape=X.shape).T.tocsr()
        self.shape, self.device = X.shape, torch.device(device)
        as_tensor = lambda a: torch.as_tensor(a.astype(np.int64), device=device)  # noqa: E731
        self.pattern = as_tensor(X.indptr), as_tensor(X.indices)
        self.turned = as_tensor(order.indptr), as_tensor(order.indices)
        self.order = as_tensor(order.data - 1)
        self.values = torch.as_tensor(X.data.astype(np.float32), device=device)

    def times(self, W: Any, drop: bool) -> Any:
        values = torch.nn.functional.dropout(self.values, DROPOUT, drop)
        n, f = self.shape
        X = torch.sparse_csr_tensor(*self.pattern, values, size=(n, f))
        return Times.apply(X, torch.sparse_csr_tensor(*self.turned, values[self.order], size=(f, n)), W)


class Networks(torch.nn.Module):
    """B networks of one kind side by side; weights as PyG starts them (Glorot, biases zero)."""

    def __init__(self, kind: str, inputs: int, hidden: int, outputs: int, count: int) -> None:
        super().__init__()
        self.kind = kind
        first = torch.empty(count, inputs, hidden)
        second = torch.empty(count, hidden, outputs)
        for W in (first, second):
            bound = (6 / (W.shape[1] + W.shape[2])) ** 0.5
            torch.nn.init.uniform_(W, -bound, bound)
        self.first = torch.nn.Parameter(first)
        self.second = torch.nn.Parameter(second)
        self.first_bias = torch.nn.Parameter(torch.zeros(count, hidden))
        self.second_bias = torch.nn.Parameter(torch.zeros(count, outputs))

    def forward(self, A: Any, X: Inputs) -> Any:
        """(n, B, K) logits."""
        drop = lambda block: torch.nn.functional.dropout(block, DROPOUT, self.training)  # noqa: E731
        spread = lambda block, *how: Propagate.apply(A, block.flatten(1), *how).view(block.shape)  # noqa: E731
        count, inputs, hidden = self.first.shape
        wide = self.first.permute(1, 0, 2).reshape(inputs, count * hidden)
        H = X.times(wide, self.training).view(-1, count, hidden)
        H = spread(H) if self.kind == "gcn" else H
        H = drop((H + self.first_bias).relu())
        out = torch.einsum("nbh,bhk->nbk", H, self.second)
        if self.kind == "gcn":
            return spread(out) + self.second_bias
        return spread(out + self.second_bias, STEPS, TELEPORT)


def train(
    kind: str,
    A: Any,
    X: Any,
    K: int,
    jobs: list[tuple[Any, Any]],
    hidden: int,
    rate: float,
    codes: Any,
    checkpoints: tuple[int, ...] = EPOCHS,
) -> list[list[tuple[float, float]]]:
    """For each job (seeds, judged nodes) the accuracy and log-loss at each checkpoint."""
    device = X.device
    nets = Networks(kind, X.shape[1], hidden, K, len(jobs)).to(device)
    optimiser = torch.optim.Adam(nets.parameters(), lr=rate, weight_decay=DECAY)
    nodes = torch.as_tensor(np.concatenate([seeds for seeds, _ in jobs]), device=device)
    owner = torch.as_tensor(np.repeat(np.arange(len(jobs)), [len(s) for s, _ in jobs]), device=device)
    share = torch.as_tensor(np.concatenate([np.full(len(s), 1 / len(s)) for s, _ in jobs]), device=device)
    truth = torch.as_tensor(codes, device=device)
    found: list[list[tuple[float, float]]] = [[] for _ in jobs]
    for epoch in range(1, max(checkpoints) + 1):
        nets.train()
        optimiser.zero_grad(set_to_none=True)
        logits = nets(A, X)[nodes, owner]
        loss = torch.nn.functional.cross_entropy(logits, truth[nodes], reduction="none")
        (loss * share.to(loss.dtype)).sum().backward()
        optimiser.step()
        if epoch in checkpoints:
            nets.eval()
            with torch.no_grad():
                scores = nets(A, X)
                for job, (_, judged) in enumerate(jobs):
                    rows = torch.as_tensor(judged, device=device)
                    own = scores[rows, job].log_softmax(dim=1)
                    right = (own.argmax(dim=1) == truth[rows]).double().mean()
                    logloss = -own.gather(1, truth[rows][:, None]).double().mean()
                    found[job].append((float(right), float(logloss)))
    return found


def scaled(X: sp.csr_array, how: str) -> sp.csr_array:
    """Attributes raw, with rows that sum to one, or as tf-idf rows of length one."""
    X = X.astype(np.float64)
    if how == "raw":
        return X
    if how == "row":
        total = np.asarray(abs(X).sum(axis=1)).ravel()
    else:
        seen = np.bincount(X.indices, minlength=X.shape[1])
        X = X @ sp.diags_array(1 + np.log((1 + X.shape[0]) / (1 + seen)))
        total = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(total > 0, total, 1)) @ X)


def normalised(S: sp.csr_array, device: str) -> Any:
    """`D^-1/2 (S + I) D^-1/2` as a torch matrix."""
    A = sp.csr_array(S + sp.eye_array(S.shape[0]))
    r = sp.diags_array(1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel()))
    A = sp.csr_array(r @ A @ r)
    parts = (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float32))
    return torch.sparse_csr_tensor(*(torch.as_tensor(p) for p in parts), size=A.shape).to(device)


def run(
    path: Path,
    device: str,
    appnp_hidden: tuple[int, ...] = HIDDEN,
    shares: tuple[str, ...] = (),
    told_now: Callable[[dict[str, Any]], None] = lambda result: None,
    checkpoints: tuple[int, ...] = EPOCHS,
    seed: int = 0,
) -> dict[str, Any]:
    """Every split of a prepared data set; `told_now` gets what there is after every setting.

    Fewer widths of APPNP, or fewer shares of labels, save time where there are many classes and nodes.
    """
    with np.load(path) as held:
        z = {name: held[name] for name in held.files}
    n, K, codes = len(z["codes"]), int(z["codes"].max()) + 1, z["codes"].astype(np.int64)
    S = sp.csr_array((z["S_data"], z["S_indices"], z["S_indptr"]), shape=(n, n))
    X = sp.csr_array((z["X_data"], z["X_indices"], z["X_indptr"]), shape=(n, int(z["X_columns"])))
    splits = [str(name) for name in z["splits"] if not shares or str(name).split("_")[0] in shares]
    jobs: list[tuple[Any, Any]] = []
    where: list[tuple[str, int]] = []
    for name in splits:
        seeds, fold = z[f"seeds_{name}"], z[f"folds_{name}"]
        test = np.setdiff1d(np.flatnonzero(codes >= 0), seeds)
        for f in range(int(fold.max()) + 1):
            jobs.append((seeds[fold != f], seeds[fold == f]))
            where.append((name, f))
        jobs.append((seeds, test))
        where.append((name, -1))
    A, started = normalised(S, device), time.perf_counter()
    blocks = {scaling: Inputs(scaled(X, scaling), device) for scaling in SCALINGS}
    found: dict[str, Any] = {}
    for kind, scaling, hidden, rate in itertools.product(UNTUNED, SCALINGS, HIDDEN, RATES):
        if kind == "appnp" and hidden not in appnp_hidden:
            continue
        torch.manual_seed(seed)
        chunk = max(1, min(len(jobs), int(WIDE / (n * (hidden if kind == "gcn" else max(hidden, K * 2))))))
        told: list[list[tuple[float, float]]] = []
        for first in range(0, len(jobs), chunk):
            told += train(
                kind, A, blocks[scaling], K, jobs[first : first + chunk], hidden, rate, codes, checkpoints
            )
        for (name, fold), curve in zip(where, told, strict=True):
            settings = found.setdefault(kind, {}).setdefault(name, {})
            for epochs, (right, loss) in zip(checkpoints, curve, strict=True):
                setting = f"{scaling},{hidden},{rate},{epochs}"
                held = settings.setdefault(setting, {"cv": [], "loss": [], "size": []})
                if fold < 0:
                    held["test"] = right
                else:
                    held["cv"].append(right)
                    held["loss"].append(loss)
                    held["size"].append(int((z[f"folds_{name}"] == fold).sum()))
        told_now({"set": path.stem, "seconds": time.perf_counter() - started, "found": found})
    return {"set": path.stem, "seconds": time.perf_counter() - started, "found": found}


def chosen(settings: dict[str, Any]) -> tuple[str, float]:
    """The setting with the best cross-validated accuracy, then log-loss; and its accuracy on the test."""

    def merit(setting: str) -> tuple[float, float]:
        held = settings[setting]
        size = np.array(held["size"]) / sum(held["size"])
        return float(np.round(size @ held["cv"], 9)), -float(size @ held["loss"])

    best = max(settings, key=merit)
    return best, settings[best]["test"]


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """A network's accuracy in every split: tuned, untuned, and the best of all settings in hindsight."""
    told: dict[str, Any] = {"set": result["set"], "seconds": result["seconds"], "tuned": {}, "untuned": {}}
    told |= {"hindsight": {}, "setting": {}}
    for kind, splits in result["found"].items():
        default = ",".join(str(part) for part in UNTUNED[kind])
        for name, settings in splits.items():
            setting, right = chosen(settings)
            told["tuned"].setdefault(kind, {})[name] = right
            told["setting"].setdefault(kind, {})[name] = setting
            told["untuned"].setdefault(kind, {})[name] = settings.get(default, {}).get("test", float("nan"))
            told["hindsight"].setdefault(kind, {})[name] = max(s["test"] for s in settings.values())
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--appnp-hidden", type=int, nargs="*", default=list(HIDDEN))
    parser.add_argument("--shares", nargs="*", default=[], help="as 0.01 0.05; all by default")
    parser.add_argument("--epochs", type=int, default=max(EPOCHS), help="at most")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.sets or sorted(path.stem for path in options.prepared.glob("*.npz")):
        path = options.prepared / f"{name}.npz"
        file = options.out / f"networks_{name}.json"
        keep = lambda result, file=file: file.write_text(json.dumps(summary(result)))  # noqa: E731
        checkpoints = tuple(epochs for epochs in EPOCHS if epochs <= options.epochs)
        limits = tuple(options.appnp_hidden), tuple(options.shares)
        keep(run(path, options.device, *limits, keep, checkpoints))
        print(f"{name}: {json.loads(file.read_text())['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
