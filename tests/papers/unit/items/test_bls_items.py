"""What bls19's items say of the results they are given."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from querist import InputError
from querist.experiment import Outcome, Result, Store, run
from querist_papers.bls19 import sensitivity, static, streams
from querist_papers.bls19.published import KEPT, TABLE_1, TABLE_2


def results(cases, numbers, **curves):
    """Every run of the cases gives these numbers."""
    return [
        Result(spec, {}, tuple(Outcome(numbers(label), curves) for _ in range(spec.repeats)))
        for label, spec in cases.items()
    ]


def test_the_grids_are_those_of_the_paper():
    grid = {(a, b) for a in (10, 1, 0.1, 0.01) for b in (10, 1, 0.1, 0.01)}
    assert {tuple(choice.values()) for choice in static.METHODS["BLS, RBF"][2]} == grid
    assert streams.CHUNKS["clusters"] == (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    for line in ("BLS, remove", "BLS, projection"):
        tried = [how["parameters"] for how in streams.METHODS[line]]
        assert {(each["lambda1"], each["lambda2"]) for each in tried} == grid
        assert not any("limit" in each for each in tried), "the paper sets none"
    for (name, line, _, _), spec in streams._table.full.items():
        assert spec.repeats == (11 if line.startswith("BLS") else 10), (name, line)
        assert bool(spec.grid) == line.startswith("SPASC")


def shown_streams(right, kept=150.0):
    """Table II of these accuracies of the ten reported streams and of the held-out one, by label."""

    def outcomes(label, repeats):
        values = right(label)
        return tuple(
            Outcome({"accuracy": values[r], "kept": kept, "ridge": 1e-300, "negative": 0.9}, {})
            for r in range(repeats)
        )

    return streams.table2.show(
        [Result(s, {}, outcomes(label, s.repeats)) for label, s in streams._table.full.items()]
    )


def test_every_published_number_of_table_2_has_a_row_and_every_miss_a_sentence():
    shown = shown_streams(lambda label: [0.5] * 11, kept=650.0)
    assert len(shown.numbers) == 7 * len(TABLE_2) == 168
    kept = [number for number in shown.numbers if number.measure == "kept"]
    assert len(kept) == len(KEPT) == 24
    assert {number.verdict for number in kept} == {"not reached", "no counterpart"}
    missed = [number for number in shown.numbers if number.own and number.verdict == "not reached"]
    assert sum(remark.startswith("Not reached") for remark in shown.remarks) == len(missed) > 0
    said = "best for the accuracy decide it; by the other readings 650.00 held out, 650.00 best per cell."
    assert any(r.startswith("Not reached: electricity") and r.endswith(said) for r in shown.remarks)


def test_the_best_choice_of_each_stream_is_compared_and_the_two_others_stand_beside_it():
    """Combination 3 is best on the held-out stream, 5 on average, and 7 on the first stream alone."""
    of = {3: [0.6] * 10 + [0.9], 5: [0.7] * 10 + [0.5], 7: [0.8] + [0.4] * 9 + [0.5]}
    shown = shown_streams(lambda label: of.get(label[3], [0.4] * 11))
    for number in shown.numbers:
        if number.dataset == "w6a":
            assert number.reached is None and number.without is None
        elif number.own and number.measure == "accuracy":
            assert number.others == pytest.approx({"held out": 0.6, "best per cell": 0.7})
            assert (number.reached, number.n, number.post_hoc) == (pytest.approx(0.71), 10, True)
            assert number.without == pytest.approx(0.6), "of four combinations without unlabelled items"
    (table,) = shown.tables
    (row,) = (row for row in table.rows if row[:3] == ["phishing", "20%", "BLS, remove"])
    assert [cell.value for cell in row[3:7]] == pytest.approx([60, 70, 71, 60])
    assert any("bring +11.00 points" in remark and "exceed 0 of 44" in remark for remark in shown.remarks)


def test_zero_is_negative_in_the_number_of_pa_that_is_compared():
    (number, *_) = (n for n in shown_streams(lambda label: [0.5] * 11).numbers if n.method == "PA 20%")
    assert (number.reached, number.post_hoc) == (pytest.approx(0.9), True)
    assert number.others == {streams.WRONG: 0.5}


@pytest.fixture
def rows(tmp_path):
    """A stream of 40 rows, all different but for what a test makes of them."""

    def written(X):
        path = tmp_path / "rows.csv"
        lines = [f"{x},{y},{'ab'[int(x + y > 0)]}" for x, y in X]
        path.write_text("\n".join(["x,y,label", *lines]))
        return str(path)

    return written, np.random.default_rng(0).normal(size=(40, 2))


def one_stream(path, method, **parameters):
    how = {"method": method, "parameters": parameters}
    (result,) = run([replace(streams.case("phishing", how, 0.5, repeats=1), dataset=path)], Store())
    return result.outcomes[0].numbers


def test_projections_invert_the_kernel_as_it_is_and_take_the_smallest_ridge_where_that_fails(
    rows, monkeypatch
):
    written, X = rows
    bls = {"maintenance": "projection", "condition": "fill", "lambda1": 0.01}
    assert one_stream(written(X), "bls", **bls)["ridge"] == streams.RIDGES[0] == 1e-300
    twice = written(np.repeat(X, 2, axis=0))
    found = one_stream(twice, "bls", **bls)
    smaller = streams.RIDGES[: streams.RIDGES.index(found["ridge"])]
    assert found["kept"] == found["kept_labelled"] + found["kept_unlabelled"] > 0
    assert "ridge" not in one_stream(twice, "bls", **bls | {"maintenance": "remove"})
    assert smaller
    monkeypatch.setattr(streams, "RIDGES", smaller)
    with pytest.raises(InputError, match=r"without digits|not positive definite"):
        one_stream(twice, "bls", **bls)


def test_table_2_says_how_much_was_added_to_the_kernel_matrix():
    said = [remark for remark in shown_streams(lambda label: [0.5] * 11).remarks if "inverts K" in remark]
    assert len(said) == 1 and said[0].endswith("none on 220 of 220 streams, and 1e-300 at most.")


def test_pa_is_right_on_a_negative_item_that_scores_zero(rows):
    """Of 40 rows of zeros none says anything; all are of the first class."""
    written, _ = rows
    found = one_stream(written([(0.0, 0.0)] * 40 + [(1.0, 1.0)]), "pa")
    assert found["negative"] - found["accuracy"] == pytest.approx(40 / 41)


CURVES = {f"{s}% {which}": [0.5] * 10 for s in (10, 20) for which in ("reported", "held out")}


def test_every_published_number_of_table_1_has_a_row():
    shown = static.table1.show(results(static._table.full, lambda label: {"accuracy": 0.5}, **CURVES))
    assert len(shown.numbers) == 4 * len(TABLE_1) == 112
    for number in shown.numbers:
        assert number.post_hoc == (not number.method.startswith("LP"))
        assert number.without == (0.5 if number.own else None)


@pytest.mark.parametrize(
    ("beyond", "said"),
    [
        (0.8, "another setting would: 80.00 with twice the kernel width"),
        (0.6, "not explained, no setting tried would: 50.00 with features in [-1, 1], 60.00 with twice the "
         "kernel width"),
    ],
)  # fmt: skip
def test_a_miss_of_table_1_says_which_setting_would_do(beyond, said):
    def outcome(label):
        value = beyond if label[1] == static.WIDE else 0.5
        return {f"{s}% {which}": [value] * 10 for s in (10, 20) for which in ("reported", "held out")}

    shown = static.table1.show(
        [Result(spec, {}, (Outcome({}, outcome(label)),)) for label, spec in static._table.full.items()]
    )
    (remark,) = (r for r in shown.remarks if r.startswith("Not reached: Sonar, BLS, RBF 20%"))
    assert remark == f"Not reached: Sonar, BLS, RBF 20%, accuracy 50.00 against 80.06; {said}."


def test_lambda1_of_100_has_a_column_of_its_own_for_the_linear_kernel():
    tried = {
        spec.parameters["lambda2"]: spec.parameters["lambda1"]
        for (name, setting, *_), spec in static._table.full.items()
        if (name, setting) == ("G241n", static.STRONG)
    }
    assert tried == dict.fromkeys((10.0, 1.0, 0.1, 0.01), 100.0)
    shown = static.table1.show(results(static._table.full, lambda label: {"accuracy": 0.5}, **CURVES))
    (at,) = (i for i, name in enumerate(shown.tables[0].columns) if name == "lambda1 = 100")
    lines = [row for row in shown.tables[0].rows if row[at] is not None]
    assert {(row[2], row[3]) for row in lines} == {("BLS, linear", static.RAW)}


def test_twice_the_width_is_the_root_of_the_kernel(rows):
    written, X = rows
    path = written(X)
    once, twice = (
        static.Draws().prepare(replace(static.case("Sonar", "BLS, RBF", {}, setting), dataset=path))
        for setting in (static.RAW, static.WIDE)
    )
    np.testing.assert_allclose(twice.K**2, once.K)


def test_labelled_points_alone_are_kernel_ridge_regression():
    rng = np.random.default_rng(0)
    X, given = rng.normal(size=(60, 3)), np.where(rng.random(60) < 0.3, rng.integers(0, 2, 60), -1)
    known = given >= 0
    model = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X[known], 2.0 * given[known] - 1)
    found = static.labelled_alone(rbf_kernel(X, gamma=0.5), given, 0.1)
    assert found.tolist() == (model.predict(X) > 0).tolist()


@pytest.mark.parametrize(("few", "many", "said"), [(0.75, 0.74, "-1.00"), (0.7, 0.75, "+5.00")])
def test_figure_4_says_what_more_slots_do(few, many, said):
    values = {50: few, 300: many}
    shown = sensitivity.figure4.show(
        results(
            sensitivity._sizes.full, lambda label: {"accuracy": values.get(label[3], np.mean([few, many]))}
        )
    )
    assert sum(f"({said} points)" in remark for remark in shown.remarks) == 4
    assert any("unlabelled slots lower it" in remark for remark in shown.remarks) == (many < few)
