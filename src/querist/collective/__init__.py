"""THE WHOLE graph at once, from few labels."""

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
    from querist.collective.catalogue import CLASSIFIERS as CLASSIFIERS
    from querist.collective.catalogue import NEED_ATTRIBUTES as NEED_ATTRIBUTES
    from querist.collective.classifier import Classifier as Classifier
    from querist.collective.classifier import History as History
    from querist.collective.gmnr import GMNR as GMNR
    from querist.collective.gmnr import MRGM as MRGM
    from querist.collective.gmnr import PLSA as PLSA
    from querist.collective.iterative import ICA as ICA
    from querist.collective.iterative import ICML as ICML
    from querist.collective.iterative import SemiICA as SemiICA
    from querist.collective.latent import LNP as LNP
    from querist.collective.peers import Consistency as Consistency
    from querist.collective.peers import Diffusion as Diffusion
    from querist.collective.peers import LabelPropagation as LabelPropagation
    from querist.collective.peers import LabelSpreading as LabelSpreading
    from querist.collective.peers import PageRank as PageRank
    from querist.collective.problem import Inference as Inference
    from querist.collective.problem import Problem as Problem
    from querist.collective.problem import pose as pose
    from querist.collective.relational import WVRN as WVRN
    from querist.collective.relational import Harmonic as Harmonic
