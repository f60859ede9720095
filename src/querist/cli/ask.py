"""`querist ask`: questions about your graph, for a person or a program, and a label for every node."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, progress

if TYPE_CHECKING:
    from querist.assist.asking import Asking, Question
    from querist.graph import Graph
    from querist.journal import Journal


class Choose(StrEnum):
    """Where the next question comes from."""

    POOL = "pool"
    STREAM = "stream"
    RANDOM = "random"


class Rule(StrEnum):
    """What makes a node of the pool valuable."""

    AMBIGUITY = "ambiguity"
    VARIANCE = "variance"
    SIGMA = "sigma"
    MARGIN = "margin"


Edges = Annotated[
    str, typer.Argument(metavar="EDGES", help="CSV, TSV, parquet, npz or GraphML file of edges; - reads CSV.")
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="What an answer may be; --oracle and a journal know it."),
]
Budget = Annotated[int, typer.Option(min=0, help="The most answers.")]
NodeTable = Annotated[
    Path | None, typer.Option(metavar="NODES", help="Table of the nodes: shown, and used as attributes.")
]
JournalFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keeps every answer; the same command goes on from it after a break."),
]
LabelFile = Annotated[
    Path | None, typer.Option(metavar="LABELS", help="File of nodes and labels that answers instead of you.")
]
Command = Annotated[
    str | None,
    typer.Option(metavar="CMD", help="Program that answers: it gets the node id and prints a class."),
]
Ways = Annotated[
    Choose | None,
    typer.Option(help="The most valuable node (the default), one of a stream, or a random one."),
]
Rules = Annotated[Rule | None, typer.Option(help="What the pool calls valuable; ambiguity by default.")]
Algorithm = Annotated[
    str | None, typer.Option(metavar="NAME", help="That decides in the stream; msg by default.")
]
Stop = Annotated[
    float | None,
    typer.Option(min=0.0, help="End when an answer is expected to gain less accuracy: 0.001 is 0.1 points."),
]
AuditSize = Annotated[
    int | None,
    typer.Option(min=0, help="So many of the questions are random: they measure the accuracy without bias."),
]
Extend = Annotated[
    list[str] | None, typer.Option(metavar="EDGES2", help="More edges that arrived since; may be repeated.")
]
Seed = Annotated[int | None, typer.Option(min=0, help="Of everything random; 0 by default.")]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="That makes the labels at the end, as in querist label.")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="OUT", help="Where the labels go: a .csv or .parquet file."),
]


def ask(
    edges: Edges,
    classes: Classes = None,
    budget: Budget = 100,
    nodes: NodeTable = None,
    journal: JournalFile = None,
    oracle: LabelFile = None,
    oracle_command: Command = None,
    choose: Ways = None,
    rule: Rules = None,
    algorithm: Algorithm = None,
    stop: Stop = None,
    audit: AuditSize = None,
    extend: Extend = None,
    seed: Seed = None,
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
    from querist.assist.oracles import as_oracle, command_oracle
    from querist.assist.output import check_place
    from querist.assist.seeds import read_seeds
    from querist.errors import InputError
    from querist.journal import Journal

    if oracle is not None and oracle_command is not None:
        raise InputError("--oracle and --oracle-command both answer; give one of them")
    place = None if out is None else check_place(out)
    named: Any = None if classes is None else [name.strip() for name in classes.split(",") if name.strip()]
    answers: Any = None if oracle_command is None else command_oracle(oracle_command)
    where = _journal_place(journal, edges, person=oracle is None and answers is None)
    with Journal(where) as book:
        with progress() as show:
            show("reading", 0.0, edges)
            graph, columns = _read(edges, nodes)
            if oracle is not None:
                # The file knows the classes; --classes may only say their order.
                seeds = read_seeds(oracle, graph)
                answers, named = as_oracle(dict(seeds.labels), graph, _typed(named, seeds.classes))
            chosen = {"choose": choose, "rule": rule, "algorithm": algorithm, "audit": audit, "seed": seed}
            asking = _begin(graph, book, named, chosen, budget, stop, oracle is None, show)
            asking.method = method
            for more in extend or []:
                asking.extend(more)
        try:
            if answers is None:
                _converse(asking, columns)
            else:
                asking.run(answers, None if as_json else _told)
        finally:
            asking.forget()
        _finish(asking, place, as_json)


def _begin(
    graph: "Graph",
    book: "Journal",
    classes: Any,
    chosen: dict[str, Any],
    budget: int,
    stop: float | None,
    slow: bool,
    show: Any,
) -> "Asking":
    """The campaign, new or gone on with; what is not said on the command line is as the journal has it."""
    from querist.assist.asking import ask as begin

    kept = book.events()
    before = kept[0].body if kept else {}
    given = {name: value if value is not None else before.get(name) for name, value in chosen.items()}
    return begin(
        graph,
        None,
        budget,
        classes=classes,
        stop=stop,
        journal=book,
        prefetch=slow,
        progress=lambda done, text: show("embedding", done, text),
        **{name: getattr(value, "value", value) for name, value in given.items() if value is not None},
    )


def _read(edges: str, nodes: Path | None) -> tuple["Graph", Any]:
    """The graph with its attributes, and the table of nodes to show, whose rows are the first nodes."""
    from querist.assist.reading import read_source, with_attributes
    from querist.graph import as_graph
    from querist.graph.files import GRAPHML, node_file

    if nodes is None and not edges.lower().endswith(GRAPHML):
        return read_source(edges).graph, None
    file = node_file(Path(edges if nodes is None else nodes).expanduser())
    source = as_graph(edges if edges == "-" else Path(edges).expanduser(), nodes=file)
    return with_attributes(source, file).graph, file.table


def _typed(named: list[str] | None, known: tuple[Any, ...]) -> Any:
    """Classes in the order of the command line, as the file has them: text there may be a number here."""
    if named is None:
        return known
    by_text = {str(name): name for name in known}
    return [by_text.get(name, name) for name in named]


def _journal_place(journal: Path | None, edges: str, person: bool) -> Path | None:
    """The journal of a person is kept even when none is named: beside the edges."""
    if journal is not None or not person or edges == "-":
        return journal
    return Path(edges).expanduser().with_suffix(".journal")


# -- a person answers ------------------------------------------------------------------


def _converse(asking: "Asking", columns: Any) -> None:
    from querist.cli.keyboard import Keyboard, legend

    names = [str(name) for name in asking.classes]
    keyboard = Keyboard(names)
    where = asking.journal.path
    if asking.resumed:
        print_line(f"Going on after {asking.asked} questions, from {where}.")
    elif where is not None:
        print_line(f"Answers are kept in {where}; the same command goes on from there.")
    while (question := asking.question) is not None:
        print_line(_described(asking, question, columns))
        print_line(legend(names))
        print("> ", end="", flush=True)
        what, code = keyboard.read()
        if what == "leave":
            print_line("left")
            asking.leave("left by the person")
            return
        print_line(_taken(asking, what, code))


def _taken(asking: "Asking", what: str, code: int) -> str:
    """Do what the key says; what to say of it."""
    if what == "answer":
        asking.answer(asking.classes[code])
        return f"{asking.classes[code]}: kept\n"
    if what == "undo":
        return "taken back\n" if asking.undo() else "there is no answer to take back\n"
    (asking.skip if what == "skip" else asking.unsure)()
    return f"{what}: kept\n"


NEIGHBOURS = 8
"""Shown of a node; the rest is counted."""
LONGEST = 200
"""Letters shown of one column."""


def _described(asking: "Asking", question: "Question", columns: Any) -> str:
    lines = [f"Question {question.number} of {asking.budget}: node {question.node}"]
    if columns is not None and question.row < columns.num_rows:
        for name in columns.column_names[1:]:
            value = " ".join(str(columns[name][question.row].as_py()).split())
            lines.append(
                f"  {name}: {value[:LONGEST]}{' ...' if len(value) > LONGEST else ''}",
            )
    near = asking.neighbours(question.node)
    shown = [
        f"{node} ({'no guess' if name is None else name if known else f'{name}?'})"
        for node, name, known in near[:NEIGHBOURS]
    ]
    more = f" and {len(near) - NEIGHBOURS} more" if len(near) > NEIGHBOURS else ""
    lines.append(f"  neighbours: {', '.join(shown) or 'none'}{more}")
    lines.append(f"  guess: {_guess(question)}")
    lines.append(f"  why: {question.reason}")
    return "\n".join(lines)


def _guess(question: "Question") -> str:
    if question.guess is None or question.probability is None:
        return "none yet"
    second = ""
    if question.second is not None and question.second_probability is not None:
        second = f", then {question.second} {question.second_probability:.0%}"
    return f"{question.guess} {question.probability:.0%}{second}"


def _told(question: "Question", given: Any) -> None:
    """A line when an answer is safe; whoever reads it may rely on it."""
    answer = "unsure" if given is None else given
    print(f"{question.number} {question.node}: {answer}", flush=True)


# -- the end ----------------------------------------------------------------------------


def _finish(asking: "Asking", place: Path | None, as_json: bool) -> None:
    from querist.graph.entries import some

    found = asking.summary()
    found["journal"] = None if asking.journal.path is None else str(asking.journal.path)
    found["out"] = None
    if place is not None and asking.answers:
        with progress() as show:
            show("labelling", 0.0, "from all answers")
            asking.write(place)
        found["out"] = str(place)
    if as_json:
        print_json(found)
        return
    print_line(f"{some(found['answers'], 'answer')}; {asking.stopped}.")
    audit = asking.audit
    if audit is not None:
        print_line(f"Accuracy of the labels, by the audit: {audit}.")
    right, of = found["guessed_right"]["right"], found["guessed_right"]["of"]
    if of:
        print_line(
            f"{right} of {of} chosen questions were guessed right; it asks where it is unsure, so this is a "
            "biased sample and says little about the accuracy."
        )
    if place is not None:
        print_line(f"{place}: a label for each of {found['nodes']:,} nodes." if found["out"] else NOTHING)


NOTHING = "No answer yet, so no label was written."
