"""One bar over several stages."""

from querist.progress import stages


def test_a_stage_is_its_share_of_the_bar_and_it_never_goes_back() -> None:
    seen: list[tuple[float, str]] = []
    show = stages(lambda fraction, text: seen.append((fraction, text)), {"read": 1.0, "work": 3.0})
    for stage, fraction in (("read", 0.5), ("read", 1.0), ("work", 0.5), ("work", 0.2), ("work", 2.0)):
        show[stage](fraction, "busy")
    assert [fraction for fraction, _ in seen] == [0.125, 0.25, 0.625, 0.625, 1.0]
    assert {text for _, text in seen} == {"busy"}
