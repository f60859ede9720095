"""The tables and figures of mrgm15."""

from querist.experiment.tasks import register
from querist.papers.mrgm15 import course, several, single, tasks

register(tasks.GraphCounts())
register(tasks.OwnData())
register(tasks.Bootstrap())
register(tasks.Course())

ITEMS = (
    single.TABLE_2,
    single.TABLE_3,
    single.TABLE_4,
    single.FIGURE_1,
    several.FIGURE_2,
    several.FIGURE_3,
    single.FIGURE_4,
    course.FIGURE_5,
    course.FIGURE_6,
    course.THEOREM_2,
)
