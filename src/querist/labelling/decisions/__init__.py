"""From probabilities to labels that people act on: calibration by class, goals, and what to expect."""
