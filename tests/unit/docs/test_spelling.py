"""Prose is spelled right, and British: README, the pages of docs and the templates beside them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "results" not in path.parts),
]
NAMES_OF_PEOPLE = "brin"
AMERICAN = re.compile(
    r"\b\w*(?:label(?:ed|ing)|neighbor|color|behavior|cent(?:er|ered)|favor|(?<!ort)honor|normaliz|regulariz|optimiz|organiz"
    r"|symmetriz|initializ|generaliz|recogniz|summariz|minimiz|maximiz|analyz|modeling|modeled"
    r"|traveled)\w*\b|\bcatalogs?\b|\bgray\b",
    re.IGNORECASE,
)
TITLES = re.compile(r"\*[A-Z][^*\n]+\*|Predict the Labeling of a Graph|Regularized Generative|Unlabeled Data")
"""Titles of papers keep their own spelling."""


def prose(page: Path) -> str:
    """A page without code, addresses and titles of papers."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\$[^$]*\$|<!--.*?-->", " ", text)
    return TITLES.sub(" ", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_words_are_british(page):
    assert AMERICAN.findall(prose(page)) == []


def test_words_are_spelled_right(tmp_path):
    pytest.importorskip("codespell_lib")
    for page in PAGES:
        place = tmp_path / page.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(prose(page), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "codespell_lib",
            "--builtin",
            "clear,rare",
            "-L",
            NAMES_OF_PEOPLE,
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr
