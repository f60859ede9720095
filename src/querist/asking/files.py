"""A campaign about a graph in files: begun, or gone on with where its journal left it.

files = GraphFiles("edges.csv", nodes="nodes.csv")
campaign = from_files(files, classes=["cat", "dog"], journal="pets.journal")
campaign.asking.question       # and so on, as in campaign.py
campaign.source.table          # the table of nodes, to show a node's row

What is not said is as the journal has it: its classes, its query strategy, its audit, its seed. Nodes, edges
and known labels that the files bring since join the campaign, and are kept in the journal.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Unpack

from querist.asking.arrivals import grown
from querist.asking.campaign import Asking, ask
from querist.asking.options import CampaignKeywords, CampaignOptions
from querist.asking.oracles import Oracle
from querist.asking.store.sqlite import StoredCampaign, only_campaign
from querist.errors import InputError
from querist.labelling.growth import join
from querist.labelling.reading import FileName, GraphFiles, Source, classes_in
from querist.labels import class_order
from querist.operator.device.choice import check_device
from querist.progress import Progress
from querist.tables.labels import as_label
from querist.tables.names import NodeTexts


@dataclass(frozen=True)
class FileCampaign:
    """A campaign, the graph it was begun with, what its table of nodes says, and who answers from a file.

    >>> from pathlib import Path
    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    >>> campaign = from_files("edges.csv", classes=["cat", "dog"])
    >>> campaign.asking.classes, campaign.oracle is None
    (('cat', 'dog'), True)
    """

    asking: Asking
    source: Source
    texts: NodeTexts
    oracle: Oracle | None = None


def from_files(
    graph: GraphFiles | FileName,
    *,
    oracle: FileName | None = None,
    labels: FileName | None = None,
    classes: Sequence[Hashable] | None = None,
    journal: str | PathLike[str] | StoredCampaign | None = None,
    name_column: str | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CampaignKeywords],
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
    journal : a path, or a campaign of a store that is open; in memory by default
    name_column : the column of the table of nodes by which nodes are shown, unless it has a usual name
    progress, keywords : as in `ask`

    Nothing is asked yet: `campaign.asking.run(campaign.oracle)` does.

    >>> from pathlib import Path
    >>> _ = Path("edges.csv").write_text("source,target\\na,b\\nb,c\\nc,a\\n")
    >>> from_files("edges.csv", classes=["cat", "dog"]).asking.question.number
    1
    """
    given: dict[str, Any] = CampaignOptions.given(None, keywords)
    check_device(given.get("device"))
    files = GraphFiles.of(graph, given)
    given.pop("missing", None)  # the tables of labels are read here
    stored = journal if isinstance(journal, StoredCampaign) else only_campaign(journal)
    try:
        events = stored.events
        begun = events[0].body if events else {}
        multilabel = given.get("multilabel", begun.get("multilabel", False))
        source = files.read(labels_elsewhere=not (oracle is None and labels is None), progress=progress)
        texts = NodeTexts.of(source.table, files.id, name_column)
        coming = files.arrivals()
        larger = grown(source.graph, events)
        for edges, nodes in coming:
            larger = join(larger, edges, nodes)
        answers = (
            None
            if oracle is None
            else files.read_labels(oracle, larger, multilabel=multilabel, ignore_unknown=True)
        )
        known = None if labels is None else files.read_labels(labels, larger, multilabel=multilabel, least=1)
        found = [seeds.classes for seeds in (answers, known) if seeds is not None] or [
            classes_in(source.labels)
        ]
        names = _classes(classes, found, begun.get("classes", ()))
        if given.get("find") is not None:
            given["find"] = _classes([given["find"]], [names], ())[0]
        asking = ask(source.graph, classes=names, journal=stored, progress=progress, **given)
        for edges, nodes in coming:
            asking.extend(edges, nodes)
        if known is not None:
            asking.tell(dict(known.labels))
    except BaseException:
        if stored is not journal:
            stored.store.close()
        raise
    return FileCampaign(asking, source, texts, None if answers is None else dict(answers.labels).get)


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
