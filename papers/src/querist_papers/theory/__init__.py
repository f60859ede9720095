"""Theory as numbers: resistances, covers and bounds that a user can print beside a run.

>>> import querist
>>> from querist_papers.theory import resistance_diameter
>>> round(resistance_diameter(querist.as_graph([("a", "b"), ("b", "c")])), 3)
2.0
"""

from querist_papers.theory.bounds import Bound as Bound
from querist_papers.theory.covers import (
    Cover as Cover,
    component_cover_number as component_cover_number,
    cover_number as cover_number,
    cover_profile as cover_profile,
    separating_cover_numbers as separating_cover_numbers,
    separation as separation,
)
from querist_papers.theory.labelling import (
    cut_size as cut_size,
    energy as energy,
    minimiser as minimiser,
    relaxed_energy as relaxed_energy,
    resistance_diameter as resistance_diameter,
)
from querist_papers.theory.runs import bounds_of as bounds_of
