"""Where a node is: a row of numbers for every node of a graph."""

from querist.embedding.make import embed
from querist.embedding.value import Embedding

__all__ = ["Embedding", "embed"]
