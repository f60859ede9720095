"""The tables and figures of the five papers, a module each.

A module `querist.papers.NAME` has `ITEMS`, a tuple of `Item`, and registers tasks of its own as
`NAME.something`. It is loaded when its paper is first asked for.
"""

import importlib
import importlib.util

from querist.errors import UnknownNameError
from querist.experiment.item import Item

PAPERS = ("sslgc13", "msg16", "pounce08", "bls19", "mrgm15")


def about(paper: str) -> str:
    """Authors, title and year; nothing of a paper that is not one of these."""
    home = f"{__name__}.{paper}"
    known = importlib.util.find_spec(home) is not None
    said = importlib.import_module(home).__doc__ or "" if known else ""
    return " ".join(said.partition("\n\n")[0].split())


def items_of(paper: str) -> tuple[Item, ...]:
    """The items of a paper, in its order."""
    if paper not in PAPERS:
        raise UnknownNameError.of("paper", paper, PAPERS)
    found: tuple[Item, ...] = importlib.import_module(f"querist.papers.{paper}").ITEMS
    return found


def item_of(paper: str, name: str) -> Item:
    """One of them."""
    known = {item.name: item for item in items_of(paper)}
    if name not in known:
        raise UnknownNameError.of(f"item of {paper}", name, known)
    return known[name]
