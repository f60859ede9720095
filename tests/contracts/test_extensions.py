"""CONTRIBUTING.md is true: what is registered is found by help, by name and by experiments.

Each test writes a query strategy, an embedding, a collective method or an option into a module of its own, as
a user would, and imports it. Nothing else refers to that module.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import querist
from querist.asking.strategies import STRATEGIES
from querist.cli import main
from querist.collective.catalogue import CLASSIFIERS
from querist.embedding.kinds import KINDS, known
from querist.errors import UnknownNameError
from querist.experiment import Specification
from querist.experiment.runner import run_here
from querist.labelling.members import MEMBERS

ROOT = Path(__file__).parents[2]

MODULE = '''
"""A strategy, an embedding and a classifier of somebody else."""

from dataclasses import dataclass

import numpy as np

from querist.asking import STRATEGIES
from querist.collective import CLASSIFIERS
from querist.collective.relational import WVRN
from querist.embedding import Embedding
from querist.embedding.kinds import Kind, register
from querist.embedding_options import EmbeddingOptions
from querist.labelling.members import MEMBERS
from querist.labelling.workspace import Model
from querist.options import option


@STRATEGIES.register("it has the most neighbours of all")
def toy_strategy(model):
    return np.asarray(model.rows.sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class ToyOptions(EmbeddingOptions):
    toy_scale: float = option(1.0, "Factor of the rows")


def make(graph, rank, *, progress, tol, seed, toy_scale):
    rows = toy_scale * np.random.default_rng(seed).standard_normal((graph.n_nodes, rank))
    return Embedding(rows, graph.components, rank=rank, kind="toy_embedding", layout=(rank, 0, 0))


register(
    Kind(
        "toy_embedding", "random rows", ToyOptions, make,
        memory=lambda graph, rank, **settings: 8.0 * graph.n_nodes * rank,
        row=lambda embedding, M, degrees, weights: M.mean(axis=0),
        tol=1e-3,
    )
)


class ToyClassifier(WVRN):
    """wvRN under another name."""


CLASSIFIERS["toy_method"] = ToyClassifier


class Shares:
    """Every node has the classes' shares."""

    def __init__(self, n, seen):
        self.n, self.seen = n, seen

    def logits(self, nodes):
        return np.log(np.maximum(np.tile(self.seen.Y.mean(axis=0), (self.n, 1))[nodes], 1e-6))

    def smoother(self, nodes):
        return np.full((*np.shape(nodes), len(self.seen.labelled)), 0.5)


@dataclass(frozen=True)
class SharesModel(Model):
    """A model of a type of its own."""

    uses_attributes = True

    def suits(self, workspace, multilabel):
        return workspace.graph.n_nodes > 1

    def work(self, workspace, labels, classes, fits):
        return float(fits * workspace.graph.n_nodes)

    def memory(self, workspace, labels):
        return 8e12 if workspace.graph.name == "huge" else 8.0 * labels

    def fit(self, workspace, seen):
        return Shares(workspace.graph.n_nodes, seen)


