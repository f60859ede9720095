"""A campaign about a graph in files: begun, or gone on with where its journal left it.

files = GraphFiles("edges.csv", nodes="nodes.csv")
campaign = from_files(files, classes=["cat", "dog"], journal="pets.journal")
campaign.asking.question       # and so on, as in asking.py
campaign.source.table          # the table of nodes, to show a node's row

What is not said is as the journal has it: its classes, its way to choose, its audit, its seed. Nodes, edges
and known labels that the files bring since join the campaign, and are kept in the journal.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from querist.asking.arrivals import grown
from querist.asking.asking import ask
from querist.asking.campaign import BUDGET, Asking
from querist.asking.journal import Journal
from querist.asking.oracles import Oracle
from querist.asking.specification import CampaignSpec
from querist.errors import InputError
from querist.labelling.files import FileName, GraphFiles, classes_in
from querist.labelling.growth import join
from querist.labelling.reading import Source
from querist.labels import class_order
from querist.operator.device.choice import check_device
from querist.progress import Progress
from querist.tables.labels import as_label


@dataclass(frozen=True)
class FileCampaign:
    """A campaign, the graph it was begun with, and who answers from a file, if anybody does.

    >>> from pathlib import Path
    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    >>> campaign = from_files("edges.csv", classes=["cat", "dog"])
    >>> campaign.asking.classes, campaign.oracle is None
    (('cat', 'dog'), True)
    """

    asking: Asking
    source: Source
    oracle: Oracle | None = None


def from_files(
    graph: GraphFiles | FileName,
    *,
    oracle: FileName | None = None,
    labels: FileName | None = None,
    classes: Sequence[Hashable] | None = None,
    journal: str | PathLike[str] | Journal | None = None,
    budget: int = BUDGET,
    choose: str | None = None,
    audit: int | None = None,
    noise: float | None = None,
    repeats: int | None = None,
    find: Hashable = None,
    overlap: int | None = None,
    second_opinions: bool | None = None,
    multilabel: bool | None = None,
    person: str | None = None,
    seed: int | None = None,
    unanswered: int | None = None,
    stop: float | None = None,
    method: str = "auto",
    prefetch: bool | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> FileCampaign:
    """Begin a campaign of questions about a graph in files, or go on with the one in the journal.

    Parameters
    ----------
    graph : its files; a name alone is that of the edges, or of a data set. The first two are those that the
        journal was begun with, what the others hold joins the campaign unless it is there already
    oracle : a table of labels that can answer, or a data set; nodes that the graph lacks are passed over
    labels : a table of labels that are known, or a data set: learned first, never asked about, not counted
    classes : what an answer may be; a text stands for the number of the files or the journal that is written
        so. By default those of the journal, else those of the tables, else those of the labels that the graph
        came with; these are not looked at otherwise
    journal : a path, or an open journal; in memory by default
    choose, audit, noise, repeats, find, overlap, second_opinions, multilabel, seed : as in `ask`; by
        default as in the journal, else as there
    budget, person, unanswered, stop, method, prefetch, device, progress : as in `ask`

    Nothing is asked yet: `campaign.asking.run(campaign.oracle)` does.

    >>> from pathlib import Path
    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    >>> from_files("edges.csv", classes=["cat", "dog"]).asking.question.number
    1
    """
    check_device(device)
    files = graph if isinstance(graph, GraphFiles) else GraphFiles(graph)
    book = journal if isinstance(journal, Journal) else Journal(journal)
    try:
        events = book.events()
        before = CampaignSpec.of(events[0].body) if events else None
        several = (before is not None and before.multilabel) if multilabel is None else multilabel
        source = files.read(labels_elsewhere=not (oracle is None and labels is None), progress=progress)
        coming = files.arrivals()
        larger = grown(source.graph, events)
        for edges, nodes in coming:
            larger = join(larger, edges, nodes)
        answers = (
            None if oracle is None else files.read_labels(oracle, larger, multilabel=several, strangers=True)
        )
        known = None if labels is None else files.read_labels(labels, larger, multilabel=several, least=1)
        found = [seeds.classes for seeds in (answers, known) if seeds is not None] or [
            classes_in(source.labels)
        ]
        names = _classes(classes, found, () if before is None else before.classes)
        wanted = None if find is None else _classes([find], [names], ())[0]
        chosen: dict[str, Any] = {
            "choose": choose,
            "audit": audit,
            "noise": noise,
            "repeats": repeats,
            "find": wanted,
            "overlap": overlap,
            "second_opinions": second_opinions,
            "multilabel": several,
            "seed": seed,
        }
        given = {
            name: getattr(before, name, None) if value is None else value for name, value in chosen.items()
        }
        asking = ask(
            source.graph,
            None,
            budget,
            classes=names,
            person=person,
            unanswered=unanswered,
            stop=stop,
            method=method,
            journal=book,
            prefetch=oracle is None if prefetch is None else prefetch,
            device=device,
            progress=progress,
            **{name: value for name, value in given.items() if value is not None},
        )
        for edges, nodes in coming:
            asking.extend(edges, nodes)
        if known is not None:
            asking.tell(dict(known.labels))
    except BaseException:
        if book is not journal:
            book.close()
        raise
    return FileCampaign(asking, source, None if answers is None else dict(answers.labels).get)


def _classes(
    named: Sequence[Hashable] | None, found: Iterable[Sequence[Hashable]], before: Sequence[Hashable]
) -> Sequence[Hashable]:
    """In the order they were named, else as the journal or the files have them."""
    known = {str(name): name for own in (*found, before) for name in own}
    if named is None:
        names = before or class_order(name for own in found for name in own)
        if not names:
            raise InputError("no classes: say what an answer may be, as in --classes cat,dog")
        return names
    numbers = bool(known) and all(isinstance(name, int) for name in known.values())
    return [_typed(name, known, numbers) for name in named]


def _typed(name: Hashable, known: Mapping[str, Hashable], numbers: bool) -> Hashable:
    """A class as the files have it: text may stand for a number."""
    if not isinstance(name, str):
        return name
    return known.get(name, as_label(name) if numbers else name)
