"""Every file: text, parquet, npz, GraphML and svmlight are read as columns; rows are written.

>>> from querist.tables.files import is_file_name
>>> is_file_name("edges.csv", "table"), is_file_name("cora", "table")
(True, False)
"""
