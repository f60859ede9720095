"""All classifiers of whole graphs by name.

`CLASSIFIERS[name](**parameters)` makes one; each is a scikit-learn estimator with the contract of
`querist.collective.classifier`. The second half are adapters to other libraries.
"""

from querist.collective.classifier import Classifier
from querist.collective.gmnr import GMNR, MRGM, PLSA
from querist.collective.iterative import ICA, ICML, SemiICA
from querist.collective.latent import LNP
from querist.collective.peers import Consistency, Diffusion, LabelPropagation, LabelSpreading, PageRank
from querist.collective.relational import WVRN, Harmonic
from querist.registry import Registry

CLASSIFIERS: Registry[type[Classifier]] = Registry(
    "classifier",
    {
        "gmnr": GMNR,
        "mrgm": MRGM,
        "plsa": PLSA,
        "wvrn": WVRN,
        "ica": ICA,
        "semiica": SemiICA,
        "lnp": LNP,
        "icml": ICML,
        "harmonic": Harmonic,
        "label_propagation": LabelPropagation,
        "label_spreading": LabelSpreading,
        "diffusion": Diffusion,
        "pagerank": PageRank,
        "consistency": Consistency,
    },
)
"""Every classifier of a whole graph by name.

>>> sorted(CLASSIFIERS)[:4]
['consistency', 'diffusion', 'gmnr', 'harmonic']
"""

NEED_ATTRIBUTES = frozenset({"gmnr", "mrgm", "plsa", "ica", "semiica", "lnp", "icml"})
"""Methods that read attributes; all can take features="links" instead.

>>> sorted(NEED_ATTRIBUTES)
['gmnr', 'ica', 'icml', 'lnp', 'mrgm', 'plsa', 'semiica']
"""
