"""The campaigns of one store, opened when somebody asks for them, and looked after while they are open."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from querist.asking.arrivals import KIND, arrival
from querist.asking.policy import arrived
from querist.asking.store.events import Draft
from querist.asking.store.sql import EventStore
from querist.progress import Progress
from querist.serve.access import Gate
from querist.serve.campaign import ServedCampaign
from querist.serve.opening import open_campaign
from querist.serve.views import CampaignViews
from querist.serve.writing import RefusedError

SWEEP = 2.0
"""Seconds between two looks for leases that have ended, and for what other servers wrote."""


class CampaignServer:
    """All campaigns of a store; `device` is where they are computed, as in `ask`."""

    def __init__(self, store: EventStore, *, device: str | None = None) -> None:
        self.store, self.gate, self.device = store, Gate(store), device
        self._open: dict[str, CampaignViews] = {}
        self._opening = threading.Lock()
        self.made_so_far: dict[str, tuple[float, str]] = {}
        """How far the campaigns are that people make of files now, by person, and what is being done."""
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True, name="querist-keeper")
        self._keeper.start()

    @contextmanager
    def making(self, person: str) -> Iterator[Progress]:
        """While a person makes a campaign of files: what tells how far it is."""

        def show(fraction: float, text: str, /) -> None:
            self.made_so_far[person] = fraction, text

        show(0.0, "reading the files")
        try:
            yield show
        finally:
            self.made_so_far.pop(person, None)

    def add(self, campaign: ServedCampaign) -> CampaignViews:
        """Serve a campaign that is open already."""
        return self._open.setdefault(campaign.id, CampaignViews(campaign))

    def views(self, id: str) -> CampaignViews:
        """A campaign, which is opened where it is not."""
        with self._opening:
            if id not in self._open:
                if all(entry.id != id for entry in self.store.campaigns()):
                    raise RefusedError(f"there is no campaign {id!r} here", 404)
                self.add(open_campaign(self.store, id, device=self.device))
            return self._open[id]

    def opened(self, id: str) -> CampaignViews | None:
        """A campaign, if it is open already."""
        return self._open.get(id)

    def open_campaigns(self) -> list[ServedCampaign]:
        """Those that are open."""
        return [views.campaign for views in list(self._open.values())]

    def close(self) -> None:
        """Stop learning and sweeping; leases stay, as all else that is in the store."""
        self._ended.set()
        self._keeper.join(10.0)
        for campaign in self.open_campaigns():
            campaign.close()
        self.store.close()

    def _keep(self) -> None:
        while not self._ended.wait(SWEEP):
            for campaign in self.open_campaigns():
                # Whoever asks next meets the same trouble, and is told.
                with suppress(Exception):
                    campaign.catch_up()
                    campaign.expire()


def arrive(campaign: ServedCampaign, edges: Any, nodes: Any, patience: float = 60.0) -> list[dict[str, Any]]:
    """New nodes and edges join the graph; each new node is labelled at once, and asked about where that is
    in doubt: the question is open for whoever comes next."""

    def growth() -> list[Draft]:
        """What came, if nothing else did since: the rows of its nodes follow those that there were."""
        return [Draft(KIND, came)] if campaign.grown == grown else []

    while True:
        grown = campaign.grown
        _catch_up(campaign, grown, patience)
        before = campaign.asking.graph
        came = arrival(before, edges, nodes)
        if not came:
            return []
        if events := campaign.write(growth):
            break
    _catch_up(campaign, events[-1].seq, patience)
    found = []
    for row in range(before.n_nodes, before.n_nodes + len(came["nodes"])):
        about = campaign.asking.state.about(row)
        asked = bool(campaign.write(partial(_ask_about, campaign, row, about["probability"])))
        named = {"row": row, "node": campaign.asking.graph.nodes[row], "label": about["guess"]}
        found.append({**named, "probability": about["probability"], "asked": asked})
    return found


def _catch_up(campaign: ServedCampaign, seq: int, patience: float) -> None:
    if not campaign.learner.caught_up(seq, patience):
        raise RefusedError("the learner is far behind; try again in a minute", 503)
    campaign.check_learner()


def _ask_about(campaign: ServedCampaign, row: int, sure: float | None) -> list[Draft]:
    """Open a question about a node that came by, if the policy wants one."""
    pick = arrived(campaign.status, row, sure)
    return [] if pick is None else [Draft("question", campaign.asking.state.question(pick))]
