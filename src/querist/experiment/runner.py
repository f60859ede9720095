"""Runs what is not finished yet, and keeps every run as it finishes.

All runs of all specifications are one list of jobs: first those of tuning, then those that are reported. A
job depends on its specification, its parameters and its draw, and on nothing else, so numbers are the same
in any order and on any number of processes. Only this process writes; a job that was cut short is made
again next time, a finished one never.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from querist.experiment import tuning
from querist.experiment.results import Outcome, Result
from querist.experiment.specification import Specification, blame, digest
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

    def work(self) -> tuple["Job", Outcome, dict[str, Any]]:
        """Make the run, here and now."""
        spec = tuning.tuned_as(self.spec, self.task) if self.stage == TUNING else self.spec
        prepared = prepared_of(spec, self.task)
        started = time.perf_counter()
        outcome = self.task.run(
            spec, prepared, {**spec.parameters, **self.parameters}, self.seed, self.repeat
        )
        seconds = time.perf_counter() - started
        return self, outcome, {"seconds": seconds, "versions": versions(), "machine": machine()}


def check(spec: Specification) -> None:
    """Refuse a specification that cannot be run, before anything is."""
    task = task_of(spec.task)
    task.check(spec)
    tuning.check(spec, task, measures_of(spec))


def check_all(specifications: Sequence[Specification], store: Store) -> None:
    """Refuse what cannot be run, before anything is; what is finished already is not looked at.

    >>> check_all([Specification("online", "karate", "msg")], Store())
    """
    work = _Work(specifications, store)
    for index, spec in enumerate(specifications):
        if work.count(spec):
            with blame(index):
                check(spec)


def measures_of(spec: Specification) -> tuple[str, ...]:
    """The numbers that runs of this specification give; a task may tell from the data (`measures_of`)."""
    task = task_of(spec.task)
    measures: tuple[str, ...] = getattr(task, "measures_of", lambda _: task.measures)(spec)
    return measures


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
        for job, outcome, conditions in worked([job.work for job in todo], processes, cluster):
            work.keep(job, outcome, conditions)
            done += 1
            count(report, done, total, words)
    return work.results()


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

    def keep(self, job: Job, outcome: Outcome, conditions: dict[str, Any]) -> None:
        """Write a finished run, and know it from now on."""
        key = job.spec.key
        if self.data[key]:
            conditions = {**conditions, "data": self.data[key]}
        record = Record(job.stage, job.parameters, job.seed, job.repeat, outcome, conditions)
        self.store.append(job.spec, record)
        self.finished[key][job.draw] = record

    def results(self) -> list[Result]:
        """All outcomes, in order."""
        found = []
        for spec in self.specifications:
            chosen, finished = self.chosen(spec), self.finished[spec.key]
            records = [finished[draw_of(RUN, chosen, repeat)] for repeat in range(spec.repeats)]
            found.append(Result(spec, chosen, tuple(record.outcome for record in records)))
        return found

    def chosen(self, spec: Specification) -> dict[str, Any]:
        """The choice of the grid, once all tuning is finished."""
        return tuning.choose(spec, task_of(spec.task), self.finished[spec.key])

    def left(self, spec: Specification, stage: str) -> list[Job]:
        """Jobs of a specification that are not finished."""
        if stage == TUNING:
            choices = tuning.combinations(spec) if spec.grid else []
            seed, count = spec.tuned_from, tuning.draws(spec)
        else:
            choices, seed, count = [self.chosen(spec)], spec.seed, spec.repeats
        task = task_of(spec.task)
        wanted = [Job(task, spec, stage, own, seed, repeat) for own in choices for repeat in range(count)]
        return [job for job in wanted if job.draw not in self.finished[spec.key]]

    def count(self, spec: Specification) -> int:
        """How many jobs of a specification are left in both stages."""
        tuned = len(self.left(spec, TUNING))
        return tuned + (spec.repeats if tuned else len(self.left(spec, RUN)))
