"""The tables and figures of the five papers, a module each.

A module `querist.papers.NAME` has `ITEMS`, a tuple of `Item`, and registers tasks of its own as
`NAME.something`. It is loaded when its paper is first asked for.
"""

import importlib

from querist.errors import UnknownNameError
from querist.experiment.item import Item

PAPERS = ("sslgc13", "msg16", "pounce08", "bls19", "mrgm15")


def items_of(paper: str) -> tuple[Item, ...]:
    """The items of a paper, in its order."""
    if paper not in PAPERS:
        raise UnknownNameError.of("paper", paper, PAPERS)
    found: tuple[Item, ...] = importlib.import_module(f"querist.papers.{paper}").ITEMS
    return found


def all_items() -> list[Item]:
    """Those of every paper."""
    return [item for paper in PAPERS for item in items_of(paper)]


def item_of(paper: str, name: str) -> Item:
    """One of them."""
    known = {item.name: item for item in items_of(paper)}
    if name not in known:
        raise UnknownNameError.of(f"item of {paper}", name, known)
    return known[name]
