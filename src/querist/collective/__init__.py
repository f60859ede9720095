"""THE WHOLE graph at once, from few labels.

>>> import querist
>>> club = querist.load_graph("karate")
>>> model = querist.collective.Harmonic().fit(club, {0: "Mr. Hi", 33: "Officer"})
>>> round(model.score(club, club.labels), 2)
0.97
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "CLASSIFIERS": ".catalogue",
        "Classifier": ".classifier",
        "Consistency": ".peers",
        "Diffusion": ".peers",
        "GMNR": ".gmnr",
        "Harmonic": ".relational",
        "History": ".classifier",
        "ICA": ".iterative",
        "ICML": ".iterative",
        "Inference": ".problem",
        "LNP": ".latent",
        "LabelPropagation": ".peers",
        "LabelSpreading": ".peers",
        "MRGM": ".gmnr",
        "NEED_ATTRIBUTES": ".catalogue",
        "PLSA": ".gmnr",
        "PageRank": ".peers",
        "Problem": ".problem",
        "SemiICA": ".iterative",
        "WVRN": ".relational",
        "pose": ".problem",
    },
)

if TYPE_CHECKING:
    from querist.collective.catalogue import CLASSIFIERS as CLASSIFIERS, NEED_ATTRIBUTES as NEED_ATTRIBUTES
    from querist.collective.classifier import Classifier as Classifier, History as History
    from querist.collective.gmnr import GMNR as GMNR, MRGM as MRGM, PLSA as PLSA
    from querist.collective.iterative import ICA as ICA, ICML as ICML, SemiICA as SemiICA
    from querist.collective.latent import LNP as LNP
    from querist.collective.peers import (
        Consistency as Consistency,
        Diffusion as Diffusion,
        LabelPropagation as LabelPropagation,
        LabelSpreading as LabelSpreading,
        PageRank as PageRank,
    )
    from querist.collective.problem import Inference as Inference, Problem as Problem, pose as pose
    from querist.collective.relational import WVRN as WVRN, Harmonic as Harmonic
