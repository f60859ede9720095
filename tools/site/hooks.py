"""What `make site` adds to the pages of docs/: the API reference, what is registered, and formulas.

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
from public_names import modules, public_names
from registered import with_tables

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def reference_page(module: str) -> str:
    """The page of a module: its own docstring, then every public name that is not a module."""
    own = (
        f"::: {module}\n    options: {{members: false, show_root_heading: false, show_root_toc_entry: false}}"
    )
    parts = [f"# {module}", own]
    for one in public_names():
        if one.module == module and not ismodule(one.value):
            options = f"{{heading: '{one.path}', toc_label: '{one.name}'}}"
            parts.append(f"::: {one.home}\n    options: {options}")
    return "\n\n".join(parts) + "\n"


def names_table() -> str:
    """All public names with the first sentence of their docstrings, by module."""
    lines = []
    for name in short_names():
        lines += [f"\n## [querist.{name}]({name}.md)\n", "| name | |", "|---|---|"]
        for one in public_names():
            if one.module == f"querist.{name}" and not ismodule(one.value):
                first = (
                    re.split(r"\n\s*\n|(?<=[.:;])\s", one.doc, maxsplit=1)[0].replace("\n", " ").rstrip(".:;")
                )
                lines.append(f"| [`{one.name}`][{one.home}] | {first.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The modules of the API reference stand in the navigation."""
    for section in config.nav or []:
        if "API reference" in section:
            section["API reference"] += [f"reference/{name}.md" for name in short_names()]
    return config


def short_names() -> list[str]:
    """The public modules without the name of the package."""
    return [module.rpartition(".")[2] for module in modules()[1:]]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page a public module."""
    for name in short_names():
        page = reference_page(f"querist.{name}")
        files.append(File.generated(config, f"reference/{name}.md", content=page))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Completes the pages that say what is registered; the first page has the whole width."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri == "reference/index.md":
        return markdown + names_table()
    return with_tables(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML, which browsers draw without a script or a font of ours."""
    return FORMULA.sub(as_mathml, html)


def as_mathml(found: re.Match[str]) -> str:
    """A formula in TeX's notation, converted."""
    display = "block" if found[1] == "div" else "inline"
    return str(latex2mathml.converter.convert(unescape(found[2]).strip(), display=display))
