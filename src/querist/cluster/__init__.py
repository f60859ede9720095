"""A graph that no machine holds: its rows on the workers of a Dask cluster."""
