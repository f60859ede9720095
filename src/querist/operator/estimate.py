"""How long, and how much memory: an embedding on paper, before anybody starts it.

With n nodes, z entries a row (twice the edges over n), a block of k columns in single precision, whose rows
are gathered and sent in half precision (rounded.py), m machines, a share c of the entries between machines, G
bytes that a machine's processor gathers in a second, B bytes that come to it over the network in a second and
P bytes that it packs:

    h       = (1 - 1/m) (1 - exp(-z c / (m - 1)))          rows that a machine receives, as a share of n
    product = z n (2k + 8) / (m G)  +  2 k h n (1/B + 1/P)  seconds
    memory  = 12 z n / m  +  4 k (4 n / m + 3 h n)          bytes of a machine

The first term of the memory is the matrix, its weights as they were given beside those of the filter; the
second the blocks: three and the rounded rows, and a halo with what is sent and received of it. A random order
of nodes has c = 1 - 1/m; communities have less. docs/scale.md holds the model against runs.

On one machine an embedding of more columns is found by a Lanczos method, attributes are smoothed, and small
or nearly whole spectra are decomposed densely: `filter_effort` and `smoothing_effort` count what they gather
and multiply, for `place.py`.
"""

from dataclasses import asdict, dataclass
from math import exp, log
from typing import Any

from querist.errors import InputError
from querist.operator.eigen import krylov, solve
from querist.operator.eigen.chebyshev import width_of
from querist.operator.place import DEVICE_GATHERED, GATHERED, MEMORY_BUS, Effort, in_gigabytes
from querist.operator.rounded import is_large

PACKED = 4.7e9
"""Bytes that a core packs in a second; `python benchmarks/cluster.py --only kernel` prints it."""

WIRE = 0.9
"""The part of a network's rate that is left for the rows."""

PRODUCTS = 50
"""Products of an embedding of rank 32 to a residual of 2e-3; `--only embedding` counts them."""

USUAL = 2e-3
"""The residual for which products were counted."""

INDEXED = 8
"""Bytes of an entry itself: its index and its value in single precision."""

LANCZOS_PRODUCTS = 33
"""Products with a vector, for every pair that is wanted, of the Lanczos method to a residual of `USUAL`;
the `solver` of an embedding tells them."""

LANCZOS_SPACE = 2.5
"""Vectors of its space, for every pair that is wanted."""

RITZ_STEPS = 6
"""Rayleigh-Ritz steps of an embedding by sweeps."""

EIGEN_WORK = 3
"""Of a dense decomposition, in cubes of its size; it runs slower than a product."""

DEVICE_MEMORY = 139 * 2.0**30


@dataclass(frozen=True)
class WorkEstimate:
    """One way to do an embedding.

    Parameters
    ----------
    name : in words
    where : "machines" or "device"
    machines : how many
    halo : rows that a machine receives in a product, as a share of all
    product_bytes : that a machine receives in a product
    product_seconds : of one product, all columns
    seconds : of the embedding
    memory : bytes of each machine

    >>> estimate(1e8, 1e9).as_dict()["where"]
    'machines'
    """

    name: str
    where: str
    machines: int
    halo: float
    product_bytes: float
    product_seconds: float
    seconds: float
    memory: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def halo_share(machines: int, entries: float, cut: float) -> float:
    """The rows that a machine receives in a product, as a share of all; of `entries` a row `cut` leave.

    >>> round(halo_share(2, 20, 0.5), 3), halo_share(1, 20, 0.5)
    (0.5, 0.0)
    """
    if machines == 1:
        return 0.0
    return (1 - 1 / machines) * (1 - exp(-entries * cut / (machines - 1)))


def estimate(
    nodes: float,
    edges: float,
    machines: int = 1,
    *,
    rank: int = 32,
    cut: float = 1 / 3,
    cores: int = 32,
    network: float = 25.0,
) -> WorkEstimate:
    """An embedding on so many machines; `network` in Gb/s, `cut` the share of entries between machines.

    >>> found = estimate(1e8, 1e9, 16)
    >>> f"{found.product_seconds:.1f} s a product, {found.memory / 1e9:.0f} GB each"
    '1.3 s a product, 26 GB each'
    """
    if not (nodes >= 1 and edges >= 1 and machines >= 1 and rank >= 1 and 0 <= cut <= 1):
        raise InputError(
            f"nodes {nodes:g}, edges {edges:g}, machines {machines}, rank {rank}, cut {cut:g}; the first "
            "four must be 1 or more, the cut lies in 0..1"
        )
    z, k = 2 * edges / nodes, width_of(rank, int(nodes))
    h, row, brought = halo_share(machines, z, cut), 4.0 * k, bytes_brought(int(nodes), k) * k
    gathered = min(cores * GATHERED, MEMORY_BUS)
    received = brought * h * nodes
    pace = network / 8 * 1e9 * WIRE
    product = z * nodes * (brought + INDEXED) / (machines * gathered)
    product += received * (1 / pace + 1 / min(cores * PACKED, MEMORY_BUS)) if machines > 1 else 0.0
    memory = 12 * z * nodes / machines + row * (4 * nodes / machines + 3 * h * nodes)
    seconds = products_of(rank) * product
    name = "one machine" if machines == 1 else f"{machines} machines, {100 * cut:.0f} % cut"
    return WorkEstimate(name, "machines", machines, h, received, product, seconds, memory)


