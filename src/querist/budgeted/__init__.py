"""One vector at a time, mostly unlabelled, in bounded memory (bls19).

>>> import querist
>>> querist.budgeted.PA1(2, C=0.1).n_classes
2
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.budgeted.catalogue import STREAMS as STREAMS
    from querist.budgeted.closed_form import transduce as transduce
    from querist.budgeted.learner import BLS as BLS, Stream as Stream
    from querist.budgeted.passive import PA as PA, PA1 as PA1, PA2 as PA2
