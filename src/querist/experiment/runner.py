"""Runs what is not finished yet, and keeps every run as it finishes.

All runs of all specifications are one list of jobs: first those of tuning, then those that are reported. A
job depends on its specification, its parameters and its draw, and on nothing else, so numbers are the same
in any order and on any number of processes. Only this process writes; a job that was cut short is made
again next time, a finished one never.

A grid is tuned on draws that are not reported unless a protocol says so. Every combination is run on the
same `protocol.tuning` held-out draws (1 by default). The best mean of `protocol.tuned_by` wins, the earliest
where several are equal. With `protocol.tuned_on = "reported"` the draws are the first of the reported ones:
what a paper does that records the best of a grid. With `protocol.tuned_with` another method of the same task
is run in tuning, with `protocol.tuned_parameters`, and what suits it best is taken (SSLGC takes OLLGC's mu,
sslgc13).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.experiment.results import Result, direction
from querist.experiment.specification import TUNING_KEYS, Specification, SpecificationError, blame, digest
from querist.experiment.store import RUN, TUNING, Draw, Record, Store, draw_of, machine, versions
from querist.experiment.tasks import Task, at_hand, prepared_of, task_of
from querist.experiment.workers import one_thread, worked
from querist.progress import Progress, count, silent

STAGES = {TUNING: "tuning", RUN: "running"}


@dataclass(frozen=True)
class Job:
    """One run to make; the task travels with it, so that a worker need not know its name."""

    task: Task
    spec: Specification
    stage: str
    parameters: dict[str, Any]
    seed: int
    repeat: int

    @property
    def draw(self) -> Draw:
        """Which run it is."""
        return draw_of(self.stage, self.parameters, self.repeat)

    def work(self) -> tuple[Specification, Record]:
        """Make the run, here and now."""
        spec = _tuned_as(self.spec, self.task) if self.stage == TUNING else self.spec
        prepared = prepared_of(spec, self.task)
        started = time.perf_counter()
        outcome = self.task.run(
            spec, prepared, {**spec.parameters, **self.parameters}, self.seed, self.repeat
        )
        seconds = time.perf_counter() - started
        conditions = {"seconds": seconds, "versions": versions(), "machine": machine()}
        return self.spec, Record(self.stage, self.parameters, self.seed, self.repeat, outcome, conditions)


def _tuned_as(spec: Specification, task: Task) -> Specification:
    """What is run in tuning: the same without control and curves, or the method that it is tuned with."""
    protocol = {name: value for name, value in spec.protocol.items() if name not in TUNING_KEYS}
    protocol |= getattr(task, "in_tuning", {})
    if other := spec.protocol.get("tuned_with"):
        spec = replace(spec, method=other, parameters=spec.protocol.get("tuned_parameters", {}))
    return replace(spec, protocol=protocol)


def check(spec: Specification) -> None:
    """Refuse a specification that cannot be run, before anything is."""
    task = task_of(spec.task)
    task.check(spec)
    if not spec.grid:
        return
    with blame(*(("protocol", "tuned_by") if "tuned_by" in spec.protocol else ("grid",))):
        measure = _tuned_by(spec, task)
        check_measure(spec, measure)
        if direction(measure) == 0:
            raise SpecificationError(
                f"{measure} is neither better when larger nor when smaller; tune by another"
            )
    if spec.protocol.get("tuned_with"):
        with blame("protocol", "tuned_with"):
            task.check(_tuned_as(spec, task))


def check_measure(spec: Specification, measure: str) -> None:
    """Refuse a measure that runs of this specification do not have; a task may tell from the data."""
    task = task_of(spec.task)
    known = getattr(task, "measures_of", lambda _: task.measures)(spec)
    if measure not in known:
        nearest = UnknownNameError.of("measure", measure, known)
        raise InputError(f"{measure!r} does not fit {spec.task} on {spec.dataset}: {nearest}")


def _tuned_by(spec: Specification, task: Task) -> str:
    return str(spec.protocol.get("tuned_by", task.tuned_by))


def check_all(specifications: Sequence[Specification], store: Store) -> None:
    """Refuse what cannot be run, before anything is; what is finished already is not looked at.

    >>> check_all([Specification("online", "karate", "msg")], Store())
    """
    work = _Work(specifications, store)
    for index, spec in enumerate(specifications):
        if work.count(spec):
            with blame(index):
                check(spec)


def run(
    specifications: Sequence[Specification],
    store: Store,
    *,
    processes: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    checked: bool = False,
) -> list[Result]:
    """Run what the store does not hold, and give the results in the order asked for.

    processes : on this machine; 1 runs here, 0 means as many as there are cores
    cluster : address of a Dask scheduler, instead
    progress : of the runs to make; those that were finished before are not counted
    checked : `check_all` has seen them

    >>> from querist.experiment import Specification, Store
    >>> spec = Specification("collective", "karate", "harmonic", protocol={"labelled": 0.2}, repeats=2)
    >>> [result] = run([spec], Store())
    >>> len(result.values("accuracy"))
    2
    """
    if not checked:
        check_all(specifications, store)
    work = _Work(specifications, store)
    report, total, done = progress or silent, sum(map(work.count, specifications)), 0
    for stage, words in STAGES.items():
        todo = work.jobs(stage)
        for shared in _to_share(todo) if processes != 1 or cluster else ():
            count(report, done, total, f"embedding {shared.spec.dataset}")
            with one_thread():
                prepared_of(shared.spec, shared.task)
        if todo:
            count(report, done, total, words)
        for spec, record in worked([job.work for job in todo], processes, cluster):
            work.keep(spec, record)
            done += 1
            count(report, done, total, words)
    return [work.result(spec) for spec in specifications]


def run_here(
    spec: Specification, data: Any, *, preparing: Progress | None = None, progress: Progress | None = None
) -> tuple[Result, Any]:
    """One specification on data in memory (see `at_hand`); its result, and what its task prepared.

    preparing : the progress of an embedding that is made

    >>> import querist
    >>> from querist.experiment import Specification
    >>> spec = Specification("collective", "mine", "harmonic", protocol={"labelled": 0.2}, repeats=2)
    >>> result, _ = run_here(spec, querist.load_graph("karate"))
    >>> round(result.mean("labelled"), 2)
    8.0
    """
    with at_hand(spec.dataset, data):
        check(spec)
        prepared = prepared_of(spec, task_of(spec.task), preparing)
        (found,) = run([spec], Store(), progress=progress, checked=True)
    return found, prepared


def _to_share(jobs: Sequence[Job]) -> list[Job]:
    """A job of each preparation that workers will find on the disk once it is made here."""
    first = {job.spec.preparation: job for job in reversed(jobs) if getattr(job.task, "on_disk", False)}
    return list(reversed(first.values()))


class _Work:
    """What is wanted, and what is finished of it; specifications that differ in repeats alone share it."""

    def __init__(self, specifications: Sequence[Specification], store: Store) -> None:
        self.specifications, self.store = specifications, store
        self.data = {spec.key: digest(spec) for spec in specifications}
        self.finished = {spec.key: store.read(spec) for spec in specifications}

    def jobs(self, stage: str) -> list[Job]:
        """What is left of a stage, each run once: two items may ask for the same one.

        Equal preparations stand together, since few are kept in a process. What is reported can be said once
        all tuning is finished.
        """
        places = list(dict.fromkeys(spec.preparation for spec in self.specifications))
        found: dict[tuple[str, Draw], Job] = {}
        for spec in sorted(self.specifications, key=lambda spec: places.index(spec.preparation)):
            for job in self.left(spec, stage):
                found.setdefault((spec.key, job.draw), job)
        return list(found.values())

    def keep(self, spec: Specification, record: Record) -> None:
        """Write a finished run, and know it from now on."""
        if data := self.data[spec.key]:
            record = replace(record, conditions={**record.conditions, "data": data})
        self.store.append(spec, record)
        self.finished[spec.key][record.draw] = record

    def result(self, spec: Specification) -> Result:
        """All outcomes of a specification, in order."""
        chosen, finished = self.chosen(spec), self.finished[spec.key]
        records = [finished[draw_of(RUN, chosen, repeat)] for repeat in range(spec.repeats)]
        return Result(spec, chosen, tuple(record.outcome for record in records))

    def chosen(self, spec: Specification) -> dict[str, Any]:
        """The best combination of the grid, once all tuning is finished."""
        if not spec.grid:
            return {}
        finished, measure = self.finished[spec.key], _tuned_by(spec, task_of(spec.task))
        means = [
            np.mean(
                [
                    finished[draw_of(TUNING, choice, repeat)].outcome.numbers[measure]
                    for repeat in range(spec.tuning_draws)
                ]
            )
            for choice in spec.choices
        ]
        # A run that came to nothing must not win: NaN is worse than anything.
        best = np.argmax(np.nan_to_num(direction(measure) * np.array(means), nan=-np.inf))
        return spec.choices[int(best)]

    def left(self, spec: Specification, stage: str) -> list[Job]:
        """Jobs of a specification that are not finished."""
        if stage == TUNING:
            choices = spec.choices if spec.grid else []
            seed, count = spec.tuned_from, spec.tuning_draws
        else:
            choices, seed, count = [self.chosen(spec)], spec.seed, spec.repeats
        task = task_of(spec.task)
        wanted = [Job(task, spec, stage, own, seed, repeat) for own in choices for repeat in range(count)]
        return [job for job in wanted if job.draw not in self.finished[spec.key]]

    def count(self, spec: Specification) -> int:
        """How many jobs of a specification are left in both stages."""
        tuned = len(self.left(spec, TUNING))
        return tuned + (spec.repeats if tuned else len(self.left(spec, RUN)))
