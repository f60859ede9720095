"""What requests hold, each with its limits; and the form of a refusal, for the OpenAPI document."""

import json
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from reprlib import repr as short
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, get_origin

from fastapi import Form, Header, Request
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WrapValidator,
    create_model,
)
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from querist import memory
from querist.asking.options import TEAM, CampaignOptions
from querist.asking.turns import Outcome
from querist.graph_options import FileOptions
from querist.options import Option
from querist.serve.access import MOST_DAYS
from querist.serve.campaign import AT_ONCE
from querist.serve.options import NewCampaignOptions, Role
from querist.serve.writing import RefusedError

MOST_ROW = 2**53
MOST_SIGNS = 500_000
"""Most commas and opening brackets in a body of JSON: a bound for its values, which take far more memory."""
LARGE_BYTES = 50_000
"""From so many bytes on a body is parsed in a thread, so that the other requests go on."""
MOST_COUNT, MOST_NAME = 10_000_000, 1000
"""Largest whole number, and most characters of a name, among the options of a campaign."""
MOST_VALUES, MOST_TEXT = 1000, 10_000
"""Most values of a list, and most characters of a text, in a request."""
MOST_COMPLAINTS = 10
"""Most values that a refusal complains of."""

CHUNK = 1 << 20
ENDINGS = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz", ".graphml", ".jsonl", ".json", ".mtx")

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


def _of_request(own: Option) -> tuple[Any, dict[str, Any]]:
    """The type of an option in a request, None if it is not given, and what bounds it."""
    ends = {} if own.numbers is None else {n: x for n, x in own.numbers._asdict().items() if math.isfinite(x)}
    plain = own.base in (bool, int, float, str) or get_origin(own.base) is Literal
    kind = own.base if plain else list[str | int] if own.is_list else str | int
    if own.is_list:
        ends["max_length"] = MOST_VALUES
    elif kind is int:
        ends["le"] = min(ends.get("le", MOST_COUNT), MOST_COUNT)
    elif kind is float:
        ends["allow_inf_nan"] = False
    elif kind is str:
        ends["max_length"] = MOST_NAME
    return kind | None, {**ends, "description": own.sentence}


def fields_of(options: Mapping[str, Option], made: Callable[..., Any]) -> dict[str, Any]:
    """Options as `Form` or `Field` makes them: type and default by name."""
    found = {}
    for name, own in options.items():
        kind, about = _of_request(own)
        if own.is_list and made is Form:  # a text, which is read when its length is known to be right
            about["max_length"] = MOST_TEXT
            found[name] = (Annotated[str | None, made(**about), AfterValidator(own.read)], None)
        else:
            found[name] = (Annotated[kind, made(**about)], None)
    return found


_BEGUN = NewCampaignOptions.on("http", TEAM)
_WithOptions: Any = create_model("_WithOptions", __base__=Strict, **fields_of(_BEGUN, Field))
_WithChanges: Any = create_model(
    "_WithChanges",
    __base__=Strict,
    **fields_of(CampaignOptions.changing("http"), Field),
)
FORM_OPTIONS = fields_of(_BEGUN, Form)
FORM_COLUMNS = fields_of(FileOptions.on("http"), Form)


class NewCampaign(_WithOptions):  # type: ignore[misc]
    """A campaign on a data set, with the options of `NewCampaignOptions`."""

    data: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_]+$")]


class Change(_WithChanges):  # type: ignore[misc]
    """What a manager changes: pause or go on, and options of a running campaign; null is the default."""

    paused: bool | None = None


class LeaseRequest(Strict):
    """How many questions somebody wants; without `detail` what is known of their nodes is left out."""

    count: Annotated[int, Field(ge=1, le=AT_ONCE, strict=True)] = 1
    detail: bool = True


class Given(Strict):
    """What became of a question; where nodes may have several labels, `label` is a list, perhaps empty."""

    row: Row
    outcome: Outcome = "answer"
    label: Label | None = None


class Remark(Strict):
    """A comment on a node."""

    row: Row
    text: Annotated[str, Field(pattern=r"\S", max_length=MOST_TEXT)]


class Decided(Strict):
    """A manager's verdict on a node."""

    row: Row
    label: Label


class Invited(Strict):
    """Whom a manager invites."""

    role: Role = "labeller"
    name: Annotated[str | None, Field(max_length=200)] = None
    days: Annotated[float | None, Field(gt=0, le=MOST_DAYS, allow_inf_nan=False)] = None


