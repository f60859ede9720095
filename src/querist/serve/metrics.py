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
        gauges = ("events", "answers", "open", "budget", "behind")
        lines += [f"# TYPE querist_campaign_{name} gauge" for name in gauges]
        for own in server.open_campaigns():
            values = (
                own.last,
                own.turns.asked,
                own.turns.n_open,
                own.budget,
                max(0, own.last - own.learner.seq),
            )
            for name, value in zip(gauges, values, strict=True):
                lines.append(f'querist_campaign_{name}{{campaign="{own.id}"}} {value}')
        return "\n".join(lines) + "\n"
