"""The Laplacian as an operator: matmat, diagonal, solve. It knows arrays and CSR only.

>>> import scipy.sparse as sp
>>> from querist.operator import Operator
>>> Operator.laplacian(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])).shape
(2, 2)
"""

from querist.operator.local import LocalSpace, empty_block
from querist.operator.solve import Solution
from querist.operator.space import BlockOperator, OrthonormalBasis, Space
from querist.operator.value import Operator

__all__ = ["BlockOperator", "LocalSpace", "Operator", "OrthonormalBasis", "Solution", "Space", "empty_block"]
