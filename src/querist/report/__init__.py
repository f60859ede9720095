"""Pages and figures in one style: one template engine, one layout, one way to draw a chart; plain values in.

A page is a template of `templates/` and the values that the calling package gathers. A figure is a value
that draws itself with matplotlib: as a file, or on a page with the page's colours. `charts` has what is drawn
on axes, `drawing` draws a graph.

>>> from querist.report.figures import Figure
>>> Figure("line", lambda figure: figure.subplots().plot([1, 2])).svg[:5]
b'<?xml'
"""
