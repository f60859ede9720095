"""Downloads from a real server on this machine: what can go wrong, and that a retry mends it."""

import multiprocessing
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from querist.datasets.convert import linqs
from querist.datasets.fetch import fetch
from querist.datasets.registry import DownloadSource, Entry, File
from querist.errors import DownloadError, InputError
from querist.graph import as_graph

Site: TypeAlias = Any  # the fixture in conftest.py


def check_good(path: Path, cache: Path) -> None:
    """The set is whole, and nothing else lies in the cache."""
    assert path == cache / "toy.npz"
    assert as_graph(path).describe() == "toy: 4 nodes, 2 edges, 3 attributes, 2 classes, 2 components"
    assert [p.name for p in cache.iterdir()] == ["toy.npz"]


def check_nothing(cache: Path) -> None:
    assert not cache.exists() or list(cache.iterdir()) == []


def check_mends(site: Site, entry: Entry, cache: Path) -> None:
    """After a failure that left nothing, the same call works once the site is well."""
    check_nothing(cache)
    site.cut, site.fail, site.files = {}, {}, {"toy.content": site.content, "toy.cites": site.cites}
    check_good(fetch(entry, cache, retries=0), cache)


def test_right_files(site: Site, cache: Path) -> None:
    seen: list[tuple[float, str]] = []
    check_good(fetch(site.entry(), cache, progress=lambda *step: seen.append(step)), cache)
    assert site.asked == ["toy.content", "toy.cites"]
    assert seen[-1] == (1.0, f"toy.cites, {len(site.cites) / 1e6:.1f} MB")
    assert all(0 <= fraction <= 1 for fraction, _ in seen)


@pytest.mark.parametrize("file", ["toy.content", "toy.cites"])
def test_wrong_checksum(site: Site, cache: Path, file: str) -> None:
    entry = site.entry()
    site.files[file] = site.files[file].replace(b"p1\t", b"p9\t")
    with pytest.raises(DownloadError, match=rf"{file} came with the wrong checksum.*QUERIST_DATA"):
        fetch(entry, cache, retries=0)
    check_mends(site, entry, cache)


@pytest.mark.parametrize("sent", [0, 1, 20])
def test_interrupted_transfer(site: Site, cache: Path, sent: int) -> None:
    entry = site.entry()
    site.cut["toy.cites"] = sent
    with pytest.raises(DownloadError, match=r"transfer of .*toy.cites failed.*QUERIST_DATA"):
        fetch(entry, cache, retries=0)
    check_mends(site, entry, cache)


def test_absent_file(site: Site, cache: Path) -> None:
    entry = site.entry()
    del site.files["toy.content"]
    with pytest.raises(
        DownloadError, match=r"404 .*Not Found.*toy.content.*Try again later, or put toy.npz in"
    ):
        fetch(entry, cache, retries=0)
    check_mends(site, entry, cache)


def test_server_down(site: Site, cache: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        entry = site.entry()
        down = [replace(file, url=file.url.replace(site.url, url)) for file in entry.sources[0].files]
        with pytest.raises(DownloadError, match=rf"transfer of {url}/toy.content failed.*QUERIST_DATA"):
            fetch(replace(entry, sources=(DownloadSource(tuple(down), linqs),)), cache, retries=0)
    check_mends(site, entry, cache)


@pytest.mark.slow
def test_a_passing_fault_is_tried_again(site: Site, cache: Path) -> None:
    entry = site.entry()
    site.fail["toy.cites"] = 1
    check_good(fetch(entry, cache, retries=1), cache)
    assert site.asked == ["toy.content", "toy.cites", "toy.cites"]


def test_the_next_source_is_tried(site: Site, cache: Path) -> None:
    good = site.entry().sources[0]
    gone = DownloadSource((File("toy.content", f"{site.url}/gone.content", "0" * 64),), linqs)
    check_good(fetch(site.entry(sources=(gone, good)), cache, retries=0), cache)
    with pytest.raises(DownloadError, match=r"gone.content; .*404.*gone.content"):
        fetch(site.entry(sources=(gone, gone)), cache, retries=0)


def unknown_bytes(site: Site) -> DownloadSource:
    return DownloadSource(tuple(File(name, f"{site.url}/{name}") for name in site.files), linqs)


def test_content_is_checked_where_the_bytes_are_not_known(site: Site, cache: Path, tmp_path: Path) -> None:
    entry = site.entry(sources=(unknown_bytes(site),), content=site.content_checksum())
    site.files["toy.content"] = site.content.replace(b"x-3\t0", b"x-3\t1")
    with pytest.raises(DownloadError, match=r"toy.cites hold another graph than 'toy'.*QUERIST_DATA"):
        fetch(entry, cache, retries=0)
    check_nothing(cache)
    for broken in (b"<html>moved</html>", site.content[:-8], b""):
        site.files["toy.content"] = broken
        with pytest.raises(DownloadError, match=r"toy.cites cannot be read as 'toy'|another graph|no lines"):
            fetch(entry, cache, retries=0)
        check_nothing(cache)
    site.files["toy.content"] = site.content
    check_good(fetch(entry, cache, retries=0), cache)


def test_an_entry_without_any_checksum_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match=r"toy.content has no checksum; give"):
        site.entry(sources=(unknown_bytes(site),))


def test_a_failed_download_leaves_the_good_one(site: Site, cache: Path) -> None:
    entry = site.entry()
    good = fetch(entry, cache, retries=0).read_bytes()
    site.cut["toy.cites"] = 3
    with pytest.raises(DownloadError):
        fetch(entry, cache, retries=0)
    assert (cache / "toy.npz").read_bytes() == good


def test_a_cache_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DownloadError, match=rf"cannot write to the cache {re.escape(str(tmp_path))}.*QUERIST_CACHE"
    ):
        fetch(site.entry(), tmp_path / "file" / "cache", retries=0)


@pytest.mark.slow
def test_two_processes_at_once(site: Site, cache: Path) -> None:
    site.delay = 0.3
    calls = [(site.entry(), cache)] * 2
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.starmap(fetch, calls, chunksize=1)
    assert first == second
    assert site.asked.count("toy.cites") == 2
    check_good(first, cache)


def test_what_is_cached_needs_no_pickle(site: Site, cache: Path) -> None:
    with np.load(fetch(site.entry(), cache), allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


@pytest.mark.parametrize("url", ["http://[bad", "no address"])
def test_an_address_that_is_none(site: Site, cache: Path, url: str) -> None:
    entry = site.entry()
    files = [replace(file, url=url) for file in entry.sources[0].files]
    entry = replace(entry, sources=(replace(entry.sources[0], files=tuple(files)),))
    with pytest.raises(DownloadError, match=r"the transfer of .* failed"):
        fetch(entry, cache, retries=0)
    check_nothing(cache)
