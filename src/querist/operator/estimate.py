"""How long, and how much memory: an embedding on paper, before anybody starts it.

With n nodes, z entries a row (twice the edges over n), a block of k columns in single precision, m machines,
a share c of the entries between machines, G bytes that a machine's processor gathers in a second, B bytes
that come to it over the network in a second and P bytes that it packs:

    h       = (1 - 1/m) (1 - exp(-z c / (m - 1)))          rows that a machine receives, as a share of n
    product = z n (4k + 8) / (m G)  +  4 k h n (1/B + 1/P)  seconds
    memory  = 12 z n / m  +  4 k (4 n / m + 3 h n)          bytes of a machine

The first term of the memory is the matrix in both precisions, the second the blocks of the filter: three and
what the last step makes, and halos of two with what is packed of one. A random order of nodes has
c = 1 - 1/m; communities have less. docs/scale.md holds the model against runs.
"""

from dataclasses import asdict, dataclass
from math import exp
from typing import Any

from querist.errors import InputError
from querist.operator.eigen.chebyshev import width_of

GATHERED = 12.5e9
"""Bytes that a core gathers in a second; `python benchmarks/cluster.py --only kernel` prints it."""

PACKED = 4.7e9
"""Bytes that a core packs in a second; `python benchmarks/cluster.py --only kernel` prints it."""

MEMORY_BUS = 150e9
"""Bytes that a machine gathers in a second at most, whatever its cores: eight channels of DDR4, half used."""

WIRE = 0.9
"""The part of a network's rate that is left for the rows."""

PRODUCTS = 50
"""Products of an embedding of rank 32 to a residual of 2e-3; `--only embedding` counts them."""

DEVICE_GATHERED = 3.7e12
"""Bytes that the project's kernel gathers in a second on an H200; benchmarks/device.py prints it."""

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
    '2.5 s a product, 26 GB each'
    """
    if not (nodes >= 1 and edges >= 1 and machines >= 1 and rank >= 1 and 0 <= cut <= 1):
        raise InputError(
            f"nodes {nodes:g}, edges {edges:g}, machines {machines}, rank {rank}, cut {cut:g}; the first "
            "four must be 1 or more, the cut lies in 0..1"
        )
    z, k = 2 * edges / nodes, width_of(rank, int(nodes))
    h, row = halo_share(machines, z, cut), 4.0 * k
    gathered = min(cores * GATHERED, MEMORY_BUS)
    received = row * h * nodes
    pace = network / 8 * 1e9 * WIRE
    product = z * nodes * (row + 8) / (machines * gathered)
    product += received * (1 / pace + 1 / min(cores * PACKED, MEMORY_BUS)) if machines > 1 else 0.0
    memory = 12 * z * nodes / machines + row * (4 * nodes / machines + 3 * h * nodes)
    seconds = PRODUCTS * product * max(1.0, rank / 32) ** 0.5
    name = "one machine" if machines == 1 else f"{machines} machines, {100 * cut:.0f} % cut"
    return WorkEstimate(name, "machines", machines, h, received, product, seconds, memory)


def on_device(nodes: float, edges: float, *, rank: int = 32) -> WorkEstimate:
    """The same on one GPU of the kind that was measured (H200)."""
    z, row = 2 * edges / nodes, 4.0 * width_of(rank, int(nodes))
    product = z * nodes * (row + 8) / DEVICE_GATHERED
    memory = 8 * z * nodes + 3 * row * nodes
    seconds = PRODUCTS * product * max(1.0, rank / 32) ** 0.5
    return WorkEstimate("one GPU (H200)", "device", 1, 0.0, 0.0, product, seconds, memory)


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
