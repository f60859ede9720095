"""Options that mean the same in every verb that has them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Component(StrEnum):
    """Which part of a graph."""

    ALL = "all"
    LARGEST = "largest"


class Kind(StrEnum):
    """Where a node's row comes from."""

    SPECTRAL = "spectral"
    DIFFUSION = "diffusion"
    BOTH = "both"


class Laplacian(StrEnum):
    """The Laplacian of a spectral embedding."""

    NORMALISED = "normalised"
    COMBINATORIAL = "combinatorial"


class SchemeOption(StrEnum):
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
Rows = Annotated[Kind, typer.Option(help="From the edges, from attributes smoothed along them, or both.")]
Matrix = Annotated[
    Laplacian, typer.Option(help="Laplacian of the spectral part; the papers use combinatorial.")
]
Constant = Annotated[float, typer.Option(help="Value of the constant column; the papers use 3.")]
Problems = Annotated[
    SchemeOption | None,
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
