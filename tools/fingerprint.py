"""What the library computes on fixed seeds, as hashes and numbers, beside another revision and its speed.

python tools/fingerprint.py                   # the working tree alone
python tools/fingerprint.py --base 3e99152    # also that revision: what differs, and the ratio of times

Each job is a function of fixed inputs. Its whole result is hashed; numbers, labels and curves of it are also
kept, so that a difference can be judged: numbers agree to 1e-9 relative, labels on 99.9 % of the nodes, and
question curves within 0.1 points. `--bitwise` accepts equal hashes alone. A revision runs its own copy of
this file if it has one, so an interface may change as long as the jobs keep their names and results.

Both revisions keep a process of their own and take turns at each job, so that a busy machine slows both. The
first turn of a job compiles and is not timed.
"""

import argparse
import contextlib
import hashlib
import inspect
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RELATIVE, EQUAL_LABELS, CURVE_POINTS = 1e-9, 0.999, 0.1
KEPT_NUMBERS = 400
JOBS: dict[str, Callable[[], dict[str, Any]]] = {}


def job(function: Callable[..., dict[str, Any]], *given: Any) -> None:
    """Register a job under the name of its function and arguments."""
    name = " ".join([function.__name__, *map(str, given)])
    JOBS[name] = lambda: function(*given)


# -- the jobs: numbers, labels and curves are compared with tolerances ---------------------------------------


def embed(name: str, rank: int, kind: str) -> dict[str, Any]:
    """Node vectors; their kernel applied to a fixed vector does not depend on signs and rotations."""
    import querist

    rows = querist.embed(querist.load_graph(name), rank, kind=kind, cache=False).rows
    probe = np.cos(np.arange(len(rows)))
    return {"exact": rows, "numbers": rows @ (rows.T @ probe)}


def online(name: str, algorithm: str, rounds: int) -> dict[str, Any]:
    """One online run: predictions, questions, and the number of wrong predictions over time."""
    import querist

    graph = querist.load_graph(name)
    learner = querist.ALGORITHMS[algorithm](embedding_of(name), graph.n_classes, seed=0)
    order = np.random.default_rng(0).permutation(graph.n_nodes)[:rounds]
    trace = learner.run(order, graph.codes)
    return {"exact": trace.asked, "labels": trace.predicted, "curve": learner.questions / len(order)}


def stream(name: str, method: str, items: int) -> dict[str, Any]:
    """One pass over a stream with one label in ten."""
    import querist

    data = querist.load_vectors(name)
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)[:items]
    classes, codes = np.unique(np.asarray(data.y)[:items], return_inverse=True)
    codes[np.random.default_rng(0).random(len(codes)) > 0.1] = -1
    run = querist.STREAMS[method](len(classes)).run(X, codes)
    return {"exact": run.actions, "labels": run.predicted}


def classify(name: str, method: str) -> dict[str, Any]:
    """A collective classifier from every tenth label."""
    import querist

    graph = querist.load_graph(name)
    model = querist.CLASSIFIERS[method]().fit(graph.without_labels(), known_of(graph, 10))
    return {"numbers": model.probabilities_, "labels": model.labels_}


def label(name: str, step: int) -> dict[str, Any]:
    """`label` from every so many-th label, as if drawn at random."""
    import querist

    graph = querist.load_graph(name)
    result = querist.label(graph.without_labels(), known_of(graph, step))
    return {"exact": result.runner_up, "numbers": result.probability, "labels": result.labels}


def ask(name: str, budget: int, strategy: str) -> dict[str, Any]:
    """A campaign in this process: which nodes were asked, and the labels at the end."""
    import querist

    graph = querist.load_graph(name)
    result = querist.ask(graph, graph.labels, budget=budget, **by_strategy(strategy))
    right = [a == b for a, b in zip(result.labels, graph.labels, strict=True)]
    return {"exact": [*result.answers], "labels": result.labels, "curve": np.mean(right)}


