"""Options of the command line that are made of a declaration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from querist.cli.options import Values, declared, with_options
from querist.options import Options, option
from querist.parameters import Range


@dataclass(frozen=True, kw_only=True)
class Brewing(Options):
    minutes: Annotated[float, Range(ge=0, le=9)] = option(3.0, "Minutes that it takes")
    cups: Annotated[int | None, Range(ge=1)] = option(
        None, "Cups", default_words="as many as there are people"
    )
    kind: Literal["green", "black"] = option("green", "Kind of tea")
    origin: str | None = option(None, "Where it grew", choices=lambda: ["Assam", "Uji"])
    milk_first: bool = option(False, "Pour the milk first")
    sugars: tuple[int, ...] = option((), "Lumps per cup", metavar="N,N", default_words="none")
    recipe: dict[str, float] | Path | None = option(None, "Table of a recipe", metavar="FILE")
    rounds: int | Literal["all"] = option("all", "Rounds of cups")
    biscuits: bool = option(True, "Serve biscuits")
    secret: int = option(0, "Known to Python alone", on=())


def run(*given: str) -> Any:
    found: dict[str, Any] = {}

    @with_options("values", declared(Brewing))
    def brew(*, values: Values) -> None:
        found.update(values)

    app = typer.Typer(rich_markup_mode=None)
    app.command()(brew)
    done = CliRunner().invoke(app, list(given), env={"COLUMNS": "300"})
    return found if done.exit_code == 0 and "--help" not in given else done.output


def test_an_option_that_is_not_given_is_not_passed() -> None:
    assert run() == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("--minutes", "0"), {"minutes": 0.0}),
        (("--cups", "2"), {"cups": 2}),
        (("--kind", "black"), {"kind": "black"}),
        (("--origin", "Uji"), {"origin": "Uji"}),
        (("--milk-first",), {"milk_first": True}),
        (("--sugars", "1,2"), {"sugars": (1, 2)}),
        (("--recipe", "r.csv"), {"recipe": Path("r.csv")}),
        (("--no-biscuits",), {"biscuits": False}),
        (("--rounds", "all"), {"rounds": "all"}),
        (("--rounds", "7"), {"rounds": 7}),
    ],
)
def test_a_value_arrives_as_its_type(given: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert run(*given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--minutes", "10"), "--minutes"),
        (("--cups", "0"), "--cups"),
        (("--kind", "red"), "'red' is not one of 'green', 'black'"),
        (("--sugars", "x"), "sugars = 'x'; it must be numbers separated by commas"),
        (("--rounds", "some"), "rounds = 'some'; it must be"),
        (("--secret", "1"), "No such option"),
    ],
)
def test_a_wrong_value_is_refused(given: tuple[str, ...], message: str) -> None:
    assert message in run(*given)


def test_the_help_says_what_the_declaration_says() -> None:
    text = run("--help")
    for words in (
        "Minutes that it takes [default: 3.0].",
        "Cups [default: as many as there are people].",
        "green|black",
        "--origin NAME",
        "lists the names.",
        "--milk-first ",
        "--sugars N,N",
        "--recipe FILE",
    ):
        assert words in text
    assert "secret" not in text
    assert "--no-milk-first" not in text
