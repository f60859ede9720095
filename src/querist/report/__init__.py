"""Reports in one house style: a self-contained HTML page, and figures that follow its colours."""

from querist.report.figures import Curve, curves, standalone, thumbnail
from querist.report.page import (
    Figure,
    Html,
    Tile,
    code,
    columns,
    gallery,
    headline,
    page,
    prose,
    section,
    table,
)

__all__ = [
    "Curve",
    "Figure",
    "Html",
    "Tile",
    "code",
    "columns",
    "curves",
    "gallery",
    "headline",
    "page",
    "prose",
    "section",
    "standalone",
    "table",
    "thumbnail",
]
