"""Screenshots for docs/serve.md and the home page: a demo campaign on its own server, and a report.

    python tools/serve_screenshots.py [docs/images]

Three people answer, and two of them sometimes wrongly, so that the manager's page has something to show.
"""

import json
import random
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import querist
from querist.serve.client import Remote

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
PEOPLE = {"Ada": 0.0, "Grace": 0.05, "Linus": 0.15}
"""Who answers, and the share of it that is wrong."""
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
LABELS = querist.load_graph("messages").labels
PHONE = {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True}


@contextmanager
def demo():
    """A server with the demo campaign: its address and its links."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "querist",
            "serve",
            "--demo",
            "--audit",
            "20",
            "--json",
            "--port",
            "0",
        ]
        process = subprocess.Popen(
            [*command, "--store", str(Path(folder) / "demo.db")], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            yield json.loads(_document(process.stdout))
        finally:
            process.terminate()
            process.wait()


def _document(lines: Any) -> str:
    """The text of the first JSON document of a stream that stays open."""
    text = ""
    for line in lines:
        text += line
        if line.rstrip() == "}" or (text.startswith("{") and line.rstrip().endswith("}")):
            return text
    raise SystemExit("the server said nothing")


def answer(address: str, place: str, token: str, wrong: float, times: int, random_: random.Random) -> None:
    """One person answers, by the labels that the data set has."""
    remote = Remote(address, token, 60.0)
    classes = remote.get(place)["classes"]
    for _ in range(times):
        for lease in remote.post(f"{place}/leases", {"count": 1})["leases"]:
            code = classes.index(LABELS[lease["row"]])
            if random_.random() < wrong:
                code = (code + 1) % len(classes)
            remote.post(f"{place}/answers", {"row": lease["row"], "outcome": "answer", "label": code})


def disagree(address: str, place: str, tokens: list[str]) -> None:
    """One question goes from hand to hand, and everybody answers it otherwise."""
    people = [Remote(address, token, 60.0) for token in tokens]
    for remote in people:
        row = remote.post(f"{place}/leases", {"count": 1})["leases"][0]["row"]
        remote.send("DELETE", f"{place}/leases/{row}")
    for code, remote in enumerate(people):
        remote.post(f"{place}/answers", {"row": row, "outcome": "answer", "label": code})


def picture(page: Page, name: str, target: Path) -> None:
    """A screenshot of the page, as a file with few colours."""
    place = target / f"{name}.png"
    page.screenshot(path=place)
    save(Image.open(place), place)


def save(shown: Image.Image, place: Path) -> None:
    """Write an image with 256 colours."""
    few = shown.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(place, optimize=True)
    print(place)


def manager_page(page: Page, target: Path) -> None:
    """The manager's page, and its upper part for the home page."""
    picture(page, "serve_manager", target)
    whole = Image.open(target / "serve_manager.png")
    save(whole.crop((0, 0, whole.width, 1200)), target / "serve_manager_top.png")


def report(browser: Browser, target: Path) -> None:
    """The report of `querist label` on the messages, from half of their labels."""
    graph = querist.load_graph("messages")
    known = dict(zip(graph.nodes[::2], LABELS[::2], strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        querist.label(graph, known).report(path)
        page = opened(browser, path.as_uri(), viewport={"width": 1100, "height": 1230})
        picture(page, "report", target)


def opened(browser: Browser, link: str, **options: Any) -> Page:
    """A page in a browser that nobody has used."""
    page = browser.new_context(reduced_motion="reduce", **options).new_page()
    page.goto(link)
    return page


def new_campaign(page: Page, target: Path) -> None:
    """The form, filled in but for one class that the known labels have."""
    files = {
        "edges": "source,target\nrye,oat\noat,elm\nelm,ash\n",
        "nodes": "id,text\nrye,A grass\noat,A grass too\nelm,A tree\nash,Another tree\n",
        "labels": "node,label\nrye,cereal\n",
    }
    for field, text in files.items():
        file = {"name": f"{field}.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.locator(f"#{field}").set_input_files(file)
    page.locator("#name").fill("Plants")
    page.locator("#classes").fill("grass, tree")
    page.get_by_role("button", name="Create the campaign").click()
    page.locator("#labels-wrong").wait_for()
    page.set_viewport_size({"width": 900, "height": 100})
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": 900, "height": height})
    page.evaluate("scrollTo(0, 0)")
    picture(page, "serve_new", target)
    page.set_viewport_size(DESKTOP["viewport"])


def take(target: Path) -> None:
    """All pictures."""
    target.mkdir(parents=True, exist_ok=True)
    with demo() as said, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        manager = opened(browser, said["manager"], **DESKTOP)
        manager.get_by_role("link", name="New campaign").click()
        new_campaign(manager, target)
        manager.goto(said["address"])
        manager.get_by_role("link", name="How it goes").click()
        manager.locator("#invite").wait_for()
        id = manager.url.split("/")[-2]
        links = {}
        for name in PEOPLE:
            manager.locator("#invite-name").fill(name)
            manager.get_by_role("button", name="Make a link").click()
            manager.locator("#made-text", has_text=name).wait_for()
            links[name] = manager.locator("#made-link").input_value()
        disagree(
            said["address"], f"/campaigns/{id}", [link.partition("token=")[2] for link in links.values()]
        )
        random_ = random.Random(2)
        for _ in range(6):
            for name, wrong in PEOPLE.items():
                token = links[name].partition("token=")[2]
                answer(said["address"], f"/campaigns/{id}", token, wrong, 3, random_)

        page = opened(browser, links["Ada"], **DESKTOP)
        page.locator("#question").wait_for()
        titles = querist.datasets.table_of("messages")["title"]
        for answered in range(10):
            if answered > 2 and page.locator("#classes .guessed").count():
                break  # a question with a guess, and answers before it
            label = LABELS[titles.index(page.locator("#name").inner_text())]
            page.locator("#classes button", has_text=label).click()
            page.locator("#safe", has_text="All answers saved").wait_for()
            page.locator("#question").wait_for()
        page.locator("#name").hover()
        picture(page, "serve_labeller", target)
        page.emulate_media(color_scheme="dark")
        page.context.set_offline(True)
        page.keyboard.press("s")
        page.locator("#safe", has_text="Network away").wait_for()
        picture(page, "serve_offline", target)
        page.context.set_offline(False)
        phone = opened(browser, links["Grace"], **PHONE)
        phone.locator("#question").wait_for()
        picture(phone, "serve_phone", target)
        manager.reload()
        manager.locator("#fresh", has_text="Up to date").wait_for()
        manager.locator("#headline", has_text="95 % interval").wait_for()  # the audit is measured meanwhile
        manager.set_viewport_size({"width": 1280, "height": 1730})
        manager.locator("#map-text", has_text="answered").wait_for()
        manager.evaluate("scrollTo(0, 0)")
        manager_page(manager, target)
        report(browser, target)
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
