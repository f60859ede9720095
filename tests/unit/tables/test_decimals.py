"""A table means the same with decimal commas as with decimal points."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import querist
from querist.errors import InputError
from querist.tables.labels import read_seeds
from querist.tables.nodes import read_nodes

NUMBERS = np.random.default_rng(0).normal(scale=40, size=(50, 2)).round(3)
ROWS = [
    ("node", "x", "kind", "y"),
    *((f"n{k}", str(x), "ab"[k % 2], str(y)) for k, (x, y) in enumerate(NUMBERS)),
]


def written(place: Path, rows, delimiter: str, comma: bool) -> Path:
    fields = [[field.replace(".", ",") if comma else field for field in row] for row in rows]
    quote = '"' if comma and delimiter == "," else ""
    place.write_text("".join(delimiter.join(f"{quote}{f}{quote}" for f in row) + "\n" for row in fields))
    return place


@pytest.mark.parametrize(
    ("name", "delimiter"), [("c.csv", ";"), ("c.csv", "\t"), ("c.tsv", "\t"), ("c.csv", ",")]
)
def test_commas_give_the_same_attributes_as_points(name, delimiter, tmp_path):
    points = read_nodes(written(tmp_path / "p.csv", ROWS, ",", comma=False))
    commas = read_nodes(written(tmp_path / name, ROWS, delimiter, comma=True))
    assert (commas.matrix != points.matrix).nnz == 0
    assert commas.notes == ("x, y: numbers with a decimal comma", *points.notes)


def test_commas_give_the_same_labels_as_points(tmp_path):
    edges = [(f"n{k}", f"n{(k + 1) % 50}", f"{0.5 + k % 3}") for k in range(50)]
    labels = {f"n{k}": "left" if NUMBERS[k, 0] < 0 else "right" for k in range(0, 50, 3)}
    found = []
    for comma, mark in ((False, ","), (True, ";")):
        nodes = written(tmp_path / f"nodes{comma}.csv", ROWS, mark, comma)
        links = written(tmp_path / f"edges{comma}.csv", [("source", "target", "weight"), *edges], mark, comma)
        graph = querist.as_graph(links, nodes=nodes)
        found.append((graph.adjacency.data.tolist(), querist.label(graph, labels).labels))
    assert found[0] == found[1]


def read(tmp_path, text, columns=("x",)):
    (tmp_path / "t.csv").write_text(text)
    table = read_nodes(tmp_path / "t.csv")
    values = np.column_stack([table.table[name].to_numpy().astype(float) for name in columns])
    return values.ravel().tolist(), tuple(note for note in table.notes if "numbers with" in note)


def test_thousands(tmp_path):
    points = read(tmp_path, "node;x\na;1.234,5\nb;2.345\nc;3\n")
    assert points == ([1234.5, 2345, 3], ("x: numbers with a decimal comma",))
    commas = read(tmp_path, 'node,x\na,"1,234"\nb,"2,345,678.5"\nc,3\n')
    assert commas == ([1234, 2345678.5, 3], ("x: numbers with commas between thousands",))
    whole = read(tmp_path, "node;x\na;1.234.567\nb;2.345\nc;3\n")
    assert whole == ([1234567, 2345, 3], ("x: numbers with points between thousands",))


@pytest.mark.parametrize("mark", [" ", "\u00a0", "\u2009", "\u202f", "'", "\u2019"])
def test_spaces_and_apostrophes_between_thousands(mark, tmp_path):
    text = (
        f"node;x;y;z\na;1{mark}234,5;1{mark}234.5;\u22121{mark}234{mark}567\nb;\u22122;2;3\nc;3;\u22123;4\n"
    )
    points, notes = read(tmp_path, text, "xyz")
    assert points == [1234.5, 1234.5, -1234567, -2, 2, 3, 3, -3, 4]
    assert notes == (
        "x: numbers with a decimal comma",
        "y, z: numbers with spaces or apostrophes between thousands, or a typographic minus sign",
    )


def test_points_beside_decimal_commas_stand_between_thousands(tmp_path):
    """1.234 and 987 are 1234 and 987, unless a point is surely a decimal one."""
    rows, notes = read(tmp_path, "node;x;y;z\na;1.234;1,5;1.234\nb;987;2,5;0.987\nc;;3;2\n", ["x", "y", "z"])
    np.testing.assert_equal(rows, [1234, 1.5, 1.234, 987, 2.5, 0.987, np.nan, 3, 2])
    assert notes == ("y: numbers with a decimal comma", "x: numbers with points between thousands")
    rows, notes = read(tmp_path, "node;x\na;1.234\nb;987\n")
    assert rows == [1.234, 987] and notes == ()


def test_gaps_stay_gaps(tmp_path):
    rows = "".join(f"n{k};{k},5\n" for k in range(20))
    (tmp_path / "t.csv").write_text(f"node;x\n{rows}odd;n/a\n")
    notes = read_nodes(tmp_path / "t.csv").notes
    assert notes[0] == "x: numbers with a decimal comma" and "x: numbers, standardised" in notes[1]


@pytest.mark.parametrize("other", ["2.5", "1,234,567", "1,234.5"])
def test_a_mixture_is_refused_by_line(other, tmp_path):
    with pytest.raises(InputError, match=r"t.csv, column 'x': '1,5' in line 2 .* '.+' in line 3 has not"):
        read(tmp_path, f"node;x\na;1,5\nb;{other}\nc;3\n")


def test_a_comma_in_the_header_does_not_hide_the_semicolons(tmp_path):
    (tmp_path / "t.csv").write_text("node;size, in cm\na;1,5\nb;7,5\nc;2\n")
    assert read_nodes(tmp_path / "t.csv", attributes=["size, in cm"]).matrix.ravel().tolist() == [
        1.5,
        7.5,
        2.0,
    ]


def test_spaces_part_numbers_with_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("0 1 1,5\n1 2 2\n2 0 0,5\n")
    graph = querist.as_graph(tmp_path / "t.csv", weights="column 3")
    assert graph.nodes == (0, 1, 2) and graph.adjacency[[0], [1]].tolist() == [1.5]
    (tmp_path / "t.csv").write_text("0, 1\n1, 2\n")
    assert querist.as_graph(tmp_path / "t.csv").nodes == (0, 1, 2)


def test_texts_ids_and_labels_keep_their_commas(tmp_path):
    (tmp_path / "t.csv").write_text("node;label;tags\n1,5;a,b;x,y\n2,5;a,b;y,z,1\n3,5;b;x\n")
    table = read_nodes(tmp_path / "t.csv")
    assert table.ids == ("1,5", "2,5", "3,5") and table.labels == ["a,b", "a,b", "b"]
    assert not any("comma" in note for note in table.notes)


def test_a_list_of_labels_in_a_field_does_not_become_the_delimiter(tmp_path):
    (tmp_path / "t.csv").write_text("node,label\nann,x;y\nbob,y;z\n")
    assert read_nodes(tmp_path / "t.csv").labels == ["x;y", "y;z"]


@pytest.mark.parametrize(
    ("text", "ids", "names"),
    [
        ('node;"last, first"\n1;"Doe, Ann"\n2;"Roe, Bob"\n', (1, 2), ["node", "last, first"]),
        (
            'node;"x, y";a;b\n' + "".join(f'{k};0,5;"line\nbreak, comma";u\n' for k in range(60)),
            tuple(range(60)),
            ["node", "x, y", "a", "b"],
        ),
        ('node,size\n1,"5"" pipe; long"\n2,"6"" pipe"\n', (1, 2), ["node", "size"]),
    ],
)
def test_a_mark_inside_quotation_marks_does_not_part_fields(text, ids, names, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    table = read_nodes(tmp_path / "t.csv")
    assert table.ids == ids and table.table.column_names == names


def test_columns_that_are_not_used_may_mix_marks(tmp_path):
    (tmp_path / "e.csv").write_text("source;target;weight;note\na;b;0,5;1,5\nb;c;2;2.5\n")
    (tmp_path / "l.csv").write_text("node;label;note\na;x;1,5\nc;y;2.5\n")
    graph = querist.as_graph(tmp_path / "e.csv")
    assert graph.adjacency[[0], [1]].tolist() == [0.5]
    assert graph.notes == ("weight: numbers with a decimal comma", "columns not used: note")
    assert read_seeds(tmp_path / "l.csv", graph.row_of).labels == {"a": "x", "c": "y"}


def test_a_weight_by_another_name_may_have_decimal_commas(tmp_path):
    (tmp_path / "e.csv").write_text("source;target;money\na;b;0,5\nb;c;2\n")
    assert querist.as_graph(tmp_path / "e.csv", weights="money").adjacency[[0], [1]].tolist() == [0.5]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "json"])
def test_text_in_a_data_frame_means_what_it_means_in_a_file(make, tmp_path):
    """As `pandas.read_csv(sep=";")` leaves it, and JSON lines that hold numbers as text."""
    ids, labels = [f"n{k}" for k in range(20)], ["1,5", "2,5"] * 10
    columns = {"node": ids, "x": [f"{k},5" for k in range(20)], "label": labels}

    def table(**more):
        if make != "json":
            return make({**columns, **more})
        rows = zip(*{**columns, **more}.values(), strict=True)
        lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
        (tmp_path / "t.jsonl").write_text("\n".join(lines))
        return tmp_path / "t.jsonl"

    found = read_nodes(table())
    assert found.notes[0] == "x: numbers with a decimal comma" and found.labels == labels
    assert found.table["x"].to_pylist() == [k + 0.5 for k in range(20)]
    with pytest.raises(InputError, match=r"column 'x': '0,5' in .* has a decimal comma, and '2.5' in"):
        read_nodes(table(x=[*columns["x"][:19], "2.5"]))
    with pytest.raises(InputError, match=r"column 'x': '1,234' may be 1\.234 or 1234"):
        read_nodes(table(x=["1,234", "987"] * 10))


def test_the_first_line_of_a_spreadsheet_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("sep=;\nnode;x\na;1\nb;2\n")
    with pytest.raises(InputError, match=r"t.csv, line 1: 'sep=;' is meant for spreadsheets; remove it"):
        read_nodes(tmp_path / "t.csv")
