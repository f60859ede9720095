"""How large the code is: lines, statements, docstrings and tokens, per package and in sum.

python tools/size.py                   # the working tree
python tools/size.py --base 3e99152    # beside another revision, with the change

A statement is an `ast.stmt` node that is not a bare string. A smaller line count alone proves little, so two
ratios stand beside it: docstring lines per public name fall if documentation is cut, and tokens per statement
rise if statements are packed together.
"""

import argparse
import ast
import io
import json
import subprocess
import tarfile
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "papers/src", "tools", "benchmarks")
DISTRIBUTIONS = ("querist/", "querist_papers/")
WEB = {".html", ".js", ".css"}
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Size:
    """What is counted of some files; `public` names are modules, classes and functions without a `_`."""

    lines: int = 0
    statements: int = 0
    docstring_lines: int = 0
    public: int = 0
    tokens: int = 0

    def __add__(self, other: "Size") -> "Size":
        return Size(*(a + b for a, b in zip(self.values, other.values, strict=True)))

    @property
    def values(self) -> tuple[int, ...]:
        """The five counts, in order."""
        return (self.lines, self.statements, self.docstring_lines, self.public, self.tokens)

    @property
    def row(self) -> dict[str, float]:
        """The columns of the table."""
        return {
            "lines": self.lines,
            "statements": self.statements,
            "docstring lines per public name": round(self.docstring_lines / max(1, self.public), 2),
            "tokens per statement": round(self.tokens / max(1, self.statements), 2),
        }


def python_size(text: str) -> Size:
    """The size of one module.

    >>> python_size('"Doc."\\nx = 1\\n')
    Size(lines=2, statements=1, docstring_lines=1, public=1, tokens=3)
    """
    tree = ast.parse(text)
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and is_string(node.value)]
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    public = [node for node in ast.walk(tree) if isinstance(node, named) and not node.name.startswith("_")]
    documented = sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in strings)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = sum(token.type not in LAYOUT for token in tokens) - len(strings)
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree)) - len(strings)
    return Size(text.count("\n"), statements, documented, 1 + len(public), code)


def is_string(node: ast.expr) -> bool:
    """Whether an expression is a string and nothing else."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def sizes(files: Iterator[tuple[str, str]]) -> dict[str, dict[str, Size]]:
    """The size of each package, by folder; templates, scripts and style sheets are a package of their own."""
    found: dict[str, dict[str, Size]] = {}
    for path, text in files:
        folder = next((each for each in FOLDERS if path.startswith(each + "/")), None)
        suffix = PurePosixPath(path).suffix
        if folder is None or suffix not in {".py", *WEB}:
            continue
        inside = path.removeprefix(folder + "/")
        for name in DISTRIBUTIONS:
            inside = inside.removeprefix(name)
        first, _, rest = inside.partition("/")
        package = f"*{suffix}" if suffix in WEB else first if rest else "modules"
        size = python_size(text) if suffix == ".py" else Size(lines=text.count("\n"))
        folders = found.setdefault(folder, {})
        folders[package] = folders.get(package, Size()) + size
    return found


def working_tree() -> Iterator[tuple[str, str]]:
    """Path and text of every file on disk."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", *WEB}:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def revision(name: str) -> Iterator[tuple[str, str]]:
    """Path and text of every file of a revision."""
    packed = subprocess.run(["git", "archive", name], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            if PurePosixPath(member.name).suffix in {".py", *WEB}:
                content = archive.extractfile(member)
                assert content is not None
                yield member.name, content.read().decode()


def rows(now: dict[str, dict[str, Size]], base: dict[str, dict[str, Size]] | None) -> list[dict[str, object]]:
    """One row per package, and one per folder with the sum of its Python code."""
    found: list[dict[str, object]] = []
    for folder in FOLDERS:
        mine, theirs = now.get(folder, {}), (base or {}).get(folder, {})
        packages = sorted({*mine, *theirs}, key=lambda name: (name.startswith("*"), name))
        python = [name for name in packages if not name.startswith("*")]
        if not packages:
            continue
        parts = {name: (mine.get(name, Size()), theirs.get(name, Size())) for name in packages}
        total = tuple(sum((parts[name][k] for name in python), Size()) for k in (0, 1))
        for name, (own, other) in [*parts.items(), ("sum of Python", total)]:
            row: dict[str, object] = {"folder": folder, "package": name, **own.row}
            if base is not None:
                row |= {"lines before": other.lines, "change": own.lines - other.lines}
                row |= {"statements before": other.statements, "before": other.row}
            found.append(row)
    return found


def printed(table: list[dict[str, object]], compared: bool) -> None:
    """Print the table in 80 columns; with a base, also the changes and the ratios of the sums."""
    head = f"{'package':<24}{'lines':>8}{'statements':>12}" + (
        f"{'change':>9}{'change':>9}" if compared else ""
    )
    for folder in dict.fromkeys(row["folder"] for row in table):
        print(f"\n{folder}\n{head}")
        for row in (each for each in table if each["folder"] == folder):
            line = f"  {row['package']:<22}{row['lines']:>8,}{row['statements']:>12,}"
            if compared:
                line += f"{row['change']:>+12,}{row['statements'] - row['statements before']:>+12,}"  # type: ignore[operator]
            else:
                line += f"{row['docstring lines per public name']:>12.2f}{row['tokens per statement']:>12.2f}"
            print(line)
        if compared:
            for ratio in ("docstring lines per public name", "tokens per statement"):
                print(f"  {ratio}: {row['before'][ratio]:.2f} before, {row[ratio]:.2f} now")  # type: ignore[index]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Print how large the code is.")
    parser.add_argument("--base", metavar="REV", help="compare with this revision")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args()
    base = None if options.base is None else sizes(revision(options.base))
    table = rows(sizes(working_tree()), base)
    if options.json:
        print(json.dumps(table, indent=1))
    else:
        printed(table, base is not None)


if __name__ == "__main__":
    main()
