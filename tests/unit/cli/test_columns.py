"""What a verb that reads files can be told about their columns."""

import pytest

GRAPHS = ("label", "ask", "embed", "online", "classify", "bound")
VECTORS = ("stream", "transduce")


@pytest.mark.parametrize("verb", [*GRAPHS, *VECTORS])
def test_every_verb_that_reads_files_takes_names_of_columns(verb, querist):
    said = querist(verb, "--help").out
    options = ["--label-column"]
    if verb in GRAPHS:
        options += ["--source", "--target", "--weight", "--id", "--parallel", "--missing"]
    for option in options:
        assert f"  {option} " in said or f" {option}," in said, option
    assert "ame of a data set" in said


@pytest.mark.parametrize(
    "words",
    [
        ("online", "--shuffles", "2", "--rank", "4"),
        ("classify", "--trials", "2", "--method", "wvrn", "--labelled", "0.3"),
        ("bound",),
        ("embed", "--rank", "4", "--out", "rows.npy"),
    ],
    ids=lambda words: words[0],
)
def test_named_columns_are_those_with_the_usual_names(words, querist, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edges = [(f"n{i}", f"n{(i + step) % 12}") for i in range(12) for step in (1, 2)]
    kinds = ["a" if i < 6 else "b" for i in range(12)]
    plain = "".join(f"{a},{b}\n" for a, b in edges)
    (tmp_path / "graph.csv").write_text(f"source,target\n{plain}")
    (tmp_path / "nodes.csv").write_text("node,label\n" + "".join(f"n{i},{k}\n" for i, k in enumerate(kinds)))
    expected = querist(words[0], "graph.csv", "--nodes", "nodes.csv", *words[1:], "--json").json
    (tmp_path / "graph.csv").write_text("day,x,y\n" + "".join(f"1,{a},{b}\n" for a, b in edges))
    (tmp_path / "nodes.csv").write_text("kind,who\n" + "".join(f"{k},n{i}\n" for i, k in enumerate(kinds)))
    columns = ("--source", "x", "--target", "y", "--id", "who", "--label-column", "kind")
    found = querist(words[0], "graph.csv", "--nodes", "nodes.csv", *columns, *words[1:], "--json").json
    for unlike in ("seconds", "peak_memory", "cached", "control", "margin", "notes"):
        found.pop(unlike, None)
        expected.pop(unlike, None)
    assert found == expected
