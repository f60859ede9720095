"""The tables, figures and theorems of msg16."""

from querist.experiment import register
from querist_papers.msg16.figures import figure1, figure2, figure3
from querist_papers.msg16.table import table1
from querist_papers.msg16.theorems import Lemmas, theorems

register(Lemmas())

ITEMS = (table1, figure1, figure2, figure3, theorems)
