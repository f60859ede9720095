"""`querist evaluate ask`: how right the labels are after so many answers, beside random asking."""

from types import MappingProxyType
from typing import Annotated

import typer

from querist.asking.options import CampaignOptions
from querist.cli import options
from querist.cli.evaluate.report import evaluate_on_graph
from querist.options import with_options


@options.on_graph
@with_options("campaign", options.declared(CampaignOptions, "experiment"))
def ask(
    data: options.Data,
    campaign: options.Values = MappingProxyType({}),
    start: Annotated[
        int, typer.Option(min=0, help="Number of random labels that are known at the start.")
    ] = 1,
    repeats: options.Repeats = 5,
    given: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
) -> None:
    """Measure `querist ask` on labelled data.

    The labels of the data answer the questions. The table has the accuracy on the nodes that nobody was asked
    about, as the mean and the standard deviation over the repeats (ddof = 0): that of the model behind the
    questions, on average over the campaign and at its end, and that of the labels that `querist label` makes
    from all answers. The control asks as many questions at random.

    Examples:

    querist evaluate ask cora --budget 60
    querist evaluate ask edges.csv --nodes nodes.csv --strategy margin --json
    """
    own = CampaignOptions(**campaign)
    evaluate_on_graph(
        "ask",
        data,
        given,
        own.method,
        {name: value for name, value in campaign.items() if name != "method"},
        {"strategy": own.strategy, "budget": own.budget, "stop": own.stop},
        as_json,
        repeats=repeats,
        protocol={"start": start, "marks": (own.budget,)},
        details=lambda _: {"start": start},
    )
