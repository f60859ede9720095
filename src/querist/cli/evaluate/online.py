"""`querist evaluate online`: run an online algorithm on shuffles of a data set."""

from types import MappingProxyType
from typing import Annotated

from querist.cli import options
from querist.cli.evaluate.report import evaluate_on_graph
from querist.cli.lists import APART
from querist.errors import InputError
from querist.parameters import effective, read_settings


@options.on_graph
@options.with_embedding
def online(
    data: options.Data,
    method: Annotated[
        str, options.named("querist.online:ALGORITHMS", "Algorithm; `querist algorithms` lists them.")
    ] = "msg",
    rank: options.Rank = None,
    how: options.Values = MappingProxyType({}),
    repeats: options.Repeats = 20,
    budget: options.Budget = None,
    pace: options.Pace = None,
    settings: options.Settings = None,
    given: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
) -> None:
    """Measure an algorithm that predicts, asks and learns node by node.

    The nodes arrive one at a time, in a random order per repeat. The table has the mean and the standard
    deviation over the repeats (ddof = 0) of the error rate, the questions and the learned answers. Two
    controls ask as many questions with the same kind of learner: at random, and at the smallest margin.
    One-vs-rest numbers are averages over the binary problems.

    With --budget and --pace every algorithm asks the same number of questions at the same times, so only its
    choice of nodes counts.

    pounce, nearest and paced take the graph itself, unless --rank asks for an embedding.

    `querist algorithms` lists the parameters that --set takes.

    Examples:

    querist evaluate online cora --method msg
    querist evaluate online edges.csv --nodes nodes.csv --budget 100 --pace 1
    """
    from querist.experiment.tasks.online import on_graph
    from querist.online import ALGORITHMS

    if any(setting.partition("=")[0].strip() in APART for setting in settings or []):
        raise InputError("a seed is not a setting: every shuffle has a seed of its own; use --seed")
    spent = {"budget": budget, "pace": pace}
    limits = [f"{name}={value}" for name, value in spent.items() if value is not None]
    chosen = read_settings(ALGORITHMS[method], [*(settings or []), *limits], APART)
    own = dict(how)
    kind = own.pop("embedding")
    evaluate_on_graph(
        "online",
        data,
        given,
        method,
        chosen,
        effective(ALGORITHMS[method], chosen, APART),
        as_json,
        repeats=repeats,
        representation={"rank": rank, "kind": kind, **own},
        details=lambda place: {
            "rank": place.rows.rank,
            "embedding": "none" if rank is None and on_graph(method) else kind,
            "embedding_seconds": place.rows.seconds,
            "laplacian": "normalised" if own.get("normalised", True) else "combinatorial",
            "constant": own.get("constant", 1.0),
            "component": given["component"],
        },
    )
