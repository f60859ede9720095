"""What `make site` adds to the pages of docs/: the API reference, registered methods, notebooks and formulas.

The pages themselves are plain Markdown that can be read in the repository too.
"""

import re
from html import unescape
from inspect import ismodule
from typing import Any

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import as_notebook, with_download
from public_names import PublicName, module_members, modules, public_names
from registered import with_tables

TUTORIAL = re.compile(r"tutorials/(?!index)(\w+)\.md")
SEARCH_BOOSTS = {"methods/": 3, "appendix/": 0.3, "results/": 0.3}
"""Weights in the search: the page of a method before tables of measurements. Pages may set their own."""
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def reference_page(module: str) -> str:
    """The page of a package: its own docstring, then every public name that it gives."""
    own = (
        f"::: {module}\n    options: {{members: false, show_root_heading: false, show_root_toc_entry: false}}"
    )
    parts = [f"# {module}", own]
    for one in names_of(module):
        members = f", members: {module_members()[one.path]}" if ismodule(one.value) else ""
        options = f"{{heading: '{one.path}', toc_label: '{one.name}'{members}}}"
        parts.append(f"::: {one.home}\n    options: {options}")
    return "\n\n".join(parts) + "\n"


def names_of(module: str) -> list[PublicName]:
    """What the page of a package shows: its public names, but for packages with a page of their own."""
    return [one for one in public_names() if one.module == module and one.path not in modules()]


def names_table() -> str:
    """All public names with the first sentence of their docstrings, by module."""
    lines = []
    for module in modules():
        lines += [f"\n## [{module}]({module.rpartition('.')[2]}.md)\n", "| name | |", "|---|---|"]
        for one in names_of(module):
            first = re.split(r"\n\s*\n|(?<=[.:;])\s", one.doc, maxsplit=1)[0].replace("\n", " ").rstrip(".:;")
            lines.append(f"| [`{one.name}`][{one.home}] | {first.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the modules of the API reference to the navigation."""
    for section in config.nav or []:
        if "Reference" in section:
            section["Reference"] += [f"reference/{name.rpartition('.')[2]}.md" for name in modules()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each public package, and a notebook for each tutorial."""
    for page in [file for file in files if TUTORIAL.fullmatch(file.src_uri)]:
        name = TUTORIAL.sub(r"tutorials/\1.ipynb", page.src_uri)
        files.append(File.generated(config, name, content=as_notebook(page.content_string)))
    for module in modules():
        path = f"reference/{module.rpartition('.')[2]}.md"
        files.append(File.generated(config, path, content=reference_page(module)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Completes pages with generated tables and links; the home page has the whole width."""
    for folder, boost in SEARCH_BOOSTS.items():
        if page.file.src_uri.startswith(folder):
            page.meta.setdefault("search", {"boost": boost})
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri == "reference/index.md":
        return markdown + names_table()
    if tutorial := TUTORIAL.fullmatch(page.file.src_uri):
        return with_download(markdown, tutorial[1])
    return with_tables(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML, which browsers draw without a script or a font of ours."""
    return FORMULA.sub(as_mathml, html)


def as_mathml(found: re.Match[str]) -> str:
    """A formula in TeX's notation, converted."""
    display = "block" if found[1] == "div" else "inline"
    return str(latex2mathml.converter.convert(unescape(found[2]).strip(), display=display))
