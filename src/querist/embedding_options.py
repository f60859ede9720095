"""The options of the kinds of embedding, each declared once: see `querist.options`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from querist.errors import InputError
from querist.options import Options, option
from querist.parameters import Range

LARGEST_CONSTANT = 1e150
"""Its square, which is in the length of every row, is finite."""

Weighting = Literal["unit", "tfidf", "raw"]


@dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(Options):
    """Options of a kind of embedding; the command line has those of every class that is made of this one."""


@dataclass(frozen=True, kw_only=True)
class SpectralOptions(EmbeddingOptions):
    """Those of a spectral embedding.

    >>> SpectralOptions(constant=3.0).changed()
    ['constant']
    """

    normalised: bool = option(
        True, "Spectral: use the Laplacian I - D^-1/2 S D^-1/2, otherwise D - S as in the papers"
    )
    constant: Annotated[float, Range(-LARGEST_CONSTANT, LARGEST_CONSTANT)] = option(
        1.0, "Spectral: value of the constant columns, 0 for none; sslgc13 and msg16 are reproduced with 3"
    )
    max_constants: Annotated[int | None, Range(1)] = option(
        None,
        "Spectral: number of components with a constant column of their own; the smaller ones share one",
        default_words="the rank",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constant == 0 and self.max_constants is not None:
            raise InputError(
                f"max_constants = {self.max_constants} does nothing with constant = 0: no constant columns "
                "are made; leave one of them out"
            )


@dataclass(frozen=True, kw_only=True)
class DiffusionOptions(EmbeddingOptions):
    """Those of a diffused embedding."""

    weighting: Weighting = option(
        "unit",
        "Diffusion: attribute rows of length one (unit), TF-IDF of length one (tfidf), or as they are (raw)",
    )
    steps: Annotated[int, Range(0)] = option(10, "Diffusion: number of smoothing steps along the edges")
    damping: Annotated[float, Range(0, 1)] = option(
        0.9, "Diffusion: weight of the neighbours in each smoothing step"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, other in (("damping", "steps"), ("steps", "damping")):
            if getattr(self, other) == 0 and name in self.changed():
                raise InputError(
                    f"{name} = {getattr(self, name):g} does nothing with {other} = 0; leave one of them out"
                )


@dataclass(frozen=True, kw_only=True)
class PageRankOptions(EmbeddingOptions):
    """Those of an embedding by personalised PageRank."""

    walk: Annotated[float, Range(gt=0, lt=1)] = option(
        0.98, "PageRank: probability that a random walk continues"
    )
    neighbours: Annotated[int, Range(1)] = option(40, "PageRank: number of entries per row of the local part")
