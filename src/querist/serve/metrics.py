"""Counts and times of the server, in the text format that Prometheus reads."""

import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from querist.serve.server import CampaignServer

METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"))
"""Seconds below which requests are counted."""


class Metrics:
    """What requests there were, and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts, self._times = Counter[str](), Counter[str]()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request more."""
        method, name = method if method in METHODS else "other", "querist_request_seconds"
        with self._lock:
            about = f'method="{method}",route="{route}",status="{status}"'
            self._counts[f"querist_requests_total{{{about}}}"] += 1
            for bound in BOUNDS:
                end = f"{bound}".replace("inf", "+Inf")
                self._times[f'{name}_bucket{{route="{route}",le="{end}"}}'] += seconds <= bound
            self._times[f'{name}_sum{{route="{route}"}}'] += seconds  # type: ignore[assignment]
            self._times[f'{name}_count{{route="{route}"}}'] += 1

    def text(self, server: "CampaignServer") -> str:
        """All of it."""
        with self._lock:
            counts, times = ([f"{name} {n}" for name, n in c.items()] for c in (self._counts, self._times))
        lines = ["# TYPE querist_requests_total counter", *counts]
        lines += ["# TYPE querist_request_seconds histogram", *times]
        # Sums, without the ids of campaigns: anybody may see how busy the server is.
        own = server.open_campaigns()
        gauges = {
            "events": [each.last for each in own],
            "answers": [each.turns.asked for each in own],
            "open_questions": [each.turns.n_open for each in own],
            "budget": [each.status.options.budget for each in own],
            "events_behind": [max(0, each.last - each.learner.seq) for each in own],
        }
        for name, values in gauges.items():
            lines += [f"# TYPE querist_{name} gauge", f"querist_{name} {sum(values)}"]
        return "\n".join(lines) + "\n"
