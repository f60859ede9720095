"""The verbs `querist reproduce` and `querist bound`, a module each."""
