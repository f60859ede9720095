"""A quotation mark that is never closed is said, wherever it stands: Arrow would drop rows without a word."""

from pathlib import Path

import pytest

from querist.errors import InputError
from querist.graph import as_graph
from querist.tables.files import node_file


@pytest.mark.slow
@pytest.mark.parametrize("bad", ['"17,5', '17,"5'])
@pytest.mark.parametrize("place", [3, 150_000, 299_998])
def test_one_open_quotation_mark_among_many_lines(bad: str, place: int, tmp_path: Path) -> None:
    rows = [f"{i},{i + 1}" for i in range(300_000)]
    rows[place] = bad
    path = tmp_path / "e.csv"
    path.write_text("source,target\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match=rf"e\.csv, line {place + 2}: "):
        as_graph(path)


def test_quoted_fields_that_are_closed_are_read(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text('"source","target"\n"a","b"\n\n"b","c ""d"""\n')
    assert as_graph(path).nodes == ("a", "b", 'c "d"')
    path.write_text('id,a,b,text\n1,2,3,a 5" pipe\n2,2,3,x\n')
    assert node_file(path).table["text"].to_pylist() == ['a 5" pipe', "x"]


def test_an_open_text_at_the_end_of_a_wide_table(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text('id,a,b,text\n1,2,3,"fine\nover two lines"\n2,2,3,"open\n3,1,1,x\n')
    with pytest.raises(InputError, match=r"n\.csv, line 4: a quotation mark is not closed"):
        node_file(path)
    path.write_text('id,text\n1,"abc\n2,d\n')
    with pytest.raises(InputError, match=r"n\.csv, line 2: a quotation mark is not closed"):
        node_file(path)
