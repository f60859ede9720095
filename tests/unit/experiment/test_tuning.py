"""Grids: tuned on held-out draws, by the right measure, in the right direction."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from querist.experiment import Outcome, Specification, Store, run
from querist.experiment.results import direction
from querist.experiment.specification import SpecificationError
from querist.experiment.tasks import TASKS, register


@dataclass
class Known:
    """A task whose numbers are known beforehand; it remembers the draws it was given."""

    name: str = "known"
    measures: tuple[str, ...] = ("accuracy", "error_rate", "noise")
    tuned_by: str = "accuracy"
    draws: list = field(default_factory=list)

    def check(self, spec):
        pass

    def prepare(self, spec):
        return None

    def run(self, spec, prepared, parameters, seed, repeat):
        self.draws.append((spec.method, dict(parameters), seed, repeat))
        x = parameters.get("x", 0)
        luck = float(np.random.default_rng((seed, repeat)).random()) * 1e-3
        accuracy = {0: 0.5, 1: 0.9, 2: 0.9, 3: float("nan")}[x] if spec.method == "one" else 0.1 * x
        return Outcome({"accuracy": accuracy + 0 * luck, "error_rate": accuracy, "noise": luck})


@pytest.fixture
def known():
    task = register(Known())
    yield task
    del TASKS["known"]


def spec(**fields):
    return Specification("known", method=fields.pop("method", "one"), repeats=3, **fields)


def test_the_best_is_chosen_the_earliest_of_equals_and_never_nothing(known, tmp_path):
    (found,) = run([spec(grid={"x": (0, 1, 2, 3)})], Store(tmp_path))
    assert found.chosen == {"x": 1}
    (found,) = run([spec(grid={"x": (0, 2, 1, 3)})], Store(tmp_path))
    assert found.chosen == {"x": 2}
    (found,) = run([spec(grid={"x": (3, 1, 0)}, protocol={"tuned_by": "error_rate"})], Store(tmp_path))
    assert found.chosen == {"x": 0}, "of an error rate the smallest"


def test_a_protocol_may_tune_on_the_draws_that_it_reports(known, tmp_path):
    run([spec(grid={"x": (0, 1)}, protocol={"tuned_on": "reported"}, seed=4)], Store(tmp_path))
    assert [(seed, repeat) for _, _, seed, repeat in known.draws] == [(4, 0), (4, 0), (4, 0), (4, 1), (4, 2)]
    with pytest.raises(SpecificationError, match="tuned_on = 'test'; it must be one of held out, reported"):
        spec(grid={"x": (0, 1)}, protocol={"tuned_on": "test"})
    with pytest.raises(SpecificationError, match="must not be reported"):
        spec(grid={"x": (0, 1)}, held_out=0)


def test_tuning_sees_held_out_draws_only_and_reports_others(known, tmp_path):
    run([spec(grid={"x": (0, 1), "y": (5, 6)}, protocol={"tuning": 2}, seed=4, held_out=50)], Store(tmp_path))
    tuned, reported = known.draws[:8], known.draws[8:]
    assert {(seed, repeat) for _, _, seed, repeat in tuned} == {(50, 0), (50, 1)}
    assert [(seed, repeat) for _, _, seed, repeat in reported] == [(4, 0), (4, 1), (4, 2)]
    assert all(parameters == {"x": 1, "y": 5} for _, parameters, _, _ in reported)


def test_another_method_may_be_tuned_instead(known, tmp_path):
    protocol = {"tuned_with": "two", "tuned_parameters": {"z": 1}}
    (found,) = run([spec(parameters={"k": 2}, grid={"x": (0, 3)}, protocol=protocol)], Store(tmp_path))
    assert found.chosen == {"x": 3}
    assert known.draws[0] == ("two", {"z": 1, "x": 0}, 10**6, 0)
    assert known.draws[-1] == ("one", {"k": 2, "x": 3}, 0, 2)


def test_nothing_finished_is_run_again_and_more_repeats_add(known, tmp_path):
    asked = spec(grid={"x": (0, 1)})
    first = run([asked], Store(tmp_path))
    made = len(known.draws)
    assert run([asked], Store(tmp_path)) == first
    assert len(known.draws) == made
    more = Specification("known", method="one", grid={"x": (0, 1)}, repeats=5)
    (found,) = run([more], Store(tmp_path))
    assert len(known.draws) == made + 2
    assert found.outcomes[:3] == first[0].outcomes


def test_two_that_ask_for_the_same_run_share_it(known, tmp_path):
    one, other = run([spec(), Specification("known", method="one", repeats=2)], Store(tmp_path))
    assert len(known.draws) == 3
    assert one.outcomes[:2] == other.outcomes


def test_progress_counts_what_is_left(known, tmp_path):
    seen = []
    asked = [spec(grid={"x": (0, 1)})]
    run(asked, Store(tmp_path), progress=lambda *told: seen.append(told))
    stages = [("tuning", done) for done in (0, 1, 2)] + [("running", done) for done in (2, 3, 4, 5)]
    assert seen == [(done / 5, f"{stage}, {done} of 5") for stage, done in stages]
    seen.clear()
    run(asked, Store(tmp_path), progress=lambda *told: seen.append(told))
    assert seen == []


@pytest.mark.parametrize(
    ("measure", "sign"),
    [("error_rate", -1), ("control_error_rate", -1), ("embed_seconds", -1), ("micro_f1", 1), ("rounds", 0)],
)
def test_directions(measure, sign):
    assert direction(measure) == sign
