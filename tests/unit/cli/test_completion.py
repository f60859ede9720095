"""The Tab key: what bash, zsh and fish are given to offer; and the two ways to ask for the version."""

import os
import shlex
import subprocess
import sys

import pytest

import querist

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


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_verbs_and_options_are_offered(shell):
    def offered(line):
        return run(
            _QUERIST_COMPLETE=f"complete_{shell}",
            _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="get-args",
        )[1]

    verbs, options = offered("querist tr"), offered("querist label --lab")
    assert "transduce" in verbs and "label" not in verbs
    assert "--labels" in options and "--out" not in options


def test_bash_completes_by_the_script_itself(tmp_path):
    """The script is read and called as bash does on Tab."""
    program = tmp_path / "querist"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    script = run(_QUERIST_COMPLETE="source_bash")[1]
    call = f"COMP_WORDS=(querist str); COMP_CWORD=1; _querist_completion {program}"
    found = subprocess.run(
        ["bash", "-c", f'{script}\n{call}\necho "${{COMPREPLY[@]}}"'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.split() == ["stream"], found.stderr


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option):
    assert run(option) == (0, f"querist {querist.__version__}\n")
