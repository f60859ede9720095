"""The graph networks of `label_efficiency.py`, hundreds trained at once: GCN, APPNP, GRAND, GPR-GNN.

Reads what `label_efficiency.py --parts prepare` wrote, needs NumPy, SciPy and torch (and a GPU for a
reasonable time) but no Querist, and writes one small JSON a data set and network. What is written already is
left alone, so that a run that stopped goes on:

    python benchmarks/label_efficiency_networks.py --prepared DIR --out DIR [--minutes 9] [--workers 4]

With `A` the symmetrically normalised adjacency with self-loops, Adam, weight decay 5e-4, dropout one half:

- `gcn`: `A drop(relu(A drop(X) W1)) W2`;
- `appnp`: a two-layer perceptron, then 10 steps of personalised PageRank;
- `gprgnn` (Chien et al. 2021): the same perceptron, dropout, then `sum_k g_k A^k H` up to k = 10, the g
  learned (without weight decay) from those of personalised PageRank;
- `grand` (Feng et al. 2020): the perceptron on `1/(k+1) sum_j A^j M X`, where M drops whole nodes, half of
  them, at random in every epoch; the mean loss of two such augmentations, and the squared distance of each
  one's probabilities from their mean, sharpened by a temperature of one half, over all nodes. Dropout of
  single inputs is left out, so that `A^j M X W = A^j (M X W)` may be computed in the narrower order.

To keep the work bounded the settings are chosen once for a set, a protocol and a share, by 5-fold
cross-validation on two draws of their own (accuracy, then log-loss; epochs of 25, 50, 100 and 200 each time):
first the scaling of the attributes, then one number after the other (`KINDS`). A graph without attributes has
the rows of its adjacency, as they are or divided by their sums, or the identity, whichever does best. The
networks of the reported draws are trained with these settings, and judged as they are and `matched`: with a
constant a class added to the logits so that the mean probabilities are the shares of the seeds.

All jobs on a graph share its adjacency and attributes, so their networks are trained side by side as one wide
network with separate losses: the same arithmetic as one PyG model each (test_label_efficiency_networks.py
compares the two), save that networks trained together share the dropout mask of the inputs.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from label_efficiency_peers import scaled

EPOCHS = (25, 50, 100, 200)
SCALINGS = ("row", "raw", "tfidf")
BARE = ("row", "raw", "identity")
"""What a graph without attributes has instead: the rows of its adjacency, or the identity."""
DROPOUT, DECAY, STEPS = 0.5, 5e-4, 10
AUGMENTATIONS, TEMPERATURE, CONSISTENCY = 2, 0.5, 1.0
FOLDS = 5
DENSE = 0.005
"""Share of entries from which attributes are multiplied as a dense matrix."""
WIDE = 1.5e8
"""Floats of one hidden layer over all networks that are trained together."""


class Setting(NamedTuple):
    """`own` is the kind's: teleport of APPNP, first teleport of GPR-GNN, steps of GRAND."""

    scaling: str
    hidden: int
    rate: float
    own: float


KINDS: dict[str, tuple[Setting, dict[str, tuple[float, ...]]]] = {
    "gcn": (Setting("row", 64, 0.01, 0), {"rate": (0.05,), "hidden": (16,)}),
    "appnp": (Setting("row", 64, 0.01, 0.1), {"rate": (0.05,), "own": (0.3,)}),
    "gprgnn": (Setting("row", 64, 0.01, 0.1), {"rate": (0.05,), "own": (0.5, 0.9)}),
    "grand": (Setting("row", 32, 0.01, 4), {"rate": (0.05,), "own": (2, 8)}),
}
"""Where each network starts, and what is tried instead, one after the other, once the scaling is chosen."""


# -- products ----------------------------------------------------------------------------------


