"""Campaigns of several people: over HTTP, in the browser, on a store that several servers share.

>>> from querist.serve.stores import open_store
>>> with open_store(None) as store:
...     store.campaigns()
[]
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.serve.client import connect as connect
