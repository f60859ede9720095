"""What is made of the numbers of `label_efficiency.py`: its sets in groups, comparisons, tables.

*The best peer of a set* is chosen on other draws than it is compared on: the peer and form of the best mean
on every other draw is compared with `auto` on the draws between, and the other way round. Differences are
paired by draw; their 95 % interval is Student's. A set counts as *lost* where `auto` is more than 2 points
below with all of the interval.

The draws of different shares are not nested, and what is tested are not quite the same nodes: whether more
labels hurt is judged by the same interval, paired by the number of the draw.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

PROTOCOLS = ("class", "random")
SHARES = (0.01, 0.02, 0.05)
GROUPS = {
    "reported": (
        "cora",
        "citeseer",
        "pubmed",
        "amazon_photo",
        "coauthor_cs",
        "dblp_four_area_1711",
        "genes",
        "facebook_pages",
        "blogcatalog_attr",
        "debian_sections",
    ),
    "heterophilous and dense": (
        "tolokers",
        "minesweeper",
        "chameleon_filtered",
        "coil",
        "usps",
        "phishing",
        "digit1",
    ),
    "no attributes": ("github_social", "deezer_europe", "lastfm_asia", "political_blogs"),
    "further": (
        "cora_ml",
        "acm_coauthor",
        "uai2010",
        "flickr_attr",
        "imdb_coactor",
        "dblp_citation",
        "amazon_computers",
        "mnist_knn10",
        "coauthor_physics",
        "dblp_four_area",
    ),
}
ALL = tuple(name for group in GROUPS.values() for name in group)
DEVELOPMENT = (
    *(name for name in GROUPS["further"] if name != "dblp_four_area"),
    "lastfm_asia",
    "political_blogs",
    "github_social",
    "tolokers",
    "coil",
    "phishing",
)
"""The half of the sets on which constants of ours were fixed; reported are the others."""
SUMMARIES = {
    **GROUPS,
    "development half": DEVELOPMENT,
    "report half": tuple(name for name in ALL if name not in DEVELOPMENT),
    "all": ALL,
}

PEERS = {
    "diffusion": "diffusion",
    "pagerank": "PageRank",
    "laplace": "Laplace",
    "poisson": "Poisson",
    "lr_x": "LR X",
    "lr_s2x": "LR S²X",
    "lr_xs": "LR X,SX,S²X",
    "c_and_s": "C&S",
    "gcn": "GCN",
    "appnp": "APPNP",
    "grand": "GRAND",
    "gprgnn": "GPR-GNN",
}
FORMS = tuple(f"{peer}{form}" for peer in PEERS for form in ("", " matched"))
SAID = ("estimate", "low", "high", "ece", "seconds", "processor")
LOST = -0.02
NEARLY = 0.8

Draws: TypeAlias = dict[int, float]
"""A number for each draw."""
Own: TypeAlias = dict[str, dict[str, float]]
"""Of a set: a number for each method and split."""


# -- numbers -----------------------------------------------------------------------------------


def gathered(out: Path) -> dict[str, Own]:
    """set -> method -> split -> number, from all files of the parts."""
    found: dict[str, Own] = {}
    for path in sorted(out.glob("*.json")):
        told = json.loads(path.read_text())
        for method, values in told["found"].items():
            found.setdefault(told["set"], {}).setdefault(method, {}).update(values)
    return found


def drawn(own: Own, method: str, protocol: str, share: float) -> Draws:
    head = f"{protocol}_{share}_"
    return {int(name[len(head) :]): v for name, v in own.get(method, {}).items() if name.startswith(head)}


def mean(values: Iterable[float]) -> float | None:
    told = [value for value in values if value is not None and np.isfinite(value)]
    return float(np.mean(told)) if told else None


def interval(differences: Sequence[float]) -> dict[str, float]:
    """The mean of paired differences of accuracies and Student's 95 % interval; one alone says nothing."""
    from scipy.stats import t

    d = np.asarray(differences, dtype=np.float64)
    half = float(t.ppf(0.975, d.size - 1) * d.std(ddof=1) / np.sqrt(d.size)) if d.size > 1 else 2.0
    return {"difference": float(d.mean()), "low": float(d.mean() - half), "high": float(d.mean() + half)}


