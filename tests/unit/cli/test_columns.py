"""What a verb that reads files can be told about their columns."""

import pytest

MEASURED = ("label", "ask", "online", "collective")
GRAPHS = ("label", "ask", "embed", "bound", *(f"evaluate {verb}" for verb in MEASURED))
VECTORS = ("evaluate stream", "evaluate transduce")


@pytest.mark.parametrize("verb", [*GRAPHS, *VECTORS])
def test_every_verb_that_reads_files_takes_names_of_columns(verb, querist):
    said = querist(*verb.split(), "--help").out
    options = ["--label-column"]
    if verb in GRAPHS:
        options += ["--source", "--target", "--weight", "--id", "--parallel", "--missing"]
    for option in options:
        assert f"  {option} " in said or f" {option}," in said, option
    assert "ame of a data set" in said


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate online", "--repeats", "2", "--rank", "4"),
        ("evaluate collective", "--repeats", "2", "--method", "wvrn", "--labelled", "0.3"),
        ("bound",),
        ("embed", "--rank", "4", "--out", "rows.npy"),
    ],
    ids=lambda words: words[0],
)
def test_named_columns_are_those_with_the_usual_names(words, querist, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verb, words = words[0].split(), words[1:]
    edges = [(f"n{i}", f"n{(i + step) % 12}") for i in range(12) for step in (1, 2)]
    kinds = ["a" if i < 6 else "b" for i in range(12)]
    plain = "".join(f"{a},{b}\n" for a, b in edges)
    (tmp_path / "graph.csv").write_text(f"source,target\n{plain}")
    (tmp_path / "nodes.csv").write_text("node,label\n" + "".join(f"n{i},{k}\n" for i, k in enumerate(kinds)))
    expected = querist(*verb, "graph.csv", "--nodes", "nodes.csv", *words, "--json").json
    (tmp_path / "graph.csv").write_text("day,x,y\n" + "".join(f"1,{a},{b}\n" for a, b in edges))
    (tmp_path / "nodes.csv").write_text("kind,who\n" + "".join(f"{k},n{i}\n" for i, k in enumerate(kinds)))
    columns = ("--source", "x", "--target", "y", "--id", "who", "--label-column", "kind")
    found = querist(*verb, "graph.csv", "--nodes", "nodes.csv", *columns, *words, "--json").json
    for unlike in ("seconds", "embedding_seconds", "cached", "control", "margin", "notes"):
        found.pop(unlike, None)
        expected.pop(unlike, None)
    assert found == expected
