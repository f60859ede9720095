"""THE WHOLE graph at once, from few labels.

>>> import querist
>>> club = querist.load_graph("karate")
>>> model = querist.collective.Harmonic().fit(club, {0: "Mr. Hi", 33: "Officer"})
>>> round(model.score(club, club.labels), 2)
0.97
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.collective.catalogue import CLASSIFIERS as CLASSIFIERS
    from querist.collective.classifier import Classifier as Classifier
    from querist.collective.gmnr import GMNR as GMNR, MRGM as MRGM, PLSA as PLSA
    from querist.collective.iterative import ICA as ICA, Iterative as Iterative
    from querist.collective.peers import (
        Diffusion as Diffusion,
        LabelPropagation as LabelPropagation,
        LabelSpreading as LabelSpreading,
        PageRank as PageRank,
    )
    from querist.collective.problem import Inference as Inference, Problem as Problem
    from querist.collective.relational import WVRN as WVRN, Harmonic as Harmonic
