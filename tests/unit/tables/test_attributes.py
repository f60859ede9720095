"""Every kind of column becomes what the notes say it becomes."""

from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.errors import InputError
from querist.labelling import GraphFiles
from querist.tables.attributes import attributes_of, by_recipes
from querist.tables.columns import in_ranges, quantiles
from querist.tables.files import node_file
from querist.tables.formats import Columns, Origin
from querist.tables.nodes import read_nodes

N = 60
RNG = np.random.default_rng(0)
WORDS = np.array(["graph", "node", "edge", "tree", "path", "cycle", "flow", "cut"])
TEXTS = [" ".join(RNG.choice(WORDS, 7)) for _ in range(N)]
TOWNS = RNG.choice(["York", "Bath", "New Haven"], N).tolist()
AGES = RNG.normal(40, 9, N).round(1)


def made(**columns: object) -> object:
    file = Columns(pa.table({"node": list(range(N)), **columns}), Origin("t"), False)
    found = attributes_of(file, ["node"])
    return found if found.matrix is not None else None


def names_of(found: object) -> tuple[str, ...]:
    """A name for each attribute, from its recipe."""
    names = []
    for recipe in found.recipes:  # type: ignore[attr-defined]
        source = recipe.source + (f"[{recipe.settings['k']}]" if recipe.read == "element" else "")
        mark = "=" if recipe.read == "categories" else ":"
        named = {
            "count": [f"{source}{mark}{value}" for value in recipe.values],
            "ranges": [f"{source}~{k}" for k in range(len(recipe.values))],
        }
        names += named.get(recipe.make, [source])
    return tuple(names)


def column(found: object, name: str) -> np.ndarray:
    return found.matrix[:, [names_of(found).index(name)]].toarray().ravel()  # type: ignore[attr-defined]


def test_text_becomes_counts_of_words_as_a_counter_counts_them() -> None:
    found = made(about=[f"the {text.upper()}!{' zebra' * (k == 7)}" for k, text in enumerate(TEXTS)])
    assert not {"about:zebra", "about:the"} & set(names_of(found))
    for word in WORDS:
        expected = np.array([Counter(text.split())[word] for text in TEXTS])
        if 2 <= (expected > 0).sum() <= N / 2:
            np.testing.assert_array_equal(column(found, f"about:{word}"), expected)
        else:
            assert f"about:{word}" not in names_of(found)
    assert found.notes == (
        f"about: text, as counts of {len(names_of(found))} words that 2 nodes or more have and not most",
    )


def test_a_list_of_strings_is_split_already() -> None:
    lists = [None if k == 3 else [f"tag {k % 7}", f"tag {k % 5}"] for k in range(N)]
    found = made(tags=lists)
    assert column(found, "tags:tag 3").tolist() == [
        0 if k == 3 else (k % 7 == 3) + (k % 5 == 3) for k in range(N)
    ]


def test_categories_of_one_word_or_two() -> None:
    found = made(town=TOWNS)
    assert names_of(found) == ("town=Bath", "town=New Haven", "town=York")
    np.testing.assert_array_equal(column(found, "town=Bath"), [town == "Bath" for town in TOWNS])
    assert found.notes == ("town: 3 categories, 0 or 1 each",)


def test_only_numbers_are_standardised_and_gaps_are_the_mean() -> None:
    ages = [None if k in (2, 9) else float(a) for k, a in enumerate(AGES)]
    found = made(age=ages, height=RNG.normal(size=N), born=[date(1990, 1, 1 + k % 28) for k in range(N)])
    values = column(found, "age")
    assert values[2] == values[9] == 0
    kept = np.delete(values, [2, 9])
    assert kept.mean() == pytest.approx(0, abs=1e-12)
    assert kept.std() == pytest.approx(1)
    assert np.corrcoef(kept, np.delete(AGES, [2, 9]))[0, 1] == pytest.approx(1)
    assert found.notes == (
        "age, height, born: numbers, standardised (mean 0, spread 1)",
        "age: no number in 2 of 60 rows, there taken as the mean",
    )


def test_numbers_beside_words_become_ranges_that_keep_every_linear_function() -> None:
    found = made(age=AGES, town=TOWNS)
    ranges = found.matrix[
        :, [k for k, name in enumerate(names_of(found)) if name.startswith("age")]
    ].toarray()
    assert (ranges >= 0).all()
    np.testing.assert_allclose(ranges.sum(axis=1), 1)
    weights = np.linalg.lstsq(ranges, AGES, rcond=None)[0]
    np.testing.assert_allclose(ranges @ weights, AGES, atol=1e-9)
    assert "age: numbers, in 8 overlapping ranges, to stand beside counts" in found.notes


