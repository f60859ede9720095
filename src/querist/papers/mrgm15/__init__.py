"""Wu, Chen, Ho, Li, Min and Han, Multi-Label Regularized Generative Model for Semi-Supervised Collective
Classification in Large-Scale Networks (Big Data Research 2015).
"""

from querist.experiment.tasks import register
from querist.papers.mrgm15 import course, several, single, tasks

register(tasks.GraphCounts())
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
)
