"""The pages of the server as HTML text, from plain values: the list of campaigns, the form of a
new one, the labeller, the manager.

Whatever enters a template is escaped. A page holds no script and no style of its own, so that the server's
content security policy can forbid both: what the scripts need to begin with stands in a block of JSON. The
style sheet is that of the reports, with what the pages need besides. Scripts import each other, so a browser
should ask each time whether a file under `/static/` is still the same (`no-cache`, with the digest as ETag).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

from querist.asking.keys import Commands, command_keys, keys_for
from querist.asking.nodes import NEIGHBOURS
from querist.asking.options import TEAM, CampaignOptions
from querist.graph_options import FileOptions
from querist.lazy import needing
from querist.report.drawing import class_look
from querist.report.page import engine
from querist.serve.access import MOST_DAYS, ROLES
from querist.serve.bodies import ENDINGS
from querist.serve.exports import FORMATS
from querist.serve.options import NewCampaignOptions
from querist.tables.labels import BETWEEN, EMPTY_SET

with needing("serve", "a page of the server"):
    from jinja2 import Environment

STATIC = Path(__file__).parent / "static"
"""Where the scripts and the pages' own part of the style sheet lie; `static_file` gives what is served."""

BROWSER_COMMANDS: Commands = {
    "unsure": ("?", "unsure", "/!~"),
    "skip": ("s", "skip", "-,;"),
    "undo": ("u", "undo", "<_^"),
    "comment": ("c", "comment", "#+="),
    "leave": ("q", "break", ".:@"),
}
"""Those of the labeller's page; a page scrolls, so that nothing is needed to read on."""

_TYPES = {".svg": "image/svg+xml", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


def campaigns_page(campaigns: Sequence[Mapping[str, Any]], creates: bool) -> str:
    """The campaigns that somebody may see, with their `role` in each; and whether they may create one."""
    return _page("campaigns", campaigns=campaigns, creates=creates)


def new_page() -> str:
    """Where a campaign is made of files."""
    shown, columns = NewCampaignOptions.on("http", TEAM).values(), FileOptions.on("http").values()
    return _page("new", options=shown, columns=columns, endings=ENDINGS)


def labeller_page(campaign: Mapping[str, Any], person: str, name: str = "", role: str = "labeller") -> str:
    """Where `person` answers questions; `campaign` is what the API says of it."""
    classes = [str(each) for each in campaign["classes"]]
    keys = command_keys(classes, BROWSER_COMMANDS)
    multilabel = bool(campaign.get("multilabel"))
    shown = {name: campaign[name] for name in ("id", "asked", "budget", "expected_accuracy")}
    start = {
        "campaign": {**shown, "multilabel": multilabel},
        **_of_classes(classes),
        "keys": keys_for(classes, BROWSER_COMMANDS),
        "commands": {key: what for what, key in keys.items()},
        "person": person,
        "near": NEIGHBOURS,
    }
    commands = [(what, BROWSER_COMMANDS[what][1], key) for what, key in keys.items()]
    return _page(
        "labeller",
        campaign=campaign,
        start=start,
        commands=commands,
        multilabel=multilabel,
        name=name,
        role=role,
    )


def manager_page(campaign: Mapping[str, Any], role: str = "manager") -> str:
    """How a campaign goes and, for its manager, what can be done; a reader only looks."""
    classes = [str(each) for each in campaign["classes"]]
    start = {"campaign": dict(campaign), **_of_classes(classes), "manager": role == "manager"}
    changing = CampaignOptions.changing("http").values()
    return _page(
        "manager",
        campaign=campaign,
        start=start,
        role=role,
        changing=changing,
        formats=dict(zip(FORMATS, ("CSV", "Parquet", "JSON lines"), strict=True)),
        roles=ROLES,
        days=MOST_DAYS,
    )


def _of_classes(classes: Sequence[str]) -> dict[str, Any]:
    """What the scripts know of labels: names and looks of the classes, and how sets are written."""
    looks = [class_look(code) for code in range(len(classes))]
    return {"classes": classes, "looks": looks, "between": f"{BETWEEN} ", "empty": EMPTY_SET}


def message_page(title: str, message: str, onward: str | None = None) -> str:
    """A few words, as of a link that has expired; `onward` is where one can go from there."""
    return _page("message", title=title, message=message, onward=onward)


@cache
def static_file(name: str) -> tuple[bytes, str, str] | None:
    """Content, media type and digest of a file under `/static/`; None where there is none of that name."""
    if name not in {path.name for path in STATIC.iterdir()}:
        return None
    content = (STATIC / name).read_bytes()
    if name.endswith(".css"):
        content = files("querist.report").joinpath("templates/style.css").read_bytes() + b"\n" + content
    return content, _TYPES[Path(name).suffix], sha256(content).hexdigest()


def _page(template: str, **values: Any) -> str:
    return _environment().get_template(f"{template}.html").render(**values)


@cache
def _environment() -> Environment:
    made = engine("querist.serve")
    made.globals |= {"bool": bool, "int": int, "float": float, "infinity": inf}
    made.filters["segment"] = lambda text: quote(str(text), safe="")
    return made