MEMBERS["toy_model"] = SharesModel("the shares of the classes", prior_weight=0.5)
'''


@pytest.fixture
def extended(tmp_path):
    """The module is imported, and forgotten afterwards."""
    known()
    path = tmp_path / "toy_extension.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("toy_extension", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_extension"] = module
    spec.loader.exec_module(module)
    yield
    del STRATEGIES["toy_strategy"], KINDS["toy_embedding"], CLASSIFIERS["toy_method"], MEMBERS["toy_model"]
    del sys.modules["toy_extension"]


def test_lists_name_them(extended, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["algorithms"]) == 0
    listed = capsys.readouterr().out
    assert "toy_embedding" in listed and "toy_method" in listed and "toy_model" in listed
    assert "toy_strategy" in listed and "it has the most neighbours of all" in listed


def test_calls_take_them_by_name_and_suggest_them(extended):
    karate = querist.load_graph("karate")
    assert querist.embed(karate, 3, kind="toy_embedding", toy_scale=2.0).rows.shape == (34, 3)
    asked = querist.ask(karate, karate.labels, budget=3, strategy="toy_strategy", method="toy_method")
    assert next(iter(asked.state.turns)).about["reason"] == "it has the most neighbours of all"
    assert len(asked.labels) == 34
    for call in (
        lambda: querist.embed(karate, 3, kind="toy_embeding"),
        lambda: querist.ask(karate, karate.labels, budget=3, strategy="toy_strateg"),
        lambda: querist.label(karate, {0: "Mr. Hi", 33: "Officer"}, method="toy_metod"),
    ):
        with pytest.raises(UnknownNameError, match="did you mean 'toy_"):
            call()


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_model_of_any_type_is_one_class(extended, device):
    if device is not None:
        pytest.importorskip("torch", reason="devices are the extra [torch]")
    karate = querist.load_graph("karate")
    known = {node: karate.labels[node] for node in range(0, 34, 3)}
    found = querist.label(karate, known, device=device)
    score = next(score for score in found.choice.scores if score.name == "toy_model")
    assert score.what == "the shares of the classes" and score.log_loss > 0
    alone = querist.label(karate, known, method="toy_model", device=device)
    assert alone.choice.method == "toy_model" and len(set(alone.labels)) == 2
    assert alone.model.weights(np.arange(3))[1].shape == (3, len(known)) and alone.choice.representation
    with pytest.raises(MemoryError, match="toy_model"):
        querist.label(replace(karate, name="huge"), known, method="toy_model")


@pytest.mark.slow
def test_options_of_a_kind_are_on_the_command_line(tmp_path):
    uses = """
import json
import toy_option
import numpy as np
from querist.cli import main

def made(*more):
    assert main(["embed", "karate", "--rank", "3", "--out", "rows.npy", "--no-cache", *more]) == 0
    return float(np.abs(np.load("rows.npy")).sum())

toy = [made("--embedding", "toy_embedding", *more) for more in ((), ("--toy-scale", "2"))]
print(json.dumps({
    "toy": toy, "refused": main("embed karate --out r.npy --toy-scale 2".split()),
    "walk": made("--embedding", "pagerank", "--walk", ".5") != made("--embedding", "pagerank"),
}))
"""
    found = used(tmp_path, MODULE, uses)
    assert found["toy"][1] == pytest.approx(2 * found["toy"][0]) and found["walk"] and found["refused"] == 2


def test_experiments_run_them(extended):
    karate = querist.load_graph("karate")
    for specification in (
        Specification("collective", "karate", "toy_method", protocol={"labelled": 0.2}, repeats=2),
        Specification("online", "karate", "msg", repeats=2,
                      representation={"kind": "toy_embedding", "rank": 4, "toy_scale": 2.0}),
        Specification("ask", "karate", "toy_method", {"strategy": "toy_strategy", "budget": 4}, repeats=1,
                      protocol={"marks": [2, 4]}),
    ):  # fmt: skip
        result, _ = run_here(specification, karate)
        assert all(np.isfinite(value) for value in result.outcomes[0].numbers.values())


def test_the_table_of_contributing_names_files_that_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.search(r"\| to add \| change \|\n\|---\|---\|\n((?:\|.*\n)+)", page).group(1)
    named = re.findall(r"`(\w+/(?:[\w/]+\.py)?)`", rows)
    assert len(named) >= 8
    for place in named:
        folder = ROOT if place.startswith(("papers/", "tests/")) else ROOT / "src" / "querist"
        assert (folder / place).exists(), place


# -- options: a field in a module of its own, which is imported before anything else ----------------------

CAMPAIGN_OPTION = '''
from dataclasses import dataclass
from typing import Annotated

from querist.asking import options
from querist.options import option
from querist.parameters import Range


@dataclass(frozen=True, kw_only=True)
class ToyOptions(options.CampaignOptions):
    """Those of a campaign, and two more."""

    toy_days: Annotated[int | None, Range(1, 9)] = option(
        None, "Days that people have; two questions a day", title="Days", fixed=True
    )
    toy_pace: Annotated[int, Range(1, 99)] = option(5, "Questions per hour", title="Pace")

    def __post_init__(self):
        super().__post_init__()
        if self.toy_days is not None:
            object.__setattr__(self, "budget", min(self.budget, 2 * self.toy_days))


