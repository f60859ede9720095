"""Docstrings as Markdown, for the API reference.

They are Markdown already, but for two things: a section of parameters is a heading underlined with dashes and
lines `name : what it is`, and an example begins with `>>>`. The types stand in the signature.
"""

import importlib
import inspect
import re
from typing import Any

import griffe

HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.MULTILINE)
ITEM = re.compile(r"^(\*{0,2}\w[\w, .*]*?) : ")


def as_markdown(text: str) -> str:
    """A docstring with its parameters as a list and its examples in fences.

    >>> parameters = "Parameters\\n----------\\na : one\\n    number\\nb : more"
    >>> as_markdown(f"It adds.\\n\\n{parameters}").splitlines()
    ['It adds.', '', '**Parameters**', '', '- `a`: one', '    number', '- `b`: more']
    >>> as_markdown(">>> 1 + 1\\n2").splitlines()
    ['```pycon', '>>> 1 + 1', '2', '```']
    """
    paragraphs = re.split(r"\n\s*\n", HEADING.sub(r"**\1**\n\n", text.strip("\n")))
    shown, lines_of_items = [], False
    for paragraph in paragraphs:
        if lines_of_items and ITEM.match(paragraph):
            lines = paragraph.splitlines()
            paragraph = "\n".join(ITEM.sub(r"- `\1`: ", line) for line in lines)  # noqa: PLW2901
        elif paragraph.lstrip().startswith(">>>"):
            paragraph = f"```pycon\n{paragraph}\n```"  # noqa: PLW2901
        shown.append(paragraph)
        lines_of_items = paragraph.startswith("**") and paragraph.endswith("**")
    return "\n\n".join(shown)


def with_options(obj: griffe.Object) -> str:
    """The docstring of an object; of a function that lists its options, as it is when it runs."""
    decorators = getattr(obj, "decorators", ())
    if obj.parent is None or not any("lists_options" in str(each.value) for each in decorators):
        return obj.docstring.value if obj.docstring is not None else ""
    return inspect.getdoc(getattr(importlib.import_module(obj.parent.path), obj.name)) or ""


class MarkdownDocstrings(griffe.Extension):
    """Rewrites every docstring that griffe reads."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called with each object after its members."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(with_options(obj))
