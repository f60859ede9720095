"""Every file, one door: text, parquet, npz, GraphML and svmlight become columns; rows go out again."""