def campaign(name: str, answers: int) -> dict[str, Any]:
    """A campaign on the server: two people answer random questions over HTTP in turn.

    The order of questions depends on the clock of the learner, so only their set is compared.
    """
    from starlette.testclient import TestClient

    import querist
    from querist.serve.access import Gate
    from querist.serve.app import make_app
    from querist.serve.opening import create
    from querist.serve.server import CampaignServer
    from querist.serve.stores import open_store

    graph, asked = querist.load_graph(name), []
    names = sorted({*graph.labels})
    store = open_store(None, clock=lambda: 1e9)
    rule = by_strategy("random")
    served = create(store, name, classes=names, budget=answers, overlap=2, audit=5, **rule)
    people = [Gate(store).invite(served.id, "labeller", each)[1] for each in ("Ann", "Bob")]
    where = f"/v1/campaigns/{served.id}"
    with TestClient(make_app(CampaignServer(store))) as client:
        for turn in range(answers):
            headers = {"Authorization": f"Bearer {people[turn % 2]}"}
            (lease,) = client.post(f"{where}/leases", json={"count": 1}, headers=headers).json()["leases"]
            code = names.index(graph.labels[lease["row"]])
            told = client.post(f"{where}/answers", json={"row": lease["row"], "label": code}, headers=headers)
            assert told.status_code == 200, told.text
            asked.append((lease["row"], lease["again"], lease["audit"]))
        table = client.get(f"{where}/export?format=csv", headers=headers).text.splitlines()
    return {"exact": sorted(asked), "labels": [line.split(",")[1] for line in table[1:]]}


def by_strategy(name: str) -> dict[str, Any]:
    """The option of a campaign that names its query strategy; before a1929cb it was `choose`."""
    import querist

    return {"strategy" if "strategy" in inspect.signature(querist.ask).parameters else "choose": name}


def known_of(graph: Any, step: int) -> dict[Any, Any]:
    """Every so many-th label by node."""
    return dict(list(zip(graph.nodes, graph.labels, strict=True))[::step])


def embedding_of(name: str) -> Any:
    """The embedding of online runs, made once per data set."""
    import querist

    if name not in EMBEDDINGS:
        EMBEDDINGS[name] = querist.embed(querist.load_graph(name), 100, cache=False)
    return EMBEDDINGS[name]


EMBEDDINGS: dict[str, Any] = {}
TIMED_SETS = bool(os.environ.get("QUERIST_DATA"))

# The main jobs come first: timing ends after a while.
if TIMED_SETS:
    for _set in ("pubmed", "debian_sections", "email_enron"):
        job(embed, _set, 100, "spectral")
    for _name in ("msg", "paced"):
        job(online, "cora", _name, 2708)
    for _set in ("ijcnn1", "phishing", "electricity"):
        job(stream, _set, "bls", 6000)
    job(stream, "ijcnn1", "pa", 6000)
    job(classify, "cora", "gmnr")
    job(label, "cora", 50)
    job(label, "citeseer", 20)
    job(ask, "cora", 60, "pool")

for _kind in ("spectral", "pagerank", "diffusion"):
    job(embed, "digits", 100, _kind)
    job(embed, "messages", 32, _kind)
for _name in ("bbq", "cmog", "dgs", "gpa", "msg", "nearest", "ollgc", "paced", "pounce", "sslgc"):
    job(online, "digits", _name, 900)
for _name in ("gmnr", "mrgm", "plsa", "wvrn", "ica", "harmonic"):
    job(classify, "messages", _name)
for _set, _step in [("digits", 30), ("messages", 4), ("karate", 5)]:
    job(label, _set, _step)
for _set, _strategy in [("messages", "pool"), ("digits", "pool"), ("messages", "margin")]:
    job(ask, _set, 25, _strategy)
job(campaign, "messages", 30)

# -- one revision: runs the jobs named on standard input -------------------------------------------------


