"""Ways in and ways out: help, versions, exit codes, what goes to which stream."""

import os
import subprocess
import sys
import warnings

import pytest
import typer

import querist as package
from querist.cli import entry
from querist.cli.app import app
from querist.errors import ResidualWarning

pytestmark = pytest.mark.slow

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_and_has_json(name, querist):
    command = COMMANDS[name]
    assert command.help
    assert len(command.help.splitlines()[0]) <= 65, "the first line stands in the list of commands, uncut"
    parameters = [
        parameter
        for each in getattr(command, "commands", {"": command}).values()
        for parameter in each.params
    ]
    for parameter in parameters:
        assert getattr(parameter, "help", None), f"--{parameter.name} says nothing"
    assert any("--json" in parameter.opts for parameter in parameters)
    shown = querist(name, "--help")
    assert shown.code == 0
    assert command.help.splitlines()[0] in shown.out


def test_help_lists_every_command_in_full(querist):
    shown = querist("--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)
    assert "..." not in shown.out.replace("[ARGS]...", "")
    assert querist() == shown


def test_help_loads_nothing_heavy():
    heavy = "numpy scipy numba sklearn matplotlib pandas pyarrow querist.online querist.datasets"
    script = (
        "import sys; from querist.cli import main; main(['online', '--help']); "
        f"print([m for m in {heavy.split()} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    count = (
        "import sys; from querist.cli import main; main(['--help']); print(len(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", count], capture_output=True, text=True, check=True)
    assert int(done.stderr) < 300, "help is quick because it loads little"


def test_version(process):
    assert process("--version").out == f"querist {package.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "need"),
    [
        (["onlin"], "no such command 'onlin'"),
        (["online"], "missing argument 'DATA'"),
        (["online", "karate", "--rnak", "3"], "--rank"),
        (["online", "karate", "--embedding", "foo"], "diffusion"),
        (["online", "karate", "--shuffles", "0"], "--shuffles"),
        (["online", "karate", "--rank", "x"], "--rank"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(querist, arguments, need):
    ran = querist(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("querist: ")
    assert need in ran.err
    assert ran.err.rstrip().endswith("--help")


def test_bad_input_in_a_process_of_its_own(process):
    ran = process("online", "no_such_set", "--json")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("querist: unknown data set 'no_such_set'")
    assert ran.err.count("\n") == 1


def fail_with(monkeypatch, problem):
    def catalogue():
        raise problem

    monkeypatch.setattr("querist.datasets.catalogue", catalogue)


def test_an_unexpected_error_is_short_unless_asked(querist, monkeypatch):
    fail_with(monkeypatch, ZeroDivisionError("seven\nover nothing"))
    ran = querist("datasets")
    assert ran.code == 1
    assert "ZeroDivisionError: seven over nothing" in ran.err
    assert "QUERIST_TRACEBACK=1" in ran.err
    assert "Traceback" not in ran.err
    assert "Traceback" in querist("--traceback", "datasets").err
    monkeypatch.setenv("QUERIST_TRACEBACK", "1")
    assert "Traceback" in querist("datasets").err


def test_ctrl_c(querist, monkeypatch):
    fail_with(monkeypatch, KeyboardInterrupt())
    assert querist("datasets") == (130, "", "querist: stopped\n")


def test_a_file_that_cannot_be_written(querist, monkeypatch):
    fail_with(monkeypatch, PermissionError(13, "Permission denied", "/elsewhere/x"))
    assert querist("datasets") == (2, "", "querist: /elsewhere/x: Permission denied\n")


def test_warnings_are_one_line(querist, monkeypatch):
    def catalogue():
        warnings.warn(ResidualWarning("3 eigenpairs are doubtful", 0.1), stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return []

    monkeypatch.setattr("querist.datasets.catalogue", catalogue)
    assert querist("datasets", "--json") == (0, "[]\n", "querist: warning: 3 eigenpairs are doubtful\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "--help"])
def test_a_reader_that_leaves_is_no_error(arguments, tmp_path):
    script = f"{sys.executable} -m querist {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == ""
    # 0 where everything fitted into the pipe before the reader left.
    assert done.stdout.strip() in ("0", "141")


def test_output_without_unicode(process):
    ran = process("online", "karate", "--shuffles", "2", PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "+-" in ran.out
    assert "?" not in ran.out
    assert ran.out.isascii()


def test_no_colour_off_a_terminal(process):
    assert "\x1b" not in process("datasets").out


def test_usage_error_is_found_in_typer():
    assert entry.UsageError.__name__ == "UsageError"
