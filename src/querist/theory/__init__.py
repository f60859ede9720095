"""Theory as numbers: resistances, covers and bounds that a user can print beside a run.

>>> import querist
>>> from querist.theory import resistance_diameter
>>> round(resistance_diameter(querist.as_graph([("a", "b"), ("b", "c")])), 3)
2.0
"""

from querist.theory.bounds import Bound
from querist.theory.covers import (
    Cover,
    component_cover_number,
    cover_number,
    cover_profile,
    separating_cover_numbers,
    separation,
)
from querist.theory.labelling import cut_size, energy, minimiser, relaxed_energy
from querist.theory.resistance import effective_resistance, resistance_diameter
from querist.theory.runs import bounds_of

__all__ = [
    "Bound",
    "Cover",
    "bounds_of",
    "component_cover_number",
    "cover_number",
    "cover_profile",
    "cut_size",
    "effective_resistance",
    "energy",
    "minimiser",
    "relaxed_energy",
    "resistance_diameter",
    "separating_cover_numbers",
    "separation",
]
