"""The tables and figures of bls19."""

from querist.experiment import register
from querist_papers.bls19 import regret, sensitivity, static, streams

for task in (streams.PaperStreams(), static.Draws(), static.Curves(), regret.Rounds()):
    register(task)

ITEMS = (
    static.table1,
    streams.table2,
    static.figure1,
    streams.figure2,
    sensitivity.figure3,
    sensitivity.figure4,
    sensitivity.ablation,
    regret.theorem1,
)
