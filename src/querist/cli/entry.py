"""The way in and every way out: exit codes, and one plain line for what went wrong.

0 done; 1 an unexpected error; 2 something to mend in the input or the command;
130 stopped by Ctrl-C; 141 whoever was reading has left.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import typer

from querist.cli.app import app
from querist.errors import QueristError

# typer brings its own copy of click, or click itself, by version: this is the usage error of either.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail(stream)
    command = typer.main.get_command(app)
    context: Any = None
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            given = list(sys.argv[1:] if arguments is None else arguments)
            context = command.make_context("querist", given)
            with context:
                command.invoke(context)
            sys.stdout.flush()
        except typer.Exit as leave:
            return leave.exit_code
        except BrokenPipeError:
            return _reader_left()
        except (KeyboardInterrupt, typer.Abort):
            _say("stopped")
            return 130
        except Exception as problem:
            return _explain(problem, context is not None and bool(context.params.get("traceback")))
    return 0


def _explain(problem: Exception, with_traceback: bool) -> int:
    """One line for the reader, and the exit code."""
    if with_traceback and not isinstance(problem, UsageError):
        traceback.print_exception(problem)
    if isinstance(problem, UsageError):
        text, where = problem.format_message(), getattr(problem, "ctx", None)  # type: ignore[attr-defined]
        path = where.command_path if where is not None else "querist"
        joint = "" if text.endswith("?") else ";"
        _say(f"{text[:1].lower()}{text[1:].rstrip('.')}{joint} see {path} --help")
        return 2
    if isinstance(problem, QueristError):
        _say(str(problem))
        return 2
    if isinstance(problem, OSError) and problem.filename is not None:
        _say(f"{problem.filename}: {problem.strerror or problem}")
        return 2
    _say(f"an unexpected error: {type(problem).__name__}: {problem}")
    if not with_traceback:
        _say("to see where it arose, set QUERIST_TRACEBACK=1 and run the command again")
    return 1


def _say(text: str) -> None:
    print(f"querist: {' '.join(text.split())}", file=sys.stderr)


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: Any = None,
) -> None:
    """A warning as one line; those of other libraries about themselves are not for the reader."""
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
        _say(f"warning: {message}")


def _never_fail(stream: TextIO) -> None:
    """A character that the terminal cannot show becomes a question mark, never an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def _reader_left() -> int:
    """Keep Python from complaining when it flushes what nobody will read."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
