"""Where a node is: a row of numbers for every node of a graph.

>>> import querist
>>> querist.embedding.embed(querist.load_graph("karate"), rank=4, cache=False).rows.shape
(34, 4)
"""

from querist.embedding.make import embed
from querist.embedding.value import Embedding

__all__ = ["Embedding", "embed"]
