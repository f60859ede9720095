"""All pages in Chromium: what axe finds, a phone's width, script in names, the manager's work."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from conftest import serving
from pretend import Pretend, make_app
from test_pages import PAYLOADS

CLASSES = ["Agents", "Databases", "Theory"]
PAGES = ["", "c/papers/label", "c/papers/manage"]


@pytest.fixture(scope="module")
def world():
    return Pretend(CLASSES)


@pytest.fixture(scope="module")
def site(world):
    with serving(make_app(world)) as address:
        yield address


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The text of axe-core, from npm."""
    folder = tmp_path_factory.mktemp("axe")
    try:
        subprocess.run(
            ["npm", "pack", "--silent", "axe-core@4"],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=120,
        )
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"axe-core is not to be had from npm here: {error}")
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        return packed.extractfile("package/axe.min.js").read().decode()


def opened(browser, address, **options):
    context = browser.new_context(**options)
    context.set_default_timeout(5_000)
    page = context.new_page()
    page.goto(address)
    if address.endswith("label"):
        page.locator("#question").wait_for()
    elif address.endswith("manage"):
        page.locator("#fresh", has_text="Up to date").wait_for()
    return page


def serious(page, axe):
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious(browser, site, axe, path):
    for colours in ("light", "dark"):
        page = opened(
            browser, f"{site}/{path}", color_scheme=colours, viewport={"width": 1200, "height": 800}
        )
        assert serious(page, axe) == []
        page.set_viewport_size({"width": 390, "height": 800})
        assert serious(page, axe) == []
        if path.endswith("label"):
            page.keyboard.press("c")
            assert serious(page, axe) == []
        page.context.close()


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_wider_than_a_phone(browser, site, path):
    page = opened(
        browser, f"{site}/{path}", viewport={"width": 360, "height": 700}, is_mobile=True, has_touch=True
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.context.close()


def test_script_in_names_is_shown_as_text(browser):
    """Ids, attributes, classes, comments and people, wherever a page shows them."""
    world = Pretend(PAYLOADS, name=" ".join(PAYLOADS))
    world.values = [[text, text] for text in PAYLOADS] + [[text, 10 * text] for text in PAYLOADS]
    world.node_name = lambda row: f"{PAYLOADS[row % len(PAYLOADS)]} {row}"
    with serving(make_app(world)) as address:
        for path in PAGES:
            page = opened(browser, f"{address}/{path}")
            if path.endswith("label"):
                assert page.locator("#classes button span").all_text_contents() == PAYLOADS
                assert page.locator("#values dt").all_text_contents() == PAYLOADS
                assert page.locator("#name").text_content() == world.node_name(world.open[0])
                page.locator("#near button").first.click()
                page.keyboard.press("Escape")
                for text in PAYLOADS:
                    page.keyboard.press("c")
                    page.locator("#comment-text").fill(text)
                    page.keyboard.press("Control+Enter")
                assert page.locator("#comments li").count() == len(PAYLOADS)
                page.locator("#classes button").first.click()
                page.locator("#past .saved").wait_for()
            elif path.endswith("manage"):
                page.locator("#doubts summary").first.click()
                page.locator("#doubts dl").wait_for()
                page.locator("#invite-name").fill(PAYLOADS[0])
                page.get_by_role("button", name="Make a link").click()
                page.locator("#tokens th").first.wait_for()
                names = page.locator("#doubts h3").all_text_contents()
                assert names == [world.node_name(row) for row in world.doubts]
            assert page.evaluate("window.hit") is None
            strange = "img, iframe, style, script:not([src]):not([type='application/json'])"
            assert page.locator(strange).count() == 0
            page.context.close()


def test_the_manager_works(browser, site, world):
    page = opened(browser, f"{site}/c/papers/manage")
    assert "84.0 %" in page.locator("#headline").inner_text()
    assert "95 % interval 71.0 % to 92.0 %" in page.locator("#headline").inner_text()
    assert "points with 10 more answers" in page.locator("#buy").inner_text()
    assert page.locator("#people tr").first.inner_text().split("\t") == [
        "Ada",
        "31",
        "93 %",
        "80 % to 98 %",
        "7.4 s",
        "2",
    ]

    page.locator("#pause").click()
    page.locator("#pause", has_text="Go on").wait_for()
    assert world.paused
    page.locator("#pause").click()
    page.locator("#budget-field").fill("80")
    page.keyboard.press("Enter")
    page.locator("#headline", has_text="of a budget of 80").wait_for()
    assert world.budget == 80 and not world.paused

    page.locator("#doubts li[data-row='7']").get_by_role("button", name="Databases").click()
    page.locator("#doubts li[data-row='7']").wait_for(state="detached")
    page.get_by_label("Another class for").select_option("Theory")
    page.locator("#doubts-text", has_text="Nothing waits").wait_for()
    assert [body for kind, body in world.log if kind == "verdict"] == [
        {"row": 7, "label": 1},
        {"row": 23, "label": 2},
    ]

    page.locator("#invite-name").fill("Linus")
    page.get_by_role("button", name="Make a link").click()
    page.locator("#made").wait_for()
    assert page.locator("#made-link").input_value().endswith("token=secret")
    page.get_by_role("button", name="Revoke the link of Linus").click()
    page.locator("#tokens", has_text="revoked").wait_for()

    page.locator("#anonymous").check()
    links = [link.get_attribute("href") for link in page.locator("[data-format]").all()]
    assert len(links) == 3 and all(link.endswith("anonymous=1") for link in links)
    page.context.close()


def test_the_graph_is_drawn_in_the_colours_of_the_classes(browser, site):
    from querist.report.figures import DARK, LIGHT

    for scheme, colours in (("light", LIGHT), ("dark", DARK)):
        page = opened(browser, f"{site}/c/papers/manage", color_scheme=scheme)
        page.locator("#map-text", has_text="answered").wait_for()
        pixels = page.evaluate(
            "() => { const c = document.getElementById('map');"
            " return [...new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer))] }"
        )
        wanted = [int(colours[f"class-{k}"][1:], 16) for k in range(3)]
        found = {
            (p & 255) << 16 | (p >> 8 & 255) << 8 | (p >> 16 & 255) for p in pixels if p >> 24 & 255 == 255
        }
        assert found >= set(wanted)
        page.context.close()
