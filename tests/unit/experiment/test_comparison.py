"""A user's TOML file: what it may say, and how it is told that it is wrong."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from querist.errors import InputError
from querist.experiment.comparison import Comparison, line_of

BASE = 'task = "online"\ndataset = "karate"\nrepeats = 5\n'
MSG = '[[experiment]]\nmethod = "msg"\n'


@pytest.fixture
def read(tmp_path: Path):
    def reader(text: str) -> Comparison:
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return Comparison.read(tmp_path / "mine.toml")

    return reader


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (BASE + '[[experiment]]\nmethod = "msgg"\n', 5, "unknown method 'msgg'; did you mean 'msg'?"),
        (BASE.replace("karate", "karatee") + MSG, 2, "unknown data set 'karatee'; did you mean 'karate'?"),
        (BASE.replace("online", "onlin") + MSG, 1, "unknown task 'onlin'; did you mean 'online'?"),
        (BASE + "repeets = 3\n" + MSG, 4, "unknown key 'repeets'; did you mean 'repeats'?"),
        (
            BASE + MSG + "[experiment.parameters]\ngama = 1\n",
            7,
            "unknown parameter 'gama'; did you mean 'gamma'?",
        ),
        (
            BASE + MSG + "[experiment.parameters]\nh = 1\ngamma = 'a'\n",
            8,
            "gamma = 'a'; it must be a finite number",
        ),
        (
            BASE + MSG + "[experiment.parameters]\nh = 1\ngamma = -1\n",
            8,
            "gamma = -1.0; it must be a finite",
        ),
        (
            BASE + MSG + "[experiment.grid]\nh = [1,\n2]\nhh = [1]\n",
            9,
            "unknown parameter 'hh'; did you mean 'h'?",
        ),
        (
            BASE + MSG + "[experiment.grid]\ngamma = [1.0, -1.0]\n",
            7,
            "gamma = -1.0; it must be a finite",
        ),
        (BASE + "[representation]\nranc = 8\n" + MSG, 5, "'ranc'; did you mean 'rank'?"),
        (BASE + "[representation]\nrank = 50\n" + MSG, 5, "rank = 50; karate has 34 nodes"),
        (BASE + '[representation]\nkind = "spectrel"\n' + MSG, 5, "one of spectral, diffusion, pagerank"),
        (BASE + "[protocol]\ncurv = 3\n" + MSG, 5, "'curv'; did you mean 'curve'?"),
        (BASE + "[protocol]\ntunin = 3\n" + MSG, 5, "'tunin'; did you mean 'tuning'?"),
        (BASE + "[protocol]\ncurve = -3\n" + MSG, 5, "curve = -3"),
        (BASE + "[protocol]\ncontrol = false\n" + MSG, 5, "controls always stand beside"),
        (BASE + '[protocol]\ncontrol = "off"\n' + MSG, 5, "controls always stand beside"),
        (
            'task = "sslgc13.clock"\ndataset = "karate"\nmethod = "gpa"\n',
            1,
            "is not for comparisons; take",
        ),
        (
            'task = "collective"\ndataset = "karate"\nmethod = ["wvrn", "gmnr"]\n',
            3,
            "(--set features=links, features='links')",
        ),
        (
            BASE + '[[experiment]]\nmethod = "nearest"\ngrid = {distance = ["resistance", "points"]}\n',
            5,
            "karate has no attributes, so its nodes are no points",
        ),
        (BASE + '[representation]\nnodes = "none.csv"\n' + MSG, 5, "none.csv: no such file"),
        (
            BASE + "held_out = 3\n" + MSG + "[experiment.grid]\nh = [1.0]\n",
            4,
            "one of the reported draws, 0 to 4",
        ),
        (BASE + MSG + "repeats = 0\n", 6, "repeats = 0; it must be a whole number, 1 or more"),
        (BASE + 'measures = ["error_rat"]\n' + MSG, 4, "'error_rat' does not fit online on karate"),
        (BASE + 'measures = ["error_rat"]\n' + MSG, 4, "did you mean 'error_rate'?"),
        (
            'task = "collective"\ndataset = "karate"\nmethod = "wvrn"\nmeasures = ["error_rate"]\n',
            4,
            "'error_rate' does not fit collective on karate",
        ),
        (
            BASE + MSG + 'protocol = {tuned_by = "queriez"}\ngrid = {h = [1.0]}\n',
            6,
            "unknown measure 'queriez'; did you mean 'queries'?",
        ),
        (
            BASE + MSG + 'protocol = {tuned_by = "rounds"}\ngrid = {h = [1.0]}\n',
            6,
            "neither better when larger",
        ),
        (
            BASE + MSG + 'grid = {h = [1.0]}\n[experiment.protocol]\ntuned_with = "cmogg"\n',
            8,
            "unknown method 'cmogg'; did you mean 'cmog'?",
        ),
        (
            'task = "collective"\ndataset = "karate"\nmethod = "wvrn"\n[grid]\ndecay = [0.5, 3.0]\n',
            5,
            "decay = 3.0; it must be a finite number, at most 1 and above 0",
        ),
        ('task = "stream"\ndataset = "karate"\nmethod = "bls"\n', 2, "holds a graph, not vectors"),
        (BASE + "[[experiment]]\nmethod = 3\n", 5, "method = 3; it must be a text"),
        ("title = 3\n" + BASE + MSG, 1, "title = 3; it must be a text"),
        ("experiment = 3\n" + BASE, 1, "must be [[experiment]]"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(read, text, line, said):
    with pytest.raises(InputError) as caught:
        read(text)
    assert f"mine.toml, line {line}: " in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task = \n", "not TOML: Invalid value (at line 1"),
        ("", "there is no task"),
        ('dataset = "karate"\n', "no task"),
    ],
)
def test_files_without_a_line_to_blame(read, text, said):
    with pytest.raises(InputError) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_measure_that_several_labels_do_not_have(read, tmp_path):
    labels = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1], [1, 1]] * 3))
    parts = {f"labels_{name}": getattr(labels, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "two.npz", edges=np.array([(i, (i + 1) % 12) for i in range(12)]), **parts)
    base = f'task = "collective"\ndataset = "{tmp_path / "two.npz"}"\nmethod = "wvrn"\n'
    assert read(base + 'measures = ["one_error"]\n').specifications
    with pytest.raises(InputError, match="line 4: 'accuracy' does not fit collective"):
        read(base + 'measures = ["accuracy"]\n')
    with pytest.raises(InputError, match="line 4: 'accuracy' does not fit collective"):
        read(base + "grid = {max_iter = [10]}\n")


TWO_PAIRS = "source,target\na,b\nc,d\n"
NODES = "node,label\na,x\nb,x\nc,y\nd,y\n"


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    """A graph of two components in a file, with a table of its nodes."""
    (tmp_path / "edges.csv").write_text(TWO_PAIRS)
    (tmp_path / "nodes.csv").write_text(NODES)
    return (
        f'dataset = "{tmp_path / "edges.csv"}"\n[representation]\nnodes = "{tmp_path / "nodes.csv"}"\n'
        "[[experiment]]\n"
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('task = "online"\nmethod = "pounce"\n', "edges has 2 components: its Laplacian is reducible"),
        (
            'task = "online"\nmethod = "pounce"\nrepresentation = {rank = 2}\n',
            "embedding is of a graph with 2 components",
        ),
        (
            'task = "online"\nmethod = "nearest"\nparameters = {distance = "geodesic"}\n',
            "no path between them",
        ),
        ('task = "collective"\nmethod = "gmnr"\n', "has no attributes"),
    ],
)
def test_what_a_method_cannot_do_with_the_data_is_told_before(read, pairs, lines, said):
    with pytest.raises(InputError, match="line 6: ") as caught:
        read(pairs + lines)
    assert said in str(caught.value)


def test_signed_graphs_and_negative_attributes_are_refused_where_they_do_not_fit(read, tmp_path):
    ring = np.array([(i, (i + 1) % 6) for i in range(6)])
    labels = np.array([0, 0, 0, 1, 1, 1])
    np.savez(tmp_path / "signed.npz", edges=ring, weights=np.array([1, 1, 1, 1, 1, -1.0]), labels=labels)
    words = sp.csr_array(np.array([[-1.0, 2.0]] * 6))
    parts = {f"features_{name}": getattr(words, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "words.npz", edges=ring, labels=labels, **parts)
    base = f'task = "collective"\ndataset = "{tmp_path}/NAME.npz"\nmethod = '
    for name, method, said in (
        ("signed", "wvrn", "negative weights"), ("words", "gmnr", "attributes hold negative values"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=f"line 3: .*{said}"):
            read(base.replace("NAME", name) + f'"{method}"\n')
    assert read(base.replace("NAME", "words") + '"wvrn"\n').specifications


def test_a_table_of_nodes_is_for_a_graph_in_a_file(read, pairs):
    assert read(pairs + 'task = "online"\nmethod = "msg"\n').specifications
    without = pairs.replace("nodes =", "# ")
    with pytest.raises(InputError, match=r"line 1: edges has no labels .*representation\.nodes"):
        read(without + 'task = "online"\nmethod = "msg"\n')
    with pytest.raises(InputError, match="line 3: a table of nodes goes with a graph in a file; 'karate'"):
        read(pairs + 'task = "online"\nmethod = "msg"\ndataset = "karate"\n')


def test_labels_in_a_column_of_another_name(read, tmp_path):
    rows = "\n".join(f"{i},{i % 3},{'yes' if i % 2 else 'no'}" for i in range(20))
    (tmp_path / "rows.csv").write_text(f"a,b,answer\n{rows}\n")
    base = f'task = "TASK"\ndataset = "{tmp_path / "rows.csv"}"\nmethod = "bls"\n[representation]\n'
    for task in ("stream", "transduce"):
        text = base.replace("TASK", task)
        assert read(text + 'label = "answer"\n').specifications
        with pytest.raises(InputError, match=r"line 5: .*no column 'answr'"):
            read(text + 'label = "answr"\n')


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            'method = "lp"\n[representation]\nkernel = "linear"\n',
            "line 5: lp needs weights",
        ),
        (
            'method = "bls"\n[representation]\nkernel = "linear"\nwidth = 2\n',
            "line 6: width is of",
        ),
        ('method = "bls"\n[protocol]\nlabelled = 1.0\n', "line 5: labelled = 1.0; .* below 1"),
    ],
)
def test_transduce_refuses_what_has_no_meaning(read, tmp_path, settings, words):
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,y\n3,x\n")
    with pytest.raises(InputError, match=words):
        read(f'task = "transduce"\ndataset = "{tmp_path / "rows.csv"}"\n{settings}')


def test_shared_keys_lists_and_names(read):
    found = read(
        'title = "T"\n' + BASE.replace('"karate"', '["karate", "two_moons"]')
        + "[parameters]\ngamma = 0.5\n[representation]\nrank = 8\n"
        + '[[experiment]]\nmethod = ["msg", "bbq"]\n'
        + '[[experiment]]\nname = "MSG, tuned"\nmethod = "msg"\ndataset = "karate"\nrepeats = 2\n'
        + "[experiment.grid]\ngamma = [0.1, 1.0]\n[experiment.representation]\nconstant = 3.0\n"
    )  # fmt: skip
    assert found.title == "T"
    assert [(s.dataset, s.method) for s in found.specifications] == [
        ("karate", "msg"), ("karate", "bbq"), ("two_moons", "msg"), ("two_moons", "bbq"), ("karate", "msg"),
    ]  # fmt: skip
    last = found.specifications[-1]
    assert (found.names[-1], last.repeats, found.specifications[0].repeats) == ("MSG, tuned", 2, 5)
    assert dict(last.parameters) == {}, "a grid comes before the shared parameter"
    assert dict(last.representation) == {"rank": 8, "constant": 3.0}
    assert dict(found.specifications[0].parameters) == {"gamma": 0.5}


def test_equal_names_are_told_apart(read):
    found = read(BASE + '[[experiment]]\nmethod = "msg"\nparameters = {h = 1.0}\n' + MSG)
    assert found.names == ["msg (h 1.0)", "msg"]


def test_one_experiment_needs_no_header_and_curves_come_by_themselves(read):
    (spec,) = read(BASE + 'method = "msg"\n').specifications
    assert spec.protocol["curve"] == 50
    assert read(BASE + 'method = "msg"\n[protocol]\ncurve = 7\n').specifications[0].protocol["curve"] == 7


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(OSError, match="absent"):
        Comparison.read(tmp_path / "absent.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        Comparison.read(tmp_path / "x.toml")


TEXT = '''\
# task = "no"
task = "online"  # a comment = 3
"quoted key" = 1
a.b = 2

[representation]
rank = [ # [comment
  1, "]",
  2,
]
inside = { x = 1, y = [1, 2] }
long = """
[nothing]
key = 1
"""
after = 1

[[experiment]]
method = "a#b[" # [[experiment]]
[experiment.parameters]
h = 1
[[experiment]]
literal = \'\'\'
h = 2 \'\'\'
[experiment.grid]
h = [
[1],
]
end = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("task",), 2),
        (("quoted key",), 3),
        (("a", "b"), 4),
        (("representation",), 6),
        (("representation", "rank"), 7),
        (("representation", "inside"), 11),
        (("representation", "long"), 12),
        (("representation", "after"), 16),
        (("experiment", 0), 18),
        (("experiment", 0, "method"), 19),
        (("experiment", 0, "parameters", "h"), 21),
        (("experiment", 1), 22),
        (("experiment", 1, "literal"), 23),
        (("experiment", 1, "grid", "h"), 26),
        (("experiment", 1, "grid", "end"), 29),
    ],
)
def test_every_key_has_its_line(path, line):
    assert line_of(TEXT, path) == line


def test_what_is_inside_texts_and_lists_is_no_key():
    for path in (("representation", "key"), ("nothing",), ("experiment", 1, "h")):
        assert line_of(TEXT, path) is None