def test_ranges_of_few_different_values() -> None:
    values = np.array([1.0, 5.0, 1.0])
    np.testing.assert_array_equal(in_ranges(values, quantiles(values)).toarray(), [[1, 0], [0, 1], [1, 0]])


def test_counts_and_flags_stay_as_they_are() -> None:
    sparse = np.where(RNG.random(N) < 0.8, 0, RNG.integers(1, 9, N))
    found = made(hits=sparse, member=[bool(k % 3) for k in range(N)])
    np.testing.assert_array_equal(column(found, "hits"), sparse)
    np.testing.assert_array_equal(column(found, "member"), [k % 3 > 0 for k in range(N)])
    assert found.notes == ("hits, member: counts, as they are",)


def test_vectors_are_columns() -> None:
    vectors = RNG.normal(size=(N, 3))
    found = made(v=pa.array(vectors.tolist()))
    assert names_of(found) == ("v[0]", "v[1]", "v[2]")
    odd = [*vectors.tolist()[:-1], [1.0]]
    with pytest.raises(InputError, match="t, row 59: v holds 1 numbers where most rows hold 3"):
        made(v=pa.array(odd))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([None] * N, "it is empty"),
        (["  "] * N, "it is empty"),
        (["x"] * N, "it is the same everywhere"),
        ([7] * N, "it is the same everywhere"),
        ([f"key{k}" for k in range(N)], "nearly every value is different"),
        ([b"x"] * N, "binary is neither numbers nor text"),
    ],
)
def test_what_says_nothing_is_left_out_and_said(values: list[object], why: str) -> None:
    found = made(odd=values, town=TOWNS)
    assert f"odd: left out, {why}" in found.notes
    assert not any(name.startswith("odd") for name in names_of(found))
    assert made(odd=values) is None


def test_numbers_with_a_few_words_among_them(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    lines = [f"{k},{'unknown' if k == 33 else AGES[k]}" for k in range(N)]
    path.write_text("\n".join(["node,age", *lines]))
    found = attributes_of(node_file(path), ["node"])
    assert names_of(found) == ("age",)
    assert column(found, "age")[33] == 0
    assert found.notes[1] == (
        "age: 1 of 60 values are no numbers, the first in line 35; no number in 1 of 60 rows, there taken as "
        "the mean"
    )


# -- edges and nodes together ---------------------------------------------------------------------------


def test_ids_of_any_type_in_any_order_missing_on_either_side(tmp_path: Path) -> None:
    edges, nodes = tmp_path / "e.csv", tmp_path / "n.csv"
    edges.write_text("source,target\n1,2\n2,3\n3,4\n")
    nodes.write_text("id,label,kind\n3,x,a\n9,y,b\n1,,a\n2,y,b\n")
    found = GraphFiles(edges, nodes).read()
    assert found.graph.nodes == (3, 9, 1, 2, 4)
    assert found.labels == {3: "x", 9: "y", 2: "y"}
    assert found.graph.known is None
    assert found.graph.attributes.toarray().tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [0, 0]]
    assert found.graph.notes == (
        "kind: 2 categories, 0 or 1 each",
        "label: holds labels, so it is no attribute",
        "1 node of the edges without a row, and so without attributes",
        "1 row for a node without an edge",
    )


@pytest.mark.parametrize("ids", [["1", "2", "3"], [1, 2, 3]])
def test_digits_in_a_text_file_meet_either_kind_of_id_in_parquet(ids: list[object], tmp_path: Path) -> None:
    edges, nodes = tmp_path / "e.csv", tmp_path / "n.parquet"
    edges.write_text("source,target\n1,2\n2,3\n")
    pq.write_table(pa.table({"node": ids, "x": [1.0, 2.0, 4.0]}), nodes)
    graph = GraphFiles(edges, nodes).read().graph
    assert graph.nodes == tuple(ids)
    assert graph.n_edges == 2


