"""Table II and Figure 2 of bls19: points come one by one, few with a label.

The paper records the best of its grids, a choice on the test data. Both are shown: "best" is the combination
that is best on the first 20,000 items of the first of the reported streams, "held out" the one that is best
on those of another stream; both are then run on all ten.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from querist.experiment.item import Cell, Entry, Figure, Item, Number, Shown, Table
from querist.experiment.results import Result
from querist.experiment.specification import Specification
from querist.papers import panels
from querist.papers.bls19.compared import number, remarks_on
from querist.papers.bls19.published import ABSENT, DATA, PAPER, TABLE_2, TABLE_2_METHODS, TABLE_2_SHAPES
from querist.papers.bls19.static import LAMBDAS, SHARES
from querist.papers.cases import Cases, Label

RUNS = 10
GRID = {"lambda1": LAMBDAS, "lambda2": LAMBDAS}
CHUNKS = {"chunk": (50, 100, 500, 1000), "clusters": tuple(range(5, 51, 5))}
DRAWN = ("phishing", "skin")
"""The sets that Figure 2 shows."""

HELD_OUT, BEST = "held out", "best"
AT_SIZE = "BLS, projection at the published size"


def bls(strategy: str, **parameters: Any) -> dict[str, Any]:
    """BLS with these parameters; the lambdas that are not given are tuned."""
    grid = {name: values for name, values in GRID.items() if name not in parameters}
    given = {"strategy": strategy, "condition": "fill", **parameters}
    return {"method": "bls", "parameters": given, "grid": grid}


def spasc(weights: str) -> dict[str, Any]:
    """SPASC with one of its two kinds of weights."""
    return {"method": "spasc", "parameters": {"weights": weights}, "grid": CHUNKS}


METHODS: dict[str, dict[str, Any]] = {
    "PA": {"method": "pa"},
    "ReSSL": {"method": "ressl"},
    "SPASC, heuristic": spasc("heuristic"),
    "SPASC, Bayesian": spasc("bayesian"),
    "BLS, remove": bls("remove"),
    "BLS, projection": bls("projection"),
}


def case(
    name: str,
    method: Mapping[str, Any],
    share: float,
    *,
    by: str = HELD_OUT,
    curve: int = 0,
    repeats: int = RUNS,
) -> Specification:
    """A method on shuffled streams of a set, kernel width from the whole sample as in the paper.

    by : on what its grid is tuned, where it has one
    """
    tuned = {"tuned_on": "reported"} if method.get("grid") and by == BEST else {}
    return Specification(
        task="stream",
        dataset=DATA.get(name, name),
        **method,
        representation={"width": "sample"},
        protocol={"labelled": share} | tuned | ({"curve": curve} if curve else {}),
        repeats=repeats,
    )


# -- Table II and Figure 2 -------------------------------------------------------


def _lines(name: str, share: float) -> dict[str, tuple[dict[str, Any], str]]:
    """What is run on a set: line -> method and on what it is tuned."""
    size = round(TABLE_2[name, share][6][0])
    return (
        {method: (how, BEST) for method, how in METHODS.items()}
        | {
            f"{method}, held out": (METHODS[method], HELD_OUT)
            for method in ("BLS, remove", "BLS, projection")
        }
        | {AT_SIZE: (bls("projection", limit=size), BEST)}
    )


def _quick(label: Label) -> bool:
    """A small set, and of the long stream the methods that need no tuning."""
    name, line, share = label
    slow = ("SPASC, Bayesian", "BLS, remove, held out")
    return (name == "phishing" and share == 0.1 and line not in slow) or (
        name == "skin" and line in ("PA", "ReSSL")
    )


_table = Cases(
    {
        (name, line, share): case(name, how, share, by=by, curve=60 if name in DRAWN else 0)
        for name in TABLE_2_SHAPES
        if name not in ABSENT
        for share in SHARES
        for line, (how, by) in _lines(name, share).items()
    },
    few=1,
    hurried=_quick,
)


def _show_table(results: Sequence[Result]) -> Shown:
    found = _table.read(results)
    own: list[list[Entry]] = []
    rivals: list[list[Entry]] = []
    numbers: list[Number] = []
    for (name, share), line in TABLE_2.items():
        mine = {m: result for (n, m, s), result in found.items() if (n, s) == (name, share)}
        printed = dict(zip((*TABLE_2_METHODS, "kept"), line, strict=True))
        if not mine and name not in ABSENT:
            continue
        where = (name, f"{share:.0%}")
        own.append(
            [
                *where,
                *(per_cent(mine.get(f"BLS, remove{how}")) for how in (", held out", "")),
                _printed(printed["BLS, remove"]),
                *(per_cent(mine.get(f"BLS, projection{how}")) for how in (", held out", "")),
                _printed(printed["BLS, projection"]),
                _kept(mine.get("BLS, projection")),
                f"{printed['kept'][0]:.0f}",
                per_cent(mine.get(AT_SIZE)),
            ]
        )
        rivals.append([*where])
        for method in TABLE_2_METHODS:
            if not method.startswith("BLS"):
                rivals[-1] += [per_cent(mine.get(method)), _printed(printed[method])]
            numbers += _numbers(name, share, method, printed[method], "accuracy", mine.get(method))
        numbers += _numbers(
            name, share, "BLS, projection", printed["kept"], "kept", mine.get("BLS, projection")
        )
    note = (
        "Prequential accuracy in per cent, ± deviations over the streams. The paper records the best choice "
        "of its grids, made on the test data; published numbers are compared with that."
    )
    both = ["held out", "best", "published"]
    columns = ["data", "labelled"]
    rows = [column for m in TABLE_2_METHODS if not m.startswith("BLS") for column in (m, "published")]
    return Shown(
        [
            Table(
                "Budgeted least squares on streams",
                [
                    *columns,
                    "remove: held out",
                    *both[1:],
                    "projection: held out",
                    *both[1:],
                    "kept",
                    "published",
                    "at the published size",
                ],
                own,
                note,
            ),
            Table("Its rivals on the same streams", [*columns, *rows], rivals),
        ],
        (),
        numbers,
        [
            *REMARKS,
            *_deviations(found),
            *_memory(found),
            *remarks_on(numbers, lambda each: _reason(each, found)),
        ],
    )


REMARKS = [
    "SPASC and ReSSL are only named in the paper. Ours follow what public sources say of them, and their "
    "docstrings say what is a guess.",
    "w6a is not to be had: its 14 numbers have no counterpart.",
    "Who enters was read so that the table is met: while a budget has room, whatever comes, as section III-B "
    "says; from then on Algorithm 3's condition. The first is not in Algorithm 3, and is why removing does "
    "better with 10 % labelled than with 20 % on many sets: fewer mistakes displace the first items.",
]


def _reason(each: Number, found: Mapping[Label, Result]) -> str:
    """Why a number is not reached, as far as it is known."""
    line, _, share = each.method.rpartition(" ")
    label = float(share.rstrip("%")) / 100
    if each.measure == "kept":
        at_size = found.get((each.dataset, AT_SIZE, label))
        return "the lambdas that are best for accuracy let more in" + (
            f"; with the published size it reaches {100 * at_size.mean('accuracy'):.2f} %, the paper "
            f"{TABLE_2[each.dataset, label][5][0]:.2f} %"
            if at_size
            else ""
        )
    held_out = found.get((each.dataset, f"{line}, held out", label))
    return "the paper does not say on which items it chose the lambdas" + (
        f"; the held-out choice reaches {100 * held_out.mean('accuracy'):.2f}" if held_out else ""
    )


def _deviations(found: Mapping[Label, Result]) -> list[str]:
    """What the deviations of the sizes tell of how the paper chose its lambdas."""
    pairs = [
        (TABLE_2[str(name), float(share)][6][1], float(_size(result).std()))
        for (name, line, share), result in found.items()
        if line == "BLS, projection"
    ]
    if not pairs:
        return []
    theirs, ours = (max(each) for each in zip(*pairs, strict=True))
    return [
        f"What projection keeps deviates by up to {theirs:.0f} vectors over the paper's streams, here by up "
        f"to {ours:.0f}. The choice of lambda1 moves it by as much: the paper seems to have recorded the "
        "best choice for each stream, where ours is one for all ten."
    ]


def _memory(found: Mapping[Label, Result]) -> list[str]:
    """What projection keeps beyond the paper, and what it reaches without."""
    said = []
    for (name, line, share), result in found.items():
        if line == "BLS, projection" and (name, AT_SIZE, share) in found:
            kept, printed = float(_size(result).mean()), TABLE_2[str(name), float(share)][6][0]
            if kept > 1.5 * printed:
                capped = found[name, AT_SIZE, share].mean("accuracy")
                said.append(
                    f"{name}, {share:.0%}: projection keeps {kept:.0f} vectors, the paper's {printed:.0f}. "
                    f"With as many as the paper it reaches {100 * capped:.2f} % instead of "
                    f"{100 * result.mean('accuracy'):.2f} %."
                )
    return said


def _size(result: Result) -> Any:
    return result.values("kept_labelled") + result.values("kept_unlabelled")


def _kept(result: Result | None) -> Entry:
    return None if result is None else Cell(float(_size(result).mean()), float(_size(result).std()), 0)


def per_cent(result: Result | None) -> Entry:
    """The accuracy, or nothing where it was not run."""
    return None if result is None else Cell.of(result, "accuracy", 2, unit=100)


def _printed(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f}"


def _numbers(
    name: str, share: float, method: str, printed: tuple[float, float], measure: str, ours: Result | None
) -> list[Number]:
    """A published number beside ours, or beside nothing where the set is not to be had."""
    if ours is None and name not in ABSENT:
        return []
    values = None if ours is None else _size(ours) if measure == "kept" else ours.values("accuracy")
    where = ("table2", name, f"{method} {share:.0%}", measure)
    spec = None if ours is None else ours.specification
    return [number(*where, printed, values, spec, post_hoc=method.startswith("BLS"))]


_PROTOCOL = (
    f"{RUNS} shuffled streams, 20 and 10 % labelled, budgets 150 and 300. lambda1 and lambda2 from {{10, 1, "
    "0.1, 0.01}, chunks of 50, 100, 500 and 1,000 and 5, 10, ..., 50 clusters of SPASC: chosen on 20,000 "
    "items of the first reported stream, which stands for the paper's choice on its test data, for BLS also "
    "on a held-out one."
)
TABLE_II = Item(PAPER, "table2", "Accuracy on streams", _PROTOCOL, _table.plan, _show_table)


def _show_progress(results: Sequence[Result]) -> Shown:
    found = _drawn.read(results)
    caption = "Cumulative error rate along the stream; bands are one standard deviation over the streams."
    rows: list[list[Entry]] = [
        [name, f"{share:.0%}", method, Cell(100 - 100 * result.mean("accuracy"), None, 2)]
        for (name, method, share), result in found.items()
        if isinstance(share, float)
    ]

    def draw(canvas: Any) -> None:
        table = panels.grid(canvas, len(DRAWN), len(SHARES))
        for i, name in enumerate(DRAWN):
            for j, share in enumerate(SHARES):
                lines = {m: found[name, m, share] for m in METHODS if (name, m, share) in found}
                panels.panel(
                    table[i, j],
                    {m: (line.curve("item")[0], 1 - line.curve("accuracy")) for m, line in lines.items()},
                    tuple(METHODS),
                    title=f"{name}, {share:.0%} labelled",
                    x_label="items" if i else "",
                    y_label="" if j else "cumulative error rate",
                    percent=True,
                )
        panels.shared_legend(canvas, table.ravel(), tuple(METHODS), columns=4)

    return Shown(
        [Table("Error at the end, per cent", ["data", "labelled", "method", "error"], rows)],
        [Figure("progress", draw, caption, (9.0, 6.4))],
        remarks=REMARKS[:1],
    )


_drawn = Cases(
    {label: spec for label, spec in _table.full.items() if label[0] in DRAWN and label[1] in METHODS},
    few=_table.few,
    hurried=_table.hurried,
)
FIGURE_2 = Item(PAPER, "figure2", "Error along the stream", _PROTOCOL, _drawn.plan, _show_progress)
