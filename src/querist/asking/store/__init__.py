"""The log of a campaign: events that are appended and never changed, and the stores that keep them."""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "CampaignEntry": ".interface",
        "ConflictError": ".interface",
        "Damage": ".events",
        "Draft": ".events",
        "Event": ".events",
        "EventStore": ".interface",
        "Reply": ".interface",
        "SqliteStore": ".sqlite",
        "StoreDamagedError": ".interface",
        "StoreError": ".interface",
        "Token": ".interface",
        "export_events": ".moving",
        "move": ".moving",
        "repair": ".moving",
    },
)

if TYPE_CHECKING:
    from querist.asking.store.events import Damage as Damage, Draft as Draft, Event as Event
    from querist.asking.store.interface import (
        CampaignEntry as CampaignEntry,
        ConflictError as ConflictError,
        EventStore as EventStore,
        Reply as Reply,
        StoreDamagedError as StoreDamagedError,
        StoreError as StoreError,
        Token as Token,
    )
    from querist.asking.store.moving import export_events as export_events, move as move, repair as repair
    from querist.asking.store.sqlite import SqliteStore as SqliteStore
