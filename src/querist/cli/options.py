"""Options that mean the same in every verb that has them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Component(StrEnum):
    """Which part of a graph."""

    ALL = "all"
    LARGEST = "largest"


class Laplacian(StrEnum):
    """The Laplacian of a spectral embedding."""

    NORMALISED = "normalised"
    COMBINATORIAL = "combinatorial"


class Scheme(StrEnum):
    """One problem over all classes, or one a class."""

    MULTICLASS = "multiclass"
    ONE_VS_REST = "one-vs-rest"


DEFAULT_RANK = 100

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="Name of a data set (see querist datasets), or path of a graph file."
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option(
        help="Table of nodes with their labels and attributes, for a graph in a csv or parquet file."
    ),
]
Part = Annotated[Component, typer.Option(help="The whole graph, or its largest component.")]
Rank = Annotated[
    int | None,
    typer.Option(
        min=1, help=f"Columns of the embedding; {DEFAULT_RANK}, or fewer in a smaller graph, by default."
    ),
]


class _Kinds(str):
    """The kinds of embedding, for a help text: the registry is read when it is printed, not before."""

    def __format__(self, how: str) -> str:
        from querist.embedding.kinds import known

        return format(f"[{'|'.join(known())}]", how)


def _kind(name: str) -> str:
    """A registered kind of embedding."""
    from querist.embedding.kinds import kind_of
    from querist.errors import UnknownNameError

    try:
        return kind_of(name).name
    except UnknownNameError as error:
        raise typer.BadParameter(str(error)) from None


Rows = Annotated[
    str, typer.Option(parser=_kind, metavar=_Kinds("KIND"), help="Where a node's row comes from.")
]
Matrix = Annotated[
    Laplacian, typer.Option(help="Laplacian of the spectral part; the papers use combinatorial.")
]
Constant = Annotated[float, typer.Option(help="Value of the constant column; the papers use 3.")]
Problems = Annotated[
    Scheme | None,
    typer.Option(
        help="All classes at once, or a binary problem a class; the algorithm's own way by default."
    ),
]
Shuffles = Annotated[int, typer.Option(min=1, help="Runs, each over another random order of the nodes.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
Budget = Annotated[int | None, typer.Option(min=0, help="The most questions in a run; no limit by default.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter; may be given several times."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
