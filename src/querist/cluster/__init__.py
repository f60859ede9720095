"""A graph that no machine holds: its rows on the workers of a Dask cluster.

>>> from querist import cluster
>>> sorted(set(dir(cluster)) & {"embed", "label"})
['embed', 'label']
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.cluster.labelling import label as label
    from querist.cluster.spectral import embed as embed
