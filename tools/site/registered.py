"""What the registries hold, as tables for the method pages.

A page says `<!-- registered: online msg -->`: the family and the names it speaks of. In the repository that
shows nothing; on the site it becomes a table of the parameters with their defaults, read from the code.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from querist import ALGORITHMS, CLASSIFIERS, STREAMS
from querist.asking import STRATEGIES
from querist.embedding.kinds import known
from querist.labelling.members import MEMBERS
from querist.parameters import Parameter, parameters_of

MARK = re.compile(r"<!-- registered: (\w+) ([\w ]+) -->")
EVERY_CLASSIFIER = ("classes", "missing", "threshold", "top_k", "progress")
"""Parameters that all classifiers have: the page of each says its own."""

Describe = Callable[[str], tuple[str, Mapping[str, Parameter]]]


def families() -> dict[str, tuple[Mapping[str, Any], Describe]]:
    """Each family: its registry, and a function from a name to how it is called and its parameters."""
    return {
        "online": (
            ALGORITHMS,
            lambda name: (f'querist.ALGORITHMS["{name}"]', parameters_of(ALGORITHMS[name])),
        ),
        "streams": (STREAMS, lambda name: (f'querist.STREAMS["{name}"]', parameters_of(STREAMS[name]))),
        "collective": (
            CLASSIFIERS,
            lambda name: (
                f'querist.CLASSIFIERS["{name}"]',
                parameters_of(CLASSIFIERS[name], EVERY_CLASSIFIER),
            ),
        ),
        "members": (MEMBERS, lambda name: (f'querist.label(..., method="{name}")', {})),
        "strategies": (STRATEGIES, lambda name: (f'querist.ask(..., strategy="{name}")', {})),
        "embeddings": (known(), lambda name: (f'querist.embed(..., kind="{name}")', known()[name].options)),
    }


def named_by(page: Path) -> list[tuple[str, str]]:
    """(family, name) of everything that a page speaks of."""
    found = MARK.findall(page.read_text(encoding="utf-8"))
    return [(family, name) for family, names in found for name in names.split()]


def with_tables(markdown: str) -> str:
    """A page with its tables in place of its marks."""
    return MARK.sub(lambda found: table(found[1], found[2].split()), markdown)


def table(family: str, names: list[str]) -> str:
    """How each is called, what it says of itself, and its parameters."""
    registry, describe = families()[family]
    lines = []
    for name in names:
        call, parameters = describe(name)
        lines += [f"`{call}`: {said_of(registry[name])}", ""]
        if parameters:
            lines += ["| parameter | allowed values | default |", "|---|---|---|"]
            lines += [f"| `{one.name}` | {one.need} | `{one.default!r}` |" for one in parameters.values()]
            lines.append("")
    return "\n".join(lines)


def said_of(value: Any) -> str:
    """The first sentence that a registered value says of itself."""
    for place in ("reason", "about"):
        if text := getattr(value, place, ""):
            return f"{text.replace('{}', 'one of the class')}."
    if method := getattr(value, "method", None):
        return f"{method.what}."
    text = " ".join((value.__doc__ or "").split("\n\n")[0].split())
    return text if text.endswith(".") else f"{text}."
