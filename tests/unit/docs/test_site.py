"""The site that `make site` builds: no warning, no broken link, no request to another host.

It is built once for this file and opened in Chromium at the widths of a phone and a desktop.
"""

import functools
import os
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest

ROOT = Path(__file__).parents[3]
CODE_THAT_RUNS_OFF = """[...document.querySelectorAll("pre > code")]
    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText)"""
PHONE, DESKTOP = {"width": 390, "height": 780}, {"width": 1280, "height": 800}
PATIENCE = 120_000
"""Milliseconds that the browser has to load the index of all pages."""
SEARCH_MILLISECONDS = 10_000
"""Milliseconds that a search has to settle, once there is a result."""
LOOKED_AT = [
    "index.html",
    "start.html",
    "tutorials/label_csv.html",
    "methods/msg.html",
    "methods/smoothed_ridge.html",
    "reference/index.html",
    "reference/online.html",
    "results/index.html",
    "label.html",
    "how_label_works.html",
    "appendix/label_accuracy.html",
]
WITHIN_TWO_CLICKS = [
    "tutorials/label_csv.html",
    "howto/accuracy.html",
    "howto/cite.html",
    "howto/add_a_strategy.html",
]

pytestmark = pytest.mark.long
pytest.importorskip("mkdocs")


class Links(HTMLParser):
    """What a page links to or shows, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.places |= {own[key] for key in ("id", "name") if own.get(key)}
        if tag == "a" and own.get("href"):
            self.links.append(own["href"])
        if tag in ("img", "script", "iframe", "source") and own.get("src"):
            self.loads.append(own["src"])
        if tag == "link" and own.get("href") and own.get("rel") != "canonical":
            self.loads.append(own["href"])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the site, and what its build said."""
    folder = tmp_path_factory.mktemp("site")
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return folder, done


@pytest.fixture(scope="module")
def pages(built):
    """Every page by its path in the site."""
    folder, _ = built
    return {
        str(path.relative_to(folder)): Links(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.html")
    }


@pytest.fixture(scope="module")
def served(built):
    """The address of the site on this machine."""
    folder, _ = built

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_the_reference_lists_the_options_of_a_function():
    griffe = pytest.importorskip("griffe")
    from docstrings import MarkdownDocstrings

    extensions = griffe.load_extensions(MarkdownDocstrings)
    module = griffe.load("querist.graph.neighbours", search_paths=[str(ROOT / "src")], extensions=extensions)
    shown = module["from_points"].docstring.value
    assert "- `k`: Nearest neighbours of each point [default: 10]." in shown.splitlines()
    assert "- `X`: (n, m) array" in shown


def test_it_is_built_without_a_warning(built):
    folder, done = built
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert (folder / "index.html").exists()


def test_no_link_is_broken(built, pages):
    folder, _ = built
    broken = []
    for name, page in pages.items():
        for target in [*page.links, *page.loads]:
            if urlsplit(target).scheme or name == "404.html":
                continue
            path, place = urldefrag(urljoin(name, target))
            path = unquote(path) or name  # a place on the same page
            places = pages[path].places if path in pages else {place}
            if not (folder / path).is_file() or (place and unquote(place) not in places):
                broken.append((name, target))
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(pages):
    assert {load for page in pages.values() for load in page.loads if urlsplit(load).netloc} == set()


def test_important_pages_are_two_clicks_away(pages):
    first = pages["index.html"].links
    nearby = {"index.html", *(urldefrag(link).url for link in first)} & set(pages)
    reached = set(nearby)
    for name in nearby:
        reached |= {urljoin(name, urldefrag(link).url) for link in pages[name].links}
    assert set(WITHIN_TWO_CLICKS) <= reached


def test_every_page_of_the_docs_is_on_the_site(pages):
    for path in (ROOT / "docs").rglob("*.md"):
        name = str(path.relative_to(ROOT / "docs").with_suffix(".html")).replace("README", "index")
        assert name in pages or path.name == "NOTES.md", name


def test_formulas_are_drawn_without_a_script(built):
    folder, _ = built
    for path in (folder / "methods").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "arithmatex" not in text, path.name
        assert not re.search(r"\$\$|\\frac|\\sum", text), path.name
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in (
        folder / "methods" / "msg.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pages_fit_the_screen_and_ask_nobody(browser, served, size, scheme, tmp_path):
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    for name in LOOKED_AT:
        page.goto(served + name, wait_until="networkidle")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"{name} is {width} pixels wide"
        if size is DESKTOP:
            assert page.evaluate(CODE_THAT_RUNS_OFF) == [], name
        assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)"), name
        page.screenshot(path=tmp_path / f"{name.replace('/', '_')}.png")
    assert (
        page.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
    )
    context.close()
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []
    assert said == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("POUNCE", "methods/pounce.html"),
        ("querist.label", "label.html"),
        ("querist.ask", "ask.html"),
        ("excel", "label.html"),
        ("csv", "tutorials/label_csv.html"),
        ("gpu", "device.html"),
        ("team", "serve.html"),
        ("accuracy", "howto/accuracy.html"),
    ],
)
def test_the_search_finds_the_right_page_first(browser, served, words, expected):
    page = browser.new_page(viewport=DESKTOP)
    page.goto(served, wait_until="networkidle")
    page.locator("input[name=query]").click()
    page.keyboard.type(words)  # the search listens to keys once its index is loaded
    first = page.locator(".md-search-result__link").first
    first.wait_for(timeout=PATIENCE)
    page.wait_for_function(
        """expected => document.querySelector(".md-search-result__link")
        .href.split(/[?#]/)[0].endsWith("/" + expected)""",
        arg=expected,
        timeout=SEARCH_MILLISECONDS,
    )
    page.close()


def test_each_tutorial_is_also_a_notebook(built):
    nbformat = pytest.importorskip("nbformat")
    folder, _ = built
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        if page.stem != "index":
            notebook = nbformat.read(folder / "tutorials" / f"{page.stem}.ipynb", as_version=4)
            nbformat.validate(notebook)
            code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
            assert len(code) == len(re.findall(r"^```(?:python|bash)$", page.read_text(), re.MULTILINE))
            assert f'href="{page.stem}.ipynb"' in (folder / "tutorials" / f"{page.stem}.html").read_text()


def test_the_sections_are_in_order(built):
    folder, _ = built
    text = (folder / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'<a href="[^"]*" class="md-tabs__link">\s*(.*?)\s*</a>', text, re.DOTALL)
    assert tabs == [
        "Get started",
        "Tutorials",
        "How-to guides",
        "Concepts",
        "Methods",
        "Reference",
        "Results",
        "Contributing",
    ]


def test_the_reader_can_switch_to_dark(browser, served):
    page = browser.new_page(viewport=DESKTOP, color_scheme="light")
    page.goto(served)
    page.locator("label[title=Dark]").click()
    page.wait_for_function("document.body.dataset.mdColorScheme === 'slate'")
    page.close()
