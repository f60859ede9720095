"""Counts and times of the server, in the text format that Prometheus reads."""

import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from querist.serve.server import CampaignServer

METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds below which requests are counted."""


class Metrics:
    """What requests there were, and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._below: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: Counter[str] = Counter()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request more."""
        with self._lock:
            method = method if method in METHODS else "other"
            self._requests[method, route, status] += 1
            place = next((at for at, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
            self._below[route][place] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, server: "CampaignServer") -> str:
        """All of it."""
        lines = ["# TYPE querist_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"querist_requests_total{{{labels}}} {count}")
            lines.append("# TYPE querist_request_seconds histogram")
            for route, counts in sorted(self._below.items()):
                total = 0
                for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
                    total += count
                    lines.append(f'querist_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
                lines.append(f'querist_request_seconds_sum{{route="{route}"}} {self._seconds[route]}')
                lines.append(f'querist_request_seconds_count{{route="{route}"}} {total}')
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
