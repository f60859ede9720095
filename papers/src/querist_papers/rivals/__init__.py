"""Rivals that the papers and this reproduction compare with; each is found by its name in querist."""
