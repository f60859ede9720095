"""The write-ahead log of a SQLite file, read before SQLite opens the file.

SQLite uses this log up to the first frame with a wrong checksum and drops the rest without an error, because
a write that was cut short looks like that. So does a damaged byte, which would take every later answer along.
The first wrong frame is damaged, and is not the end of a write that was cut short, if

- a later transaction follows: each one is on the disk before the next begins; or
- the index of the log (the file that ends in -shm) counts it as committed; or
- a change of one 32-bit word explains its checksums.

The log is a header of 32 bytes, then frames: page number, size of the file after a commit (else 0), two
salts, two checksums, and the page. A frame in use has the salts of the header. The checksums are the last two
of t[i] = t[i-1] + t[i-2] + w[i] mod 2**32 over the other words w, begun with those of the frame before.
"""

import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class WriteAheadLog(NamedTuple):
    """A log as 32-bit words, a row per frame. `off` and `in_use` begin with the header: it is frame 0."""

    frames: Any
    off: Any
    """By how much the two checksums of each frame are off."""
    in_use: Any
    """Whether a frame has the salts of the header; an earlier log left the others behind."""
    damaged: int | None
    """The first frame that is damaged."""

    def first_page(self) -> bytes:
        """The beginning of the newest first page of the database; nothing if the log has none."""
        (found,) = np.nonzero(_heads(self.frames)[:, 0] == 1)
        return bytes(self.frames[found[-1], 6:31].tobytes()) if len(found) else b""


def read_log(path: Path) -> WriteAheadLog | None:
    """The log of a database file; None if it has none."""
    first = _read(path)
    if first is None or first.damaged is None:
        return first
    again = _read(path)  # another process may be writing: damage is what a second reading confirms
    return again if again is None or again.damaged == first.damaged else again._replace(damaged=None)


def salvaged(path: Path, folder: str) -> Path:
    """The file itself, or if its log is damaged a copy in a folder, with what can be read of the log in it.

    A wrong word is corrected if the checksums tell which one it is; other damaged frames are left out.
    """
    log = read_log(path)
    if log is None or log.damaged is None:
        return path
    frames, off, weights = log.frames, log.off[1:], _weights(log.frames.shape[1] - 2)
    # A frame may be off only because it continues checksums that were damaged.
    lost = off.all(1) & (off + _seeds(log.off[:-1]) @ weights[:2]).any(1)
    for number in np.flatnonzero(lost):
        words = _suspects(off[number], weights[2:])
        if len(words) == 1:
            odd = weights[words[0] + 2, 1] % 2
            change = off[number, [odd]] * np.uint32(pow(int(weights[words[0] + 2, odd]), -1, 2**32))
            frames[number, words + 4 * (words > 1)] += change
            lost[number] = False
    heads, used = _heads(frames), log.in_use[1:].copy()
    used[max(log.damaged - 1, 0) : log.damaged] = True
    last = max(np.flatnonzero(used & ~lost & (heads[:, 1] > 0)), default=-1)
    copy = Path(shutil.copy(path, folder))
    with copy.open("r+b") as file:
        for number in np.flatnonzero(~lost[: last + 1]):
            page, place = frames[number, 6:].tobytes(), int(heads[number, 0]) - 1
            if 0 <= place < heads[last, 1]:
                file.seek(place * len(page))
                file.write(page)
    return copy


def _read(path: Path) -> WriteAheadLog | None:
    path = path.resolve()  # SQLite keeps the log of a link beside the file it leads to
    # The index first: then every frame that it counts is in the log.
    index = _content(path.with_name(f"{path.name}-shm"), 96)
    log = _content(path.with_name(f"{path.name}-wal"))
    size = int.from_bytes(_content(path, 18)[16:], "big") or int.from_bytes(log[8:12], "big")
    size = 65_536 if size == 1 else size
    if len(log) < 32 or size < 512 or size % 8:
        return None
    shape, weights = ((len(log) - 32) // (24 + size), 6 + size // 4), _weights(4 + size // 4)
    frames = np.frombuffer(log, np.uint32, shape[0] * shape[1], 32).reshape(shape)
    header, heads = np.frombuffer(log, ">u4", 8).astype(np.uint32), _heads(frames)
    sums = np.concatenate([header[None, 6:], heads[:, 4:]])
    words = np.concatenate([_seeds(sums[:-1]), frames[:, :2], frames[:, 6:]], axis=1)
    off = sums - np.concatenate([np.frombuffer(log, np.uint32, 6)[None] @ weights[-6:], words @ weights])
    begun = header[0] // 2 == 0x377F0682 // 2 and not off[0].any()
    in_use = np.append(True, (heads[:, 2:4] == (header[4:6] if begun else heads[:1, 2:4])).all(1))
    right = np.append(begun, in_use[1:] & ~off[1:].any(1))
    first = int(np.argmin(np.append(right, False)))
    later = np.append(False, heads[:, 1] > 0)[first:-1] & right[first + 1 :]
    counted = index[:48] == index[48:] and index[32:40] == log[16:24]
    damaged = later.any() or (counted and int.from_bytes(index[16:20], sys.byteorder) >= first)
    if not damaged and first < len(right):
        wrong = off[first]
        one = wrong.any() and (not wrong.all() or len(_suspects(wrong, weights[2:])) > 0)
        damaged = one if in_use[first] else not wrong.any()
    return WriteAheadLog(frames, off, in_use, first if damaged else None)


def _content(path: Path, most: int = -1) -> bytearray:
    # Unbuffered, so that no further byte is read: Windows locks some of them.
    with suppress(FileNotFoundError), path.open("rb", buffering=0) as file:
        return bytearray(file.read(most))
    return bytearray()


def _heads(frames: Any) -> Any:
    """The first six words of every frame as numbers, which SQLite writes with the highest byte first."""
    return np.ascontiguousarray(frames[:, :6]).view(">u4").astype(np.uint32)


def _weights(count: int) -> Any:
    """How much each of so many words adds to both checksums: Fibonacci numbers, 0 and 1 for the last word."""
    numbers = [0, 1]
    while len(numbers) <= count:
        numbers.append((numbers[-1] + numbers[-2]) % 2**32)
    return np.array([numbers[count - 1 :: -1], numbers[:0:-1]], np.uint32).T


def _seeds(sums: Any) -> Any:
    """The words that put the two numbers where the checksums of the frame before have them."""
    return np.stack([sums[:, 0], sums[:, 1] - sums[:, 0]], axis=1)


def _suspects(off: Any, weights: Any) -> Any:
    """The words that alone could have put the checksums off by so much."""
    return np.flatnonzero(off[0] * weights[:, 1] == off[1] * weights[:, 0])