def answer() -> None:
    """Run the jobs named on standard input, and print a line of JSON for each."""
    out = sys.stdout
    for line in sys.stdin:
        begun, used = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                told = summary(JOBS[line.strip()]()) if line.strip() in JOBS else {"missing": "no such job"}
            except Exception as problem:  # an interface that this revision has not
                told = {"missing": f"{type(problem).__name__}: {problem}"[:300]}
        told |= {"wall": time.perf_counter() - begun, "cpu": time.process_time() - used}
        print(json.dumps(told), file=out, flush=True)


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """The hash of the whole result, and its numbers, labels and curve."""
    digest = hashlib.sha256()
    for key in sorted(result):
        value = np.asarray(result[key])
        digest.update(repr(value.tolist()).encode() if value.dtype == object else value.tobytes())
    numbers = np.asarray(result.get("numbers", []), dtype=float).ravel()
    step = max(1, len(numbers) // KEPT_NUMBERS)
    return {
        "hash": digest.hexdigest()[:16],
        "numbers": numbers[::step].tolist(),
        "labels": [str(each) for each in result.get("labels", [])],
        "curve": [float(each) for each in np.atleast_1d(result.get("curve", []))],
    }


# -- two revisions side by side ------------------------------------------------------------------------------


class Revision:
    """A process that runs the jobs of one source tree."""

    def __init__(self, tree: Path) -> None:
        own = tree / "tools" / "fingerprint.py"
        script = own if own.exists() else Path(__file__)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        path = os.pathsep.join([str(tree / "src"), str(tree / "papers" / "src")])
        self.process = subprocess.Popen(
            [sys.executable, str(script), "--answer"],
            env={**os.environ, **threads, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, name: str) -> dict[str, Any]:
        """One job."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process for {name!r} ended with {self.process.wait()}")
        told: dict[str, Any] = json.loads(line)
        return told


def tree_of(revision: str) -> Path:
    """The files of a revision, kept beside the environment so that its compiled code is kept too."""
    command = ["git", "rev-parse", "--short=12", "--verify", f"{revision}^{{commit}}"]
    name = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if name.returncode:
        raise SystemExit(f"{revision!r} is not a revision of this repository")
    folder = ROOT / ".venv" / "fingerprint" / name.stdout.strip()
    if not folder.exists():
        packed = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder


def judged(now: dict[str, Any], base: dict[str, Any]) -> tuple[str, bool]:
    """What differs, in words, and whether that is within the tolerances."""
    for told, where in ((now, "here"), (base, "in the base")):
        if told.get("missing"):
            return f"{where}: {told['missing']}", False
    if now["hash"] == base["hash"]:
        return "equal", True
    if any(len(now[key]) != len(base[key]) for key in ("numbers", "labels", "curve")):
        return "results of another size", False
    a, b = np.array(now["numbers"]), np.array(base["numbers"])
    apart = float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300)) if a.size else 0.0
    same = float(np.mean([x == y for x, y in zip(now["labels"], base["labels"], strict=True)] or [1.0]))
    points = 100 * max((abs(x - y) for x, y in zip(now["curve"], base["curve"], strict=True)), default=0.0)
    fine = apart <= RELATIVE and same >= EQUAL_LABELS and points <= CURVE_POINTS
    return f"numbers {apart:.1e}, labels {same:.2%}, curve {points:.2f} points", fine


def compared(base: str | None, seconds: float, turns: int) -> Iterator[dict[str, Any]]:
    """A row per job; times are medians of the later turns."""
    now, other = Revision(ROOT), None if base is None else Revision(tree_of(base))
    end = time.monotonic() + seconds  # of the timed turns; every job is run and compared
    for name in JOBS:
        mine, theirs = [now.run(name)], [] if other is None else [other.run(name)]
        for turn in range(turns if time.monotonic() < end and other is not None else 0):
            for own, told in ((now, mine), (other, theirs)) if turn % 2 else ((other, theirs), (now, mine)):
                assert own is not None
                told.append(own.run(name))
        row: dict[str, Any] = {"job": name, **{key: mine[0].get(key) for key in ("hash", "missing")}}
        if other is not None:
            row["difference"], row["fine"] = judged(mine[0], theirs[0])
            for key in ("cpu", "wall"):
                if len(mine) > 1:
                    row[key] = float(np.median([t[key] for t in mine[1:]]))
                    row[f"{key}_ratio"] = row[key] / float(np.median([t[key] for t in theirs[1:]]))
        yield row


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Print what the library computes on fixed seeds.")
    parser.add_argument("--base", metavar="REV", help="compare results and times with this revision")
    parser.add_argument("--bitwise", action="store_true", help="accept equal hashes alone")
    parser.add_argument("--turns", type=int, default=3, help="timed turns per job and revision [default: 3]")
    parser.add_argument(
        "--seconds", type=float, default=400, help="end timing after this long [default: 400]"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per job")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        return answer()
    rows, begun = [], time.monotonic()
    if not TIMED_SETS:
        print("QUERIST_DATA is not set: only the bundled data sets are compared", file=sys.stderr)
    for row in compared(options.base, options.seconds, options.turns):
        rows.append(row)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        words = row.get("difference") or row["missing"] or row["hash"]
        times = f"{row['cpu']:>8.2f} s{row['cpu_ratio']:>6.2f}" if "cpu" in row else ""
        print(f"{row['job']:<32}{times:<16} {words}", flush=True)
    failed = [row["job"] for row in rows if row["missing"]]
    if options.base is not None:
        equal = [row["job"] for row in rows if row["difference"] == "equal"]
        fine = equal if options.bitwise else [row["job"] for row in rows if row["fine"]]
        failed = [row["job"] for row in rows if row["job"] not in fine]
        words = (
            f"{len(rows)} jobs: {len(equal)} equal, {len(rows) - len(equal) - len(failed)} within tolerances"
        )
        print(f"{words}, {len(failed)} different; {time.monotonic() - begun:.0f} s", file=sys.stderr)
    if failed:
        raise SystemExit(f"different: {', '.join(failed)}")
    return None


if __name__ == "__main__":
    main()
