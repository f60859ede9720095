"""`querist ask`: questions about your graph, for a person or a program, and a label for every node."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, progress, telling_what_is_kept, visible
from querist.errors import InputError
from querist.progress import silent

if TYPE_CHECKING:
    from querist.asking import Journal
    from querist.asking.asking import Asking, Question
    from querist.labelling.files import GraphFiles


@options.with_columns
def ask(
    data: options.Data,
    nodes: options.Nodes = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS", help="Labels that are known: learned first, never asked, not counted."
        ),
    ] = None,
    extend: options.Extend = None,
    extend_nodes: options.ExtendNodes = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="What an answer may be; a journal, --oracle, --labels and a data set know it.",
        ),
    ] = None,
    name_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of NODES by which nodes are shown; name or title, where there is one.",
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="File of nodes and labels that answers instead of you; or a data set by its name, as in "
            "querist ask karate --oracle karate.",
        ),
    ] = None,
    oracle_command: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Program that answers: it gets the node id and prints a class."),
    ] = None,
    budget: Annotated[int, typer.Option(min=0, help="The most answers.")] = 100,
    unanswered: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="The most questions that may be skipped or unsure; they spend nothing of --budget. As "
            "many as that by default, and ten at least.",
        ),
    ] = None,
    stop: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="End when an answer is expected to gain less accuracy: 0.001 is 0.1 points."
        ),
    ] = None,
    audit: Annotated[
        int | None,
        typer.Option(
            min=0, help="So many of the questions are random: they measure the accuracy without bias."
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Find as many nodes of this class as the budget allows; then --stop is the chance that a "
            "question finds one, and --choose is greedy (the default), ahead or random.",
        ),
    ] = None,
    multilabel: options.SeveralLabels = None,
    noise: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Share of answers that may be wrong; 0: each is the truth."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(min=0, help="So many questions are put again, where an answer is least sure."),
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who answers; kept with every answer.")
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(
            metavar="WAY",
            help="pool: the most valuable node (the default), or the name of a rule; stream: one after "
            "another, or the name of an algorithm (querist algorithms lists both); random.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of everything random; 0 by default.")] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keeps every answer; the same command goes on from it after a break. Without it, yours are "
            "kept beside DATA.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="That makes the labels at the end, as in querist label.")
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="OUT", help="Where the labels go: .csv, .parquet; beside DATA by default."
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    columns: options.Values = MappingProxyType({}),
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Label your graph by answering questions about it.

    Shown are the node, its neighbours, the guess, why it asks, and what the answers brought so far. One key
    answers; s skips, ? says that you are unsure, u takes the last answer back, space shows all there is to
    read, q leaves. With --multi-label keys mark classes and Enter sends them; none marked is an answer too.
    Every answer is kept in the journal before it is
    learned: after a break, or a crash, the same command goes on with the very next question.

    At the end every node gets a label. Answers to questions that the learner chose say little about how right
    these labels are, because it asks where it is unsure: --audit measures that with random questions.
    """
    from querist.asking import Journal, command_oracle, from_files
    from querist.cli.keyboard import standard_input
    from querist.labelling.files import GraphFiles
    from querist.tables.formats import comma_separated
    from querist.tables.output import check_place

    if oracle is not None and oracle_command is not None:
        raise InputError("--oracle and --oracle-command both answer; give one of them")
    by_hand = oracle is None and oracle_command is None
    if by_hand and data != "-":
        standard_input()
    files = GraphFiles(data, nodes, extend or (), extend_nodes or (), **columns)
    kept = journal if journal is not None or not by_hand else _beside(files, ".journal")
    place = check_place(
        out if out is not None else _beside(files, ".labelled.csv"), (*files.paths, labels, oracle, kept)
    )
    if name_column is not None:
        _check_name_column(name_column, files)
    program = None if oracle_command is None else command_oracle(oracle_command)
    with Journal(kept) as book, telling_what_is_kept(lambda: _kept(book)):
        with progress() as show:
            show("reading", 0.0, data)
            campaign = from_files(
                files,
                oracle=oracle,
                labels=labels,
                classes=None if classes is None else comma_separated(classes),
                journal=book,
                budget=budget,
                choose=choose,
                audit=audit,
                noise=noise,
                repeats=repeats,
                find=find,
                multilabel=multilabel,
                person=person,
                seed=seed,
                unanswered=unanswered,
                stop=stop,
                method=method,
                device=device,
                progress=lambda done, text: show("embedding", done, text),
            )
        asking, answers = campaign.asking, program or campaign.oracle
        asking.progress = silent  # every answer is said
        for sentence in () if as_json else asking.places:
            print_line(sentence)
        try:
            if answers is None:
                _converse(asking, campaign.source.table, columns.get("id"), name_column, data)
            else:
                asking.run(answers, None if as_json else _show_answer)
        finally:
            asking.forget()
        _finish(asking, place, safe_csv, as_json)


