"""What a person sees in a notebook: one is run by a real kernel, and its outputs are read."""

import os
import re
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

EVIL = "<script>alert(1)</script>"
CELLS = {
    "setup": f"""
        %matplotlib inline
        import pandas as pd, querist, querist.progress
        querist.progress.QUIET = 600.0  # what is shown does not hang on the clock
        karate = querist.load_graph("karate")
        EVIL = {EVIL!r}
        names = {{node: EVIL if node == 0 else f"member {{node}}" for node in range(34)}}
        heads, tails = karate.adjacency.nonzero()
        edges = pd.DataFrame({{"source": [names[i] for i in heads], "target": [names[j] for j in tails]}})
        people = pd.DataFrame({{"node": list(names.values()), "club": karate.labels}})
        known = people.assign(club=people["club"].where(people.index % 3 != 1))  # a third is unlabelled
    """,
    "label": 'result = querist.label(edges, "club", nodes=known, method="walks")\nresult',
    "frame": "result.to_frame(probabilities=True)",
    "node": "result[EVIL]",
    "estimate": "result.estimate",
    "choice": "result.choice",
    "forms": """
        given = known.dropna()
        forms = [given, given.set_index("node")["club"], dict(given.values)]
        bare = querist.as_graph(edges, nodes=people[["node"]])
        ids = pd.Series(list(bare.nodes))
        forms += [list(ids.map(dict(given.values)).where(lambda s: s.notna(), None))]
        [querist.label(bare, form, method="walks").labels == result.labels for form in forms]
    """,
    "graph": 'axes = result.plot()\naxes.get_legend_handles_labels()[1]',
    "confidence": 'result.plot("confidence").get_xlabel()',
    "reliability": 'result.plot("reliability").get_ylabel()',
    "report": 'str(result.report("karate.html"))',
    "question": "asking = querist.ask(edges, classes=[EVIL, 'Officer'])\nasking.question",
    "asked": "asking.answer(EVIL); asking",
    "learner": """
        rows = querist.embed(bare, rank=4, cache=False)
        learner = querist.ALGORITHMS["random_sampling"](rows, 2, p=1.0, budget=9)
        learner.commit(learner.decide(EVIL))
        learner
    """,
    "estimator": """
        from sklearn.model_selection import cross_val_score
        model = querist.GraphLabelClassifier(bare, method="walks")
        scores = cross_val_score(model, people["node"], people["club"], cv=3)
        bool(scores.mean() > 0.8), model.fit(people["node"], people["club"]).predict([EVIL]).tolist()
    """,
    "stream": """
        from sklearn.datasets import load_iris
        X, y = load_iris(return_X_y=True)
        querist.BudgetedLeastSquares().fit(X, y).predict_proba(X[:2]).sum(axis=1).round(3).tolist()
    """,
    "quick": 'again = querist.label(edges, "club", nodes=known, method="walks")',
    "bar": """
        querist.progress.QUIET = querist.progress.OFTEN = 0.0
        again = querist.label(edges, "club", nodes=known, method="walks")
    """,
    "silent": """
        options = {"nodes": known, "method": "walks", "progress": lambda done, text: None}
        again = querist.label(edges, "club", **options)
    """,
    "oracle": "asked = querist.ask(bare, dict(people.values), budget=5)",
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What every cell shows, by its name: the results and displays of one run of the whole notebook."""
    from textwrap import dedent

    folder = tmp_path_factory.mktemp("notebook")
    cells = [nbformat.v4.new_code_cell(dedent(code).strip()) for code in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    with pytest.MonkeyPatch.context() as patch:
        source = Path(__file__).parents[3] / "src"
        patch.setenv("PYTHONPATH", f"{source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        client.execute(cwd=str(folder))
    return {name: (cell.outputs, folder) for name, cell in zip(CELLS, notebook.cells, strict=True)}


def shown(outputs, name, kind="text/html"):
    return [output["data"][kind] for output in outputs[name][0] if kind in output.get("data", {})]


@pytest.mark.slow
def test_nothing_is_said_that_nobody_asked_for(outputs):
    for name, (found, _) in outputs.items():
        assert not [output for output in found if output["output_type"] in ("stream", "error")], name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("label", ["Labelling of 34 nodes from 23 labels", "probability", "and 24 more"]),
        ("node", ["&lt;script&gt;", "known", "Mr. Hi"]),
        ("estimate", ["Expected accuracy 0."]),
        ("choice", ["log-loss", "walks"]),
        ("question", ["Question 1: node"]),
        ("asked", ["1 answer about 34 nodes", "&lt;script&gt;"]),
        ("learner", ["round 1, 1 questions of at most 9", "open question about node &lt;script&gt;"]),
    ],
)
def test_a_value_shows_itself_and_its_text_is_escaped(outputs, name, words):
    (html,) = shown(outputs, name)
    assert EVIL not in html
    for word in words:
        assert word in html


def test_results_are_at_home_in_pandas(outputs):
    (html,) = shown(outputs, "frame")
    assert html.count("<tr>") == 34 + 1
    for column in ("label", "probability", "runner_up", "reached", "Mr. Hi", "Officer"):
        assert f"<th>{column}</th>" in html
    assert shown(outputs, "forms", "text/plain") == ["[True, True, True, True]"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("graph", "Mr. Hi (1"), ("confidence", "probability of the label"), ("reliability", "share right")],
)
def test_plots_are_pictures_below_the_cell(outputs, name, said):
    assert len(shown(outputs, name, "image/png")) == 1
    assert [text for text in shown(outputs, name, "text/plain") if said in text]


def test_a_report_is_a_page(outputs):
    text = (outputs["report"][1] / "karate.html").read_text(encoding="utf-8")
    assert "expected accuracy" in text and EVIL not in text and "&lt;script&gt;" in text


def test_estimators_work_in_a_kernel(outputs):
    assert shown(outputs, "estimator", "text/plain") == ["(True, ['Mr. Hi'])"]
    assert shown(outputs, "stream", "text/plain") == ["[1.0, 1.0]"]


def test_progress_shows_itself_where_nobody_gave_a_callback(outputs):
    (bar,) = shown(outputs, "bar")
    assert re.fullmatch('<progress value="1.000" max="1"></progress> done in \\d+ s', bar)
    assert any("done in" in html for html in shown(outputs, "oracle"))
    assert not shown(outputs, "quick"), "work that is soon done shows no bar"
    assert not shown(outputs, "silent"), "a callback takes its place"


def test_outside_a_notebook_nothing_is_shown():
    from querist.progress import in_notebook, shown as reporting, silent

    assert not in_notebook()
    with reporting(None) as show:
        assert show is silent
