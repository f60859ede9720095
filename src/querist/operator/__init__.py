"""The Laplacian as an operator: matmat, diagonal, solve. It knows arrays and CSR only."""

from querist.operator.solve import Solution
from querist.operator.value import Operator, empty_block

__all__ = ["Operator", "Solution", "empty_block"]
