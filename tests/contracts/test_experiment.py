"""What the runner promises: the same numbers however it is run, and nothing lost when it is killed."""

import functools
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist import ALGORITHMS, CLASSIFIERS, STREAMS, ask, label
from querist.asking.strategies import STRATEGIES
from querist.cli import main
from querist.codec import from_line
from querist.datasets import load_graph
from querist.errors import InputError
from querist.experiment import Specification, Store, run
from querist.experiment.store import KIND
from querist.experiment.tasks import OPEN, task_of
from querist.labelling.members import MEMBERS, RandomWalk
from querist_papers import all_items
from querist_papers.theory.runs import BOUNDED

all_items()  # the papers, once loaded, have their tasks registered

ROWS = {"rank": 8}
PLAN = [
    Specification("online", "karate", "msg", grid={"h": (0.01, 0.1)}, representation=ROWS, repeats=6),
    Specification("online", "two_moons", "sslgc", representation=ROWS, protocol={"curve": 4}, repeats=4),
    Specification("collective", "karate", "wvrn", protocol={"labelled": 0.1}, repeats=4),
    Specification("label", "karate", "walks", protocol={"labelled": (0.1, 0.2)}, repeats=3),
    Specification(
        "ask", "karate", "walks", {"strategy": "margin", "budget": 4}, protocol={"marks": (4,)}, repeats=3
    ),
    Specification("bound", "karate", "msg", representation=ROWS, repeats=3),
]


def kept(folder: Path) -> dict[str, list]:
    """Everything in a store that must be the same each time, in one order."""
    return {
        path.name: sorted(map(lasting, path.read_bytes().splitlines())) for path in folder.glob("*.jsonl")
    }


def lasting(line: bytes) -> str:
    """A saved result without what differs from run to run; its digest is compared on the way."""
    saved = from_line(KIND, line)
    record = saved.record
    for name in ("seconds", "versions", "machine"):
        assert record.conditions[name], "it stands beside every number"
    numbers = {n: v for n, v in sorted(record.outcome.numbers.items()) if not n.endswith("seconds")}
    outcome = replace(record.outcome, numbers=numbers)
    return repr(replace(saved, record=replace(record, conditions={}, outcome=outcome)))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("alone")
    run(PLAN, Store(folder))
    return kept(folder)


@pytest.mark.slow
def test_one_process_or_two(alone, tmp_path):
    seen = []
    run(PLAN, Store(tmp_path), processes=2, progress=lambda *told: seen.append(told))
    assert kept(tmp_path) == alone
    total = sum(spec.repeats for spec in PLAN) + 2
    assert sorted({fraction for fraction, _ in seen}) == [done / total for done in range(total + 1)]
    stages = {text.partition(",")[0] for _, text in seen}
    assert stages == {"embedding karate", "embedding two_moons", "tuning", "running"}


def test_any_order(alone, tmp_path):
    run(PLAN[::-1], Store(tmp_path))
    assert kept(tmp_path) == alone


