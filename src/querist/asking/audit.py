"""How right the predictions are, from questions that were drawn at random.

Answers to questions that the learner chose are a biased sample: it asks where it is unsure. The audit is a
simple random sample of the nodes, drawn before anything else and never learned from, so the share that the
predictions get right is an unbiased estimate (Horvitz-Thompson with equal chances) of their accuracy on nodes
nobody was asked about. The interval is Wilson's, at 95 %.
"""

from dataclasses import dataclass

from querist.stats import wilson


@dataclass(frozen=True)
class Audit:
    """`right` of `answered` audit questions were predicted right."""

    right: int
    answered: int

    @property
    def accuracy(self) -> float:
        """Share that is right; NaN without an answer."""
        return self.right / self.answered if self.answered else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the accuracy.

        >>> tuple(round(end, 4) for end in Audit(9, 10).interval)
        (0.5958, 0.9821)
        """
        return wilson(self.right, self.answered) if self.answered else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.answered:
            return "no audit question answered"
        low, high = self.interval
        return (
            f"{self.accuracy:.1%} (95 % interval {low:.1%} to {high:.1%}, {self.answered} random questions)"
        )


def due(asked: int, audited: int, audit: int, budget: int) -> bool:
    """Whether the next question belongs to the audit, so that `audit` of `budget` are spread evenly.

    >>> [due(t, sum(due(s, s // 4, 2, 8) for s in range(t)), 2, 8) for t in range(8)]
    [False, False, False, True, False, False, False, True]
    """
    return audited < audit and (audited + 1) * budget <= (asked + 1) * audit
