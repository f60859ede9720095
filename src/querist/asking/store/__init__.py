"""The log of a campaign: events that are appended and never changed, and the stores that keep them.

The names here are those that a store in another database needs: see `EventStore`. They are not public.
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, _ = names_of(__name__)

if TYPE_CHECKING:
    from querist.asking.store.events import StoreError as StoreError, UnreadableError as UnreadableError
    from querist.asking.store.sql import (
        POSTGRES as POSTGRES,
        SQLITE as SQLITE,
        VERSION as VERSION,
        EventStore as EventStore,
        KeyTakenError as KeyTakenError,
        Statement as Statement,
        check_version as check_version,
    )