@pytest.mark.slow
def test_a_dask_cluster_of_two_processes(alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        run(PLAN, Store(tmp_path), cluster=cluster.scheduler_address)
    assert kept(tmp_path) == alone


KILLED = textwrap.dedent(
    """
    import os, random, signal, sys, time
    from dataclasses import replace
    from querist.experiment import Specification, Store, run

    folder, kills = sys.argv[1], int(sys.argv[2])
    rows = {"rank": 8}
    plan = [
        Specification("online", "two_moons", "msg", grid={"h": (0.01, 0.1)}, representation=rows,
                      protocol={"tuning": 50, "curve": 20}, repeats=400),
        Specification("online", "karate", "bbq", representation=rows, repeats=300),
    ]
    clock = random.Random(5)
    run([replace(spec, repeats=1) for spec in plan], Store(folder + "-warm"))  # compiles
    started = time.perf_counter()
    run(plan, Store(folder + "-alone"))
    whole = time.perf_counter() - started
    for kill in range(kills):
        child = os.fork()
        if child == 0:
            run(plan, Store(folder))
            os._exit(0)
        time.sleep(clock.uniform(0.0, 0.8 * whole / kills))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(f"finished after {kill} kills: too little work to be killed at")
    finished = sum(len(Store(folder).read(spec)) for spec in plan)
    run(plan, Store(folder))
    print(finished, sum(len(Store(folder).read(spec)) for spec in plan))
    """
)
"""Kills its own children: a process that starts anew would spend its time importing."""


@pytest.mark.slow
def test_killed_at_twenty_moments_and_resumed(tmp_path):
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(folder), "20"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    finished, total = map(int, ran.stdout.split())
    assert total == 2 * 50 + 400 + 300
    assert 0 < finished < total, "some runs were finished before a kill, some were not"
    assert kept(folder) == kept(Path(f"{folder}-alone")), "every run is there, once, with the same numbers"


PARALLEL = textwrap.dedent(
    """
    import sys
    from querist.experiment import Specification, Store, run
    plan = [Specification("online", "two_moons", "msg", representation={"rank": 8}, repeats=int(sys.argv[2]))]
    run(plan, Store(sys.argv[1]), processes=2)
    """
)


@pytest.mark.slow
def test_workers_go_when_their_master_is_killed_and_the_rest_is_made_later(tmp_path):
    command = [sys.executable, "-c", PARALLEL, str(tmp_path), "5000"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as master:
        wait_for(lambda: any(tmp_path.glob("*.jsonl")), 120)
        workers = children_of(master.pid)
        master.kill()
    assert workers
    wait_for(lambda: not any(alive(worker) for worker in workers), 30)
    plan = [Specification("online", "two_moons", "msg", representation=ROWS, repeats=5000)]
    there = len(Store(tmp_path).read(plan[0]))
    few = [Specification("online", "two_moons", "msg", representation=ROWS, repeats=there + 3)]
    made = []
    (found,) = run(few, Store(tmp_path), progress=lambda *told: made.append(told))
    assert 3 < len(made) <= there + 4
    (again,) = run(few, Store(tmp_path / "fresh"))
    assert (found.values("queries") == again.values("queries")).all()


def wait_for(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


# -- every registered method runs by name -----------------------------------------


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 60)
    path = tmp_path_factory.mktemp("vectors") / "blobs.npz"
    np.savez(path, X=rng.normal(size=(120, 3)) + y[:, None], y=y)
    return str(path)


EVERY = [
    *(("online", name) for name in ALGORITHMS),
    *(("collective", name) for name in CLASSIFIERS),
    *(("stream", name) for name in STREAMS),
    *(("transduce", name) for name in ("bls", "lp", "rlp")),
    *(("label", name) for name in ("auto", *MEMBERS, *CLASSIFIERS)),
    *(("ask", name) for name in (*STRATEGIES, "random")),
    *(("bound", name) for name in BOUNDED),
]
ATTRIBUTES = ("gmnr", "mrgm", "plsa", "lnp", "ica", "semiica", "icml")
SETTINGS = {
    ("bound", "bbq"): {"parameters": {"scheme": "one-vs-rest"}},
    **{("ask", name): {"parameters": {"strategy": name, "budget": 5}} for name in (*STRATEGIES, "random")},
}
"""Where the defaults are not for every data set, or take long."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("task", "method"), EVERY)
def test_every_method_runs_with_the_measures_it_promises(task, method, vectors, tmp_path):
    dataset = "karate"
    if method in ATTRIBUTES or (method in MEMBERS and MEMBERS[method].uses_attributes):
        dataset = "digits"
    if task in ("stream", "transduce"):
        dataset = vectors
    settings = SETTINGS.get((task, method), {})
    spec = Specification(task, dataset, "walks" if task == "ask" else method, repeats=1, **settings)
    (found,) = run([spec], Store(tmp_path))
    known = task_of(task)
    promised = getattr(known, "measures_of", lambda _: known.measures)(spec)
    assert set(found.measures) == set(promised)
    assert np.isfinite(found.values(known.tuned_by)).all()


@pytest.mark.parametrize("task", OPEN)
def test_a_wrong_name_says_what_was_meant(task, vectors):
    method = {"ask": "walks", "collective": "wvrn", "label": "walks"}.get(
        task, "bls" if task in ("stream", "transduce") else "msg"
    )
    dataset = vectors if task in ("stream", "transduce") else "karate"
    setting = "lable" if task in ("stream", "transduce") else "componnent"
    for wrong, meant in (
        (Specification(task[:-1] + "x", dataset, method), "unknown task"),
        (Specification(task, dataset, f"{method}x"), f"did you mean '{method}'"),
        (Specification(task, "karatee", method), "did you mean 'karate'"),
        (Specification(task, dataset, method, {"gammma": 1.0}), "unknown parameter 'gammma'"),
        (Specification(task, dataset, method, representation={setting: "x"}), "did you mean"),
    ):
        with pytest.raises(InputError, match=meant):
            run([wrong], Store())


# -- true labels ---------------------------------------------------------------------


@pytest.fixture
def seen(monkeypatch) -> list[str]:
    """Learners, classifiers and members of `auto` that look for labels where there must be none."""
    found: list[str] = []

    def look(who: str, place: Any) -> None:
        found.append(who)
        assert getattr(place, "known", None) is None, f"{who} sees labels"
        assert not (np.asarray(getattr(place, "codes", -1)) >= 0).any(), f"{who} sees codes"
        assert not any(label is not None for label in getattr(place, "labels", ())), f"{who} sees labels"
        assert not getattr(place, "classes", ())

    class Spy(CLASSIFIERS["wvrn"]):
        def fit(self, graph, y=None, **options):
            found.append("wvrn")  # its own users may hand it a graph with labels
            return super().fit(graph, y, **options)

        def infer(self, problem):
            look("wvrn", problem.graph)
            return super().infer(problem)

    def spying(name):
        made = ALGORITHMS[name]

        def spy(place, n_classes, **options):
            look(name, place)
            return made(place, n_classes, **options)

        return functools.update_wrapper(spy, made)

    class SpyWalk(RandomWalk):
        def fit_all(self, workspace, tasks):
            look("walks", workspace.graph)
            return super().fit_all(workspace, tasks)

    monkeypatch.setitem(CLASSIFIERS, "wvrn", Spy)
    for name in ("pounce", "msg"):
        monkeypatch.setitem(ALGORITHMS, name, spying(name))
    monkeypatch.setitem(MEMBERS, "walks", SpyWalk())
    return found


PATHS = [
    *(Specification(task, "karate", name) for task in ("online", "bound") for name in ("pounce", "msg")),
    Specification("collective", "karate", "wvrn"),
    *(Specification("label", "karate", name) for name in ("wvrn", "walks", "auto")),
    *(
        Specification("ask", "karate", "wvrn", {"strategy": name, "budget": 3}, protocol={"marks": (3,)})
        for name in ("ambiguity", "random")
    ),
    Specification("sslgc13.asking", "karate", "msg", protocol={"curve": 2}),
    Specification("pounce08.nodes", "karate", "pounce"),
    Specification("mrgm15.sample", "karate", "wvrn"),
    Specification("mrgm15.course", "karate", "wvrn"),
]
VERBS = [
    "evaluate online karate --method pounce --repeats 1",
    "evaluate online karate --method msg --repeats 1",
    "bound karate --method pounce",
    "bound karate --method msg",
    "evaluate collective karate --method wvrn --repeats 1",
    "evaluate label karate --method wvrn --labelled 0.3 --repeats 1",
    "evaluate ask karate --budget 3 --method wvrn --repeats 1",
    "label edges.csv --nodes nodes.csv --method wvrn --out labels.csv",
    "label edges.csv --nodes nodes.csv --method walks --out labels.csv",
    "ask karate --oracle karate --strategy margin --budget 3 --method wvrn --out labels.csv",
]


@pytest.mark.slow
@pytest.mark.parametrize("spec", PATHS, ids=lambda spec: f"{spec.task}-{spec.method}")
def test_a_true_label_reaches_a_learner_only_as_an_answer_or_a_seed(spec, seen):
    run([replace(spec, repeats=1)], Store())
    assert seen, "the learner was used"


@pytest.mark.slow
@pytest.mark.parametrize("line", VERBS)
def test_no_verb_shows_a_learner_the_labels(line, seen, tmp_path, monkeypatch, capsys):
    karate = load_graph("karate")
    monkeypatch.chdir(tmp_path)
    edges = zip(*sp.triu(karate.adjacency).nonzero(), strict=True)
    Path("edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    known = [name if node % 4 else "" for node, name in enumerate(karate.labels)]
    rows = "".join(f"{node},{name}\n" for node, name in enumerate(known))
    Path("nodes.csv").write_text("node,label\n" + rows)
    assert main(line.split()) == 0, capsys.readouterr().err
    assert seen, "the learner was used"


def test_a_labelled_graph_in_python_shows_no_labels_either(seen):
    karate = load_graph("karate")
    label(karate, {0: karate.labels[0], 33: karate.labels[33]}, method="wvrn")
    before = len(seen)
    assert ask(karate, karate.labels, budget=2, strategy="margin", method="wvrn").labels
    assert len(seen) > before


# -- the rest ------------------------------------------------------------------------


def test_the_control_asks_as_often_in_the_same_shuffles(tmp_path):
    (found,) = run([PLAN[0]], Store(tmp_path))
    assert (found.values("control_queries") == found.values("queries")).all()
    assert (found.values("control_error_rate") != found.values("error_rate")).any()


def test_interrupted_by_the_user_nothing_is_lost(tmp_path):
    def progress(fraction, text):
        if ", 5 of " in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(PLAN, Store(tmp_path), progress=progress)
    assert sum(len(Store(tmp_path).read(spec)) for spec in PLAN) == 5


def test_what_goes_wrong_in_a_worker_is_told_here(tmp_path):
    every_node = Specification("collective", "karate", "wvrn", protocol={"labelled": 0.99}, repeats=2)
    with pytest.raises(InputError, match="no node is left to be tested"):
        run([every_node], Store(tmp_path), processes=2)
