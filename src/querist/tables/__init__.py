"""Every file, one door: text, parquet, npz, GraphML and svmlight become columns; rows go out again.

>>> from querist.tables import is_file_name
>>> is_file_name("edges.csv", "table"), is_file_name("cora", "table")
(True, False)
"""

from querist.tables.files import STANDARD_INPUT, is_file_name, node_file, read_table, read_vectors
from querist.tables.formats import Columns, Format, VectorTable
from querist.tables.labels import Seeds, read_seeds
from querist.tables.nodes import NodeTable, read_nodes
from querist.tables.output import check_place, save

__all__ = [
    "STANDARD_INPUT",
    "Columns",
    "Format",
    "NodeTable",
    "Seeds",
    "VectorTable",
    "check_place",
    "is_file_name",
    "node_file",
    "read_nodes",
    "read_seeds",
    "read_table",
    "read_vectors",
    "save",
]
