"""A label for every node from some: representations, members, pooling, calibration, an estimate.

>>> from querist.labelling import label
>>> label([("ann", "bob"), ("bob", "cy"), ("cy", "dee")], {"ann": "cat", "dee": "dog"}).labels
['cat', 'cat', 'dog', 'dog']
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.labelling.example import write_example as write_example
    from querist.labelling.files import from_files as from_files
    from querist.labelling.growth import join as join
    from querist.labelling.labelling import Labelling as Labelling, label as label
    from querist.labelling.options import LabelOptions as LabelOptions
    from querist.labelling.reading import GraphFiles as GraphFiles