options.CampaignOptions = ToyOptions
'''
CAMPAIGN_USES = """
import json, sys
import toy_option
import querist
from querist.asking.store.sqlite import only_campaign
from querist.cli import main

karate = querist.load_graph("karate")
found = {
    "python": len(querist.ask(karate, karate.labels, toy_days=2).answers),
    "help": querist.ask.__doc__,
    "command": main("ask karate --oracle karate --toy-days 1 --toy-pace 2 --journal j --out o.csv".split()),
    "created": main("campaign create karate --toy-days 1 --toy-pace 2 --store s".split()),
}
with only_campaign("j") as journal:
    events = journal.events
found["answers"] = sum(event.kind == "answer" for event in events)
found["kept"] = events[0].body["toy_days"], events[0].body["toy_pace"]
try:
    querist.ask(karate, karate.labels, toy_days=10)
except querist.InputError as error:
    found["refused"] = str(error)

from starlette.testclient import TestClient
from querist.asking.store.sqlite import SqliteStore
from querist.serve import pages
from querist.serve.app import make_app
from querist.serve.server import CampaignServer

server = CampaignServer(SqliteStore("store"))
with TestClient(make_app(server)) as client:
    client.headers["Authorization"] = f"Bearer {server.gate.invite(None, 'manager')[1]}"
    made = client.post("/v1/campaigns", json={"data": "karate", "toy_days": 3})
    found["http"] = made.status_code, made.json()["budget"]
    place = f"/v1/campaigns/{made.json()['id']}"
    found["changed"] = [
        client.patch(place, json=body).json().get("options", {}).get("toy_pace")
        for body in ({}, {"toy_pace": 7}, {"toy_pace": 100}, {"toy_pace": None}, {"toy_days": 1})
    ]
    found["events"] = [e.body for e in server.store.events(made.json()["id"]) if e.kind == "options"]
    found["manage"] = client.get(f"/c/{made.json()['id']}/manage").text
    found["http_refused"] = client.post("/v1/campaigns", json={"data": "karate", "toy_days": 10}).status_code
    form = client.post(
        "/v1/campaigns/files",
        files={
            "edges": ("edges.csv", "source,target\\na,b\\nb,c\\n"),
            "nodes": ("nodes.csv", "node,alias\\na,Ann\\nb,Bob\\nc,Cy\\n"),
        },
        data={"classes": "x, y", "name_column": "alias", "toy_days": "4"},
    )
    found["form"] = form.status_code, form.json()["budget"]
    made = server.views(form.json()["id"])
    found["begun"] = made.campaign.name, list(made.campaign.asking.classes), made.campaign.texts.name_of(0)
    schemas = client.get("/v1/openapi.json").json()["components"]["schemas"]
    found["schema"] = [name for name, each in schemas.items() if "toy_days" in each.get("properties", {})]
found["page"] = pages.new_page()
print(json.dumps(found))
"""

LABEL_OPTION = '''
from dataclasses import dataclass

from querist.labelling import options
from querist.options import option


@dataclass(frozen=True, kw_only=True)
class ToyOptions(options.LabelOptions):
    """Those of `label`, and one more."""

    toy_quick: bool = option(False, "Take the quickest method")

    def __post_init__(self):
        super().__post_init__()
        if self.toy_quick:
            object.__setattr__(self, "method", "walks")


options.LabelOptions = ToyOptions
'''
LABEL_USES = """
import json
from pathlib import Path
import toy_option
import querist
from querist.cli import main

karate = querist.load_graph("karate")
Path("l.csv").write_text("node,label\\n0,a\\n1,a\\n32,b\\n33,b\\n")
quick = querist.label(karate, {0: "a", 1: "a", 32: "b", 33: "b"}, toy_quick=True)
found = {"python": quick.choice.method, "help": querist.label.__doc__}
found["command"] = main("label karate --labels l.csv --toy-quick --save saved.npz --out o.csv".split())
found["saved"] = querist.labelling.Labelling.load("saved.npz").choice.method
print(json.dumps(found))
"""


def used(folder: Path, option: str, uses: str) -> dict:
    """What a new process prints that imports the module with the option first."""
    (folder / "toy_option.py").write_text(option, encoding="utf-8")
    (folder / "uses.py").write_text(uses, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "uses.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_an_option_of_a_campaign_is_one_field(tmp_path):
    pytest.importorskip("fastapi")
    found = used(tmp_path, CAMPAIGN_OPTION, CAMPAIGN_USES)
    sentence = "Days that people have; two questions a day [default: none]."
    page = found["page"]
    assert found["python"] == 4 and f"toy_days : {sentence}" in found["help"]
    assert (found["command"], found["created"], found["answers"], found["kept"]) == (0, 0, 2, [1, 2])
    assert found["refused"].startswith("toy_days = 10; it must be a whole number, 1 or more and at most 9")
    assert found["http"] == [201, 6] and found["http_refused"] == 422
    assert found["begun"] == ["edges", ["x", "y"], "Ann"]
    assert found["form"] == [201, 8] and len(found["schema"]) == 2
    assert re.search(r'<input id="toy_days" name="toy_days" type="number" step="1" min="1" max="9"', page)
    assert sentence in page and ">Days</label>" in page


@pytest.mark.slow
def test_an_option_that_may_change_is_one_field(tmp_path):
    pytest.importorskip("fastapi")
    found = used(tmp_path, CAMPAIGN_OPTION, CAMPAIGN_USES)
    assert found["changed"] == [5, 7, None, 5, None]
    changed = [{**event, "person": None} for event in found["events"]]
    assert changed == [{"toy_pace": 7, "person": None}, {"toy_pace": 5, "person": None}]
    field = r'<input id="toy_pace" name="toy_pace" type="number" step="1" min="1" max="99"'
    assert re.search(field, found["manage"]) and re.search(field, found["page"])
    assert "Questions per hour [default: 5]." in found["manage"] and "toy_days" not in found["manage"]


@pytest.mark.slow
def test_an_option_of_label_is_one_field(tmp_path):
    found = used(tmp_path, LABEL_OPTION, LABEL_USES)
    assert found["python"] == found["saved"] == "walks"
    assert found["command"] == 0 and "toy_quick : Take the quickest method [default: no]." in found["help"]
