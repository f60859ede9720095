"""The report: it needs nothing else, says what is there, and draws what hangs together."""

import re
from html.parser import HTMLParser
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from querist import as_graph, load
from querist.errors import InputError
from querist.labelling import label
from querist.labelling.influence import influences
from querist.labelling.labelling import Labelling
from querist.labelling.page import check_report, class_sizes, report, write_report
from querist.labelling.suggest import ambiguity, by_walks, worth_labelling
from querist.report.charts import balance, histogram, nice_top, reliability
from querist.report.drawing import backbone, draw, layout, piece


@pytest.fixture(scope="module")
def found() -> Labelling:
    digits = load("digits")
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


def test_it_needs_nothing_else(text: str) -> None:
    assert not re.search(r"<script|https?://|<link|@import|url\(", text)
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


def test_all_or_nothing_and_bad_names(found: Labelling, tmp_path: Path) -> None:
    write_report(found, None, tmp_path / "r.html")
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


# -- charts ---------------------------------------------------------------------------------------------


def test_bars_are_as_high_as_they_should_be() -> None:
    confidence = np.array([0.05] * 30 + [0.55] * 60 + [1.0] * 10)
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" fill', histogram(confidence))]
    assert np.argmax(heights) == 5
    np.testing.assert_allclose(np.array(heights)[[0, 5, 9]] / heights[5], [0.5, 1, 1 / 6], atol=0.01)
    assert sum(h > 0 for h in heights) == 3


def test_reliability_is_what_was_right() -> None:
    confidence = np.repeat([0.2, 0.9], 50)
    correct = np.concatenate([np.arange(50) < 10, np.arange(50) < 45])
    titles = re.findall(r"<title>(.*?)</title>", reliability(confidence, correct, bins=2))
    assert titles == [
        "50 held-out labels, probability 20% on average, 20% right",
        "50 held-out labels, probability 90% on average, 90% right",
    ]


@pytest.mark.parametrize("value", [1, 4, 5, 6, 99, 100, 101, 5555, 1e6])
def test_the_top_of_an_axis(value: float) -> None:
    top = nice_top(value)
    assert value <= top <= max(5, 2 * value)
    assert balance([("a", 0, 0.5, 0.25)])


# -- the drawing ----------------------------------------------------------------------------------------


def test_a_piece_has_every_class_and_hangs_together() -> None:
    sizes = [900, 700, 60]
    made = nx.random_partition_graph(sizes, 0.02, 0.0005, seed=1)
    codes = np.repeat(range(3), sizes)
    graph = as_graph(made)
    labelled = np.random.default_rng(0).random(codes.size) < 0.05
    rows = piece(graph, labelled, codes, 300)
    part = graph.subgraph(rows)
    assert 250 < rows.size <= 300
    assert (np.diff(part.adjacency.indptr) > 0).all()
    assert np.bincount(codes[rows], minlength=3).min() >= 20
    assert (part.components == 0).mean() > 0.7
    assert piece(graph, labelled, codes, 5000).tolist() == list(range(graph.n_nodes))


def test_the_backbone_holds_groups_together() -> None:
    made = nx.random_partition_graph([60, 60], 0.6, 0.1, seed=0)
    graph = as_graph(made)
    bones = backbone(graph.adjacency)
    own = np.repeat([0, 1], 60)

    def within(S: object) -> float:
        entries = S.tocoo()  # type: ignore[attr-defined]
        return float((own[entries.row] == own[entries.col]).mean())

    assert bones.nnz <= 2 * 4 * 120
    assert (bones != bones.T).nnz == 0
    assert within(bones) > within(graph.adjacency) + 0.1
    thin = as_graph(nx.path_graph(9)).adjacency
    assert backbone(thin) is thin


def test_the_layout_parts_groups_and_repeats() -> None:
    graph = as_graph(nx.random_partition_graph([40, 40, 40], 0.3, 0.01, seed=2))
    X = layout(graph)
    np.testing.assert_array_equal(X, layout(graph))
    assert np.abs(X).max() == pytest.approx(1)
    own = np.repeat(range(3), 40)
    centres = np.array([X[own == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(X[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == own).mean() > 0.95
    # No two nodes lie on each other.
    gaps = np.linalg.norm(X[:, None] - X[None], axis=2) + 9 * np.eye(120)
    assert gaps.min() > 0.003


@pytest.mark.parametrize("edges", [[(0, 1)], [(0, 1), (2, 3)], [(k, k + 1) for k in range(7)]])
def test_small_graphs_are_drawn(edges: list[tuple[int, int]]) -> None:
    graph = as_graph(edges, nodes=9)
    found = label(graph, {0: "x", 1: "y"}, method="harmonic")
    drawing = draw(found, np.array([0, 1]))
    assert drawing.svg.count("<circle") == 9
    assert drawing.caption.startswith("All nodes.")


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
