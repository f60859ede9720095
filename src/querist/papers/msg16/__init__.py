"""The tables and figures of msg16."""

from querist.papers.msg16.figures import FIGURE_1, FIGURE_2
from querist.papers.msg16.rank import FIGURE_3
from querist.papers.msg16.table import TABLE_1

ITEMS = (TABLE_1, FIGURE_1, FIGURE_2, FIGURE_3)
