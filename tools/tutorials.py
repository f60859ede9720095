"""Tutorials are pages whose code is run: `make tutorials` runs them and writes what they print into them.

    python tools/tutorials.py [--check] [PAGE ...]

A page of docs/tutorials is Markdown. Its `python` and `bash` blocks are the cells of one notebook, run from
top to bottom by a real kernel in an empty folder; the `text` block right below a cell is what it printed. A
picture `images/NAME` that a cell has saved as NAME is copied there. `--check` writes nothing and says what
has changed.
"""

import difflib
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "tutorials"
CELL = re.compile(
    r"^```(?P<language>python|bash)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.M | re.S
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e-?\d+)?")
CELL_SECONDS = 1200
"""So long a cell may take; the first time it compiles what it uses."""
CLOSE = 0.03
"""How far a number may be from the one on the page, relatively: other processors add in another order."""


def pages() -> list[Path]:
    """The tutorials, without the page that lists them."""
    return sorted(path for path in FOLDER.glob("*.md") if path.stem != "index")


def run(page: Path, copy: bool = True) -> str:
    """The page with what its cells print now; its pictures are copied beside it, if they shall be."""
    text = page.read_text(encoding="utf-8")
    found = list(CELL.finditer(text))
    cells = [nbformat.v4.new_code_cell(source_of(cell)) for cell in found]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, folder)
        for name in re.findall(r"\]\(images/([\w.]+)\)", text):
            made = Path(folder) / name
            if not made.exists():
                raise FileNotFoundError(f"{page.name} shows {name}, which no cell has saved")
            if copy:
                (page.parent / "images").mkdir(exist_ok=True)
                shutil.copy(made, page.parent / "images" / name)
    parts, at = [], 0
    for match, cell in zip(found, notebook.cells, strict=True):
        printed = printed_by(cell)
        parts += [text[at : match.start()], f"```{match['language']}\n{match['code']}```\n"]
        parts += [f"\n```text\n{printed}```\n"] if printed else []
        at = match.end()
    return "".join([*parts, text[at:]])


def source_of(cell: re.Match[str]) -> str:
    """A cell as the kernel takes it."""
    return f"%%bash\n{cell['code']}" if cell["language"] == "bash" else cell["code"]


def execute(notebook: Any, folder: str) -> None:
    """Run the cells with this interpreter, this source tree and a cache of their own."""
    before = dict(os.environ)
    own = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), before.get("PYTHONPATH", "")]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), before["PATH"]]),
        "QUERIST_CACHE": folder,
        "COLUMNS": "100",
    }
    os.environ.update(own)
    try:
        nbclient.NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3").execute(cwd=folder)
    finally:
        os.environ.clear()
        os.environ.update(before)


def printed_by(cell: Any) -> str:
    """What a cell wrote to its output, and the value of its last line; a picture says nothing."""
    parts = []
    for output in cell.outputs:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            parts.append(output["text"])
        elif "text/plain" in output.get("data", {}) and output["output_type"] == "execute_result":
            parts.append(output["data"]["text/plain"] + "\n")
    return re.sub(r"[ \t]+$", "", "".join(parts), flags=re.MULTILINE).strip("\n") + "\n" if parts else ""


def differences(page: Path, now: str) -> list[str]:
    """Lines that a new run prints otherwise; numbers may differ a little."""
    was = page.read_text(encoding="utf-8").splitlines()
    new = now.splitlines()
    if len(was) == len(new) and all(map(alike, was, new)):
        return []
    return list(difflib.unified_diff(was, new, str(page.name), "now", lineterm="", n=1))


def alike(first: str, second: str) -> bool:
    """Whether two lines say the same, but for the last digits of numbers.

    >>> alike("accuracy 0.812", "accuracy 0.815"), alike("accuracy 0.812", "accuracy 0.5")
    (True, False)
    """
    if re.split(r"\s+", NUMBER.sub("0", first)) != re.split(r"\s+", NUMBER.sub("0", second)):
        return False
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall(line)] for line in (first, second)]
    return all(abs(a - b) <= CLOSE * max(abs(a), abs(b)) + 0.01 for a, b in zip(*numbers, strict=True))


def main(words: list[str]) -> int:
    """Run the pages named, or all, and say how long each took."""
    check = "--check" in words
    chosen = [FOLDER / f"{word}.md" for word in words if word != "--check"] or pages()
    changed = 0
    for page in chosen:
        start = time.perf_counter()
        now = run(page, copy=not check)
        lines = differences(page, now)
        print(f"{page.name}: {'changed' if lines else 'as it was'}, {time.perf_counter() - start:.0f} s")
        if check:
            print("\n".join(lines))
        else:
            page.write_text(now, encoding="utf-8")
        changed += bool(lines)
    return int(check and changed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
