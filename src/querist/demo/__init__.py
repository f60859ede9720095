"""The demonstration: label handwritten digits by asking about a few of them."""

from querist.demo.page import comparison, make_folder, write_report
from querist.demo.play import DemoRuns, play

__all__ = ["DemoRuns", "comparison", "make_folder", "play", "write_report"]