class Propagate(torch.autograd.Function):
    """`sum_k w_k A^k X` for a symmetric sparse A and numbers w: its own transpose."""

    @staticmethod
    def forward(ctx: Any, A: Any, X: Any, w: Sequence[float]) -> Any:
        ctx.held = A, w
        Z = w[-1] * X if w[-1] != 1 else X
        for number in reversed(w[:-1]):
            Z = torch.addmm(X, A, Z, beta=number) if number else A @ Z
        return Z

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        A, w = ctx.held
        return None, Propagate.forward(ctx, A, gradient[0].contiguous(), w), None


class PropagateLearned(torch.autograd.Function):
    """`sum_k G_kb A^k H_b` for (n, B, K) blocks H and learned (steps + 1, B) numbers G."""

    @staticmethod
    def forward(ctx: Any, A: Any, H: Any, G: Any) -> Any:
        ctx.A = A
        ctx.save_for_backward(H, G)
        out = G[0, :, None] * H
        Z = H
        for g in G[1:]:
            Z = (A @ Z.flatten(1)).view(H.shape)
            out.addcmul_(Z, g[:, None])
        return out

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        H, G = ctx.saved_tensors
        Z = gradient[0].contiguous()
        back, slopes = G[0, :, None] * Z, [(H * Z).sum(dim=(0, 2))]
        for g in G[1:]:
            Z = (ctx.A @ Z.flatten(1)).view(H.shape)
            back.addcmul_(Z, g[:, None])
            slopes.append((H * Z).sum(dim=(0, 2)))
        return None, back, torch.stack(slopes)


class Times(torch.autograd.Function):
    """`X W` for a sparse X whose transpose is at hand."""

    @staticmethod
    def forward(ctx: Any, X: Any, transposed: Any, W: Any) -> Any:
        ctx.transposed = transposed
        return X @ W

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        return None, None, ctx.transposed @ gradient[0].contiguous()


def personalised(teleport: float) -> list[float]:
    """The numbers w_k of STEPS steps of personalised PageRank, `Z <- (1 - t) A Z + t X` from `Z = X`."""
    return [teleport * (1 - teleport) ** k for k in range(STEPS)] + [(1 - teleport) ** STEPS]


class Inputs:
    """Attributes (n, f); dropping an entry of a sparse matrix is dropping it of the dense one."""

    def __init__(self, X: sp.csr_array, device: str) -> None:
        self.X, self.shape, self.device = X, X.shape, torch.device(device)
        self.is_dense = X.nnz > DENSE * X.shape[0] * X.shape[1]
        if self.is_dense:
            return
        order = sp.csr_array((np.arange(1, X.nnz + 1), X.indices, X.indptr), shape=X.shape).T.tocsr()
        as_tensor = lambda a: torch.as_tensor(a.astype(np.int64), device=device)  # noqa: E731
        self.pattern = as_tensor(X.indptr), as_tensor(X.indices)
        self.turned = as_tensor(order.indptr), as_tensor(order.indices)
        self.order = as_tensor(order.data - 1)
        self.values = torch.as_tensor(X.data.astype(np.float32), device=device)

    @cached_property
    def block(self) -> Any:
        """The dense matrix."""
        return torch.as_tensor(self.X.astype(np.float32).toarray(), device=self.device)

    def times(self, W: Any, drop: bool) -> Any:
        if self.is_dense:
            return torch.nn.functional.dropout(self.block, DROPOUT, drop) @ W
        values = torch.nn.functional.dropout(self.values, DROPOUT, drop)
        n, f = self.shape
        X = torch.sparse_csr_tensor(*self.pattern, values, size=(n, f))
        return Times.apply(X, torch.sparse_csr_tensor(*self.turned, values[self.order], size=(f, n)), W)


# -- networks ----------------------------------------------------------------------------------