def bytes_brought(nodes: int, columns: int, item: int = 4) -> int:
    """Of a number of a neighbour's row, in sweeps of `item` bytes a number."""
    return 2 if item == 4 and is_large(nodes, columns) else item


def products_of(rank: int) -> float:
    """Products with a whole block that the sweeps of an embedding take, to a residual of `USUAL`."""
    return float(PRODUCTS * max(1.0, rank / 32) ** 0.5)


def filter_effort(nodes: int, entries: float, count: int, *, tol: float = USUAL, item: int = 4) -> Effort:
    """What so many lowest pairs of a Laplacian take in one process; `item` bytes a number of the filter.

    >>> f"{filter_effort(10**6, 2e7, 32).gathered:.1e} bytes"
    '1.1e+11 bytes'
    """
    if solve.is_small(nodes, count):
        return Effort(multiplied=EIGEN_WORK * float(nodes) ** 3)
    # Every power of ten takes sweeps as many products as the one before, Lanczos a quarter of them.
    longer = max(1.0, log(tol) / log(USUAL))
    checked = entries * (float(item) * count + 2 * INDEXED)
    if krylov.worth(count, nodes):
        longer = (3 + longer) / 4
        width, space = krylov.width_of(count), LANCZOS_SPACE * count * longer
        products = LANCZOS_PRODUCTS * longer * count / width
        # Every new vector is made orthogonal to those before it, and those wanted are combined of all.
        dense = nodes * (space**2 + space * count)
    else:
        width, products = width_of(count, nodes), products_of(count) * longer
        item = bytes_brought(nodes, width, item)
        dense = 3.0 * RITZ_STEPS * longer * nodes * width**2
    return Effort(products * entries * (item * width + INDEXED) + checked, dense)


def smoothing_effort(
    rows: int, columns: int, entries: float, words: float, width: int, *, steps: int, sweeps: float, item: int
) -> Effort:
    """What the leading `width` directions of smoothed features (rows, columns) take: `words` are the entries
    of the features, `entries` those of the graph, a node its own neighbour.

    >>> smoothing_effort(100, 50, 400, 1000, 10, steps=2, sweeps=3, item=8).gathered
    1104000.0
    """
    once = steps * (entries + rows) + words
    gathered = 2 * sweeps * once * (item * width + item + 4.0)
    # A QR of both sides, and the left vectors.
    return Effort(gathered, sweeps * width**2 * (3.0 * rows + 2.0 * columns))


def on_device(nodes: float, edges: float, *, rank: int = 32) -> WorkEstimate:
    """The same on one GPU of the kind that was measured (H200)."""
    z, row = 2 * edges / nodes, 4.0 * width_of(rank, int(nodes))
    product = z * nodes * (row + INDEXED) / DEVICE_GATHERED
    memory = 8 * z * nodes + 3 * row * nodes
    seconds = products_of(rank) * product
    return WorkEstimate("one GPU (H200)", "device", 1, 0.0, 0.0, product, seconds, memory)


@dataclass(frozen=True)
class WorkerShare:
    """What each worker of a cluster takes by the model: rows of the graph and bytes.

    >>> worker_share(10**6, 10**7, 2, rank=32, cut=0.3).in_words()
    'about 500,000 rows and 0.8 GB a worker'
    """

    rows: int
    bytes: float

    def in_words(self) -> str:
        """For a report."""
        return f"about {self.rows:,} rows and {in_gigabytes(self.bytes)} a worker"


def worker_share(nodes: int, edges: int, workers: int, *, rank: int, cut: float) -> WorkerShare:
    """Of a graph that so many workers share."""
    found = estimate(nodes, max(1, edges), workers, rank=rank, cut=cut)
    return WorkerShare(-(-nodes // workers), found.memory)


def compared(nodes: float, edges: float, machines: int, *, rank: int = 32) -> list[WorkEstimate]:
    """One machine, that many with more or fewer entries between them, and a GPU."""
    found = [estimate(nodes, edges, 1, rank=rank)]
    if machines > 1:
        cuts = (1 - 1 / machines, 1 / 3, 1 / 20)
        found += [estimate(nodes, edges, machines, rank=rank, cut=cut) for cut in cuts]
    return [*found, on_device(nodes, edges, rank=rank)]


def machines_for(nodes: float, edges: float, memory: float, *, rank: int = 32, cut: float = 1 / 3) -> int:
    """The fewest machines with so much memory each that hold the embedding; 0 where 64 do not.

    >>> machines_for(1e8, 1e9, 64e9)
    4
    """
    for machines in range(1, 65):
        if estimate(nodes, edges, machines, rank=rank, cut=cut).memory <= memory:
            return machines
    return 0
