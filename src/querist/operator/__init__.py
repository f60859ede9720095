"""The Laplacian as an operator: matmat, diagonal, solve. It knows arrays and CSR only."""

from querist.operator.local import LocalSpace, empty_block
from querist.operator.solve import Solution
from querist.operator.space import BlockOperator, OrthonormalBasis, Space
from querist.operator.value import Operator

__all__ = ["BlockOperator", "LocalSpace", "Operator", "OrthonormalBasis", "Solution", "Space", "empty_block"]
