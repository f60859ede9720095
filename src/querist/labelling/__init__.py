"""A label for every node from some: representations, members, pooling, calibration, an estimate.

>>> from querist.labelling import label
>>> label([("ann", "bob"), ("bob", "cy"), ("cy", "dee")], {"ann": "cat", "dee": "dog"}).labels
['cat', 'cat', 'dog', 'dog']
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "Choice": ".choose",
        "Estimate": ".decisions.estimate",
        "FilesLabelled": ".files",
        "GraphFiles": ".files",
        "Labelling": ".labelling",
        "MEMBERS": ".members",
        "Member": ".workspace",
        "NodeLabel": ".labelling",
        "Score": ".choose",
        "from_files": ".files",
        "influences": ".influence",
        "join": ".growth",
        "keep_up": ".growth",
        "label": ".labelling",
        "read_source": ".reading",
        "write_example": ".example",
    },
)

if TYPE_CHECKING:
    from querist.labelling.choose import Choice as Choice, Score as Score
    from querist.labelling.decisions.estimate import Estimate as Estimate
    from querist.labelling.example import write_example as write_example
    from querist.labelling.files import (
        FilesLabelled as FilesLabelled,
        GraphFiles as GraphFiles,
        from_files as from_files,
    )
    from querist.labelling.growth import join as join, keep_up as keep_up
    from querist.labelling.influence import influences as influences
    from querist.labelling.labelling import Labelling as Labelling, NodeLabel as NodeLabel, label as label
    from querist.labelling.members import MEMBERS as MEMBERS
    from querist.labelling.reading import read_source as read_source
    from querist.labelling.workspace import Member as Member
