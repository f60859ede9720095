"""The Laplacian as an operator: matmat, diagonal, solve. It knows arrays and CSR only.

>>> import scipy.sparse as sp
>>> from querist.operator.value import Operator
>>> Operator.laplacian(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])).shape
(2, 2)
"""
