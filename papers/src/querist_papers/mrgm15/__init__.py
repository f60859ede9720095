"""The tables and figures of mrgm15."""

from querist.experiment import register
from querist_papers.mrgm15 import course, several, single, tasks

for task in (tasks.GraphCounts(), tasks.OwnData(), tasks.Sample(), tasks.Course(), tasks.Update()):
    register(task)

ITEMS = (
    single.table2,
    single.table3,
    single.table4,
    single.figure1,
    several.figure2,
    several.figure3,
    single.figure4,
    course.figure5,
    course.figure6,
    course.theorem2,
)
