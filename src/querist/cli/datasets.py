"""`querist datasets`: what there is."""

from querist.cli.options import Json
from querist.cli.screen import print_json, print_line, print_table, width


def datasets(
    as_json: Json = False,
) -> None:
    """List the data sets, and where they come from.

    bundled: it comes with Querist. QUERIST_DATA: it lies in the directory of that
    name. cache: it was downloaded before. download: it will be fetched when first
    used. absent: it has no public address; put its file into QUERIST_DATA.
    """
    from dataclasses import asdict

    from querist.datasets import catalogue

    rows = catalogue()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    head = ["name", "nodes", "edges", "classes", "attributes", "from"]
    cells = [
        [r.name, *map(_count, (r.nodes, r.edges, r.classes, r.attributes)), _whence(r.kind, r.source)]
        for r in rows
    ]
    if width() >= 120:
        head.append("what it is")
        cells = [[*line, row.about] for line, row in zip(cells, rows, strict=True)]
    print_table(head, cells, text_columns=(0, 5, 6))
    if any(row.kind == "vectors" for row in rows):
        print_line("Sets without edges are vectors: their nodes are rows, their attributes features.")
    print_line("Run an algorithm on a graph: querist online NAME")


def _whence(kind: str, source: str) -> str:
    return f"{source}: {kind}" if kind == "damaged" else source


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
