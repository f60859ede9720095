"""The inner loop of a drawing, compiled: nodes push each other apart, edges pull them together."""

from math import sqrt
from typing import Any

from querist.compiled import compiled


@compiled
def settle(X: Any, F: Any, mass: Any, heads: Any, tails: Any, push: float, pull: float, rounds: int) -> None:
    """Move the points X (n, 2) in place; F (n, 2) is room.

    ForceAtlas2 (Jacomy, Venturini, Heymann and Bastian 2014): the push of j on i is
    `push mass_i mass_j / distance`, an edge pulls by `distance`, and all fall to the middle by
    `pull mass`. A step is at most a temperature that falls to 0.
    """
    n = X.shape[0]
    for t in range(rounds):
        for i in range(n):
            F[i, 0] = -pull * mass[i] * X[i, 0]
            F[i, 1] = -pull * mass[i] * X[i, 1]
        for i in range(n):
            for j in range(i):
                dx, dy = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1]
                force = push * mass[i] * mass[j] / (dx * dx + dy * dy + 1e-6)
                F[i, 0] += force * dx
                F[i, 1] += force * dy
                F[j, 0] -= force * dx
                F[j, 1] -= force * dy
        for e in range(heads.size):
            i, j = heads[e], tails[e]
            dx, dy = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1]
            F[i, 0] -= dx
            F[i, 1] -= dy
            F[j, 0] += dx
            F[j, 1] += dy
        most = 0.15 * (1 - t / rounds) ** 2 + 1e-4
        for i in range(n):
            # Heavy nodes move less: they would swing.
            x, y = F[i, 0] / mass[i], F[i, 1] / mass[i]
            length = sqrt(x * x + y * y)
            if length > most:
                x, y = x * most / length, y * most / length
            X[i, 0] += x
            X[i, 1] += y
