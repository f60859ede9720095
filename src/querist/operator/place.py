"""Where a computation goes, and what it takes there: threads, a device, or the machines of a cluster.

Work is counted before it begins (`CountedWork`): bytes that sparse products gather and multiplications of
dense ones, G and M, and the bytes that are held. A place does so many of each in a second, so that

    on threads    seconds = G / g + M / m
    on a device   seconds = start + G / g' + M / m' + what stays on the threads

`placed` compares the two and says in one sentence what was taken and why; `check_fits` refuses what does not
fit anywhere it may go, and names what would do. Both are pure: `device/choice.py` looks at the machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from querist.errors import InputError
from querist.progress import in_words

GATHERED = 12.5e9
"""Bytes that a core gathers in a second; `python benchmarks/cluster.py --only kernel` prints it."""

MEMORY_BUS = 150e9
"""Bytes that a machine gathers in a second at most, whatever its cores: eight channels of DDR4, half used."""

MULTIPLIED = 1e10
"""Multiplications that a core does in a second in products of tall blocks; held against runs by
`python benchmarks/embedding.py --parts estimates`."""

DEVICE_GATHERED = 3.7e12
"""Bytes that the project's kernel gathers in a second on an H200; benchmarks/device.py prints it."""

DEVICE_MULTIPLIED = 1e12
"""Multiplications in products of tall blocks on an H200, a second."""

DEVICE_COPIED = 4.3e12
"""Bytes that a copy on an H200 reads and writes in a second: other devices are as much slower as theirs."""

DEVICE_START = 3.0
"""Seconds until a device has begun: torch is loaded, its context made, the kernel compiled or found."""

WORTH_SAYING = 2.0
"""Seconds from which the estimate is worth a sentence, where nobody asked."""


@dataclass(frozen=True)
class Effort:
    """Bytes that sparse products gather, multiplications of dense products, and the bytes that one thread
    gathers while the others wait.

    >>> Effort(1e9, 2e9) + Effort(multiplied=1e9)
    Effort(gathered=1000000000.0, multiplied=3000000000.0, alone=0.0)
    """

    gathered: float = 0.0
    multiplied: float = 0.0
    alone: float = 0.0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.gathered + other.gathered, self.multiplied + other.multiplied, self.alone + other.alone
        )

    def on_threads(self, threads: int) -> float:
        """Seconds on so many threads."""
        shared = self.gathered / min(threads * GATHERED, MEMORY_BUS) + self.multiplied / (
            threads * MULTIPLIED
        )
        return shared + self.alone / GATHERED

    def on_device(self, copied: float) -> float:
        """Seconds on a device that copies so many bytes in a second."""
        own = self.gathered / DEVICE_GATHERED + self.multiplied / DEVICE_MULTIPLIED
        return own * DEVICE_COPIED / copied + self.alone / GATHERED


@dataclass(frozen=True)
class CountedWork:
    """What a computation takes, counted.

    Parameters
    ----------
    moving : what a device would do
    memory : bytes of this process, where the threads do all
    staying : what the threads do, wherever the rest is done
    device_memory : bytes on a device; None where nothing of it is done there
    beside_device : bytes of this process while a device does its part
    """

    moving: Effort
    memory: float
    staying: Effort = field(default_factory=Effort)
    device_memory: float | None = None
    beside_device: float = 0.0


@dataclass(frozen=True)
class Resources:
    """What there is: threads and bytes free; a device by its name, its bytes free, and how many it copies in
    a second (None where that is not known). `looked` says that a GPU was looked for."""

    threads: int
    free: float
    device: str | None = None
    device_free: float = 0.0
    copied: float | None = None
    looked: bool = True

    def holds(self, work: CountedWork) -> bool:
        """Whether the work fits on the device and beside it."""
        need = work.device_memory
        there = self.device is not None and need is not None and need <= self.device_free
        return there and work.beside_device <= self.free


@dataclass(frozen=True)
class Place:
    """Where a computation goes.

    Parameters
    ----------
    device : its name; None for the threads of this process
    seconds : about how long it takes; None where the pace of the device is not known
    memory : bytes that it takes there
    said : the place, the estimate and the reason, in words; empty where it is not worth a word

    >>> work = CountedWork(Effort(3e11), 1.3e9, device_memory=2.1e9)
    >>> placed(work, Resources(2, 8e9), None).sentence
    'On 2 threads: about 12 s and 1.3 GB; there is no GPU that torch can use.'
    """

    device: str | None
    seconds: float | None
    memory: float
    said: str = ""

    @property
    def sentence(self) -> str:
        """What is said, as a sentence of its own."""
        return f"{self.said[:1].upper()}{self.said[1:]}." if self.said else ""


