"""What a plugin needs beyond the interface that everybody uses.

A plugin is a distribution that names what it adds in its entry points:

    [project.entry-points."querist.plugins"]
    "algorithm.mine" = "my_package.learners:mine"
    "learner.mine" = "my_package.learners:MyLearner"
    "classifier.mine" = "my_package.classifiers:Mine"
    "stream.mine" = "my_package.streams:mine"
    "dataset.mine" = "my_package.data:mine"
    "task.mine" = "my_package.tasks:MINE"
    "verb.mine" = "my_package.verbs:mine"

Each is then found by its name, as if it were a part of Querist. An algorithm whose class is not one of
`querist.online` names that class as `learner`, so that it can be loaded again. `querist-papers` is such a
plugin; it uses nothing but the public names of the packages and those listed here:

- for a verb: `shared_options`, `read_settings`, `read_graph`, `measured`, `running`, `print_found`,
  `print_tables`, `print_line`;
- for a task, beside those of `querist.experiment`: `checked`, `graph_of`, `vectors_of`, `check_all`;
- for what is written: `Section`, `write_section`, `conditions`, `make_folder`, `put`, `taking_turns`;
- for a learner with maths of its own: the module `steps`, `compiled`, `compiled_lanes`;
- for a classifier or a stream learner: `Range`, `harmonic`, `checked_count`, `checked_number`,
  `checked_stream`, `check_room`.

>>> from querist.extend import graph_of
>>> graph_of("karate").n_nodes
34
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.budgeted.checks import (
        check_room as check_room,
        checked_number as checked_number,
        checked_stream as checked_stream,
    )
    from querist.cli.options import shared_options as shared_options
    from querist.cli.runs import measured as measured, read_graph as read_graph
    from querist.cli.screen import (
        print_found as print_found,
        print_line as print_line,
        print_tables as print_tables,
        running as running,
    )
    from querist.compiled import compiled as compiled, compiled_lanes as compiled_lanes
    from querist.experiment.runner import check_all as check_all
    from querist.experiment.store import conditions as conditions, taking_turns as taking_turns
    from querist.experiment.tasks.common import (
        checked as checked,
        graph_of as graph_of,
        vectors_of as vectors_of,
    )
    from querist.experiment.writing import (
        Section as Section,
        make_folder as make_folder,
        put as put,
        write_section as write_section,
    )
    from querist.online import steps as steps
    from querist.operator.harmonic import harmonic as harmonic
    from querist.parameters import (
        Range as Range,
        checked_count as checked_count,
        read_settings as read_settings,
    )
