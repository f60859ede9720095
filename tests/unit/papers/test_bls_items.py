"""What bls19's items say of the results they are given."""

from dataclasses import replace

import numpy as np
import pytest

from querist.experiment import Outcome, Result
from querist.papers.bls19 import sensitivity, static, streams
from querist.papers.bls19.published import TABLE_1, TABLE_2


def results(cases, numbers, **curves):
    """Every run of the cases gives these numbers."""
    return [
        Result(spec, {}, tuple(Outcome(numbers(label), curves) for _ in range(spec.repeats)))
        for label, spec in cases.items()
    ]


def test_the_grids_are_those_of_the_paper():
    tried = {tuple(choice.values()) for choice in static.METHODS["BLS, RBF"][2]}
    assert tried == {(a, b) for a in (10, 1, 0.1, 0.01) for b in (10, 1, 0.1, 0.01)}
    assert streams.CHUNKS["clusters"] == (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    for (name, line, _), spec in streams._table.full.items():
        assert spec.repeats == 10, (name, line)
        assert bool(spec.grid) == (not line.startswith(("PA", "ReSSL")))


def test_every_published_number_of_table_2_has_a_row_and_every_miss_a_sentence():
    numbers = {"accuracy": 0.5, "kept_labelled": 150.0, "kept_unlabelled": 500.0}
    shown = streams._show_table(results(streams._table.full, lambda label: numbers))
    assert len(shown.numbers) == 7 * len(TABLE_2) == 168
    kept = [number for number in shown.numbers if number.measure == "kept"]
    assert len(kept) == 24
    assert {number.verdict for number in kept} == {"not reached", "no counterpart"}
    missed = [number for number in shown.numbers if number.own and number.verdict == "not reached"]
    (deviates,) = (remark for remark in shown.remarks if "deviates by up to" in remark)
    assert "up to 113 vectors" in deviates and "up to 0." in deviates
    said = "let more in; with the published size it reaches 50.00 %, the paper 68.39 %."
    assert any(r.startswith("Not reached: electricity") and r.endswith(said) for r in shown.remarks)
    assert sum(remark.startswith("Not reached") for remark in shown.remarks) == len(missed) > 0
    assert sum("With as many as the paper" in remark for remark in shown.remarks) == 21, "all but one"
    assert all(number.post_hoc for number in shown.numbers if number.own)


def test_every_published_number_of_table_1_has_a_row():
    curves = {f"{s}% {which}": [0.5] * 10 for s in (10, 20) for which in ("reported", "held out")}
    shown = static._show_table(results(static._table.full, lambda label: {"accuracy": 0.5}, **curves))
    assert len(shown.numbers) == 4 * len(TABLE_1) == 112
    assert not any(number.post_hoc for number in shown.numbers)


@pytest.mark.parametrize(
    ("beyond", "said"),
    [
        (0.8, "another setting would: 80.00 with twice the kernel width"),
        (0.6, "no setting tried would: 50.00 with the best choice for each draw, 60.00 with twice the kernel "
         "width, 50.00 with features in [-1, 1]"),
    ],
)  # fmt: skip
def test_a_miss_of_table_1_says_which_setting_would_do(beyond, said):
    def outcome(label):
        value = beyond if label[1] == static.BEYOND else 0.5
        return {f"{s}% {which}": [value] * 10 for s in (10, 20) for which in ("reported", "held out")}

    shown = static._show_table(
        [Result(spec, {}, (Outcome({}, outcome(label)),)) for label, spec in static._table.full.items()]
    )
    (remark,) = (r for r in shown.remarks if r.startswith("Not reached: Sonar, BLS, RBF 20%"))
    assert remark == f"Not reached: Sonar, BLS, RBF 20%, accuracy 50.00 against 80.06; {said}."


def test_twice_the_width_is_the_root_of_the_kernel(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,y,label\n0,0,a\n1,0,b\n0,3,a\n")
    once, twice = (
        static.Draws().prepare(replace(static.case("Sonar", "BLS, RBF", {}, times=times), dataset=str(rows)))
        for times in (1.0, 2.0)
    )
    np.testing.assert_allclose(twice.K**2, once.K)


def test_a_choice_is_made_on_other_draws_or_on_the_reported_ones():
    def result(reported, held_out):
        curves = {"20% reported": reported, "20% held out": held_out}
        return Result(static.case("Sonar", "BLS, RBF", {}), {}, (Outcome({}, curves),))

    found = static.chosen([result([0.5, 0.9], [0.9, 0.9]), result([0.8, 0.8], [0.1, 0.2])], 0.2)
    assert found.held_out.tolist() == [0.5, 0.9]
    assert found.best.tolist() == [0.8, 0.8]
    assert found.each.tolist() == [0.8, 0.9]


@pytest.mark.parametrize(("few", "many", "said"), [(0.75, 0.74, "-1.00"), (0.7, 0.75, "+5.00")])
def test_figure_4_says_what_more_slots_do(few, many, said):
    values = {50: few, 300: many}
    shown = sensitivity.FIGURE_4.show(
        results(
            sensitivity._sizes.full, lambda label: {"accuracy": values.get(label[3], np.mean([few, many]))}
        )
    )
    assert sum(f"({said} points)" in remark for remark in shown.remarks) == 4
    assert any("unlabelled slots lower it" in remark for remark in shown.remarks) == (many < few)
