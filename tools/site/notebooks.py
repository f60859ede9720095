"""Tutorials as notebooks: `python` and `bash` blocks become cells, with their printed output."""

import json
import re
from typing import Any

CELL = re.compile(
    r"^```(?P<language>python|bash)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S
)


def as_notebook(markdown: str) -> str:
    """A tutorial as the text of an .ipynb file.

    >>> page = "# Sum" + 2 * chr(10) + "```python" + chr(10) + "print(1 + 1)" + chr(10) + "```" + chr(10)
    >>> [cell["cell_type"] for cell in json.loads(as_notebook(page))["cells"]]
    ['markdown', 'code']
    """
    cells: list[dict[str, Any]] = []
    end = 0
    for block in CELL.finditer(markdown):
        cells += text_cell(markdown[end : block.start()])
        code = block["code"] if block["language"] == "python" else f"%%bash\n{block['code']}"
        printed = {"name": "stdout", "output_type": "stream", "text": block["output"]}
        cells.append(
            {
                "cell_type": "code",
                "execution_count": None,
                "metadata": {},
                "outputs": [printed] if block["output"] else [],
                "source": code.rstrip("\n"),
            }
        )
        end = block.end()
    cells += text_cell(markdown[end:])
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def text_cell(text: str) -> list[dict[str, Any]]:
    """A Markdown cell, or none if the text is blank."""
    if not text.strip():
        return []
    return [{"cell_type": "markdown", "metadata": {}, "source": text.strip()}]


def with_download(markdown: str, name: str) -> str:
    """A tutorial with a link to its notebook below the title."""
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n[Download as a notebook]({name}.ipynb){{ .md-button download }}\n{rest}"
