"""Ways in and ways out: help, versions, exit codes, what goes to which stream."""

import os
import re
import subprocess
import sys
import warnings

import pytest
import typer

import querist as package
from querist.cli import entry
from querist.cli.app import app
from querist.datasets.resolve import catalogue
from querist.errors import ResidualWarning

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
    assert "as few labels as possible" in shown.out and "\n    querist demo\n" in shown.out


@pytest.mark.parametrize("name", ["evaluate", "campaign"])
def test_a_group_of_verbs_alone_shows_its_help(name, querist):
    assert querist(name) == querist(name, "--help")
    assert querist(name).code == 0


def test_help_begins_with_what_most_users_need(querist):
    shown = querist("--help").out
    panels = re.findall(r"^(\w[\w ]+):$", shown, re.MULTILINE)
    assert panels == ["Options", "Label your data", "Compare methods", "Look around"]
    assert re.findall(r"^  (\w+)", shown.partition("Label your data:")[2], re.MULTILINE)[0] == "label"


def leaves(command, words=()):
    """All verbs below a command, with the words that call them."""
    for name, each in getattr(command, "commands", {}).items():
        yield (*words, name), each
        yield from leaves(each, (*words, name))


@pytest.mark.parametrize("words", [words for words, _ in leaves(typer.main.get_command(app))], ids=" ".join)
def test_help_has_no_types_of_python(words, querist):
    shown = querist(*words, "--help").out
    assert not re.search(r"<[a-z]+[ a-z]*>|[{}]|x[<>]=", shown)
    assert not re.search(r"\[\[|\.{4}|\.{3}\]\.", shown.partition("\n")[0]), "no bracket or dots twice"


VERBS = [words for words, _ in leaves(typer.main.get_command(app))]


@pytest.mark.slow
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_shows_two_examples_that_can_be_typed(words, querist):
    shown = querist(*words, "--help").out.partition("Examples:")[2].partition("Options:")[0]
    examples = re.findall(r"^ {4}(?:.* \| )?querist (.+)$", shown, re.MULTILINE)
    assert len(examples) >= 2
    for example in examples:
        assert len(f"    querist {example}") <= 80, "it is one line of a terminal"
        typed = example.split()
        assert tuple(typed[: len(words)]) == words
        command, rest = typer.main.get_command(app), typed
        while rest and rest[0] in getattr(command, "commands", {}):
            command, rest = command.commands[rest[0]], rest[1:]
        command.make_context("querist", rest)  # every option is there


@pytest.mark.parametrize("words", [words for words in VERBS if words[0] == "evaluate"], ids=" ".join)
def test_examples_name_data_sets_that_the_verb_takes(words, querist):
    kinds = {row.name: row.kind for row in catalogue()}
    shown = querist(*words, "--help").out.partition("Examples:")[2].partition("Options:")[0]
    named = {kinds[word] == "vectors" for word in shown.split() if word in kinds}
    assert named <= {words[-1] in ("stream", "transduce")}


@pytest.mark.parametrize("columns", ["0", "00", ""])
def test_a_screen_without_a_width_is_printed_on(columns, querist, monkeypatch):
    expected = querist("datasets").out
    monkeypatch.setenv("COLUMNS", columns)
    shown = querist("datasets")
    assert shown.code == 0
    assert shown.out == expected
    assert "karate" in shown.out


def test_help_loads_nothing_heavy():
    heavy = "numpy scipy numba sklearn matplotlib pandas pyarrow querist.online querist.datasets"
    script = (
        "import sys; from querist.cli import main; main(['evaluate', 'online', '--help']); "
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
        (["evaluate", "online"], "missing argument 'DATA'"),
        (["evaluate", "online", "karate", "--rnak", "3"], "--rank"),
        (["evaluate", "online", "karate", "--component", "foo"], "'--component': 'foo' is not one of 'all'"),
        (["evaluate", "online", "karate", "--repeats", "0"], "--repeats"),
        (["evaluate", "online", "karate", "--rank", "x"], "--rank"),
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


def test_an_unknown_embedding_is_refused_with_those_that_are_known(querist):
    ran = querist("evaluate", "online", "karate", "--embedding", "foo")
    assert ran.code == 2
    assert "foo" in ran.err and "diffusion" in ran.err


@pytest.mark.slow
def test_bad_input_in_a_process_of_its_own(process):
    ran = process("evaluate", "online", "no_such_set", "--json")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("querist: unknown data set 'no_such_set'")
    assert ran.err.count("\n") == 1


def fail_with(monkeypatch, problem):
    def catalogue():
        raise problem

    monkeypatch.setattr("querist.datasets.resolve.catalogue", catalogue)


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

    monkeypatch.setattr("querist.datasets.resolve.catalogue", catalogue)
    assert querist("datasets", "--json") == (0, "[]\n", "querist: warning: 3 eigenpairs are doubtful\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "--help"])
def test_a_reader_that_leaves_is_no_error(arguments, tmp_path):
    script = f"{sys.executable} -m querist {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr == ""
    # 0 where everything fitted into the pipe before the reader left.
    assert done.stdout.strip() in ("0", "141")


@pytest.mark.slow
def test_output_without_unicode(process):
    ran = process("evaluate", "online", "karate", "--repeats", "2", PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "+-" in ran.out
    assert "?" not in ran.out
    assert ran.out.isascii()


@pytest.mark.slow
def test_no_colour_off_a_terminal(process):
    assert "\x1b" not in process("datasets").out


def test_usage_error_is_found_in_typer():
    assert entry.UsageError.__name__ == "UsageError"
