"""`labelling/device` against the same mathematics in this process, which has oracles of its own.

Rows are those of the device in both, for randomised ones differ by more than rounding.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp

from querist.datasets import sbm
from querist.labelling import combine
from querist.labelling.folds import LabelFolds, cut_folds
from querist.labelling.heads import judgeable, ridge
from querist.labelling.members import MEMBERS, ClassifierMethod, SmoothedRidge, for_picked
from querist.labelling.refine import by_counts, by_rows
from querist.labelling.rows import SingularRows, features
from querist.labelling.workspace import Workspace

torch = pytest.importorskip("torch", reason="devices are the extra [torch]")

from querist.collective.device import DeviceCounts  # noqa: E402
from querist.labelling.device import fits, refining, regress  # noqa: E402
from querist.labelling.device.place import DeviceGraph  # noqa: E402
from querist.labelling.device.ridge_rows import RowCuts  # noqa: E402

KINDS = [member.method.settings for member in MEMBERS.values() if isinstance(member.method, SmoothedRidge)]


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


def folds_on(graph, device, labels=18, n_folds=3) -> LabelFolds:
    labelled = np.sort(np.random.default_rng(1).choice(graph.n_nodes, labels, replace=False))
    workspace = GivenRows(graph.without_labels(), rank=16, device=device)
    return cut_folds(workspace, labelled, np.eye(3)[graph.codes[labelled]], False, n_folds, seed=0)


@pytest.fixture(scope="module")
def here(graph):
    return folds_on(graph, None)


@pytest.fixture(scope="module")
def there(graph, here):
    folds = folds_on(graph, "cpu")
    alone = Workspace(graph.without_labels(), rank=16, device="cpu")
    for kind in KINDS:
        made = alone.rows(kind)
        here.workspace.given[kind] = SingularRows(made.left.astype(np.float32).astype(float), made.values)
    folds.workspace.given = here.workspace.given
    return fits.DeviceFolds.brought(folds)


def place_of(graph) -> DeviceGraph:
    return DeviceGraph(Workspace(graph, rank=16, device="cpu"))


@pytest.mark.parametrize("source", ["attributes", "links"])
@pytest.mark.parametrize("scale", [1.0, 0.3, -1.0])
def test_features_are_those_of_this_process(graph, source, scale):
    graph = replace(graph, attributes=scale * graph.attributes)
    both = place_of(graph).features(source)
    expected = features(graph, source).toarray()
    assert (both.X @ torch.eye(both.X.shape[1]).double()).numpy() == pytest.approx(expected, abs=1e-14)
    assert (both.turned @ torch.eye(len(expected)).double()).numpy() == pytest.approx(expected.T, abs=1e-14)


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
    left, found = there.place.rows(kind)
    left = left.double().numpy()
    assert left.T @ left == pytest.approx(np.eye(left.shape[1]), abs=1e-5)
    assert found.numpy()[:6] == pytest.approx(values[:6], rel=2e-2)
    assert np.linalg.norm(left.T @ U[:, :2], axis=0) == pytest.approx(1.0, abs=2e-2)


def test_regressions_are_those_that_are_fitted_one_by_one(there, here):
    cuts = RowCuts(there.place.rows(KINDS[0]), [4, 9])
    z = cuts.at(there.labelled)
    W = there.labels.W
    found = regress.ridges(W[:, None, :, None] * W[:, None, None, :] * (z @ z.transpose(1, 2)), there.labels)
    coefficients = z.transpose(1, 2) @ found.alpha
    answers = cuts.answers(slice(None), coefficients).numpy()
    for fit, kept in enumerate([np.ones(18, dtype=bool), *(here.kept(fold) for fold in range(3))]):
        Y, total = here.Y[kept], 0.0
        for pair, rank in enumerate(cuts.ranks):
            rows = here.workspace.rows(KINDS[0]).take(rank)
            expected = ridge(rows[here.labelled[kept]], Y)
            assert found.left_out[fit, pair].numpy()[kept] == pytest.approx(expected.left_out, abs=1e-8)
            assert (found.left_out[fit, pair].numpy()[~kept] == 0).all()
            total = total + expected.answer(rows) - expected.mean
        assert answers[fit] == pytest.approx(total, abs=1e-8)
        assert there.labels.judged[fit].numpy()[kept] == pytest.approx(judgeable(Y).astype(float))


@pytest.mark.parametrize("size", [0.0, 0.01, 1.0, 50.0])
def test_the_steepness_is_that_of_this_process(size):
    rng = np.random.default_rng(0)
    Y = np.eye(4)[rng.integers(4, size=30)]
    L = size * (Y + 0.5 * rng.standard_normal((30, 4)))
    judged = rng.random(30) < 0.7
    arrays = [torch.as_tensor(array).double() for array in (L, np.ones(30), judged, Y)]
    expected = combine.scaled_with_prior(L, Y, False, judged)
    found = float(regress.steepness(*arrays))
    assert found == pytest.approx(expected.steepness, rel=1e-3)
    scaled = expected.of(L)[judged]
    loss = regress.losses(torch.as_tensor(expected.of(L)), arrays[2], arrays[3])
    assert float(loss) == pytest.approx(combine.loss(scaled, Y[judged], False))


GMNR = ClassifierMethod("counts", "gmnr", {"lam": 5.0, "solver_tol": 1e-11}, counts=True)
METHODS = {name: member.method for name, member in MEMBERS.items() if name != "own_gaussian"} | {
    "counts": GMNR,
    "picked walks": for_picked(MEMBERS["walks"]).method,
}


@pytest.mark.parametrize("name", METHODS)
def test_members_are_those_that_are_fitted_one_by_one(there, here, name):
    method = METHODS[name]
    whole, tables = there.fits(method)
    every = np.arange(len(here.Y))
    for table, kept, nodes in [
        (whole.logits(slice(None)), every, slice(None)),
        *((t, here.kept(fold), here.sample) for fold, t in enumerate(tables)),
    ]:
        fitted = method.fit(here.workspace, here.labelled[kept], here.Y[kept], False)
        assert table == pytest.approx(fitted.logits(nodes), abs=2e-3 if method is GMNR else 1e-3)
    weights = whole.smoother(np.array([0, 3]))
    assert weights is None or weights.shape == (2, len(here.Y))


def test_methods_that_are_not_for_a_device_are_fitted_one_by_one(there):
    assert there.fits(ClassifierMethod("wvrn", "wvrn")) is None
    assert there.fits(MEMBERS["own_gaussian"].method) is None
    other = ClassifierMethod("counts", "gmnr", {"clamp": "none"}, counts=True)
    assert there.fits(other) is None


def test_one_label_a_class_leaves_nothing_to_hold_out(graph):
    labelled = np.array([0, 60, 110])
    folds = cut_folds(Workspace(graph, rank=16, device="cpu"), labelled, np.eye(3), False, 2, seed=0)
    for method in METHODS.values():
        fitted, tables = fits.DeviceFolds.brought(folds).fits(method)
        assert tables == []
        assert fitted.logits(labelled).argmax(axis=1).tolist() == [0, 1, 2]


def test_members_are_fitted_at_once_where_labels_are_few_and_there_is_room(graph, monkeypatch):
    folds = folds_on(graph, "cpu")
    assert fits.can_be_together(folds, [])
    assert not fits.can_be_together(folds_on(graph, None), [])
    assert not fits.can_be_together(replace(folds, multilabel=True), [])
    many = np.repeat(folds.Y, 30, axis=0)
    assert not fits.can_be_together(replace(folds, Y=many), [])
    monkeypatch.setattr(fits, "free_on", lambda _: 1e9)
    assert not fits.can_be_together(folds, [])


def test_counts_are_those_of_this_process(graph):
    for scale in (1.0, 0.3):
        one = Workspace(replace(graph, attributes=scale * graph.attributes), device="cpu")
        found = DeviceGraph(one).counts
        assert isinstance(found, DeviceCounts)
        assert found.X.values.numpy() == pytest.approx(one.counted.attributes.data)


@pytest.mark.parametrize("nodes", [slice(None), np.arange(3, 90, 2)], ids=["all", "some"])
def test_self_training_is_that_of_this_process(there, here, nodes):
    count = len(np.arange(120)[nodes])
    P = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, count))
    for own in P:
        found = refining.by_rows(there.place, KINDS[0], nodes, own)
        assert found == pytest.approx(by_rows(here.workspace, KINDS[0], nodes, own), abs=1e-8)
        found = refining.by_counts(there.place, nodes, own)
        assert found == pytest.approx(by_counts(here.workspace, nodes, own), abs=1e-10)
