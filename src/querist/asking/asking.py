"""`ask`: questions about the nodes that are worth most, answers kept in a journal, a label for every node.

result = querist.ask(graph, oracle, budget=100)      # oracle: a function of a node, or known labels
result.labels, result.labelling, result.audit

Without an oracle nothing is asked yet, and the questions can be answered one by one:

asking = querist.ask(graph, classes=["cat", "dog"], journal="pets.journal")
asking.question                                       # which node, the guess, and why it asks
asking.answer("cat"); asking.skip(); asking.unsure(); asking.undo()

A question is written to the journal before it is shown, an answer before it is learned. So a process that is
killed at any moment continues, from the same journal, with the very question that was open.
"""

from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any, Unpack

from querist.asking.campaign import Asking, Question
from querist.asking.options import CampaignKeywords, CampaignOptions
from querist.asking.oracles import as_oracle
from querist.asking.policy import audit_refusal
from querist.asking.specification import (
    CampaignSpec,
    checked_classes,
    digest,
    logged_options,
    resolve_strategy,
)
from querist.asking.store.sqlite import StoredCampaign, only_campaign
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.labelling.reading import check_weights, own_labels
from querist.labels import plain, tabulate
from querist.operator.device.choice import check_device
from querist.options import lists_options
from querist.progress import Progress

__all__ = ["Asking", "Question", "ask"]


@lists_options(CampaignOptions)
def ask(
    graph: Any,
    oracle: Any = None,
    options: CampaignOptions | None = None,
    *,
    nodes: Any = None,
    classes: Sequence[Hashable] | None = None,
    labels: Any = None,
    journal: str | PathLike[str] | StoredCampaign | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CampaignKeywords],
) -> Asking:
    """Ask about the nodes of a graph that are worth most, and label the rest from the answers.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; labels it holds are not looked at
    oracle : called with a node, gives its class or None; or known labels of the nodes, in any form that
        `querist.label` takes. None asks nothing yet
    options : a `CampaignOptions`; or give its fields by name, as in `ask(graph, oracle, budget=20)`
    nodes : a table of the nodes, as in `as_graph`, if `graph` holds edges alone
    classes : what an answer may be; needed unless the oracle is a set of labels, or the journal knows them
    labels : labels that are known already, in any form that `querist.label` takes. They are learned first,
        never asked about, not counted in the budget, and kept in the journal
    journal : a path; an interrupted campaign goes on from it. In memory by default. Options that are not
        given are as in the journal, which keeps changes too; one that a campaign cannot change is refused if
        it differs
    progress : called with (fraction done, what is being done) while the graph is embedded, asked about or
        labelled; in a notebook a bar shows it by default

    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
    >>> result = ask(karate, karate.labels, budget=4)
    >>> sum(found == true for found, true in zip(result.labels, karate.labels))
    33
    """
    given = CampaignOptions.given(options, keywords)
    check_device(given.get("device"))
    own, oracle, labels = _by_column(graph, nodes, oracle, labels)
    check_weights(own)
    stored = journal if isinstance(journal, StoredCampaign) else only_campaign(journal)
    before = logged_options(stored.events)
    asked = CampaignOptions(**{**before, **given})
    if given.get("missing") is not None and labels is None and (oracle is None or callable(oracle)):
        raise InputError(
            f"missing = {asked.missing!r} says which labels mean unlabelled, and no labels are given; leave "
            "it out, or give labels as oracle= or labels="
        )
    answer, names = as_oracle(oracle, own, classes, asked.missing, multilabel=asked.multilabel)
    if names is None:
        names = stored.events[0].body["classes"] if before else _classes_of(labels, own, asked.missing)
    strategy = resolve_strategy(asked.strategy, before.get("strategy"), own, find=asked.find is not None)
    specification = CampaignSpec(
        graph=digest(own),
        nodes=own.n_nodes,
        edges=own.n_edges,
        classes=checked_classes(names),
        **{**vars(asked), "strategy": strategy, "find": plain(asked.find)},
    )
    if not before and (refusal := audit_refusal(asked, labels is not None)):
        raise InputError(refusal)
    asking = Asking(own, specification, stored, progress=progress)
    if labels is not None:
        asking.tell(labels, asked.missing)
    if answer is not None:
        asking.run(answer)
    return asking


def _by_column(graph: Any, nodes: Any, oracle: Any, labels: Any) -> tuple[Graph, Any, Any]:
    """The graph without labels, the oracle and the known labels; a text names the column that holds them."""
    column = next((given for given in (oracle, labels) if isinstance(given, str)), None)
    if column is None:
        return as_graph(graph, nodes=nodes).without_labels(), oracle, labels
    if isinstance(oracle, str) and isinstance(labels, str):
        raise InputError(
            f"oracle={oracle!r} and labels={labels!r} both name a column; give one of them as a dict"
        )
    if isinstance(graph, Graph) and nodes is None:
        raise InputError(f"{column!r} names a column, and a Graph holds no table of nodes; pass it as nodes=")
    found = as_graph(graph, nodes=nodes, labels=column)
    held = own_labels(found)
    bare = found.without_labels()
    return (bare, held, labels) if isinstance(oracle, str) else (bare, oracle, held)


def _classes_of(labels: Any, graph: Graph, missing: Hashable) -> Sequence[Hashable]:
    """The classes that known labels have, where nobody named them."""
    if labels is None:
        raise InputError("classes are not given; name what an answer may be, as in classes=['cat', 'dog']")
    return tabulate(labels, graph.nodes, missing=missing).classes