def placed(work: CountedWork, there: Resources, asked: str | None) -> Place:
    """The place of a computation: the threads (`asked` None), a device by its name, or "auto": the faster of
    those that it fits on.

    >>> work = CountedWork(Effort(1e12), 3e9, device_memory=2.1e9)
    >>> gpu = Resources(2, 8e9, "cuda", 139e9, DEVICE_COPIED)
    >>> placed(work, gpu, "auto").said
    'on cuda: about 3 s and 2.1 GB of 139.0 GB free; 2 threads would take about 40 s'
    >>> placed(work, gpu, None).said
    'on 2 threads: about 40 s and 3.0 GB; device="cuda" would take about 3 s'
    """
    here, aside = (work.moving + work.staying).on_threads(there.threads), device_seconds(work, there)
    threads = f"{there.threads} thread{'' if there.threads == 1 else 's'}"
    worth = asked == "auto" or here >= WORTH_SAYING
    too_large = work.memory > there.free
    better = there.holds(work) and (too_large or (aside is not None and aside < here))
    if asked is not None and (asked != "auto" or better):
        need = work.device_memory or 0.0
        spent = "" if aside is None else f"{in_words(aside)} and "
        held = f"{in_gigabytes(need)} of {in_gigabytes(there.device_free)} free"
        takes = f"need {_of_free(work.memory, there.free)}" if too_large else f"take about {in_words(here)}"
        reason = f"; {threads} would {takes}" if asked == "auto" else ""
        said = f"on {there.device}: about {spent}{held}{reason}"
        return Place(there.device, aside, need, said if worth else "")
    takes = f"about {in_words(here)} and {in_gigabytes(work.memory)}" if here >= WORTH_SAYING else "a moment"
    said = f"on {threads}: {takes}{_of_device(work, there, aside, asked)}"
    return Place(None, here, work.memory, said if worth else "")


def device_seconds(work: CountedWork, there: Resources) -> float | None:
    """About how long it takes on the device; None where there is none, or its pace is not known."""
    if there.device is None or there.copied is None:
        return None
    return DEVICE_START + work.moving.on_device(there.copied) + work.staying.on_threads(there.threads)


def _of_device(work: CountedWork, there: Resources, aside: float | None, asked: str | None) -> str:
    """What is to be said of the device that is not taken."""
    name, need = there.device, work.device_memory
    if name is None:
        return "; there is no GPU that torch can use" if there.looked else ""
    if need is None:
        return f"; it is not done on {name}"
    if need > there.device_free:
        return f"; {name} would need {_of_free(need, there.device_free)}"
    if not there.holds(work):
        return f"; beside {name} it would need {_of_free(work.beside_device, there.free)}"
    if aside is None:
        return f"; the pace of {name} is not known"
    way = f'device="{name}"' if asked is None else name
    return f"; {way} would take about {in_words(aside)}"


def _of_free(need: float, free: float) -> str:
    return f"{in_gigabytes(need)}, and {in_gigabytes(free)} are free"


def in_gigabytes(size: float) -> str:
    """Bytes to read.

    >>> in_gigabytes(2.14e9), in_gigabytes(3e6)
    ('2.1 GB', '0.0 GB')
    """
    return f"{size / 1e9:.1f} GB"


def check_fits(
    what: str, need: float, free: float, ways: Mapping[str, bool], otherwise: str, where: str = ""
) -> None:
    """Refuse what needs more bytes than are free, with the ways that would do (way -> whether it does).

    >>> check_fits("rank 9", 3e9, 2e9, {"rank=5 fits": True, "a GPU has the room": False}, "no rank fits")
    Traceback (most recent call last):
        ...
    querist.errors.InputError: rank 9 needs about 3.0 GB and 2.0 GB are free; rank=5 fits
    """
    if need > free:
        found = " or ".join(way for way, does in ways.items() if does) or otherwise
        raise InputError(
            f"{what} needs about {in_gigabytes(need)}{where} and {in_gigabytes(free)} are free; {found}"
        )
