"""Prose does not contain unmistakable phrases of an earlier, harder style of writing.

`PLACES` lists the texts that are checked. Add a function to it to cover docstrings or help texts.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PHRASES = [
    "what it makes of",
    "which is said",
    "is said (?:on|in|beside|to be)",
    "of everything random",
    "shall (?:have|be|not)",
    "mend(?:s|ed|ing)?",
    "a (?:page|row|line) an?",
    "(?:labels?|values?|entries|states?|pages?|solve) a (?:node|class|round|question|label|machine)",
    "as the journal has it",
    "the shape of the house",
    "the walk of each",
    "what came of it",
    "not to be had",
    "whoever",
]
FORBIDDEN = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PHRASES), re.IGNORECASE)
PLANTED = [
    "It was done, which is said below.",
    "Mend the file and try again.",
    "There is a page an algorithm.",
    "What the labels shall have much of.",
    "Several labels a node are allowed.",
]


def pages() -> Iterator[tuple[str, str]]:
    """The pages of the repository and of docs, except docs/results, which a command writes."""
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT)
        if name.parts[:2] != ("docs", "results"):
            yield str(name), prose(page.read_text(encoding="utf-8"))


PLACES: list[Callable[[], Iterator[tuple[str, str]]]] = [pages]


def prose(text: str) -> str:
    """Markdown on one line, without code, targets of links and formulas."""
    text = re.sub(r"^```.*?^```", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\$[^$]*\$|<!--.*?-->", " ", text, flags=re.DOTALL)
    return " ".join(text.split())


def offences(text: str) -> list[str]:
    """Each forbidden phrase with the words around it."""
    return [text[max(0, match.start() - 30) : match.end() + 30] for match in FORBIDDEN.finditer(text)]


@pytest.mark.parametrize(
    ("name", "text"), [pytest.param(*found, id=found[0]) for place in PLACES for found in place()]
)
def test_the_old_style_is_gone(name, text):
    assert offences(text) == [], name


@pytest.mark.parametrize("sentence", PLANTED)
def test_a_planted_sentence_is_found(sentence):
    name, text = next(pages())
    assert len(offences(f"{text} {sentence}")) == len(offences(text)) + 1, name


def test_words_that_contain_a_phrase_are_allowed():
    assert offences("We recommend amendments. Parallel labels are nodes.") == []
