"""`querist ask`: questions about your graph, for a person or a program, and a label for every node."""

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, progress, telling_what_is_kept, visible
from querist.errors import InputError
from querist.options import with_options
from querist.progress import silent
from querist.serve.options import NewCampaignOptions

if TYPE_CHECKING:
    from querist.asking.campaign import Asking, Question
    from querist.asking.store.sql import EventStore
    from querist.labelling.reading import GraphFiles


@options.with_columns
@with_options("campaign", options.declared(NewCampaignOptions))
def ask(
    data: options.Data,
    nodes: options.Nodes = None,
    labels: options.Known = None,
    extend: options.Extend = None,
    extend_nodes: options.ExtendNodes = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="File of nodes and labels that answers instead of you; or a data set by its name, as in "
            "querist ask karate --oracle karate.",
            autocompletion=options.GRAPHS,
        ),
    ] = None,
    oracle_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Program that answers: it gets the node id and prints a class."),
    ] = None,
    campaign: options.Values = MappingProxyType({}),
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keeps every answer; the same command goes on from it after a break. Without it, yours are "
            "kept beside DATA.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="OUT", help="Where the labels go: .csv, .parquet; beside DATA by default."
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    columns: options.Values = MappingProxyType({}),
    as_json: options.Json = False,
) -> None:
    """Label your graph by answering questions about it.

    Shown are the node, its neighbours, the guess, why it asks, and how far the campaign is. One key
    answers; s skips, ? says that you are unsure, u takes the last answer back, space shows all there is to
    read, q leaves. With --multilabel keys mark classes and Enter sends them; none marked is an answer too.
    Every answer is kept in the journal before it is
    learned: after a break, or a crash, the same command goes on with the very next question.

    At the end every node gets a label. Answers to questions that the learner chose say little about how right
    these labels are, because it asks where it is unsure: --audit measures that with random questions.

    Examples:

    querist ask edges.csv --nodes nodes.csv --classes spam,fine --budget 60
    querist ask karate --oracle karate --audit 5 --budget 15
    """
    from querist.asking import from_files
    from querist.asking.oracles import command_oracle
    from querist.asking.store.sqlite import only_campaign
    from querist.cli.conversation import Keyboard, converse, standard_input
    from querist.labelling.reading import GraphFiles
    from querist.tables.output import check_place

    if oracle is not None and oracle_command is not None:
        raise InputError("--oracle and --oracle-command both answer; give one of them")
    by_hand = oracle is None and oracle_command is None
    if by_hand and data != "-":
        standard_input()
    files = GraphFiles(data, nodes, extend or (), extend_nodes or (), **columns)
    kept = journal if journal is not None or not by_hand else _beside(files, ".journal")
    place = check_place(
        out if out is not None else _beside(files, ".labelled.csv"),
        (*files.paths, labels, oracle, kept),
        safe_csv=safe_csv,
    )
    program = None if oracle_command is None else command_oracle(oracle_command)
    with only_campaign(kept) as stored, telling_what_is_kept(lambda: _kept(stored.store)):
        with progress() as show:
            show("reading", 0.0, data)
            begun = from_files(
                files,
                oracle=oracle,
                labels=labels,
                journal=stored,
                progress=partial(show, "embedding"),
                **campaign,
            )
        asking, answers = begun.asking, program or begun.oracle
        asking.progress = silent  # every answer is said
        for sentence in () if as_json else asking.places:
            print_line(sentence)
        if answers is None:
            names = [str(name) for name in asking.classes]
            converse(asking, begun.texts, Keyboard(names, taken=data == "-", multilabel=asking.multilabel))
        else:
            asking.run(answers, None if as_json else _show_answer)
        _finish(asking, place, safe_csv, as_json)


def _beside(files: "GraphFiles", ending: str) -> Path:
    """A file beside the edges, called like them; in the current folder where they have no file."""
    if files.is_named or files.edges == "-":
        return Path(f"{files.edges if files.is_named else 'querist'}{ending}")
    path = Path(files.title).expanduser()
    return path.with_name(f"{path.name.removesuffix('.gz').rpartition('.')[0] or path.name}{ending}")


def _kept(store: "EventStore") -> str:
    """Where the answers are, once there is something to go on from."""
    if store.path is None or not store.campaigns():
        return ""
    return f"every answer is kept in {store.path}; the same command goes on from there"


def _show_answer(question: "Question", given: Any) -> None:
    """A line when an answer is safe; whoever reads it may rely on it."""
    from querist.tables.labels import in_words

    answer = "unsure" if given is None else in_words(given)
    print(visible(f"{question.number} {question.node}: {answer}"), flush=True)


# -- the end ----------------------------------------------------------------------------


def _finish(asking: "Asking", place: Path, safe_csv: bool, as_json: bool) -> None:
    from querist.tables.formats import some

    with progress() as show:
        asking.progress = lambda done, text: show("labelling", done, text)
        found = asking.summary()
        found["journal"] = None if asking.store.path is None else str(asking.store.path)
        found["out"] = str(place) if asking.answers or asking.known else None
        if found["out"] is not None:
            asking.write(place, safe_csv=safe_csv)
    if as_json:
        print_json(found)
        return
    print_line(f"{some(found['answers'], 'answer')}; {asking.stopped}.")
    if asking.finding is not None:
        print_line(f"{asking.finding}.")
    for person in asking.people:
        low, high = person.interval
        who = "The answers are" if person.name is None else f"{person.name} is"
        print_line(
            f"{who} right in {person.accuracy:.0%} of {some(person.votes, 'answer')}, it is believed "
            f"({low:.0%} to {high:.0%})."
        )
    if asking.audit is not None:
        print_line(f"Accuracy of the labels, by the audit: {asking.audit}.")
    if asking.audit is None and found["out"] is not None:
        estimate = asking.labelling.estimate
        print_line(f"Expected accuracy {estimate}: {estimate.how}.")
    print_line(
        "No answer yet, so no label was written."
        if found["out"] is None
        else f"{place}: a label for each of {found['nodes']:,} nodes."
    )
