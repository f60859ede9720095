"""Labels and attributes of the nodes, in whatever form they come.

Labels are n values, a dict by node id, a series of any library, or an (n, K)
0/1 matrix; attributes are an (n, k) matrix or data frame.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.entries import Found
from querist.labels import Labels, encode, tabulate
from querist.matrices import as_floats, checked_sparse
from querist.tables.frames import frame_of, is_tabular, values_of
from querist.types import Sparse


def as_values(given: Any) -> Any:
    """A list of plain values; dicts and (n, K) matrices as they are."""
    if given is None or isinstance(given, Mapping) or sp.issparse(given):
        return given
    values = values_of(given) if is_tabular(given) else given
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        return array if array.ndim == 2 and array.shape[1] > 1 else array.ravel().tolist()
    if not isinstance(values, Iterable):
        raise InputError(f"{type(given).__name__} where a list of values, one a node, is needed")
    return list(values)


def known_labels(found: Found, classes: Sequence[Hashable] | None, missing: Hashable) -> Labels | None:
    """The labels that the nodes came with; -1 is a class here unless it is `missing`."""
    labels, several = found.labels, None
    if labels is None:
        return None if classes is None else encode([None] * found.n, classes)
    if isinstance(labels, Labels):
        if classes is None and (missing is None or labels.multilabel):
            return labels
        several, classes = labels.multilabel or None, labels.classes if classes is None else classes
        labels = labels.names()
    nodes = range(found.n) if found.ids is None else found.ids
    unlabelled = float("nan") if missing is None else missing
    return tabulate(labels, nodes, classes, unlabelled, multilabel=several)


def are_columns(attributes: Any) -> bool:
    """Whether attributes are asked for by the names of columns, as all of them or as none."""
    return isinstance(attributes, bool) or (
        isinstance(attributes, list | tuple)
        and bool(attributes)
        and all(isinstance(c, str) for c in attributes)
    )


def as_attributes(attributes: Any) -> Sparse | None:
    """(n, k) attributes as CSR; a data frame gives all its columns."""
    if attributes is None:
        return None
    values = frame_of(attributes, "attributes").to_numpy() if is_tabular(attributes) else attributes
    if sp.issparse(values):
        checked_sparse(values, "attributes")
    else:
        values = as_floats(values, "attributes", "encode or leave out the others")
    if values.ndim != 2:
        raise InputError(f"attributes of shape {values.shape}; give an (n, k) matrix, one row a node")
    return sp.csr_array(values)