def against_best(auto: Draws, peers: dict[str, Draws]) -> dict[str, Any] | None:
    """`auto` minus the best peer, chosen on the other half of the draws; None with fewer than two draws."""
    common = sorted(set(auto).intersection(*peers.values())) if peers else []
    if len(common) < 2:
        return None
    halves = common[::2], common[1::2]
    best = [max(peers, key=lambda p, half=half: np.mean([peers[p][d] for d in half])) for half in halves]
    differences = [
        auto[draw] - peers[peer][draw]
        for peer, others in zip(best, reversed(halves), strict=True)
        for draw in others
    ]
    found = interval(differences)
    return {"peers": best, **found, "lost": found["high"] < LOST}


def row(own: Own, protocol: str, share: float) -> dict[str, Any] | None:
    """All that is known of a set at a share; None where `auto` was not run."""
    auto = drawn(own, "auto", protocol, share)
    if not auto:
        return None
    every = {form: drawn(own, form, protocol, share) for form in FORMS}
    peers = {form: {d: v for d, v in values.items() if d in auto} for form, values in every.items()}
    peers = {form: values for form, values in peers.items() if values}
    singles = {
        m: mean(drawn(own, m, protocol, share).values()) for m in own if m not in (*FORMS, *SAID, "auto")
    }
    singles = {method: value for method, value in singles.items() if value is not None}
    said = {key: drawn(own, key, protocol, share) for key in SAID}
    inside = [said["low"][d] <= value <= said["high"][d] for d, value in auto.items() if d in said["low"]]
    ours = max(singles, key=singles.__getitem__) if singles else None
    return {
        "draws": len(auto),
        "auto": mean(auto.values()),
        "peers": {form: mean(values.values()) for form, values in peers.items()},
        "ahead": {
            form: mean(auto[d] - v for d, v in values.items() if d in auto) for form, values in peers.items()
        },
        "against best": against_best(auto, peers),
        "ours": None if ours is None else [ours, singles[ours]],
        "coverage": mean(inside),
        **{key: mean(said[key].values()) for key in ("estimate", "ece", "seconds", "processor")},
    }


def summary(rows: dict[str, Any]) -> dict[str, Any]:
    """Over some sets: against the best single peer of all, against the best of each, and how honest.

    A peer that was run on at least NEARLY all sets may be the best single one, on those.
    """
    runs = {form: [one["ahead"][form] for one in rows.values() if form in one["ahead"]] for form in FORMS}
    ahead = {form: mean(told) for form, told in runs.items() if len(told) >= NEARLY * len(rows)}
    single = min(ahead, key=ahead.__getitem__) if ahead else None
    each = {name: one["against best"] for name, one in rows.items() if one["against best"]}
    return {
        "sets": len(rows),
        "auto": mean(one["auto"] for one in rows.values()),
        "peers": {
            form: mean(one["peers"][form] for one in rows.values())
            for form, told in runs.items()
            if len(told) == len(rows)
        },
        "best single": None if single is None else [single, ahead[single], len(runs[single])],
        "against best of each": mean(one["difference"] for one in each.values()),
        "first": sum(one["difference"] > 0 for one in each.values()),
        "compared": len(each),
        "lost": [name for name, one in each.items() if one["lost"]],
        **{
            key: mean(one[key] for one in rows.values())
            for key in ("estimate", "coverage", "ece", "seconds", "processor")
        },
    }


def more_labels(found: dict[str, Own], protocol: str) -> dict[str, Any]:
    """For each step to a larger share and each set the difference that it makes, paired by draw."""
    steps: dict[str, Any] = {}
    for less, more in itertools.pairwise(SHARES):
        for name in ALL:
            before, after = (drawn(found.get(name, {}), "auto", protocol, s) for s in (less, more))
            common = sorted(set(before) & set(after))
            if common:
                told = interval([after[draw] - before[draw] for draw in common])
                steps.setdefault(f"{less} to {more}", {})[name] = {**told, "hurt": told["high"] < 0}
    return steps


def results(found: dict[str, Own]) -> dict[str, Any]:
    """Everything that is printed."""
    told: dict[str, Any] = {}
    for protocol in PROTOCOLS:
        for share in SHARES:
            rows = {name: row(found.get(name, {}), protocol, share) for name in ALL}
            there = {name: one for name, one in rows.items() if one is not None}
            groups = {
                title: summary({name: there[name] for name in names if name in there})
                for title, names in SUMMARIES.items()
                if any(name in there for name in names)
            }
            if there:
                told.setdefault(protocol, {})[str(share)] = {"sets": there, "groups": groups}
        if protocol in told:
            told[protocol]["more labels"] = more_labels(found, protocol)
    return told


