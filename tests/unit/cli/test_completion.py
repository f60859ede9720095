"""The Tab key: what bash, zsh and fish are given to offer; and the two ways to ask for the version."""

import os
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer

import querist
from querist.cli.app import app
from querist.cli.appearance import plain

COMMAND = [sys.executable, "-m", "querist"]


def run(*words, **variables):
    found = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    return found.returncode, found.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_every_shell(shell):
    code, script = run(_QUERIST_COMPLETE=f"source_{shell}")
    assert code == 0
    assert "querist" in script and f"complete_{shell}" in script


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_verbs_and_options_are_offered(shell):
    def offered(line):
        return run(
            _QUERIST_COMPLETE=f"complete_{shell}",
            _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="get-args",
        )[1]

    verbs, options = offered("querist exp"), offered("querist label --lab")
    assert "experiment" in verbs and "label" not in verbs
    assert "--labels" in options and "--out" not in options


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("querist evaluate online two_m", "two_moons"),
        ("querist evaluate online karate --method ms", "msg"),
        ("querist evaluate online karate --embedding diff", "diffusion"),
        ("querist evaluate stream digits --method bl", "bls"),
        ("querist evaluate label karate --method wv", "wvrn"),
        ("querist label karate --method own_", "own_gaussian"),
        ("querist ask karate --oracle kar", "karate"),
        ("querist campaign token --role man", "manager"),
        ("querist reproduce msg", "msg16"),
        ("querist reproduce msg16 table", "table1"),
        ("querist reproduce bls19 theor", "theorem1"),
        ("querist bound karate --method pou", "pounce"),
        ("querist ask karate --strategy rand", "random"),
        ("querist label karate --goal bal", "balanced"),
    ],
)
def test_values_are_offered(line, expected):
    code, offered = run(
        _QUERIST_COMPLETE="complete_fish", _TYPER_COMPLETE_ARGS=line, _TYPER_COMPLETE_FISH_ACTION="get-args"
    )
    assert code == 0
    assert offered.split()[:1] == [expected]


FREE = {
    "NUMBER", "FILE", "LABELS", "NODES", "NODES2", "EDGES2", "OUT", "TO", "STORE", "CAMPAIGN", "ID", "PERSON",
    "FOLDER", "CMD", "ADDRESS", "DEVICE", "COLUMN", "CLASS", "A,B,C", "LABEL", "PARAMETER=VALUE", "FILE.toml",
}  # fmt: skip
"""Values that no list has: numbers, files, names of the user's own, devices of torch."""


def leaves(command, words=()):
    for name, each in command.commands.items():
        if hasattr(each, "commands"):
            yield from leaves(each, (*words, name))
        elif not each.hidden:
            yield (*words, name), each


LEAVES = dict(leaves(typer.main.get_command(app)))


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_value_that_a_list_has_is_offered(words, monkeypatch):
    rows = [SimpleNamespace(name=f"{kind}{i}", kind=kind) for kind in ("graph", "vectors") for i in range(2)]
    monkeypatch.setattr("querist.datasets.resolve.catalogue", lambda: rows)
    verb = LEAVES[words]
    context = verb.make_context(words[-1], [], resilient_parsing=True)
    for parameter in verb.params:
        argument = parameter.param_type_name == "argument"
        if not argument and parameter.is_flag:
            continue
        shown = parameter.metavar if argument else plain(parameter.get_help_record(context)[0])
        if shown.rpartition(" ")[2] not in FREE:
            offered = [each.value for each in parameter.shell_complete(context, "") if each.type == "plain"]
            assert len(offered) > 1, f"{parameter.name} {shown}"


def test_bash_completes_by_the_script_itself(tmp_path):
    """The script is read and called as bash does on Tab."""
    program = tmp_path / "querist"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    script = run(_QUERIST_COMPLETE="source_bash")[1]
    call = f"COMP_WORDS=(querist exp); COMP_CWORD=1; _querist_completion {program}"
    found = subprocess.run(
        ["bash", "-c", f'{script}\n{call}\necho "${{COMPREPLY[@]}}"'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.split() == ["experiment"], found.stderr


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option):
    assert run(option) == (0, f"querist {querist.__version__}\n")
