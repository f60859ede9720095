"""One protocol of progress, and what is made of it."""

from querist.progress import count, part, silent, with_time_left


def test_parts_fill_the_whole() -> None:
    said: list[tuple[float, str]] = []
    half = part(lambda fraction, text: said.append((fraction, text)), 0.5, 0.5)
    half(0.0, "begin")
    part(half, 0.5, 0.5, "named by the whole")(1.0, "named by the part")
    count(half, 1, 4, "trials")
    count(half, 0, 0, "nothing to do")
    assert said == [
        (0.5, "begin"),
        (1.0, "named by the whole"),
        (0.625, "trials, 1 of 4"),
        (1.0, "nothing to do, 0 of 0"),
    ]
    silent(0.5, "heard by nobody")


def test_time_left_is_said_when_there_is_enough_to_tell() -> None:
    said: list[tuple[float, str]] = []
    now = iter([0.0, 1.0, 10.0, 12.0, 40.0])
    show = with_time_left(lambda fraction, text: said.append((fraction, text)), lambda: next(now))
    for fraction in (0.1, 0.5, 0.4, 1.0):
        show(fraction, "solving")
    assert said[0] == (0.1, "solving")
    assert said[1] == (0.5, "solving, about 10 s left")
    assert said[2] == (0.5, "solving, about 12 s left")  # it never goes back
    assert said[3] == (1.0, "solving")
