"""The tables and figures of bls19."""

from querist.experiment.tasks import register
from querist.papers.bls19 import regret, static, streams

register(static.Draws())
register(static.Curves())
register(regret.Rounds())

ITEMS = (
    static.TABLE_I,
    streams.TABLE_II,
    static.FIGURE_1,
    streams.FIGURE_2,
    streams.FIGURE_3,
    streams.FIGURE_4,
    streams.ABLATION,
    regret.THEOREM_1,
)