class Networks(torch.nn.Module):
    """`count` networks of one kind side by side; weights as PyG starts them (Glorot, biases zero).

    `first` (inputs, count, hidden), `second` (count, hidden, outputs), `mix` (STEPS + 1, count).
    """

    def __init__(self, kind: str, inputs: int, setting: Setting, outputs: int, count: int) -> None:
        super().__init__()
        self.kind, self.own = kind, setting.own
        hidden = setting.hidden
        first, second = torch.empty(inputs, count, hidden), torch.empty(count, hidden, outputs)
        for W, ends in ((first, inputs + hidden), (second, hidden + outputs)):
            torch.nn.init.uniform_(W, -((6 / ends) ** 0.5), (6 / ends) ** 0.5)
        self.first = torch.nn.Parameter(first)
        self.second = torch.nn.Parameter(second)
        self.first_bias = torch.nn.Parameter(torch.zeros(count, hidden))
        self.second_bias = torch.nn.Parameter(torch.zeros(count, outputs))
        if kind == "gprgnn":
            self.mix = torch.nn.Parameter(torch.tensor(personalised(setting.own))[:, None].repeat(1, count))

    def forward(self, A: Any, X: Inputs) -> Any:
        """(n, S, B, K) logits; S augmentations of GRAND while it is trained, else one."""
        H = self.hidden_inputs(A, X)
        drop = lambda block: torch.nn.functional.dropout(block, DROPOUT, self.training)  # noqa: E731
        out = torch.einsum("nsbh,bhk->nsbk", drop((H + self.first_bias).relu()), self.second)
        if self.kind == "gcn":
            return _spread(A, out, [0, 1]) + self.second_bias
        out = out + self.second_bias
        if self.kind == "appnp":
            return _spread(A, out, personalised(self.own))
        if self.kind == "gprgnn":
            return PropagateLearned.apply(A, drop(out[:, 0]), self.mix)[:, None]
        return out

    def hidden_inputs(self, A: Any, X: Inputs) -> Any:
        """(n, S, B, hidden) what comes to the hidden layer."""
        inputs, count, hidden = self.first.shape
        W = self.first.view(inputs, count * hidden)
        if self.kind != "grand":
            H = X.times(W, self.training).view(-1, 1, count, hidden)
            return _spread(A, H, [0, 1]) if self.kind == "gcn" else H
        samples = AUGMENTATIONS if self.training else 1
        ones = torch.ones(X.shape[0], samples, 1, device=X.device)
        kept = torch.nn.functional.dropout(ones, DROPOUT, self.training)
        # Inputs need no way back, so twice as many of their columns cost as much as those of the layer.
        narrow = inputs <= 2 * count * hidden
        base = X.block if narrow else X.times(W, drop=False)
        steps = int(self.own)
        Z = _spread(A, kept * base[:, None], [1 / (steps + 1)] * (steps + 1))
        return (Z @ W if narrow else Z).view(-1, samples, count, hidden)


def _spread(A: Any, block: Any, w: Sequence[float]) -> Any:
    return Propagate.apply(A, block.flatten(1), w).view(block.shape)


def disagreement(logits: Any) -> Any:
    """(B,) GRAND's consistency loss of (n, S, B, K) logits of S augmentations."""
    P = logits.softmax(dim=-1)
    sharp = P.detach().mean(dim=1, keepdim=True) ** (1 / TEMPERATURE)
    sharp = sharp / sharp.sum(dim=-1, keepdim=True)
    return ((P - sharp) ** 2).sum(dim=-1).mean(dim=(0, 1))


def matched(logits: Any, shares: Any, steps: int = 30) -> Any:
    """(B, K) what to add to (n, B, K) logits so that mean probabilities come to `shares` (B, K)."""
    shift = torch.zeros_like(shares)
    goal = shares.clamp_min(1e-12).log()
    for _ in range(steps):
        now = (logits + shift).softmax(dim=-1).mean(dim=0).clamp(1e-12, 1)
        shift += 0.5 * (goal - now.log()).clamp(-4, 4)
    return shift


class Job(NamedTuple):
    """A network to train on `seeds`, judged on the nodes `judged`."""

    seeds: Any
    judged: Any


