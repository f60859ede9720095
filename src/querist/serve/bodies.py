"""What requests hold, each with its limits; and the form of a refusal, for the OpenAPI document."""

from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field

MOST_ROW = 2**53

Row = Annotated[int, Field(ge=0, le=MOST_ROW, strict=True)]
Whole = Annotated[int, Field(ge=-MOST_ROW, le=MOST_ROW)]
Number = Annotated[float, Field(allow_inf_nan=False)]
OneClass = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Label = OneClass | Annotated[list[OneClass], Field(max_length=1000)]
"""The number of a class; where nodes may have several labels a list of them."""
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]


class Strict(BaseModel):
    """A body of a request: nothing that it does not know."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewCampaign(Strict):
    """A campaign on a data set."""

    data: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_]+$")]
    name: Annotated[str | None, Field(max_length=200)] = None
    classes: Annotated[list[str | int] | None, Field(max_length=1000)] = None
    budget: Annotated[int, Field(ge=1, le=10_000_000)] = 100
    audit: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    overlap: Annotated[int, Field(ge=1, le=20)] = 1
    second_opinions: bool | None = None
    choose: Annotated[str | None, Field(max_length=100)] = None
    find: Annotated[str, Field(max_length=1000)] | int | None = None
    multilabel: bool = False
    stop: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None


class Change(Strict):
    """What a manager changes."""

    paused: bool | None = None
    budget: Annotated[int | None, Field(ge=0, le=10_000_000, strict=True)] = None
    stop: Annotated[float | None, Field(ge=0, le=1, allow_inf_nan=False)] = None


class LeaseRequest(Strict):
    """How many questions somebody wants; without `detail` what is known of their nodes is left out."""

    count: Annotated[int, Field(ge=1, le=5, strict=True)] = 1
    detail: bool = True


class Given(Strict):
    """What became of a question; where nodes may have several labels, `label` is a list, perhaps empty."""

    row: Row
    outcome: Annotated[str, Field(pattern="^(answer|skip|unsure)$")] = "answer"
    label: Label | None = None
    seconds: Annotated[float | None, Field(ge=0, le=1e9, allow_inf_nan=False)] = None


class Remark(Strict):
    """A comment on a node."""

    row: Row
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class Decided(Strict):
    """A manager's verdict on a node."""

    row: Row
    label: Label


class Invited(Strict):
    """Whom a manager invites."""

    role: Annotated[str, Field(pattern="^(manager|labeller|reader)$")] = "labeller"
    name: Annotated[str | None, Field(max_length=200)] = None
    days: Annotated[float | None, Field(gt=0, le=3650, allow_inf_nan=False)] = None


class Came(Strict):
    """Nodes with their columns, one of them the id, and edges (from, to, perhaps a weight)."""

    nodes: Annotated[list[dict[str, str | Whole | Number | None]], Field(max_length=10_000)] = []
    edges: Annotated[list[list[str | Whole | Number]], Field(max_length=100_000)] = []


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": what,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {"error": {"type": "string"}},
                    "required": ["error"],
                }
            }
        },
    }
    for status, what in {
        400: "what was given cannot be used",
        401: "nobody is signed in",
        403: "not allowed",
        404: "not there",
        405: "no such method",
        406: "no such form",
        409: "not as things are",
        413: "too large",
        422: "what was given does not fit",
        503: "not now",
    }.items()
}
