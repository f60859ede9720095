"""The tables and figures of sslgc13."""

from querist.experiment.tasks import register
from querist.papers.sslgc13.figures import FIGURE_1, FIGURE_2, FIGURE_3
from querist.papers.sslgc13.tables import TABLE_1, TABLE_2
from querist.papers.sslgc13.tasks import AskingWithControls, Clock, DataCounts
from querist.papers.sslgc13.theory import THEOREM_4, THEOREM_7, DrawnLabels, RegretRuns

for task in (DataCounts(), AskingWithControls(), Clock(), RegretRuns(), DrawnLabels()):
    register(task)

ITEMS = (TABLE_1, TABLE_2, FIGURE_1, FIGURE_2, FIGURE_3, THEOREM_4, THEOREM_7)
