"""Text tables, GraphML and the standard input: read right, or refused by line."""

import gzip
import io
import random
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.tables.files import node_file
from querist.tables.readers.delimited import text_file

HEAD = "source,target,weight\n"


def read(tmp_path: Path, content: str | bytes, name: str = "e.csv") -> Graph:
    path = tmp_path / name
    raw = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return as_graph(path)


READ_RIGHT = {
    "byte-order mark and CRLF": ("e.csv", b"\xef\xbb\xbfsource,target\r\na,b\r\nb,c\r\n"),
    "byte-order mark without a header": ("e.csv", b"\xef\xbb\xbf1,2\n2,3\n"),
    "semicolons": ("e.csv", "source;target\na;b\nb;c\n"),
    "tabs in a .csv": ("e.csv", "source\ttarget\na\tb\nb\tc\n"),
    "commas in a .tsv": ("e.tsv", "source,target\na,b\nb,c\n"),
    "gzip": ("e.tsv.gz", "source\ttarget\na\tb\nb\tc\n"),
    "old Mac line ends": ("e.csv", "source,target\ra,b\rb,c\r"),
    "no end of line at the end": ("e.csv", "source,target\na,b\nb,c"),
    "blank lines": ("e.csv", "source,target\n\na,b\n\n\nb,c\n\n"),
    "names in a first line that is an edge": ("e.csv", "a,b\nb,c\nc,a\n"),
    "quoted": ("e.csv", '"source","target"\n"a","b"\n"b","c"\n'),
    "not in ASCII": ("e.csv", "source,target\né,b\nb,日本\n"),
}


@pytest.mark.parametrize("case", READ_RIGHT)
def test_what_is_odd_but_clear_is_read_right(case: str, tmp_path: Path) -> None:
    name, content = READ_RIGHT[case]
    graph = read(tmp_path, content, name)
    assert graph.n_nodes == 3
    assert graph.n_edges == (3 if "first line" in case else 2)
    assert set(graph.nodes) in ({"a", "b", "c"}, {1, 2, 3}, {"é", "b", "日本"})


