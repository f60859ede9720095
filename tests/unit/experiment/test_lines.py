"""Where a key stands in a TOML text."""

import tomllib

import pytest

from querist.experiment.lines import lines_of

TEXT = '''\
# task = "no"
task = "online"  # a comment = 3
"quoted key" = 1
a.b = 2

[representation]
rank = [ # [comment
  1, "]",
  2,
]
inside = { x = 1, y = [1, 2] }
long = """
[nothing]
key = 1
"""
after = 1

[[experiment]]
method = "a#b[" # [[experiment]]
[experiment.parameters]
h = 1
[[experiment]]
literal = \'\'\'
h = 2 \'\'\'
[experiment.grid]
h = [
[1],
]
end = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("task",), 2),
        (("quoted key",), 3),
        (("a", "b"), 4),
        (("representation",), 6),
        (("representation", "rank"), 7),
        (("representation", "inside"), 11),
        (("representation", "long"), 12),
        (("representation", "after"), 16),
        (("experiment", 0), 18),
        (("experiment", 0, "method"), 19),
        (("experiment", 0, "parameters", "h"), 21),
        (("experiment", 1), 22),
        (("experiment", 1, "literal"), 23),
        (("experiment", 1, "grid", "h"), 26),
        (("experiment", 1, "grid", "end"), 29),
    ],
)
def test_every_key_has_its_line(path, line):
    tomllib.loads(TEXT)  # it is TOML
    assert lines_of(TEXT)[path] == line


def test_what_is_inside_texts_and_lists_is_no_key():
    found = lines_of(TEXT)
    assert ("representation", "key") not in found
    assert ("nothing",) not in found
    assert ("experiment", 1, "h") not in found
