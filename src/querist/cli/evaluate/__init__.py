"""`querist evaluate`: how right a method is on labelled data, by one protocol per kind of method."""

from querist.cli.appearance import Verb, group
from querist.cli.evaluate.asking import ask
from querist.cli.evaluate.online import online
from querist.cli.evaluate.stream import stream
from querist.cli.evaluate.transduce import transduce
from querist.cli.evaluate.whole_graph import collective, label

evaluate = group(
    "evaluate",
    """Measure how well a method does on labelled data.

Examples:

querist evaluate label edges.csv --nodes nodes.csv
querist evaluate ask cora --budget 60
""",
)
for verb in (label, ask, online, collective, stream, transduce):
    evaluate.command(cls=Verb)(verb)
