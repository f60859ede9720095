"""What can be said of a served campaign, each thing declared once: see `querist.options`."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from querist.asking.options import CampaignKeywords, CampaignOptions
from querist.options import Options, option

Role = Literal["reader", "labeller", "manager"]
Format = Literal["csv", "parquet", "jsonl"]


class NewCampaignKeywords(CampaignKeywords, total=False):
    """The fields of `NewCampaignOptions` as keywords; a test compares the two."""

    name: str | None
    classes: Sequence[Hashable] | None
    name_column: str | None


@dataclass(frozen=True, kw_only=True)
class SetupOptions(Options):
    """What is settled when a campaign is made."""

    name: str | None = option(
        None,
        "Name of the campaign on its pages",
        default_words="the name of the graph",
        metavar="CAMPAIGN",
        on=("http",),
    )
    classes: Sequence[Hashable] | None = option(
        None,
        "Allowed answers, separated by commas",
        default_words="the classes of the labels or the data set",
        metavar="A,B,C",
    )
    name_column: str | None = option(
        None,
        "Column of the table of nodes by which nodes are shown",
        default_words="name or title, if there is one",
        metavar="COLUMN",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class NewCampaignOptions(CampaignOptions, SetupOptions):
    """All that can be said of a new campaign."""
