"""The tables and figures of pounce08."""

from querist.experiment.tasks import register
from querist.papers.pounce08.bounds import THEOREM_2, THEOREM_5, THEOREM_8
from querist.papers.pounce08.cliques import THREE_CLUSTERS
from querist.papers.pounce08.controls import CONTROLS
from querist.papers.pounce08.line import LINE
from querist.papers.pounce08.points import FIGURE_1, FIGURE_4
from querist.papers.pounce08.tasks import Nodes, Worlds

register(Worlds())
register(Nodes())

ITEMS = (FIGURE_1, THREE_CLUSTERS, THEOREM_2, THEOREM_5, THEOREM_8, FIGURE_4, CONTROLS, LINE)
