"""THE WHOLE graph at once, from few labels."""