def test_graphml_is_its_own_table_of_nodes(tmp_path: Path) -> None:
    import networkx as nx

    made = nx.path_graph(4)
    nx.set_node_attributes(made, {k: {"kind": "ab"[k % 2], "label": "xy"[k // 2]} for k in made})
    nx.write_graphml(made, tmp_path / "g.graphml")
    found = GraphFiles(tmp_path / "g.graphml").read()
    assert found.labels == {0: "x", 1: "x", 2: "y", 3: "y"}
    assert found.graph.attributes.toarray().tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_an_archive_brings_its_own_labels_and_attributes(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "g.npz",
        edges=np.array([[0, 1], [1, 2]]),
        labels_indptr=np.array([0, 2, 2, 3]),
        labels_indices=np.array([0, 1, 1]),
        labels_shape=np.array([3, 2]),
        class_names=np.array(["p", "q"]),
        features_data=np.ones(2),
        features_indices=np.array([0, 1]),
        features_indptr=np.array([0, 1, 1, 2]),
        features_shape=np.array([3, 2]),
    )
    found = GraphFiles(tmp_path / "g.npz").read()
    assert found.labels == {0: {"p", "q"}, 2: {"q"}}
    assert found.graph.notes == ("attributes: 2, as they are",)


EVERY_KIND = {
    "about": TEXTS,
    "town": TOWNS,
    "age": AGES,
    "tags": [[f"tag {k % 7}"] for k in range(N)],
    "hits": [k % 3 if k % 2 else 0 for k in range(N)],
    "place": RNG.normal(size=(N, 2)).tolist(),
    "height": [str(h) for h in RNG.normal(170, 9, N).round(1)],
}


@pytest.mark.parametrize(
    "columns", [EVERY_KIND, {k: EVERY_KIND[k] for k in ("age", "place")}], ids=["all", "numbers"]
)
def test_the_same_table_again_gives_the_same_attributes(columns: dict[str, object]) -> None:
    found = made(**columns)
    np.testing.assert_array_equal(
        by_recipes(found.recipes, pa.table(columns)).toarray(), found.matrix.toarray()
    )
    some = [41, 3, 17]
    few = pa.table(columns).take(some)
    np.testing.assert_array_equal(by_recipes(found.recipes, few).toarray(), found.matrix.toarray()[some])


def test_later_nodes_get_the_words_and_scales_of_the_first() -> None:
    found = made(**EVERY_KIND)
    new = pa.table({"about": ["TREE, zebra; tree", None], "town": [" York ", "Rome"], "age": [1e9, None],
                    "height": ["tall", "170"], "other": [1, 2]})  # fmt: skip
    got = by_recipes(found.recipes, new).toarray()
    index = names_of(found).index
    assert got[:, index("about:tree")].tolist() == [2, 0]
    assert got[:, index("town=York")].tolist() == [1, 0]
    ages = [k for k, name in enumerate(names_of(found)) if name.startswith("age~")]
    assert got[0, ages].tolist() == [0] * 7 + [1] and not got[1, ages].any()
    heights = [k for k, name in enumerate(names_of(found)) if name.startswith("height~")]
    assert not got[0, heights].any() and got[1, heights].sum() == pytest.approx(1)
    assert not got[
        :, [k for k, name in enumerate(names_of(found)) if name.startswith(("tags:", "place["))]
    ].any()


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_huge_and_tiny_numbers_are_standardised_like_others(scale: float) -> None:
    plain, extreme = made(age=AGES), made(age=AGES * scale)
    np.testing.assert_allclose(extreme.matrix.toarray(), plain.matrix.toarray(), rtol=1e-9)
    beside = made(age=AGES * scale, town=TOWNS)
    np.testing.assert_allclose(
        beside.matrix.toarray(), made(age=AGES, town=TOWNS).matrix.toarray(), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("first", "later", "numbers"),
    [
        (["08:00", "20:00"] * 2, ["20:00", "noon", None, "08:00:00"], [1, 0, 0, -1]),
        (["2020-01-01", "2020-01-03"] * 2, ["2020-01-03", "soon", None, "2020-01-01"], [1, 0, 0, -1]),
    ],
    ids=["times", "dates"],
)
def test_later_nodes_may_have_words_among_times(first, later, numbers):
    """What is no time is taken as the mean, and what is one has the place it had in the first table."""
    table = pa.table({"id": list("abcd"), "at": first, "x": [1.0, 2.5, 4.0, 5.5]})
    made = read_nodes(table)
    more = pa.table({"id": list("efgh"), "at": later, "x": [1.0] * 4})
    column = by_recipes(made.recipes, more).toarray()[:, 0]
    assert np.sign(column).tolist() == numbers
    assert column[0] == made.matrix.toarray()[1, 0]
