"""The demonstration: label handwritten digits by asking about a few of them."""
