"""Names for the arrays that pass between packages."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

if TYPE_CHECKING:
    Sparse: TypeAlias = sp.csr_array[Any]
else:
    # Older SciPy cannot subscript it at run time, and `Sparse | None` needs a class.
    Sparse = sp.csr_array
