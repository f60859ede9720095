"""The runner: what it costs beside the runs themselves, and all online algorithms on PubMed.

- Overhead: processor time of everything but the runs, over that of the runs, on Table 2 of sslgc13 with a
  single process; the embeddings are on the disk before. The target is below 5 %.
- PubMed: 20 shuffles of every online algorithm on rows of rank 100, on all cores, once the embedding is
  there. The target is 60 s on 2 cores. Where other work goes on at the same time, `--processes 1` tells
  the processor time instead, which 2 cores would share.
- Screen: processor time of a shuffle of POUNCE and of nearest neighbours on the same rows, screened as they
  are there, and by scanning all that they remember, as they were before.

Each is left out where its data are not to be had.

    python benchmarks/experiment.py [--only overhead pubmed screen] [--shuffles 20] [--control]
        [--processes 0]
"""

import argparse
import tempfile
import time

import numpy as np

import querist
from querist.experiment import Specification, Store, run, runner
from querist.experiment.tasks import prepared_of, task_of
from querist.experiment.tasks.online import ON_GRAPH
from querist.experiment.workers import cores
from querist.online import nearby
from querist_papers import item_of

ROWS = {"rank": 100, "normalised": False, "constant": 3.0, "component": "largest"}


def overhead() -> None:
    plan = list(item_of("sslgc13", "table2").plan(False))
    for spec in {spec.preparation: spec for spec in plan}.values():
        prepared_of(spec, task_of(spec.task))
    inside = 0.0
    work = runner.Job.work

    def timed(job: runner.Job) -> object:
        nonlocal inside
        started = time.process_time()
        found = work(job)
        inside += time.process_time() - started
        return found

    runner.Job.work = timed  # type: ignore[assignment,method-assign]
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        run(plan, Store(folder))
        whole = time.process_time() - started
        started = time.process_time()
        run(plan, Store(folder))
        again = time.process_time() - started
    runner.Job.work = work  # type: ignore[method-assign]
    print(
        f"overhead on sslgc13 table2, {sum(spec.repeats for spec in plan):,} runs and their tuning: "
        f"{100 * (whole - inside) / inside:.1f} % of {inside:.1f} s (target 5 %); "
        f"finding that nothing is left to do: {again:.2f} s"
    )


def pubmed(shuffles: int, control: bool, processes: int) -> None:
    plan = [
        Specification(
            "online", "pubmed", name, representation=ROWS, protocol={"control": control}, repeats=shuffles
        )
        for name in querist.ALGORITHMS
    ]
    prepared_of(plan[0], task_of("online"))
    with tempfile.TemporaryDirectory() as folder:
        started, busy = time.perf_counter(), time.process_time()
        results = run(plan, Store(folder), processes=processes)
        wall, busy = time.perf_counter() - started, time.process_time() - busy
    spent = {r.specification.method: float(r.values("seconds").sum()) for r in results}
    beside = " and their controls" if control else ""
    print(
        f"{shuffles} shuffles of {len(plan)} algorithms{beside} on PubMed: {wall:.1f} s on "
        f"{processes or cores()} cores (target 60 s on 2); {sum(spent.values()):.1f} s in the runs"
        + (f"; {busy:.1f} s of processor" if processes == 1 else "")
    )
    print("  " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items()))


def screen() -> None:
    spec = Specification("online", "pubmed", ON_GRAPH[0], representation=ROWS)
    place = prepared_of(spec, task_of("online"))
    order = np.random.default_rng(0).permutation(place.graph.labelled)
    few = nearby.FEW
    for name in (*ON_GRAPH, "fastonl"):
        spent = {}
        for way, least in (("screened", few), ("scanned", place.graph.n_nodes)):
            nearby.FEW = least
            make = querist.ALGORITHMS[name]
            make(place.rows, place.graph.n_classes).run(order[:1000], place.graph.codes)  # compiled
            learner = make(place.rows, place.graph.n_classes)
            started = time.process_time()
            spent[way, "trace"] = learner.run(order, place.graph.codes)
            spent[way] = time.process_time() - started
        nearby.FEW = few
        same = np.array_equal(spent["screened", "trace"].predicted, spent["scanned", "trace"].predicted)
        print(
            f"{name} on PubMed, a shuffle: {spent['screened']:.2f} s of processor, scanned "
            f"{spent['scanned']:.2f} s ({spent['scanned'] / spent['screened']:.1f} times); "
            f"predictions {'equal' if same else 'DIFFER'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["overhead", "pubmed", "screen"])
    parser.add_argument("--shuffles", type=int, default=20)
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args()
    measures = {
        "overhead": overhead,
        "pubmed": lambda: pubmed(options.shuffles, options.control, options.processes),
        "screen": screen,
    }
    for name, measure in measures.items():
        if name in options.only:
            try:
                measure()
            except querist.QueristError as problem:
                print(f"{name}: left out; {problem}")


if __name__ == "__main__":
    main()
