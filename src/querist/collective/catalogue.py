"""All classifiers of whole graphs by name.

`CLASSIFIERS[name](**parameters)` makes one; each is a scikit-learn estimator with the contract of
`querist.collective.classifier`. The second half are adapters to other libraries.
"""

from querist.collective.classifier import Classifier
from querist.collective.gmnr import GMNR, MRGM, PLSA
from querist.collective.iterative import ICA
from querist.collective.peers import Diffusion, LabelPropagation, LabelSpreading, PageRank
from querist.collective.relational import WVRN, Harmonic
from querist.parameters import parameters_of
from querist.registry import Registry

CLASSIFIERS: Registry[type[Classifier]] = Registry(
    "classifier",
    {
        "gmnr": GMNR,
        "mrgm": MRGM,
        "plsa": PLSA,
        "wvrn": WVRN,
        "ica": ICA,
        "harmonic": Harmonic,
        "label_propagation": LabelPropagation,
        "label_spreading": LabelSpreading,
        "diffusion": Diffusion,
        "pagerank": PageRank,
    },
    "classifier",
)
"""Every classifier of a whole graph by name.

>>> sorted(CLASSIFIERS)[:4]
['diffusion', 'gmnr', 'harmonic', 'ica']
"""


def reads_attributes(name: str) -> bool:
    """Whether a method reads attributes; each of these can take `features="links"` instead.

    >>> reads_attributes("gmnr"), reads_attributes("harmonic")
    (True, False)
    """
    return "features" in parameters_of(CLASSIFIERS[name])
