"""The tables and figures of bls19."""

from querist.experiment.tasks import register
from querist.papers.bls19 import regret, sensitivity, static, streams

register(static.Draws())
register(static.Curves())
register(regret.Rounds())

ITEMS = (
    static.TABLE_I,
    streams.TABLE_II,
    static.FIGURE_1,
    streams.FIGURE_2,
    sensitivity.FIGURE_3,
    sensitivity.FIGURE_4,
    sensitivity.ABLATION,
    regret.THEOREM_1,
)
