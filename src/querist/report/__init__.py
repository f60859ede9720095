"""Pages and figures in one style: one template engine, one layout, one way to draw a chart; plain values in.

A page is a template of `templates/` and the values that its own room gathers. A figure is a value that draws
itself with matplotlib: as a file, or on a page with the page's colours. `charts` has what is drawn on axes,
`drawing` draws a graph.

>>> from querist.report import Figure
>>> Figure("line", lambda figure: figure.subplots().plot([1, 2])).svg[:5]
b'<?xml'
"""

from querist.report import charts
from querist.report.figures import PAGE_SIZE, Figure, on_page, standalone, thumbnail
from querist.report.page import page, part, write

__all__ = ["PAGE_SIZE", "Figure", "charts", "on_page", "page", "part", "standalone", "thumbnail", "write"]
