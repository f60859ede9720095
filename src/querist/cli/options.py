"""Options that mean the same in every verb that has them."""

import functools
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from querist.errors import InputError, UnknownNameError

SchemeName = Literal["multiclass", "one-vs-rest"]
Parallel = Literal["max", "sum", "first"]

DEFAULT_RANK = 100

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Name of a data set (see querist datasets), or a file of edges: .csv, .tsv, .parquet, .npz or "
        ".graphml, text also as .gz; - is the standard input.",
    ),
]
MaybeData = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="Name of a data set (see querist datasets), or a file of edges: .csv, .tsv, .parquet, .npz or "
        ".graphml, text also as .gz; - is the standard input. On a cluster a folder of edges.",
    ),
]
Vectors = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Name of a data set of vectors; path of a .csv, .tsv, .parquet, .libsvm or .jsonl file; "
        "or - for lines of CSV, JSON or LIBSVM on standard input.",
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option(
        metavar="NODES", help="Table of the nodes of a file of edges, with their labels and attributes."
    ),
]
Extend = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EDGES2", help="More edges that arrived since, perhaps to new nodes; may be repeated."
    ),
]
ExtendNodes = Annotated[
    list[Path] | None,
    typer.Option(metavar="NODES2", help="More nodes, with the columns of NODES; may be repeated."),
]
Out = Annotated[
    Path,
    typer.Option(help="Folder for results, tables, figures and report; what it holds is not run again."),
]
Processes = Annotated[
    int, typer.Option(min=0, help="Processes on this machine; 0 means one a core, 1 runs in this one.")
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with its scheduler at this address."),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help='Compute on this device of torch, as "cuda", and not on the threads of this machine; "auto" '
        "takes a GPU where it is worth it.",
    ),
]
Part = Annotated[Literal["all", "largest"], typer.Option(help="The whole graph, or its largest component.")]
Rank = Annotated[
    int | None,
    typer.Option(
        min=1, help=f"Columns of the embedding; {DEFAULT_RANK}, or fewer in a smaller graph, by default."
    ),
]


class _Kinds(str):
    """The kinds of embedding, as the metavar of an option: found when the help is printed, not before.

    Loading the registry takes long, so that where nobody has, the names of its modules do.
    """

    def __format__(self, how: str) -> str:
        registry = sys.modules.get("querist.embedding.kinds")
        if registry is not None:
            names = sorted(registry.known())
        else:
            home = Path(__file__).parents[1] / "embedding" / "kinds"
            names = sorted(module.name for module in pkgutil.iter_modules([str(home)]))
        return format(f"[{'|'.join(names)}]", how)


def _kind(name: str) -> str:
    """A registered kind of embedding."""
    from querist.embedding.kinds import kind_of

    try:
        return kind_of(name).name
    except UnknownNameError as error:
        raise typer.BadParameter(str(error)) from None


Rows = Annotated[
    str, typer.Option(parser=_kind, metavar=_Kinds("KIND"), help="Where a node's row comes from.")
]
Matrix = Annotated[
    Literal["normalised", "combinatorial"],
    typer.Option(help="Laplacian of the spectral part; the papers use combinatorial."),
]
Constant = Annotated[float, typer.Option(help="Value of the constant column; the papers use 3.")]
Problems = Annotated[
    SchemeName | None,
    typer.Option(
        help="All classes at once, or a binary problem a class; the algorithm's own way by default."
    ),
]
Shuffles = Annotated[int, typer.Option(min=1, help="Runs, each over another random order of the nodes.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
Budget = Annotated[int | None, typer.Option(min=0, help="The most questions in a run; no limit by default.")]
Pace = Annotated[
    float | None,
    typer.Option(
        help="Spend the budget in turn: 1 evenly over the rounds still to come, more early. The rule as it "
        "is, until the budget is spent, by default."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter; may be given several times."),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In CSV, an apostrophe before a text that a spreadsheet would run; without it a file holds "
        "every id as it is, and reads back.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SeveralLabels = Annotated[
    bool | None,
    typer.Option("--multi-label", help="A node may have several labels: an answer is a set of classes."),
]

LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="NAME",
        help="Column of the labels, in a table of labels or else of nodes; label or class by default.",
    ),
]
VectorLabel = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        "--label",
        metavar="NAME",
        help="Column of the labels in a file or on standard input; label or class by default.",
    ),
]

Values = Mapping[str, Any]
"""Values of several options by name (see `with_options`)."""
COLUMNS: Mapping[str, Any] = {
    "source": Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of an edge's one end; source, src, from, or the first."),
    ],
    "target": Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of its other end; target, dst, to, or the second."),
    ],
    "weight": Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of its weight; weight or value by default.")
    ],
    "parallel": Annotated[
        Parallel | None,
        typer.Option(
            help="The weight of an edge that a file gives more than once: the largest (max, the default), "
            "the sum (for payments, messages) or the first."
        ),
    ],
    "id": Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column of the ids of nodes; node, id, or the first."),
    ],
    "label_column": LabelColumn,
    "missing": Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="The label that means unlabelled, besides an empty field; nan for no other, so that -1 is a "
            "class.",
        ),
    ],
}
"""Options of every verb that reads a graph from files, as `labelling.GraphFiles` calls them."""


def with_options(
    place: str, declared: Mapping[str, tuple[Any, Any]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A verb gets these options, type and default by name, where its parameter `place` stands; that gets the
    values which are not None."""

    def widened(verb: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(verb)
        by_name = inspect.Parameter.KEYWORD_ONLY
        more = [
            inspect.Parameter(name, by_name, default=default, annotation=kind)
            for name, (kind, default) in declared.items()
        ]
        parameters = [
            each
            for given in own.parameters.values()
            for each in (more if given.name == place else [given.replace(kind=by_name)])
        ]

        @functools.wraps(verb)
        def wider(**given: Any) -> None:
            values = {name: given.pop(name) for name in declared}
            verb(**given, **{place: {name: value for name, value in values.items() if value is not None}})

        # What typer reads: the names, their types and their defaults.
        wider.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        wider.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wider

    return widened


with_columns = with_options("columns", {name: (kind, None) for name, kind in COLUMNS.items()})
"""The options of `COLUMNS` where a verb's parameter `columns` stands."""

ON_CLUSTERS = ("source", "target", "weight", "id", "label_column")
"""Those of them that mean the same on a cluster."""


def refuse_beside(option: str, given: Mapping[str, bool]) -> None:
    """Refuse options that do nothing beside another."""
    strange = [name for name, is_given in given.items() if is_given]
    if strange:
        raise InputError(f"{strange[0]} does not go with {option}; leave one of the two out")


def columns_there(columns: Values) -> dict[str, Any]:
    """Columns as `querist.cluster` calls them; refused where it has no such option."""
    refuse_beside("--cluster", {f"--{name}": name not in ON_CLUSTERS for name in columns})
    called = {"weight": "weights", "label_column": "label"}
    return {called.get(name, name): value for name, value in columns.items()}
