"""The way in and every way out: exit codes, and one plain line for what went wrong.

0 done; 1 an unexpected error; 2 something to mend in the input or the command, or no room for the output;
130 stopped by Ctrl-C, 143 by SIGTERM, 129 because the terminal is gone; 141 whoever was reading has left. A
closed standard output or error is one that nobody
reads: nothing is written there, and nothing else changes.
"""

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import typer

from querist.cli.app import app
from querist.cli.screen import visible
from querist.errors import QueristError

# typer brings its own copy of click, or click itself, by version: this is the usage error of either.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    _fill_closed()
    if not os.environ.get("COLUMNS", "?").strip("0"):  # a width of 0 or none at all: nobody knows
        del os.environ["COLUMNS"]
    for stream in (sys.stdout, sys.stderr):
        _never_fail(stream)
    command = typer.main.get_command(app)
    return _complete(command) if COMPLETING in os.environ else _run(command, arguments)


def _run(command: Any, arguments: Sequence[str] | None) -> int:
    context: Any = None
    with warnings.catch_warnings(), _stopping():
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
        except Stopped as stopped:
            _say(f"stopped by {stopped.signal.name}")
            return 128 + stopped.signal
        except (KeyboardInterrupt, typer.Abort):
            _say("stopped")
            return 130
        except Exception as problem:
            return _explain(problem, context is not None and bool(context.params.get("traceback")))
    return 0


COMPLETING = "_QUERIST_COMPLETE"
"""Set by the script that `--install-completion` gives to bash, zsh or fish."""


def _complete(command: Any) -> int:
    """What a shell is to offer, which the variables that it has set say; never a message to the reader."""
    try:
        command.main(args=[], prog_name="querist")
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 1
    return 0


class Stopped(KeyboardInterrupt):
    """A signal that asks this process to end: whoever tidies up after Ctrl-C does so after it."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)


@contextmanager
def _stopping() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does, unless they are ignored (nohup) or another's."""
    own = os.getpid()

    def stop(number: int, frame: Any) -> None:
        if os.getpid() != own:  # a worker that some library forked: it ends as if we had not been here
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        for each in before:  # a second one must not cut short what the first one began
            signal.signal(each, lambda number, frame: None)
        raise Stopped(number)

    def once_more(dropped: Any) -> None:
        """Python drops what is raised while an object is destroyed: the signal comes again, later."""
        if not isinstance(dropped.exc_value, Stopped):
            hook(dropped)
            return
        for each in before:
            signal.signal(each, stop)
        threading.Timer(0.01, os.kill, (os.getpid(), dropped.exc_value.signal)).start()

    hook, sys.unraisablehook = sys.unraisablehook, once_more
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def _explain(problem: Exception, with_traceback: bool) -> int:
    """One line for the reader, and the exit code."""
    if with_traceback and not isinstance(problem, UsageError):
        traceback.print_exception(problem)
    if isinstance(problem, UsageError):
        text, where = problem.format_message(), getattr(problem, "ctx", None)  # type: ignore[attr-defined]
        text = text.replace(": Value error, ", ": ")  # what pydantic says before a message
        path = where.command_path if where is not None else "querist"
        joint = "" if text.endswith("?") else ";"
        _say(f"{text[:1].lower()}{text[1:].rstrip('.')}{joint} see {path} --help")
        return 2
    if isinstance(problem, QueristError):
        _say(str(problem))
        return 2
    if isinstance(problem, OSError) and problem.strerror:
        _say(problem.strerror if problem.filename is None else f"{problem.filename}: {problem.strerror}")
        return 2
    _say(f"an unexpected error: {type(problem).__name__}: {problem}")
    if not with_traceback:
        _say("to see where it arose, set QUERIST_TRACEBACK=1 and run the command again")
    return 1


def _say(text: str) -> None:
    with suppress(OSError):  # whoever read it has left; the exit code says the same
        print(f"querist: {visible(' '.join(text.split()))}", file=sys.stderr)


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


def _fill_closed() -> None:
    """Where a standard stream is closed, let no other file have its number: programs would write into it.

    What is printed to a closed output goes nowhere; a closed input stays None, which its readers refuse.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _never_fail(stream: TextIO) -> None:
    """A character that the terminal cannot show becomes a question mark, never an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def _reader_left() -> int:
    """Keep Python from complaining when it flushes what nobody will read."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
