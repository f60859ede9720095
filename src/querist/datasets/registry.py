"""What can be had from outside: one frozen entry a data set.

An entry names its sources, best first; a source is the files to fetch and the
function that reads them. Two checksums guard a download:

- `File.sha256`, of the bytes, wherever the bytes of the public file are known;
- `Entry.content`, of what the files say (`content_sha256`), always. It alone guards
  the CiteSeer text, whose bytes could not be had when the
  entry was written.

An entry without sources is known by name and has to be put in QUERIST_DATA.

>>> ENTRIES["cora"].nodes
2708
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from querist.datasets.convert import Arrays, linqs, planetoid
from querist.errors import InputError


@dataclass(frozen=True)
class File:
    """A file to fetch; `sha256` is None where the bytes of the source are not known.

    >>> File("edges.csv", "https://example.org/edges.csv").sha256 is None
    True
    """

    name: str
    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class DownloadSource:
    """Files, and the function that turns their paths, in this order, into a graph's arrays.

    >>> edges = File("edges.csv", "https://example.org/edges.csv")
    >>> DownloadSource((edges,), read=lambda paths: {}).files[0].name
    'edges.csv'
    """

    files: tuple[File, ...]
    read: Callable[[Sequence[Path]], Arrays]


@dataclass(frozen=True)
class Row:
    """A line of the catalogue, None where a file does not say; `source` says where it would come from now.

    >>> Row("mine", nodes=34).edges is None
    True
    """

    name: str
    nodes: int | None = None
    edges: int | None = None
    classes: int | None = None
    attributes: int | None = None
    about: str = ""
    licence: str = ""
    kind: str = "graph"
    source: str = ""


@dataclass(frozen=True)
class Entry(Row):
    """A data set by name: its line, where to get it, how to know that it is the right one.

    >>> Entry("tiny", nodes=3, edges=2, classes=2, attributes=0, about="a path").classes
    2
    """

    sources: tuple[DownloadSource, ...] = ()
    content: str | None = None

    def __post_init__(self) -> None:
        unguarded = [f.name for s in self.sources for f in s.files if f.sha256 is None]
        if unguarded and self.content is None:
            raise InputError(
                f"{self.name}: {unguarded[0]} has no checksum; give its sha256, or the content's"
            )


_RAW = "https://raw.githubusercontent.com"
_LINQS_LICENCE = "LINQS collection; no licence stated: for research, cite Sen et al. 2008"
_PUBMED_PARTS = {
    "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}


def _text(base: str, name: str, content: str | None = None, cites: str | None = None) -> DownloadSource:
    files = (
        File(f"{name}.content", f"{base}/{name}.content", content),
        File(f"{name}.cites", f"{base}/{name}.cites", cites),
    )
    return DownloadSource(files, linqs)


def _pubmed(base: str) -> DownloadSource:
    files = (File(f"ind.pubmed.{part}", f"{base}/ind.pubmed.{part}", h) for part, h in _PUBMED_PARTS.items())
    return DownloadSource(tuple(files), partial(planetoid, digests=tuple(_PUBMED_PARTS.values())))


_KNOWN = (
    Entry(
        "cora", 2708, 5278, 7, 1433, "machine-learning papers, words and citations", _LINQS_LICENCE,
        sources=(
            # The LINQS text with LF line ends. A Git LFS pointer of sanketkshah/LODLs states this sum of
            # cora.cites, and one that cora.content has without its class column and with CRLF; the classes
            # agree with those of shchur/gnn-benchmark.
            _text(
                f"{_RAW}/tkipf/pygcn/5488806187f2b91d8ac5777026bdf6a20ba35637/data/cora", "cora",
                content="b8ebed0fd45e53995abafd1b70cf6a9fcc8f86abc5826d69b97fe6ca46e9c8ee",
                cites="ec1a372391b7f0f60a6aff0084e8abd8f19f0faa7e1f2441a41c492042d5945e",
            ),
        ),
        content="76cc5fd9bcc914314a952d368a71f1f4e4db4f51bce34d4c3bdf0c071d60d783",
    ),
    Entry(
        "citeseer", 3312, 4536, 6, 3703, "computer-science papers, words and citations", _LINQS_LICENCE,
        sources=(_text(f"{_RAW}/ZPowerZ/citeseer-dataset/master", "citeseer"),),
        content="8e160a3cadf6f2e7e610d45946c42a7ac5081aa4b19541092369b0a61f599e89",
    ),
    Entry(
        "pubmed", 19717, 44324, 3, 500, "papers on diabetes, tf-idf words and citations", _LINQS_LICENCE,
        sources=(
            # Planetoid's own files; several public projects pin them to these sums.
            _pubmed(f"{_RAW}/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"),
            # The same bytes, kept in Git LFS, whose pointer files state these checksums.
            _pubmed(
                "https://media.githubusercontent.com/media/D61-IA/FisherGCN/"
                "140cb297acb89ece53947026224e5e85a8dc7312/data"
            ),
        ),
        content="7b9061f794d36fae03818f4623318996bd151dd0b694ca335434dab9a98a05ca",
    ),
    Entry(
        "dblp_four_area_1711", 1711, 2898, 4, 8920, "co-authors in four areas (msg16, sslgc13)",
        "DBLP four-area collection; no licence stated",
    ),
    Entry(
        "imdb_coactor", 4278, 40540, 3, 3066, "films that share a lead actor",
        "IMDB 5000 collection; no licence stated",
    ),
)  # fmt: skip
ENTRIES = {entry.name: entry for entry in _KNOWN}
"""The data sets that can be fetched, by name.

>>> ENTRIES["cora"].nodes
2708
"""