def _rows(most: int, kind: Any, width: int) -> WrapValidator:
    """Checks rows in Python: pydantic lets no other thread run, and lists every value that does not fit."""

    def check(rows: Any, _: Any) -> Any:
        if not isinstance(rows, list) or len(rows) > most:
            raise ValueError(f"give a list of at most {most:,}")
        for k, row in enumerate(rows):
            if not isinstance(row, kind) or len(row) > width:
                shape = "object" if kind is dict else "array"
                raise ValueError(f"number {k} must be an {shape} of at most {width:,} values")
            for value in row.values() if kind is dict else row:
                whole = type(value) is int and abs(value) <= MOST_ROW
                number = whole or (type(value) is float and abs(value) < math.inf)
                if not (number or isinstance(value, str) or (value is None and kind is dict)):
                    raise ValueError(f"number {k} has {short(value)}; give text or a number up to 2**53")
        return rows

    return WrapValidator(check)


class Came(Strict):
    """Nodes with their columns, one of them the id, and edges (from, to, perhaps a weight)."""

    nodes: Annotated[
        list[dict[str, str | Whole | Number | None]], Field(max_length=10_000), _rows(10_000, dict, 1000)
    ] = []
    edges: Annotated[
        list[list[str | Whole | Number]], Field(max_length=100_000), _rows(100_000, list, 3)
    ] = []


class BoundedRequest(Request):
    """A request of at most so many bytes; a body of JSON comes as `model`."""

    def __init__(self, request: Request, most: int, model: type[Strict]) -> None:
        super().__init__(request.scope, request.receive)
        self.most, self.model = most, model

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The body piece by piece."""
        text = f"the request has more than {self.most:,} bytes; send less, or use querist campaign create"
        refusal = HTTPException(413, text)
        if int(self.headers.get("content-length", 0)) > self.most:
            raise refusal
        left = self.most
        async for piece in super().stream():
            left -= len(piece)
            if left < 0:
                raise refusal
            yield piece

    async def json(self) -> Any:
        """The body as its model."""
        body = await self.body()
        if sum(map(body.count, (b",", b"[", b"{"))) > MOST_SIGNS:
            raise HTTPException(413, f"the body has more than {MOST_SIGNS:,} commas and brackets; send less")
        if len(body) < LARGE_BYTES:
            return self._read(body)
        return await run_in_threadpool(self._read, body)

    def _read(self, body: bytes) -> Strict:
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as problem:
            raise HTTPException(422, f"the body cannot be read as JSON ({problem})") from problem
        if not isinstance(given, dict):
            raise HTTPException(422, "the body must be a JSON object")
        fields = self.model.model_fields
        if (odd := next((key for key in given if key not in fields), None)) is not None:
            raise HTTPException(422, f"there is no field {odd[:100]!r}; there are {', '.join(fields)}")
        try:
            return self.model.model_validate(given)
        except ValidationError as problem:
            raise HTTPException(422, complaints(problem.errors(include_url=False))) from problem


def complaints(errors: Sequence[Any]) -> str:
    """What does not fit, as text: the first few values, and the beginning of each."""
    texts = []
    for each in errors[:MOST_COMPLAINTS]:
        place = ".".join(str(part)[:100] for part in each["loc"] if part != "body")
        # Piece by piece: a value may be as large as the body.
        pieces = json.JSONEncoder(default=lambda value: type(value).__name__).iterencode(each.get("input"))
        texts.append(f"{place or 'the body'}: {each['msg']} (given: {''.join(islice(pieces, 100))[:100]})")
    more = len(errors) - MOST_COMPLAINTS
    return "; ".join(texts) + (f"; and {more:,} more" if more > 0 else "")


@dataclass(frozen=True)
class Limits:
    """Most bytes of a request with files, and of memory while they are read; most bytes of a request with
    nodes and edges that arrive, and of any other request."""

    bytes: int = 200_000_000
    memory: int = 5_000_000_000
    arrivals: int = 20_000_000
    body: int = 200_000


@contextmanager
def received(files: Mapping[str, Any], limits: Limits) -> Iterator[dict[str, Path]]:
    """Uploaded files in a folder of their own, which is gone afterwards; the path of each by its role.

    Inside the block, no more than `limits.memory` counts as free.
    """
    with TemporaryDirectory(prefix="querist-upload-") as folder:
        places = {}
        for role, upload in files.items():
            if upload is None or not upload.filename:
                continue
            suffixes = [each.lower() for each in Path(upload.filename).suffixes[-2:]]
            ending = "".join(each for each in suffixes if each in ENDINGS)
            if not ending:
                raise RefusedError(
                    f"{role}: a file called {upload.filename!r}; its name must end in {', '.join(ENDINGS)}",
                    422,
                )
            place = Path(folder) / f"{role}{ending}"
            with place.open("wb") as out:
                copyfileobj(upload.file, out, CHUNK)
            places[role] = place
        with memory.at_most(limits.memory):
            yield places


_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
ERRORS: dict[int | str, dict[str, Any]] = {
    status.value: {"description": status.phrase, "content": {"application/json": {"schema": _ERROR}}}
    for status in map(HTTPStatus, (400, 401, 403, 404, 405, 406, 409, 413, 422, 503))
}
