"""A graph that no machine holds: its rows on the workers of a Dask cluster."""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "EmbeddedParts": ".spectral",
        "LabelledParts": ".labelling",
        "MeasuredParts": ".labelling",
        "WorkEstimate": "..operator.estimate",
        "classify": ".labelling",
        "embed": ".spectral",
        "estimate": "..operator.estimate",
        "label": ".labelling",
        "measure": ".labelling",
    },
)

if TYPE_CHECKING:
    from querist.cluster.labelling import (
        LabelledParts as LabelledParts,
        MeasuredParts as MeasuredParts,
        classify as classify,
        label as label,
        measure as measure,
    )
    from querist.cluster.spectral import EmbeddedParts as EmbeddedParts, embed as embed
    from querist.operator.estimate import WorkEstimate as WorkEstimate, estimate as estimate