# -- words -------------------------------------------------------------------------------------


def show(out: Path, as_json: bool) -> None:
    told = results(gathered(out))
    print(json.dumps(told, indent=1) if as_json else "\n".join(lines(told)))


def lines(told: dict[str, Any]) -> Iterable[str]:
    """Markdown."""
    yield "Mean accuracy. *: the better form of the peer is the matched one. °: constants of ours were fixed"
    yield "on this set. !: all of the interval is more than 2 points below; or below what fewer labels gave."
    for protocol, own in told.items():
        for share in SHARES:
            if str(share) in own:
                how = "of every class" if protocol == "class" else "of all nodes, drawn at random"
                yield f"\n**{share:.0%} {how}**\n"
                yield from _table(own[str(share)])
        yield "\nMore labels:\n"
        for step, sets in own["more labels"].items():
            worse = {name: one for name, one in sets.items() if one["difference"] < 0}
            said = "; ".join(f"{name} {_points(one)}{' !' * one['hurt']}" for name, one in worse.items())
            yield f"- {step}: worse on {len(worse)} of {len(sets)} sets{': ' * bool(worse)}{said}."


def _table(part: dict[str, Any]) -> Iterable[str]:
    yield f"| set | draws | auto | {' | '.join(PEERS.values())} | auto - best peer | best of ours |"
    yield "|---|---:|---:|" + "---:|" * len(PEERS) + "---|---|"
    for title, names in GROUPS.items():
        for name in names:
            one = part["sets"].get(name)
            if one is None:
                continue
            best, ours = one["against best"], one["ours"]
            last = "" if best is None else f"{_points(best)}{' !' * best['lost']} {' / '.join(best['peers'])}"
            own = "" if ours is None else f"{ours[0]} {ours[1]:.3f}"
            mark = "°" if name in DEVELOPMENT else ""
            yield f"| {name}{mark} | {one['draws']} | {_cells(one)} | {last} | {own} |"
        if title in part["groups"]:
            yield f"| *{title}* | | {_cells(part['groups'][title])} | | |"
    yield ""
    for title, one in part["groups"].items():
        yield _sentence(title, one)


def _cells(one: dict[str, Any]) -> str:
    """`auto` and every peer in its better form, `*` where that is the matched one; the best in bold."""
    told = [(one["auto"], "")]
    for peer in PEERS:
        plain, even = (one["peers"].get(f"{peer}{form}") for form in ("", " matched"))
        told.append((even, "*") if even is not None and (plain is None or even > plain) else (plain, ""))
    top = max(value for value, _ in told if value is not None)
    cell = lambda v, mark: "" if v is None else f"**{v:.3f}**{mark}" if v == top else f"{v:.3f}{mark}"  # noqa: E731
    return " | ".join(cell(*one) for one in told)


def _points(one: dict[str, Any]) -> str:
    return f"{100 * one['difference']:+.1f} ({100 * one['low']:+.1f} to {100 * one['high']:+.1f})"


def _sentence(title: str, one: dict[str, Any]) -> str:
    single, each = one["best single"], one["against best of each"]
    said = [f"- *{title}* ({one['sets']} sets): auto {one['auto']:.3f}"]
    if single is not None:
        where = "" if single[2] == one["sets"] else f", on {single[2]} of them"
        said.append(f"against the best single peer ({single[0]}{where}) {100 * single[1]:+.1f} points")
    if each is not None:
        said.append(f"against the best peer of each set {100 * each:+.1f}")
        said.append(f"ahead on {one['first']} of {one['compared']}")
        said.append(f"lost: {', '.join(one['lost']) or 'none'}")
    for key, name in (("estimate", "expected accuracy"), ("coverage", "interval holds"), ("ece", "ECE")):
        if one[key] is not None:
            said.append(f"{name} {one[key]:.3f}")
    if one["seconds"] is not None:
        said.append(f"{one['seconds']:.1f} s a labelling ({one['processor']:.1f} s of processor)")
    return "; ".join(said) + "."