class Task:
    """A prepared data set on a device, and until when there is time."""

    def __init__(self, path: Path, device: str, deadline: float = float("inf")) -> None:
        with np.load(path) as held:
            z = {name: held[name] for name in held.files}
        self.name, self.device, self.deadline = path.stem, device, deadline
        self.codes = z["codes"].astype(np.int64)
        self.n, self.K = len(self.codes), int(self.codes.max()) + 1
        half = unpacked(z, "S", self.n)
        self.S = sp.csr_array(half + half.T)
        self.scalings = SCALINGS if "X_columns" in z else BARE
        self.X = unpacked(z, "X", int(z["X_columns"])) if "X_columns" in z else self.S
        self.A = normalised(self.S, device)
        self.truth = torch.as_tensor(self.codes, device=device)
        self.seeds = {name[6:]: z[name].astype(np.int64) for name in z if name.startswith("seeds_")}
        self.folds = {name[6:]: z[name] for name in z if name.startswith("folds_")}
        self._inputs: dict[str, Inputs] = {}

    def inputs(self, scaling: str) -> Inputs:
        if scaling not in self._inputs:
            self._inputs[scaling] = Inputs(scaled(self.X, scaling), self.device)
        return self._inputs[scaling]

    def columns(self, kind: str, setting: Setting) -> float:
        """Floats of one network's widest layer, over the nodes."""
        outputs = self.K * (2 if kind == "gcn" else 4)
        samples = AUGMENTATIONS if kind == "grand" else 1
        return samples * max(self.n * max(setting.hidden, outputs), self.X.shape[1] * setting.hidden)


def unpacked(z: dict[str, Any], name: str, columns: int) -> sp.csr_array:
    """A sparse matrix from the lengths of its rows, its columns, and its values (one where all are equal)."""
    counts, indices = z[f"{name}_counts"].astype(np.int64), z[f"{name}_indices"].astype(np.int64)
    data = np.broadcast_to(z[f"{name}_data"].astype(np.float64), indices.shape).copy()
    return sp.csr_array((data, indices, np.append(0, counts.cumsum())), shape=(counts.size, columns))


def normalised(S: sp.csr_array, device: str) -> Any:
    """`D^-1/2 (S + I) D^-1/2` as a torch matrix."""
    A = sp.csr_array(S + sp.eye_array(S.shape[0]))
    r = sp.diags_array(1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel()))
    A = sp.csr_array(r @ A @ r)
    parts = (A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float32))
    return torch.sparse_csr_tensor(*(torch.as_tensor(p) for p in parts), size=A.shape).to(device)


# -- training ----------------------------------------------------------------------------------


