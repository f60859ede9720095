"""The lower end of the spectrum of a sparse symmetric matrix."""
