"""The Laplacian as an operator: matmat, diagonal, solve. It knows arrays and CSR only."""

from querist.operator.local import LocalSpace, empty_block
from querist.operator.solve import Solution
from querist.operator.space import Basis, BlockOperator, Space
from querist.operator.value import Operator

__all__ = ["Basis", "BlockOperator", "LocalSpace", "Operator", "Solution", "Space", "empty_block"]
