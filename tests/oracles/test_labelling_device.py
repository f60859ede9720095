"""The models of `label` on a device against the same in this process, which has oracles of its own.

Rows are those of the device in both, for randomised ones differ by more than rounding.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp

from querist.datasets import sbm
from querist.labelling.folds import LabelFolds, cut_folds
from querist.labelling.members import MEMBERS, ClassifierModel, row_kinds, settle
from querist.labelling.refine import by_counts, by_rows
from querist.labelling.rows import SingularRows, features
from querist.labelling.workspace import Workspace
from querist.operator.backend import backend_of

torch = pytest.importorskip("torch", reason="devices are the extra [torch]")

KINDS = row_kinds(MEMBERS)


@pytest.fixture(scope="module")
def graph():
    """Three blocks, and counts of 60 words that lean to them; a node without edges and one without words."""
    blocks = sbm((50, 40, 30), 0.15, 0.02, seed=0)
    rng = np.random.default_rng(0)
    lean = rng.gamma(0.5, size=(3, 60))
    X = rng.poisson(0.6 * lean[blocks.codes])
    X[5] = 0
    S = blocks.adjacency.toarray()
    S[7] = S[:, 7] = 0
    return replace(blocks, adjacency=sp.csr_array(S), attributes=sp.csr_array(X.astype(float)))


@dataclass
class GivenRows(Workspace):
    """A workspace whose rows were made elsewhere."""

    given: dict = field(default_factory=dict)

    def rows(self, settings):
        return self.given[settings]


def folds_on(graph, device, given, n_folds=3) -> LabelFolds:
    labelled = np.sort(np.random.default_rng(1).choice(graph.n_nodes, 18, replace=False))
    workspace = GivenRows(
        graph.without_labels(), rank=16, device=device, backend=backend_of(device), given=given
    )
    return cut_folds(workspace, labelled, np.eye(3)[graph.codes[labelled]], False, n_folds, seed=0)


@pytest.fixture(scope="module")
def given(graph):
    alone = Workspace(graph.without_labels(), rank=16, device="cpu")
    rows = {kind: alone.rows(kind) for kind in KINDS}
    return {
        kind: SingularRows(own.left.astype(np.float32).astype(float), own.values)
        for kind, own in rows.items()
    }


@pytest.fixture(scope="module")
def here(graph, given):
    return folds_on(graph, None, given)


@pytest.fixture(scope="module")
def there(graph, given):
    return folds_on(graph, "cpu", given)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rows_span_the_leading_singular_vectors_of_the_smoothed_features(graph, there, kind):
    S, X = graph.adjacency.toarray(), features(graph, kind.source).toarray()
    degrees, neighbours = S.sum(axis=1), (S > 0).sum(axis=1)
    own = np.where(neighbours > 0, degrees / np.maximum(neighbours, 1), 1.0)
    A = S + np.diag(own)
    root = np.sqrt(A.sum(axis=1))
    T = A / np.outer(root, root)
    Z = X
    for _ in range(kind.steps):
        Z = kind.damping * T @ Z + (1 - kind.damping) * X
    U, values, _ = np.linalg.svd(Z)
    left, found = there.workspace.left(kind).double().numpy(), there.workspace.rows(kind).values
    assert left.T @ left == pytest.approx(np.eye(left.shape[1]), abs=1e-5)
    assert found[:6] == pytest.approx(values[:6], rel=2e-2)
    assert np.linalg.norm(left.T @ U[:, :2], axis=0) == pytest.approx(1.0, abs=2e-2)


MODELS = {**MEMBERS, "picked walks": MEMBERS["walks"].for_picked()}
EXACT = {"lam": 2.5, "objective": False, "solver_tol": 1e-11}


@pytest.mark.slow
@pytest.mark.parametrize("multilabel", [False, True], ids=["one label", "several"])
@pytest.mark.parametrize("name", MODELS)
def test_models_that_are_fitted_at_once_are_those_fitted_one_by_one(there, here, name, multilabel):
    model, close = MODELS[name], 1e-8
    if name == "counts":  # sweeps go on until all are done
        model, close = replace(model, parameters=EXACT), 1e-5
    at = lambda folds: [  # noqa: E731
        seen._replace(multilabel=multilabel)
        for seen in (folds.seen(), *(folds.seen(fold) for fold in range(folds.n_folds)))
    ]
    together = model.fit_all(there.workspace, at(there))
    for found, seen in zip(together, at(here), strict=True):
        one = model.fit(here.workspace, seen)
        assert found.logits(slice(None)) == pytest.approx(one.logits(slice(None)), abs=close)
        assert found.logits(here.sample) == pytest.approx(one.logits(here.sample), abs=close)
        assert (found.smoother is None) == (one.smoother is None)
        if one.smoother is not None:
            assert found.smoother(np.array([0, 3])) == pytest.approx(
                one.smoother(np.array([0, 3])), abs=close
            )


@pytest.mark.slow
def test_counts_of_weights_far_from_one_another_are_modelled_too(graph):
    model = ClassifierModel("counts", "gmnr", {"lam": "auto"}, counts=True)
    labelled = np.array([0, 60, 110])
    found = []
    for device in (None, "cpu"):
        workspace = Workspace(graph, device=device, backend=backend_of(device))
        folds = cut_folds(workspace, labelled, np.eye(3), False, 2, seed=0)
        found.append(model.fit_all(workspace, [folds.seen(), folds.seen()])[1].logits(slice(None)))
    assert found[0] == pytest.approx(found[1], abs=1e-2)


@pytest.mark.parametrize("nodes", [slice(None), np.arange(3, 90, 2)], ids=["all", "some"])
def test_self_training_is_that_of_this_process(there, here, nodes):
    count = len(np.arange(120)[nodes])
    P = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, count))
    for own in P:
        found, expected = (by_rows(one.workspace, KINDS[0], nodes, own) for one in (there, here))
        assert found == pytest.approx(expected, abs=1e-8)
        found, expected = (by_counts(one.workspace, nodes, own) for one in (there, here))
        assert found == pytest.approx(expected, abs=1e-10)


def test_models_work_in_this_process_if_their_rows_alone_have_room(graph, monkeypatch):
    Y = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    workspace = Workspace(graph, device="cpu")
    settle(workspace, MEMBERS, 3, Y)
    assert workspace.backend.name == "cpu"
    workspace.leave()
    assert workspace.backend.name is None
    monkeypatch.setattr("querist.labelling.members.free_on", lambda _: 1e9)
    settle(workspace, MEMBERS, 3, Y)
    assert workspace.device == "cpu" and workspace.backend.name is None
