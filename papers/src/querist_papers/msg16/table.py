"""Table I of msg16."""

from querist.experiment import CONTROL, Specification
from querist_papers.graphs import DATA, STOOD_IN, TITLES, Method, compared, comparison
from querist_papers.item import Cases, Found, Label, Shown
from querist_papers.msg16 import published
from querist_papers.msg16.published import COIN, GAMMA, HS, PAPER, STATED, case, methods, msg

MEASURES = ("error_rate", "queries")
HELD_OUT = 5

CONSERVATIVE = "CMOG as printed"
DEFINITION = "MSG, coin of Definition 2"
TUNED = "MSG, h tuned"


def _lines() -> dict[Label, Specification]:
    found: dict[Label, Specification] = {}
    for dataset in DATA:
        for name, method in methods(dataset).items():
            found[dataset, name] = case(dataset, method, {"control": name == "MSG"})
        found[dataset, CONSERVATIVE] = case(dataset, {"method": "cmog", "parameters": {"gamma": GAMMA}})
        found[dataset, DEFINITION] = case(dataset, msg(published.SETTINGS[dataset]["h"], coin=1.0))
        grid = {"h": tuple(COIN * h for h in HS)}
        tuned: Method = {"method": "msg", "parameters": {"gamma": GAMMA}, "grid": grid}
        found[dataset, TUNED] = case(dataset, tuned, {"tuning": HELD_OUT})
        found[dataset, "MSG", STATED] = case(dataset, methods(dataset, STATED)["MSG"])
        found[dataset, "CMOG", STATED] = case(dataset, methods(dataset, STATED)["CMOG"])
        found[dataset, CONSERVATIVE, STATED] = case(
            dataset, {"method": "cmog", "parameters": {"gamma": STATED}}
        )
    return found


CASES = Cases(_lines())
EVERY_ANSWER = "gamma 0.01, every answer learned, a constant column of 3"


@CASES.item(
    PAPER,
    "20 shuffles, multi-class, rank 100 (99 eigenvectors of the combinatorial Laplacian and the constant 3), "
    "gamma 0.01 (the paper: 1), every answer learned by CMOG, DGS and BBQ, MSG's coin with h where the "
    "definition has 2h.",
    {
        "MSG": "gamma 0.01, the coin h/(h + theta), a constant column of 3",
        **dict.fromkeys(("CMOG", "DGS"), EVERY_ANSWER),
        "BBQ": f"{EVERY_ANSWER}, kappa and eps by the table",
        "GPA": "the usual multi-class perceptron, a constant column of 3",
    },
)
def table1(found: Found) -> Shown:
    """Comparison of the multi-class algorithms."""
    lines = {label: [(value, var**0.5) for value, var in line] for label, line in published.TABLE_1.items()}
    numbers = compared(PAPER, "table1", lines, MEASURES, found, lambda dataset, name: True, "MSG")
    return Shown(
        [comparison(found, lines, MEASURES, "MSG", {CONTROL: "random, as often as MSG"}, NOTE)],
        numbers=numbers,
        remarks=[
            STOOD_IN,
            "Post hoc, all: the readings below the published numbers. The paper says gamma = 1, prints "
            "CMOG as learning mistakes only, has 2h in the definition of the coin and states no kappa.",
            _gain(found),
            "Of the rivals, GPA errs less here than in the paper, by far on PubMed: its multi-class form is "
            "not spelled out there, and it feels the constant. BBQ's kappa is not stated, and the grid of "
            "eps is coarse: on PubMed two of its values ask less and more often than published.",
        ],
    )


NOTE = (
    "± are deviations over the shuffles; the published ± are variances and not shown. h is that of our MSG, "
    "half of the paper's but with the coin of Definition 2; h tuned is chosen from the paper's grid by the "
    f"error on {HELD_OUT} held-out shuffles. CMOG and DGS learn every answer; CMOG as printed learns its "
    "mistakes. The random line asks as often as MSG in the same shuffles and learns every answer. The paper "
    f"says gamma = {STATED:g}; {GAMMA:g} is post hoc."
)


def _gain(found: Found) -> str:
    gains = []
    for dataset in DATA:
        line = found[dataset, "MSG"]
        gain = line.mean(CONTROL + "error_rate") - line.mean("error_rate")
        gains.append(f"{gain:+.4f} on {TITLES[dataset]}")
    return f"Error of random asking less that of MSG, as many questions: {', '.join(gains)}."
