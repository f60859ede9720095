"""`querist ask`: questions about your graph, for a person or a program, and a label for every node."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, progress

if TYPE_CHECKING:
    from querist.asking.asking import Asking, Question
    from querist.asking.journal import Journal
    from querist.labelling.reading import Source

Edges = Annotated[
    str, typer.Argument(metavar="EDGES", help="CSV, TSV, parquet, npz or GraphML file of edges; - reads CSV.")
]
NodeTable = Annotated[
    Path | None, typer.Option(metavar="NODES", help="Table of the nodes: shown, and used as attributes.")
]
Known = Annotated[
    Path | None,
    typer.Option(metavar="LABELS", help="Labels that are known: learned first, never asked, not counted."),
]
Extend = Annotated[
    list[str] | None, typer.Option(metavar="EDGES2", help="More edges that arrived since; may be repeated.")
]
ExtendNodes = Annotated[
    list[Path] | None,
    typer.Option(metavar="NODES2", help="More nodes, with the columns of NODES; may be repeated."),
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="What an answer may be; --oracle and a journal know it."),
]
LabelFile = Annotated[
    Path | None, typer.Option(metavar="LABELS", help="File of nodes and labels that answers instead of you.")
]
Command = Annotated[
    str | None,
    typer.Option(metavar="CMD", help="Program that answers: it gets the node id and prints a class."),
]
Budget = Annotated[int, typer.Option(min=0, help="The most answers.")]
Stop = Annotated[
    float | None,
    typer.Option(min=0.0, help="End when an answer is expected to gain less accuracy: 0.001 is 0.1 points."),
]
AuditSize = Annotated[
    int | None,
    typer.Option(min=0, help="So many of the questions are random: they measure the accuracy without bias."),
]
Ways = Annotated[
    str | None,
    typer.Option(
        metavar="WAY",
        help="pool: the most valuable node (the default), or by a rule: ambiguity, variance, sigma, margin; "
        "stream: one after another, or by an algorithm (querist algorithms); random.",
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Of everything random; 0 by default.")]
JournalFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Keeps every answer; the same command goes on from it after a break. Without it, yours are kept "
        "beside EDGES.",
    ),
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="That makes the labels at the end, as in querist label.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="OUT", help="Where the labels go: .csv, .parquet; beside EDGES by default."
    ),
]


def ask(
    edges: Edges,
    nodes: NodeTable = None,
    labels: Known = None,
    extend: Extend = None,
    extend_nodes: ExtendNodes = None,
    classes: Classes = None,
    oracle: LabelFile = None,
    oracle_command: Command = None,
    budget: Budget = 100,
    stop: Stop = None,
    audit: AuditSize = None,
    choose: Ways = None,
    seed: Seed = None,
    journal: JournalFile = None,
    method: Method = "auto",
    out: Out = None,
    as_json: options.Json = False,
) -> None:
    """Label your graph by answering questions about it.

    Shown are the node, its neighbours, the guess and why it asks. One key answers; s skips, ? says that you
    are unsure, u takes the last answer back, q leaves. Every answer is kept in the journal before it is
    learned: after a break, or a crash, the same command goes on with the very next question.

    At the end every node gets a label. Answers to questions that the learner chose say little about how right
    these labels are, because it asks where it is unsure: --audit measures that with random questions.
    """
    from querist.asking.journal import Journal
    from querist.asking.oracles import command_oracle
    from querist.errors import InputError
    from querist.tables.output import check_place

    if oracle is not None and oracle_command is not None:
        raise InputError("--oracle and --oracle-command both answer; give one of them")
    person = oracle is None and oracle_command is None
    kept = journal if journal is not None or not person else _beside(edges, ".journal")
    place = check_place(
        out if out is not None else _beside(edges, ".labelled.csv"),
        (edges, nodes, labels, *(extend or ()), *(extend_nodes or ()), oracle, kept),
    )
    files = _Files(edges, nodes, labels, oracle, extend or [], extend_nodes or [])
    answers: Any = None if oracle_command is None else command_oracle(oracle_command)
    with Journal(kept) as book:
        with progress() as show:
            show("reading", 0.0, edges)
            chosen = {"choose": choose, "audit": audit, "seed": seed}
            source, asking, known = _begin(files, book, classes, chosen, budget, stop, show)
            asking.method = method
        try:
            if person:
                _converse(asking, source.table, edges)
            else:
                asking.run(known if answers is None else answers, None if as_json else _told)
        finally:
            asking.forget()
        _finish(asking, place, as_json)


class _Files(NamedTuple):
    """What is read: the campaign begins with `edges` and `nodes`, the others join it."""

    edges: str
    nodes: Path | None
    labels: Path | None
    oracle: Path | None
    more: list[str]
    more_nodes: list[Path]


def _beside(edges: str, ending: str) -> Path:
    """A file beside the edges, called like them; in the current folder where they have no name."""
    if edges == "-":
        return Path(f"querist{ending}")
    path = Path(edges).expanduser()
    return path.with_name(f"{path.name.removesuffix('.gz').rpartition('.')[0] or path.name}{ending}")


def _begin(
    files: _Files,
    book: "Journal",
    classes: str | None,
    chosen: dict[str, Any],
    budget: int,
    stop: float | None,
    show: Any,
) -> "tuple[Source, Asking, Any]":
    """The campaign, new or gone on with, and what the oracle's file knows.

    What is not said on the command line is as the journal has it.
    """
    from querist.asking.arrivals import grown
    from querist.asking.asking import ask as begin
    from querist.errors import InputError
    from querist.labelling.growth import join
    from querist.labelling.reading import arrived, read_source
    from querist.tables.labels import read_seeds

    source = read_source(files.edges, files.nodes)
    coming = list(arrived(source, files.more, files.more_nodes))
    events = book.events()
    larger = grown(source.graph, events)
    for edges, nodes in coming:
        larger = join(larger, edges, nodes)
    known = None if files.oracle is None else read_seeds(files.oracle, larger.row_of, strangers=True)
    labels = None if files.labels is None else read_seeds(files.labels, larger.row_of, least=1)
    before = events[0].body if events else {}
    named = _classes(classes, [seeds.classes for seeds in (known, labels) if seeds is not None], before)
    if named is None:
        raise InputError("no classes: say what an answer may be, as in --classes cat,dog")
    given = {name: value if value is not None else before.get(name) for name, value in chosen.items()}
    if before and chosen["choose"] is None:
        from querist.asking.specification import Specification

        given["choose"] = Specification.of(before).choose
    asking = begin(
        source.graph,
        None,
        budget,
        classes=named,
        stop=stop,
        journal=book,
        prefetch=files.oracle is None,
        progress=lambda done, text: show("embedding", done, text),
        **{name: value for name, value in given.items() if value is not None},
    )
    for edges, nodes in coming:
        asking.extend(edges, nodes)
    if labels is not None:
        asking.tell(dict(labels.labels))
    return source, asking, None if known is None else dict(known.labels).get


def _classes(classes: str | None, found: list[Any], before: dict[str, Any] | Any) -> Any:
    """In the order of the command line, else as the journal or the files have them; None where nobody says.

    Text on the command line may be a number in a file or a journal.
    """
    from querist.labels import class_order
    from querist.tables.labels import as_label

    if classes is None:
        return before.get("classes") or (class_order(name for own in found for name in own) or None)
    known = {str(name): name for own in (*found, before.get("classes", ())) for name in own}
    numbers = bool(known) and all(isinstance(name, int) for name in known.values())

    def typed(name: str) -> Any:
        return known.get(name, as_label(name) if numbers else name)

    return [typed(name) for part in classes.split(",") if (name := part.strip())]


def _converse(asking: "Asking", table: Any, edges: str) -> None:
    from querist.cli.conversation import converse
    from querist.cli.keyboard import Keyboard

    keyboard = Keyboard([str(name) for name in asking.classes], taken=edges == "-")
    try:
        converse(asking, table, keyboard)
    except KeyboardInterrupt:
        print_line(f"\nEvery answer is kept in {asking.journal.path}; the same command goes on from there.")
        raise


def _told(question: "Question", given: Any) -> None:
    """A line when an answer is safe; whoever reads it may rely on it."""
    answer = "unsure" if given is None else given
    print(f"{question.number} {question.node}: {answer}", flush=True)


# -- the end ----------------------------------------------------------------------------


def _finish(asking: "Asking", place: Path, as_json: bool) -> None:
    from querist.tables.formats import some

    with progress() as show:
        asking.progress = lambda done, text: show("labelling", done, text)
        found = asking.summary()
        found["journal"] = None if asking.journal.path is None else str(asking.journal.path)
        found["out"] = str(place) if asking.answers or asking.known else None
        if found["out"] is not None:
            asking.write(place)
    if as_json:
        print_json(found)
        return
    print_line(f"{some(found['answers'], 'answer')}; {asking.stopped}.")
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
