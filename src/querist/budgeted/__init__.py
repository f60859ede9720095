"""One vector at a time, mostly unlabelled, in bounded memory (bls19)."""
