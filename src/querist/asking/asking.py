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
from typing import Any

from querist.asking.campaign import BUDGET, Asking, Question
from querist.asking.journal import Journal
from querist.asking.oracles import as_oracle
from querist.asking.specification import (
    CampaignSpec,
    check_limits,
    checked_classes,
    digest,
    way_to_choose,
)
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.labelling.reading import check_weights, own_labels
from querist.labels import plain, tabulate
from querist.operator.device.choice import check_device
from querist.parameters import checked_count
from querist.progress import Progress

__all__ = ["Asking", "Question", "ask"]


def ask(
    graph: Any,
    oracle: Any = None,
    budget: int = BUDGET,
    *,
    nodes: Any = None,
    classes: Sequence[Hashable] | None = None,
    labels: Any = None,
    missing: Hashable = None,
    choose: str = "pool",
    audit: int = 0,
    noise: float = 0.0,
    repeats: int = 0,
    find: Hashable = None,
    overlap: int = 1,
    second_opinions: bool = False,
    multilabel: bool = False,
    person: str | None = None,
    unanswered: int | None = None,
    stop: float | None = None,
    method: str = "auto",
    seed: int = 0,
    journal: str | PathLike[str] | Journal | None = None,
    prefetch: bool | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Asking:
    """Ask about the nodes of a graph that are worth most, and label the rest from the answers.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; labels it holds are not looked at
    oracle : called with a node, gives its class or None; or known labels of the nodes, in any form that
        `querist.label` takes. None asks nothing yet
    budget : the most answers
    nodes : a table of the nodes, as in `as_graph`, where `graph` holds edges alone
    classes : what an answer may be; needed unless the oracle is a set of labels, or the journal knows them
    labels : those that are known already, in any form that `querist.label` takes. They are learned first,
        never asked about, not counted in the budget, and kept in the journal
    missing : the value in known labels that means "unlabelled", besides None and NaN; where it is not given,
        -1 beside class numbers of 0 or more means so, with a warning
    choose : "pool" (the most valuable node anywhere), by "coverage" where the attributes are measurements,
        else by "contrast", or by another rule: "ambiguity", "variance", "sigma", "margin" (see rules.py);
        "stream" (nodes in random order, an algorithm decides at each whether to ask), by "msg" or
        another name in `querist.ALGORITHMS`; "random" (the control). A journal that was begun by another rule
        of the pool goes on by that one, where none is named
    audit : questions that are a random sample, spread over the budget; they measure and teach nothing
    noise : share of answers that are presumed wrong: answers become votes, and the model learns what they
        make likely (people.py). 0 takes each for the truth, unless a node is asked about again
    repeats : questions about answered nodes that are least sure, spread over the budget
    find : a class, to find as many nodes of it as the budget allows (finding.py) instead of labelling all.
        Then `choose` is "pool" (by "greedy"), "greedy", "ahead" or "random"
    overlap : people who answer about each node; second_opinions : ask another person where an answer is in
        doubt, up to three. Both make answers votes, and look at `person`
    multilabel : whether a node may have several labels: an answer is then a set of classes, perhaps the empty
        one, and every class is a question of its own to the model. Not with `find` or a stream
    person : who answers, kept with every answer
    unanswered : the most questions that may be skipped or answered with "unsure", which spend nothing of the
        budget; as many as the budget by default, and ten at least
    stop : end when the expected gain in accuracy an answer (0.001 is 0.1 points), averaged over the last 10
        questions, falls below it; with `find`, when the chance that a question finds one does
    method : of `querist.label`, which makes the labels at the end
    seed : of everything random
    journal : a path; an interrupted campaign goes on from it. In memory by default
    prefetch : work out the next question while this one is thought about; without an oracle by default
    device : where the graph is embedded, all nodes are scored for the next question, and labels are made at
        the end: on the threads of this process (None), or on a device of torch, as "cuda"; "auto" takes a GPU
        where there is one, all fits and it is done sooner. Scores are those of this process but for the last
        bits, rows of the graph but for their tolerance. A journal does not know of it: one that was begun
        without a device goes on with one
    progress : called with (fraction done, what is being done) while the graph is embedded, asked about or
        labelled; in a notebook a bar shows it by default

    >>> from querist.datasets import load
    >>> karate = load("karate")
    >>> result = ask(karate, karate.labels, budget=4)
    >>> sum(found == true for found, true in zip(result.labels, karate.labels))
    32
    """
    check_device(device)
    own, oracle, labels = _by_column(graph, nodes, oracle, labels)
    check_limits(budget, stop)
    if unanswered is not None:
        checked_count("unanswered", unanswered, 0)
    check_weights(own)
    book = journal if isinstance(journal, Journal) else Journal(journal)
    answer, names = as_oracle(oracle, own, classes, missing, several=multilabel)
    kept = book.events()
    if names is None:
        names = kept[0].body["classes"] if kept else _classes_of(labels, own, missing)
    way = way_to_choose(
        choose, CampaignSpec.of(kept[0].body).choose if kept else None, own, find=find is not None
    )
    specification = CampaignSpec(
        digest(own),
        own.n_nodes,
        own.n_edges,
        checked_classes(names),
        way,
        seed,
        audit,
        noise,
        repeats,
        plain(find),
        overlap,
        second_opinions,
        multilabel,
    )
    if not kept:
        _check_audit(audit, budget, labels is not None)
        if audit + 2 * repeats > budget:
            raise InputError(
                f"repeats {repeats} of a budget of {budget}: a question is put once before it is put again; "
                "repeat fewer, or allow more answers"
            )
    asking = Asking(
        own,
        specification,
        book,
        budget=budget,
        unanswered=unanswered,
        stop=stop,
        method=method,
        prefetch=answer is None if prefetch is None else prefetch,
        person=person,
        device=device,
        progress=progress,
    )
    if labels is not None:
        asking.tell(labels, missing)
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


def _check_audit(audit: int, budget: int, known: bool) -> None:
    """An audit needs predictions to judge: without known labels, of questions that are not in it."""
    if audit and (audit > budget or (audit == budget and not known)):
        raise InputError(
            f"audit {audit} of a budget of {budget} leaves no question to learn from; ask for fewer in the "
            "audit, or allow more answers"
        )
