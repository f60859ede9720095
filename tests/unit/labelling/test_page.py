"""The report: it needs nothing else, says what is there, and draws what hangs together."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from querist import as_graph, ask, load_graph
from querist.errors import InputError
from querist.labelling import label
from querist.labelling.influence import influences
from querist.labelling.labelling import Labelling
from querist.labelling.page import check_report, class_sizes, report
from querist.labelling.suggest import ambiguity, by_walks, worth_labelling
from querist.tables.names import NodeTexts


@pytest.fixture(scope="module")
def found() -> Labelling:
    digits = load_graph("digits")
    rows = np.random.default_rng(0).choice(digits.n_nodes, 80, replace=False)
    return label(digits, {digits.nodes[i]: digits.labels[i] for i in rows}, method="harmonic")


@pytest.fixture(scope="module")
def text(found: Labelling) -> str:
    return report(found, influences(found), ["a note & more"], "querist label <x>")


class Balanced(HTMLParser):
    """Every tag that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_it_needs_nothing_else(text: str) -> None:
    assert not re.search(r"<script|https?://|<link|@import|url\((?!#)", text)
    checker = Balanced()
    checker.feed(text)
    assert checker.open == []


def test_it_says_what_was_found(text: str, found: Labelling) -> None:
    for heading in (
        "The graph",
        "How far to trust it",
        "Classes",
        "Worth labelling next",
        "How it was chosen",
    ):
        assert f"<h2>{heading}</h2>" in text
    assert f"{found.estimate.accuracy:.1%}" in text
    assert f"{found.estimate.low:.1%} to {found.estimate.high:.1%}" in text
    assert "Whether it is right to be" in text
    assert "a note &amp; more." in text
    assert "querist label &lt;x&gt;" in text
    for row in worth_labelling(found):
        assert f'<th scope="row">{found.graph.nodes[row]}</th>' in text
    assert "personalised PageRank" in text or "smoothing rows" in text


@pytest.mark.slow
def test_all_or_nothing_and_bad_names(found: Labelling, tmp_path: Path) -> None:
    found.report(tmp_path / "r.html")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    with pytest.raises(InputError, match="HTML page"):
        check_report(tmp_path / "r.pdf")
    with pytest.raises(InputError, match="no folder"):
        check_report(tmp_path / "none" / "r.html")


def test_names_of_people_cannot_break_the_page() -> None:
    names = ["<b>", '"quoted"', "a&b", "</title><script>"]
    graph = as_graph([(names[k], names[(k + 1) % 4]) for k in range(4)], name="<i>")
    found = label(graph, {names[0]: "<x>", names[2]: "y"}, method="harmonic")
    text = report(found, influences(found))
    assert "<script" not in text
    assert "<x>" not in text
    assert "<i>" not in text
    checker = Balanced()
    checker.feed(text)
    assert checker.open == []


@pytest.mark.slow
@pytest.mark.parametrize("payload", ["</title><script>x</script>", '"><svg onload=x>', "{{ 7 * 7 }}", "$_{$"])
def test_no_name_class_note_or_command_becomes_a_tag(payload: str) -> None:
    def tags(word: str) -> tuple[list[str], str]:
        names = [f"{word} {k}" for k in range(8)]
        graph = as_graph([(names[k], names[(k + 1) % 8]) for k in range(8)], name=word)
        found = label(graph, {names[0]: word, names[3]: f"not {word}"}, method="harmonic")
        text = report(found, influences(found), [word], word) + found._repr_html_()
        text += ask(graph, None, budget=2, classes=[word, "other"])._repr_html_()
        return re.findall(r"</?[a-zA-Z]+(?: [a-z-]+(?==))?", text), text

    (plain, _), (found, text) = tags("word"), tags(payload)
    assert found == plain
    assert payload in unescape(text)


def test_several_labels_many_classes_and_nodes_that_are_not_reached() -> None:
    graph = as_graph([(k, (k + 1) % 40) for k in range(40)] + [(50, 51)])
    seeds = {k: {f"class {k}", f"class {(k + 7) % 24}"} for k in range(0, 40, 2)}
    found = label(graph, seeds, multilabel=True)
    sizes = class_sizes(found)
    expected = [sum(c in (names or ()) for names in found.labels) for c in found.classes]
    assert sizes.tolist() == expected
    text = report(found, influences(found))
    assert "other classes" in text
    assert "not reached" in text


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (2, 3)], [(k, k + 1) for k in range(7)]])
def test_small_graphs_are_drawn(edges: list[tuple[int, int]]) -> None:
    graph = as_graph(edges, nodes=9)
    found = label(graph, {0: "x", 1: "y"}, method="harmonic")
    text = report(found)
    drawing = text[text.index('<figure class="drawing">') :]
    assert drawing[: drawing.index("</figure>")].count("<title>") == 9
    assert "All nodes." in text
    assert all(f"<title>{found[node]}</title>" in text for node in graph.nodes)


def test_a_node_is_described_alike_in_the_report_and_in_a_notebook() -> None:
    graph = as_graph([(0, 1), (1, 2), (3, 4)])
    found = label(graph, {0: {"x", "y"}, 2: {"y"}}, multilabel=True).with_no_class([1])
    assert [str(found[node]) for node in (0, 1, 3)] == [
        "0: x; y, known",
        "1: none of these, 100%",
        "3: unreachable",
    ]
    text = report(found)
    for node in graph.nodes:
        assert f"<title>{found[node]}</title>" in text
        assert found[node]._repr_html_().startswith(f"<p>{found[node]}</p>")


def test_nodes_are_called_in_the_report_as_in_the_terminal() -> None:
    found = label(as_graph([(0, 1), (1, 2), (3, 4)]), {0: "x", 2: "y"}, method="harmonic")
    table = pa.table({"id": [0, 1, 2], "name": ["<b>Ann", "Bob", "2"]})
    text = report(found, influences(found), texts=NodeTexts.of(table))
    assert "<title>0, &lt;b&gt;Ann: x, known</title>" in text and "1, Bob</th>" in text
    assert "<title>2: y, known</title>" in text and "<title>3: unreachable</title>" in text


# -- what to label next -----------------------------------------------------------------------------------


def test_what_is_worth_labelling_is_free_in_doubt_and_apart(found: Labelling) -> None:
    rows = worth_labelling(found, 8)
    assert len(set(rows.tolist())) == 8
    assert not found.is_labelled[rows].any()
    a = ambiguity(found.probabilities)
    assert a[rows].mean() > np.quantile(a[~found.is_labelled], 0.75)


def test_walks_meet_where_doubt_is() -> None:
    graph = as_graph([("hub", f"leaf {k}") for k in range(6)] + [("far", "hub"), ("far", "end")])
    a = np.where(np.array([str(v).startswith("leaf") or v == "hub" for v in graph.nodes]), 1.0, 0.0)
    free = np.ones(graph.n_nodes, dtype=bool)
    picked = [graph.nodes[i] for i in by_walks(graph.adjacency, a, free, 3)]
    assert picked[0] == "hub"
    # Its neighbours are passed over; what is left has no doubt.
    assert picked[1:] == ["end"]
    free[graph.row_of["hub"]] = False
    assert str(graph.nodes[by_walks(graph.adjacency, a, free, 1)[0]]).startswith("leaf")
