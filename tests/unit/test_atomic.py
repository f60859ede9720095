"""A file is there whole or not at all."""

import errno
import os
import stat

import pytest

from querist.atomic import check_writable, replacing
from querist.errors import InputError


def test_a_finished_block_replaces_the_file(tmp_path):
    place = tmp_path / "rows"
    place.write_bytes(b"old")
    with replacing(place) as file:
        file.write(b"new")
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["rows"]


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_broken_block_leaves_what_was_there(tmp_path, problem):
    place = tmp_path / "rows"
    place.write_bytes(b"old")

    def half():
        with replacing(place) as file:
            file.write(b"half")
            raise problem

    with pytest.raises(problem):
        half()
    assert place.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["rows"]


@pytest.mark.parametrize("other", [None, "another file"])
def test_an_error_of_the_disk_names_the_file(tmp_path, other):
    place = tmp_path / "rows"

    def half():
        with replacing(place) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), other)

    with pytest.raises(OSError, match="No space left") as caught:
        half()
    assert caught.value.filename == (other or str(place))
    assert os.listdir(tmp_path) == []


def test_the_file_has_the_rights_of_any_new_file(tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    with replacing(tmp_path / "ours") as file:
        file.write(b"x")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no folder"), replacing(tmp_path / "none" / "rows"):
        pass


def test_an_error_in_words_keeps_them(tmp_path):
    def refused():
        with replacing(tmp_path / "rows"):
            raise OSError("the archive is closed")

    with pytest.raises(OSError, match="the archive is closed"):
        refused()


def test_a_place_is_tried_without_a_trace(tmp_path):
    (tmp_path / "there").write_bytes(b"old")
    assert check_writable(tmp_path / "there") == tmp_path / "there"
    assert check_writable(tmp_path / "new") == tmp_path / "new"
    assert os.listdir(tmp_path) == ["there"]
    assert (tmp_path / "there").read_bytes() == b"old"


@pytest.mark.parametrize("write", [check_writable, lambda path: replacing(path).__enter__()])
def test_what_is_no_plain_file_is_not_replaced(tmp_path, write):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "full").symlink_to("/dev/full")
    for name in ("pipe", "full"):
        with pytest.raises(InputError, match=f"{name} is a device or a pipe"):
            write(tmp_path / name)
    with pytest.raises(InputError, match="is a folder"):
        write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["full", "pipe"]


def test_a_name_that_the_disk_refuses_is_found_before_the_work(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written \(File name too long\)"):
        check_writable(tmp_path / ("x" * 250))
