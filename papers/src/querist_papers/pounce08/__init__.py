"""The tables and figures of pounce08."""

from querist.experiment import register
from querist_papers.pounce08.bounds import theorem2, theorem5, theorem8
from querist_papers.pounce08.controls import controls
from querist_papers.pounce08.growth import line, three_clusters
from querist_papers.pounce08.points import figure1, figure4
from querist_papers.pounce08.tasks import Nodes, Worlds

register(Worlds())
register(Nodes())

ITEMS = (figure1, three_clusters, theorem2, theorem5, theorem8, figure4, controls, line)
