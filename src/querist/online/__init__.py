"""One node at a time: predict, maybe ask, maybe learn."""
