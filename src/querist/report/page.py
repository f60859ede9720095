"""One HTML file that needs nothing else: no script, no font, no address to load from.

A page extends `templates/base.html` and is put together from the macros of `templates/parts.html`. Whatever
enters is escaped; only `Markup`, which a macro or a figure made, passes as it is. A value that a template
names and nobody gave is an error. The layout also forbids the browser to run or to load anything.
"""

from functools import cache
from pathlib import Path
from typing import Any

from querist.atomic import replacing
from querist.lazy import needing
from querist.report.figures import on_page
from querist.version import VERSION

with needing("report", "a page"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup


@cache
def environment() -> Environment:
    """The template engine of all reports."""
    made = engine("querist.report")
    made.filters["on_page"] = on_page
    return made


def engine(package: str) -> Environment:
    """An engine for the templates of a package: everything is escaped, nothing may be missing."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = VERSION
    return made


def page(template: str, **values: Any) -> str:
    """The whole file, from the template `template`.html.

    >>> from jinja2 import UndefinedError
    >>> try:
    ...     page("demo", title="Digits")
    ... except UndefinedError:
    ...     print("a value that the template names was not given")
    a value that the template names was not given
    """
    return environment().get_template(f"{template}.html").render(**values)


def part(name: str, *values: Any, **named: Any) -> Markup:
    """A piece of a page: what the macro `name` of `templates/parts.html` makes of the values.

    >>> part("prose", ["a < b"])
    Markup('<p>a &lt; b</p>\\n')
    """
    return Markup(getattr(environment().get_template("parts.html").module, name)(*values, **named))


def write(path: Path, text: str) -> Path:
    """Write a page or a figure, all or nothing; returns the path.

    >>> write(Path("page.html"), "<p>Nothing yet.</p>").name
    'page.html'
    """
    with replacing(path) as file:
        file.write(text.encode())
    return path
