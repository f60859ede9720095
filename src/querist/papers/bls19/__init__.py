"""Huang, Li, Gao, Yang and Shao, Online Budgeted Least Squares with Unlabeled Data (2019)."""

from querist.experiment.tasks import register
from querist.papers.bls19 import static, streams

register(static.Curves())
register(static.Draws())

ITEMS = (
    static.TABLE_I,
    streams.TABLE_II,
    static.FIGURE_1,
    streams.FIGURE_2,
    streams.FIGURE_3,
    streams.FIGURE_4,
    streams.ABLATION,
)