def _check_name_column(name: str, files: "GraphFiles") -> None:
    """Refuse a column that the table of nodes has not, before a campaign is begun."""
    from querist.asking.texts import NodeTexts
    from querist.datasets import table_of
    from querist.tables.arrow import pa
    from querist.tables.files import is_file_name, node_file

    own = files.edges if is_file_name(str(files.edges), "nodes") else None  # GraphML has its nodes in it
    place, table = files.nodes or own, None
    if place is not None:
        table = node_file(Path(place).expanduser(), files.id if files.nodes else None, None).table
    elif files.is_named and (columns := table_of(str(files.edges))) is not None:
        table = pa.table(columns)
    NodeTexts.of(table, files.id, name)


def _beside(files: "GraphFiles", ending: str) -> Path:
    """A file beside the edges, called like them; in the current folder where they have no file."""
    if files.is_named or files.edges == "-":
        return Path(f"{files.edges if files.is_named else 'querist'}{ending}")
    path = Path(files.edges).expanduser()
    return path.with_name(f"{path.name.removesuffix('.gz').rpartition('.')[0] or path.name}{ending}")


def _converse(asking: "Asking", table: Any, id: str | None, name: str | None, data: str) -> None:
    from querist.asking.texts import NodeTexts
    from querist.cli.conversation import converse
    from querist.cli.keyboard import Keyboard

    names = [str(name) for name in asking.classes]
    keyboard = Keyboard(names, taken=data == "-", several=asking.multilabel)
    converse(asking, NodeTexts.of(table, id, name), keyboard)


def _kept(journal: "Journal") -> str:
    """Where the answers are, once there is something to go on from."""
    if journal.path is None or not journal.last:
        return ""
    return f"every answer is kept in {journal.path}; the same command goes on from there"


def _show_answer(question: "Question", given: Any) -> None:
    """A line when an answer is safe; whoever reads it may rely on it."""
    from querist.asking.answers import in_words

    answer = "unsure" if given is None else in_words(given)
    print(visible(f"{question.number} {question.node}: {answer}"), flush=True)


# -- the end ----------------------------------------------------------------------------


def _finish(asking: "Asking", place: Path, safe_csv: bool, as_json: bool) -> None:
    from querist.tables.formats import some

    with progress() as show:
        asking.progress = lambda done, text: show("labelling", done, text)
        found = asking.summary()
        found["journal"] = None if asking.journal.path is None else str(asking.journal.path)
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
    right, of = found["guessed_right"]["right"], found["guessed_right"]["of"]
    if of:
        print_line(
            f"{right} of {of} chosen questions were guessed right; it asks where it is unsure, so this is a "
            "biased sample and says little about the accuracy."
        )
    print_line(
        "No answer yet, so no label was written."
        if found["out"] is None
        else f"{place}: a label for each of {found['nodes']:,} nodes."
    )