def train(
    task: Task,
    kind: str,
    setting: Setting,
    jobs: Sequence[Job],
    judge: Callable[[Any, Sequence[Job]], list[Any]],
    checkpoints: Sequence[int],
) -> list[list[Any]]:
    """For each job what `judge((n, B, K) logits, jobs)` says of it at each checkpoint."""
    size = max(1, int(WIDE / task.columns(kind, setting)))
    if len(jobs) > size:
        parts = np.array_split(np.arange(len(jobs)), -(-len(jobs) // size))
        return [
            told
            for part in parts
            for told in train(task, kind, setting, [jobs[j] for j in part], judge, checkpoints)
        ]
    A, X, device = task.A, task.inputs(setting.scaling), task.truth.device
    nets = Networks(kind, X.shape[1], setting, task.K, len(jobs)).to(device)
    free = [p for name, p in nets.named_parameters() if name == "mix"]
    tied = [p for name, p in nets.named_parameters() if name != "mix"]
    groups = [{"params": tied, "weight_decay": DECAY}, {"params": free}][: 1 + bool(free)]
    optimiser = torch.optim.Adam(groups, lr=setting.rate, fused=device.type == "cuda")
    nodes, owner, share = _flat([job.seeds for job in jobs], device)
    place = nodes * len(jobs) + owner  # indexing by two would be sorted on the way back
    found: list[list[Any]] = [[] for _ in jobs]
    for epoch in range(1, max(checkpoints) + 1):
        nets.train()
        optimiser.zero_grad(set_to_none=True)
        logits = nets(A, X)
        own = torch.stack([part.flatten(0, 1).index_select(0, place) for part in logits.unbind(1)], dim=2)
        truth = task.truth[nodes, None].expand(-1, own.shape[2])
        loss = torch.nn.functional.cross_entropy(own, truth, reduction="none").mean(dim=1) @ share
        if logits.shape[1] > 1:
            loss = loss + CONSISTENCY * disagreement(logits).sum()
        loss.backward()
        optimiser.step()
        if epoch in checkpoints:
            if time.time() > task.deadline:
                raise TimeoutError
            nets.eval()
            with torch.no_grad():
                for own_found, told in zip(found, judge(nets(A, X)[:, 0], jobs), strict=True):
                    own_found.append(told)
    return found


def _flat(groups: Sequence[Any], device: Any) -> tuple[Any, Any, Any]:
    """Nodes of all groups, the group of each, and one over the size of its group."""
    sizes = np.array([len(group) for group in groups])
    parts = np.concatenate(groups), np.repeat(np.arange(len(groups)), sizes), np.repeat(1 / sizes, sizes)
    nodes, owner, share = (torch.as_tensor(part, device=device) for part in parts)
    return nodes, owner, share.float()


def held_out(task: Task, logits: Any, jobs: Sequence[Job]) -> list[tuple[float, float]]:
    """For each job how many of its judged nodes are right, and the sum of their log-losses."""
    nodes, owner, _ = _flat([job.judged for job in jobs], logits.device)
    own = logits[nodes, owner].log_softmax(dim=1)
    right = (own.argmax(dim=1) == task.truth[nodes]).double()
    loss = -own.gather(1, task.truth[nodes][:, None])[:, 0].double()
    totals = torch.zeros(2, len(jobs), dtype=torch.float64, device=logits.device)
    totals.index_add_(1, owner, torch.stack([right, loss]))
    return [(float(count), float(total)) for count, total in totals.T.cpu()]


def tested(task: Task, logits: Any, jobs: Sequence[Job]) -> list[tuple[float, float]]:
    """For each job its accuracy on the judged nodes, as it is and matched to the shares of its seeds."""
    counts = [np.bincount(task.codes[job.seeds], minlength=task.K) / len(job.seeds) for job in jobs]
    shares = torch.as_tensor(np.array(counts), device=logits.device, dtype=logits.dtype)
    nodes, owner, share = _flat([job.judged for job in jobs], logits.device)
    answers = torch.zeros(2, len(jobs), dtype=torch.float64, device=logits.device)
    for form, L in enumerate((logits, logits + matched(logits, shares))):
        right = L.argmax(dim=2)[nodes, owner] == task.truth[nodes]
        answers[form].index_add_(0, owner, right.double() * share)
    return [(float(plain), float(even)) for plain, even in answers.T.cpu()]


# -- choosing ----------------------------------------------------------------------------------


def chosen(task: Task, kind: str, group: Sequence[str]) -> dict[str, tuple[Setting, int, float]]:
    """For each `protocol_share` of `group` its setting, epochs and cross-validated accuracy."""
    start, tries = KINDS[kind]
    best: dict[str, tuple[float, float, Setting, int]] = {}
    jobs = {
        name: [
            Job(task.seeds[draw][fold != f], task.seeds[draw][fold == f])
            for draw, fold in task.folds.items()
            if draw.startswith(f"{name}_")
            for f in range(FOLDS)
            if (fold == f).any()
        ]
        for name in group
    }
    for part, values in {"scaling": task.scalings, **tries}.items():
        asked: dict[Setting, list[str]] = {}
        for name in group:
            now = best[name][2] if name in best else start
            for value in values:
                asked.setdefault(now._replace(**{part: value}), []).append(name)
        for setting, names in asked.items():
            together = [job for name in names for job in jobs[name]]
            told = train(task, kind, setting, together, lambda L, some: held_out(task, L, some), EPOCHS)
            first = 0
            for name in names:
                last = first + len(jobs[name])
                total = sum(len(job.judged) for job in jobs[name])
                curve = np.sum(told[first:last], axis=0) / total
                first = last
                for epochs, (right, loss) in zip(EPOCHS, curve, strict=True):
                    candidate = (round(float(right), 9), -float(loss), setting, epochs)
                    if name not in best or candidate[:2] > best[name][:2]:
                        best[name] = candidate
    return {name: (setting, epochs, right) for name, (right, _, setting, epochs) in best.items()}


def run(task: Task, kind: str, draws: int, seed: int = 0) -> dict[str, Any]:
    """Accuracy of a network in each draw of a prepared set, as it is and matched; its settings."""
    started = time.perf_counter()
    torch.manual_seed(seed)
    groups = list(dict.fromkeys(name.rsplit("_", 1)[0] for name in task.folds))
    settings = chosen(task, kind, groups)
    found: dict[str, dict[str, float]] = {kind: {}, f"{kind} matched": {}}
    known = np.flatnonzero(task.codes >= 0)
    for setting in dict.fromkeys(setting for setting, _, _ in settings.values()):
        names = [
            f"{group}_{draw}"
            for group in groups
            if settings[group][0] == setting
            for draw in range(draws)
            if f"{group}_{draw}" in task.seeds
        ]
        epochs = {name: settings[name.rsplit("_", 1)[0]][1] for name in names}
        jobs = [Job(task.seeds[name], np.setdiff1d(known, task.seeds[name])) for name in names]
        ends = sorted(set(epochs.values()))
        told = train(task, kind, setting, jobs, lambda L, some: tested(task, L, some), ends)
        for name, curve in zip(names, told, strict=True):
            answer = curve[ends.index(epochs[name])]
            found[kind][name], found[f"{kind} matched"][name] = (round(float(v), 6) for v in answer)
    said = {name: [*setting, epochs, round(right, 4)] for name, (setting, epochs, right) in settings.items()}
    seconds = time.perf_counter() - started
    return {"set": task.name, "found": found, "setting": said, "seconds": round(seconds, 1)}


def work(path: Path, kind: str, out: Path, device: str, draws: int, deadline: float) -> str:
    """One set and network to its file; what came of it in words."""
    file, who = out / f"networks_{path.stem}_{kind}.json", f"{path.stem} {kind}"
    if file.exists():
        return f"{who}: there already"
    if time.time() > deadline:
        return f"{who}: no time left"
    torch.set_float32_matmul_precision("high")
    torch.set_num_threads(1)
    try:
        result = run(Task(path, device, deadline), kind, draws)
    except TimeoutError:
        return f"{who}: stopped, out of time"
    finally:
        if device == "cuda":
            torch.cuda.empty_cache()
    file.with_suffix(".part").write_text(json.dumps(result))
    file.with_suffix(".part").rename(file)
    means = ", ".join(
        f"{name} {np.mean(list(table.values())):.3f}" for name, table in result["found"].items()
    )
    return f"{who}: {result['seconds']:.0f} s, {means}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", help="in this order; all, the small ones first, unless given")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--draws", type=int, default=20, help="at most, of those that were prepared")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop in time, to go on later")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the device")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    deadline = time.time() + 60 * options.minutes
    options.out.mkdir(parents=True, exist_ok=True)
    small_first = sorted(options.prepared.glob("*.npz"), key=lambda path: path.stat().st_size)
    paths = [options.prepared / f"{name}.npz" for name in options.sets or []] or small_first
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        waiting = [
            pool.submit(work, path, kind, options.out, options.device, options.draws, deadline)
            for path in paths
            for kind in options.kinds
        ]
        for done in as_completed(waiting):
            problem = done.exception()
            print(done.result() if problem is None else f"failed: {problem!r}"[:500], flush=True)


if __name__ == "__main__":
    main()