REFUSED = {
    "too few fields": (HEAD + "a,b,1\nc\nd,e,1\n", "line 3: 1 field where 3 are needed: 'c'"),
    "too many fields": (HEAD + "a,b,1\n\nc,d,1,9\n", "line 4: 4 fields where 3 are needed: 'c,d,1,9'"),
    "an empty id": (HEAD + "a,b,1\n\n,d,1\n", "column 'source' is empty in 1 of 2 rows, the first line 4"),
    "a word among weights": (HEAD + "a,b,1\nb,c,2.5\nc,d,heavy\n", "line 4 holds 'heavy'"),
    "an empty weight": (HEAD + "a,b,1\nc,d,\n", "'weight' is empty in 1 of 2 rows, the first line 3"),
    "an infinite weight": (HEAD + "a,b,1\nc,d,inf\n", "line 3, column 'weight'"),
    "not UTF-8": (HEAD.encode() + b"a,b,1\nc,caf\xe9,1\n", "line 3: bytes that are not UTF-8"),
    "UTF-16": ("source,target\na,b\n".encode("utf-16"), "line 1: the file is UTF-16; save it as UTF-8"),
    "an open quotation mark": (HEAD + 'a,b,1\nb,"c,1\nd,e,1\n', "line 3: "),
    "an open quotation mark in the header": ('source,target,"we\n', "line 1"),
    "one column": ("source\na\n", "but no 'target'"),
    "a column twice": ("source,target,source\na,b,c\n", "line 1: columns .* are not distinct"),
    "an empty first line": ("\na,b\n", "line 1: the first line is empty"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_broken_is_refused_by_file_and_line(case: str, packed: bool, tmp_path: Path) -> None:
    content, message = REFUSED[case]
    name = "e.csv.gz" if packed else "e.csv"
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, content, name)
    assert name in str(caught.value)


@pytest.mark.slow
def test_ten_million_rows_with_one_broken_line(tmp_path: Path) -> None:
    half = b"17,23\n" * 5_000_000
    path = tmp_path / "e.csv"
    path.write_bytes(b"source,target\n" + half + b"17;23\n" + half)
    with pytest.raises(InputError, match=r"e\.csv, line 5000002: 1 field where 2 are needed: '17;23'"):
        as_graph(path)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    rng = random.Random(0)
    expected, text, line = [], "node,text\n", 2
    for row in range(300):
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            text += "\n"
            line += 1
        breaks = rng.choice([0, 0, 1, 3])
        expected.append(line)
        text += f'{row},"a{chr(10) * breaks}b"\n'
        line += breaks + 1
    path = tmp_path / "t.csv"
    path.write_text(text)
    file = text_file(path, "t.csv")
    assert file.lines_of(range(300)) == expected
    assert file.lines_of([299, 5]) == [expected[299], expected[5]]


def test_text_fields_may_hold_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text('node,age,town,about\na,1,x,"two\nlines"\nb,2,y,one\n')
    assert node_file(path).table["about"].to_pylist() == ["two\nlines", "one"]


# -- the standard input ---------------------------------------------------------------------------------


def archive() -> bytes:
    target = io.BytesIO()
    np.savez(target, edges=np.array([[0, 1], [1, 2]]))
    return target.getvalue()


SPREADSHEET = io.BytesIO()
with zipfile.ZipFile(SPREADSHEET, "w") as workbook:
    workbook.writestr("[Content_Types].xml", "<Types/>")


@pytest.mark.parametrize(
    "content",
    [
        b"source,target\n0,1\n1,2\n",
        b"source\ttarget\n0\t1\n1\t2\n",
        gzip.compress(b"source,target\n0,1\n1,2\n"),
        archive(),
        "\n".join(nx.generate_graphml(nx.path_graph(3))).encode(),
    ],
    ids=["csv", "tsv", "gzip", "npz", "graphml"],
)
def test_the_standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    graph = as_graph("-")
    assert graph.nodes == (0, 1, 2)
    assert graph.n_edges == 2
    assert graph.name == "standard input"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "standard input is empty"),
        (b"source,target\na\n", "standard input.*line 2"),
        (SPREADSHEET.getvalue(), r"^standard input\.xlsx: a spreadsheet is not read"),
    ],
)
def test_a_bad_standard_input(content: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    with pytest.raises(InputError, match=message):
        as_graph("-")


# -- GraphML --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".graphml", ".graphml.gz"])
def test_graphml_as_networkx_writes_it(ending: str, tmp_path: Path) -> None:
    made = nx.karate_club_graph()
    path = tmp_path / f"karate{ending}"
    nx.write_graphml(made, path)
    graph = as_graph(path, labels="club")
    expected = as_graph(made, labels="club")
    assert graph.nodes == expected.nodes
    assert graph.labels == expected.labels
    assert graph.name == "karate"
    assert (graph.adjacency != expected.adjacency).nnz == 0
    assert node_file(path).table["club"].to_pylist() == expected.labels


def test_graphml_types_defaults_and_direction(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text("""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="age" attr.type="int"/>
<key id="d1" for="node" attr.name="kind" attr.type="string"><default>plain</default></key>
<key id="d2" for="edge" attr.name="weight" attr.type="double"><default>2.5</default></key>
<graph edgedefault="directed">
<node id="x"><data key="d0">4</data><data key="d1">odd</data></node>
<node id="y"/>
<node id="z"><data key="d0"></data></node>
<edge source="x" target="y"/><edge source="z" target="y"><data key="d2">7</data></edge>
</graph></graphml>""")
    graph = as_graph(path, labels="kind")
    assert graph.adjacency.toarray().tolist() == [[0, 2.5, 0], [2.5, 0, 7], [0, 7, 0]]
    assert graph.labels == ["odd", "plain", "plain"]
    assert node_file(path).table.to_pydict() == {
        "node": ["x", "y", "z"],
        "age": [4, None, None],
        "kind": ["odd", "plain", "plain"],
    }


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<node id="a"/>\n<node id="a"/>', r"line 3: node 'a' is on line 2 already"),
        ('<node id="a"/>\n<edge source="a"/>', "line 3: <edge> without target"),
        ('<node id="a"/>\n<edge source="a" target="b"/>', "line 3: edge to 'b', which is no node"),
        ('<node id="a"/>\n<node id="b">', "line 3: mismatched tag"),
        (
            '<node id="a"/><node id="b"/>\n<edge source="a" target="b"><data key="w">much</data></edge>',
            "line 3: weight is 'much' and must be double",
        ),
        ("", "0 nodes"),
    ],
)
def test_broken_graphml_is_refused_by_line(inside: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    path.write_text(f'<graphml>{key}<graph edgedefault="undirected">\n{inside}</graph></graphml>')
    with pytest.raises(InputError, match=message) as caught:
        as_graph(path)
    assert "g.graphml" in str(caught.value)


def test_other_xml_is_no_graphml(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text("<html></html>")
    with pytest.raises(InputError, match="line 1: <html> where <graphml> is needed"):
        as_graph(path)
