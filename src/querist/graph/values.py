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
from querist.labels import encode
from querist.matrices import as_floats, checked_sparse
from querist.tables.formats import some
from querist.tables.frames import frame_of, is_tabular, values_of
from querist.types import Sparse

MOST_CLASSES = 1_000_000
"""Of classes that are only counted, not named."""


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


def by_node(labels: Any, found: Found) -> Any:
    """Labels in the order of the nodes; a dict is looked up by node id."""
    if not isinstance(labels, Mapping):
        return labels
    ids = found.ids if found.ids is not None else tuple(range(found.n))
    unknown = labels.keys() - set(ids)
    if unknown:
        raise InputError(
            f"labels for {some(len(unknown), 'unknown node')}, e.g. {next(iter(unknown))!r} "
            f"(nodes are like {ids[0]!r}); mend the ids, or list all nodes in nodes="
        )
    return [labels.get(node) for node in ids]


def label_fields(found: Found, classes: Sequence[Hashable] | None, missing: Hashable) -> dict[str, Any]:
    """The fields of a `Graph` that hold labels."""
    labels, names = found.labels, classes if classes is not None else found.classes
    if labels is None:
        return {"classes": tuple(names or ())}
    if sp.issparse(labels) or getattr(labels, "ndim", 1) == 2:
        matrix = sp.csr_array(
            checked_sparse(labels, "labels") if sp.issparse(labels) else as_floats(labels, "labels")
        )
        if classes is not None and found.classes is not None:
            if set(classes) != set(found.classes):
                raise InputError(f"classes {tuple(classes)!r} are not those of the source, {found.classes!r}")
            matrix = matrix[:, [found.classes.index(c) for c in classes]]
        if not names and matrix.shape[1] > MOST_CLASSES:
            raise InputError(
                f"labels of shape {matrix.shape}; give a column a class, of at most {MOST_CLASSES:,}"
            )
        return {"label_matrix": matrix, "classes": tuple(names or range(matrix.shape[1]))}
    if len(labels) != found.n:
        raise InputError(
            f"{len(labels)} labels for {found.n} nodes; give one a node in the order of the nodes "
            "(None where unlabelled), or a dict from node id to label"
        )
    codes, names = encode(labels, names, missing)
    return {"codes": codes, "classes": names}


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
