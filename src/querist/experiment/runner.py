"""Runs what is not finished yet, and keeps every run as it finishes.

All runs of all specifications are one list of jobs: first those of tuning, then those that are reported. A
job depends on its specification, its parameters and its draw, and on nothing else, so numbers are the same
in any order and on any number of processes. Only this process writes; a job that was cut short is made
again next time, a finished one never.
"""

import time
from collections.abc import Iterable, Sequence
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

    index: int
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
    """Refuse what cannot be run, before anything is; what is finished already is not looked at."""
    for index in _Work(specifications, store).unfinished():
        with blame(index):
            check(specifications[index])


def left_to_run(specifications: Sequence[Specification], store: Store) -> int:
    """Runs that are not finished yet."""
    return _Work(specifications, store).size()


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
    report, total, done = progress or silent, work.size(), 0
    for stage, jobs in ((TUNING, work.tuning_jobs), (RUN, work.run_jobs)):
        todo = jobs()
        for shared in _to_share(todo) if processes != 1 or cluster else ():
            count(report, done, total, f"embedding {shared.spec.dataset}")
            with one_thread():
                prepared_of(shared.spec, shared.task)
        if todo:
            count(report, done, total, STAGES[stage])
        for job, outcome, conditions in worked(todo, processes, cluster):
            work.keep(job, outcome, conditions)
            done += 1
            count(report, done, total, STAGES[stage])
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
    with at_hand({spec.dataset: data}):
        check(spec)
        prepared = prepared_of(spec, task_of(spec.task), preparing)
        (found,) = run([spec], Store(), progress=progress, checked=True)
    return found, prepared


def _to_share(jobs: Sequence[Job]) -> list[Job]:
    """A job of each preparation that workers will find on the disk once it is made here."""
    first = {job.spec.preparation: job for job in reversed(jobs) if getattr(job.task, "on_disk", False)}
    return list(reversed(first.values()))


class _Work:
    """What is wanted, and what is finished of it."""

    def __init__(self, specifications: Sequence[Specification], store: Store) -> None:
        self.specifications, self.store = specifications, store
        self.data = [digest(spec) for spec in specifications]
        self.tasks = [task_of(spec.task) for spec in specifications]
        shared = {spec.key: store.read(spec) for spec in specifications}
        self.finished = [shared[spec.key] for spec in specifications]
        """A table a key: specifications that differ in repeats alone share it."""

    def tuning_jobs(self) -> list[Job]:
        """What must be run before parameters can be chosen."""
        return self._missing(
            Job(i, self.tasks[i], spec, TUNING, choice, spec.tuned_from, repeat)
            for i, spec in self._by_preparation()
            if spec.grid
            for choice in tuning.combinations(spec)
            for repeat in range(tuning.draws(spec))
        )

    def run_jobs(self) -> list[Job]:
        """What is reported; all tuning must be finished."""
        return self._missing(
            Job(i, self.tasks[i], spec, RUN, chosen, spec.seed, repeat)
            for i, spec in self._by_preparation()
            for chosen in [self._chosen(i)]
            for repeat in range(spec.repeats)
        )

    def unfinished(self) -> list[int]:
        """Specifications with something left to run."""
        return [i for i in range(len(self.specifications)) if self._left(i)]

    def size(self) -> int:
        """Jobs left to run."""
        return sum(self._left(i) for i in range(len(self.specifications)))

    def keep(self, job: Job, outcome: Outcome, conditions: dict[str, Any]) -> None:
        """Write a finished run, and know it from now on."""
        if self.data[job.index]:
            conditions = {**conditions, "data": self.data[job.index]}
        record = Record(job.stage, job.parameters, job.seed, job.repeat, outcome, conditions)
        self.store.append(job.spec, record)
        self.finished[job.index][job.draw] = record

    def results(self) -> list[Result]:
        """All outcomes, in order."""
        found = []
        for i, spec in enumerate(self.specifications):
            chosen = self._chosen(i)
            records = [self.finished[i][draw_of(RUN, chosen, repeat)] for repeat in range(spec.repeats)]
            found.append(Result(spec, chosen, tuple(record.outcome for record in records)))
        return found

    def _chosen(self, i: int) -> dict[str, Any]:
        return tuning.choose(self.specifications[i], self.tasks[i], self.finished[i])

    def _left(self, i: int) -> int:
        """Jobs of a specification that are not finished; all runs while tuning is not."""
        spec, finished = self.specifications[i], self.finished[i]
        tuned = sum(
            draw_of(TUNING, choice, repeat) not in finished
            for choice in (tuning.combinations(spec) if spec.grid else ())
            for repeat in range(tuning.draws(spec))
        )
        if tuned:
            return tuned + spec.repeats
        chosen = self._chosen(i)
        return sum(draw_of(RUN, chosen, repeat) not in finished for repeat in range(spec.repeats))

    def _by_preparation(self) -> list[tuple[int, Specification]]:
        """In the order given, but with equal preparations together: few are kept in a process."""
        first: dict[str, int] = {}
        for i, spec in enumerate(self.specifications):
            first.setdefault(spec.preparation, i)
        return sorted(enumerate(self.specifications), key=lambda each: first[each[1].preparation])

    def _missing(self, jobs: Iterable[Job]) -> list[Job]:
        """Those that are not finished, each once: two items may ask for the same run."""
        found: dict[tuple[str, Draw], Job] = {}
        for job in jobs:
            if job.draw not in self.finished[job.index]:
                found.setdefault((job.spec.key, job.draw), job)
        return list(found.values())
