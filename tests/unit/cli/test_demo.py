"""`querist demo`: the numbers hold, and the report stands on its own."""

import json
import re
from html.parser import HTMLParser

import pytest

from querist.cli import main
from querist.demo import RANK, SETTINGS, H


class Page(HTMLParser):
    """Tags with their attributes; ids; what would be loaded; whether every tag is closed."""

    VOID = ("meta", "img", "br", "link", "use", "path", "rect")

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.loads, self.open, self.text = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        self.loads += [given[name] for name in ("src", "href", "xlink:href", "action") if name in given]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One run for all tests: (JSON, report)."""
    import contextlib
    import io

    folder = tmp_path_factory.mktemp("demo")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["demo", "--out", str(folder / "new" / "folder"), "--json"]) == 0
    found = json.loads(out.getvalue())
    return found, (folder / "new" / "folder" / "report.html").read_text(encoding="utf-8")


def test_choosing_beats_chance_and_costs_little(shown):
    found, _ = shown
    assert found["settings"] == SETTINGS
    assert found["msg"]["questions"]["mean"] < found["nodes"] / 7
    assert found["random"]["questions"] == found["margin"]["questions"] == found["msg"]["questions"]
    assert found["msg"]["error_rate"]["mean"] < 0.03
    assert found["random"]["error_rate"]["mean"] > 2 * found["msg"]["error_rate"]["mean"]
    assert len(found["random"]["error_rate"]["runs"]) >= 10
    assert found["everything"]["questions"]["mean"] == found["nodes"] == 1797


def test_the_command_in_the_report_gives_its_numbers(shown, querist):
    found, report = shown
    command = re.search(r"querist (evaluate online digits .* --repeats 20 --seed 0)", report).group(1)
    again = querist(*command.split(), "--json").json
    assert again["rank"] == RANK
    assert again["parameters"]["h"] == H
    assert again["error_rate"] == found["msg"]["error_rate"]
    assert again["queries"] == found["msg"]["questions"]


def test_the_report_needs_nothing_else(shown):
    _, report = shown
    page = Page(report)
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    assert all(load.startswith(("data:image/png;base64,", "#")) for load in page.loads)
    assert {load[1:] for load in page.loads if load.startswith("#")} <= set(page.ids)
    assert set(re.findall(r"url\(#([^)]*)\)", report)) <= set(page.ids)
    assert "http://" not in report
    assert "https://" not in report
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe"}


def test_the_report_has_curves_and_gallery(shown):
    found, report = shown
    page = Page(report)
    drawings = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(drawings) == 1
    assert all(drawing["role"] == "img" and drawing["aria-label"] for drawing in drawings)
    text = "".join(page.text)
    ways = ("MSG chooses", "by the margin, as many", "at random, as many", "about every digit")
    for words in (*ways, "digits seen"):
        assert words in text
    assert "000101" not in report, "a stand-in colour was left"
    digits = [attributes for tag, attributes in page.tags if tag == "img"]
    assert all(re.fullmatch(r"digit \d, guessed \d", digit["alt"]) for digit in digits)
    assert len(digits) >= 60
    marked = [
        attributes for tag, attributes in page.tags if tag == "li" and attributes.get("class") == "marked"
    ]
    wrong = [d for d in digits if len(set(re.findall(r"\d", d["alt"]))) == 2]
    assert len(marked) == len(wrong) > 0
    assert f"{found['msg']['questions']['mean']:,.0f} of them" in text
    assert "querist demo --seed 0" in text


def test_an_other_seed_is_another_run(shown, querist, tmp_path):
    found = querist("demo", "--out", str(tmp_path), "--seed", "5", "--json").json
    assert found["msg"] != shown[0]["msg"]
    assert found["msg"]["error_rate"]["mean"] < found["random"]["error_rate"]["mean"] / 2


def test_the_table(querist, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ran = querist("demo")
    assert ran.code == 0
    for words in ("MSG chooses", "at random, as many", "about every digit", "querist-demo/report.html"):
        assert words in ran.out
    assert "…" not in ran.out
    assert (tmp_path / "querist-demo" / "report.html").is_file()


def test_a_file_in_the_way_is_found_before_the_work(querist, tmp_path, monkeypatch):
    monkeypatch.setattr("querist.demo.play", lambda *_: pytest.fail("worked first"))
    (tmp_path / "taken").write_text("")
    ran = querist("demo", "--out", str(tmp_path / "taken"))
    assert ran.code == 2
    assert "is a file" in ran.err
