"""The tables and figures of sslgc13."""

from querist.experiment import register
from querist_papers.sslgc13.figures import figure1, figure2, figure3
from querist_papers.sslgc13.tables import table1, table2
from querist_papers.sslgc13.tasks import AskingWithControls, Clock
from querist_papers.sslgc13.theory import DrawnLabels, RegretRuns, theorem4, theorem7
from querist_papers.tasks import Counts

for task in (Counts(), AskingWithControls(), Clock(), RegretRuns(), DrawnLabels()):
    register(task)

ITEMS = (table1, table2, figure1, figure2, figure3, theorem4, theorem7)
