"""The tables and figures of the five papers, a module each.

A module `querist_papers.NAME` has `ITEMS`, a tuple of `Item`, and registers tasks of its own as
`NAME.something`. It is loaded when its paper is first asked for.

>>> from querist_papers import items_of
>>> len(items_of("sslgc13"))
7
"""

import importlib
from typing import TYPE_CHECKING

from querist import UnknownNameError

if TYPE_CHECKING:
    from querist_papers.item import Item

PAPERS = ("sslgc13", "msg16", "pounce08", "bls19", "mrgm15")
"""The five papers, by their short names.

>>> len(PAPERS)
5
"""


def items_of(paper: str) -> "list[Item]":
    """The items of a paper, in its order.

    >>> [item.name for item in items_of("sslgc13")][:2]
    ['table1', 'table2']
    """
    if paper not in PAPERS:
        raise UnknownNameError.of("paper", paper, PAPERS)
    return list(importlib.import_module(f"querist_papers.{paper}").ITEMS)


def all_items() -> "list[Item]":
    """Those of every paper.

    >>> {item.paper.name for item in all_items()} == set(PAPERS)
    True
    """
    return [item for paper in PAPERS for item in items_of(paper)]


def item_of(paper: str, name: str) -> "Item":
    """One of them.

    >>> item_of("msg16", "table1").paper.name
    'msg16'
    """
    known = {item.name: item for item in items_of(paper)}
    if name not in known:
        raise UnknownNameError.of(f"item of {paper}", name, known)
    return known[name]
