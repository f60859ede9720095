"""Which nodes a label can reach: the difference between an answer and a guess."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.types import Bools, Sparse


def reach(X: Sparse, seeds: Bools, components: Any = None, chains: bool = True) -> Bools:
    """(n,) whether a label comes to a node through a shared feature or, where components are given, an edge.

    With `chains` a feature passes on what reached an unlabelled node, as in a generative model; without, only
    features of labelled nodes count, as for a classifier that is trained on them.
    """
    reached = seeds.copy()
    while True:
        before = int(reached.sum())
        reached |= _sharing(X, reached)
        reached = _joined(reached, components)
        if not chains or reached.all() or int(reached.sum()) == before:
            return reached


def _sharing(X: Sparse, reached: Bools) -> Bools:
    """Nodes with a feature that one of these has."""
    pattern: Any = sp.csr_array((X.data != 0, X.indices, X.indptr), shape=X.shape)
    features = np.zeros(X.shape[1], dtype=bool)
    own = pattern[np.flatnonzero(reached)]
    features[own.indices[own.data]] = True
    return np.asarray(pattern @ features, dtype=bool)


def _joined(reached: Bools, components: Any) -> Bools:
    if components is None:
        return reached
    touched = np.zeros(int(components.max()) + 1, dtype=bool)
    touched[components[reached]] = True
    return np.asarray(touched[components])
