"""Plugins: what a distribution adds is found by its name, and what is wrong with one is said."""

import os
import subprocess
import sys
import textwrap

import pytest

TOY = '''
import numpy as np

from querist import ALGORITHMS, as_graph
from querist.collective import Harmonic
from querist.experiment import Outcome
from querist.cli.screen import print_line


def learner(embedding, n_classes, *, seed=0, budget=None, pace=None, rounds=None, tie_order=None):
    """Ask as MSG does."""
    return ALGORITHMS["msg"](embedding, n_classes, seed=seed, budget=budget)


class Toy(Harmonic):
    """The harmonic solution under another name."""


def toy_set():
    """A path."""
    return as_graph([("a", "b"), ("b", "c")])


class Task:
    name, measures, tuned_by = "toy.task", ("one",), "one"

    def check(self, spec):
        pass

    def prepare(self, spec):
        return None

    def run(self, spec, prepared, parameters, seed, repeat):
        return Outcome({"one": 1.0})


TASK = Task()


def verb(word: str = "hello") -> None:
    """Say a word."""
    print_line(f"toy says {word}")
'''
ENTRIES = """
[querist.plugins]
algorithm.toy_learner = toy_plugin:learner
classifier.toy_classifier = toy_plugin:Toy
dataset.toy_set = toy_plugin:toy_set
task.toy.task = toy_plugin:TASK
verb.toy = toy_plugin:verb
"""


@pytest.fixture
def installed(tmp_path):
    """`installed(name, entries, code)` lays out a distribution; its `run(*words)` runs python there."""

    def lay_out(name, entries, code=""):
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(entries)
        if code:
            (tmp_path / f"{name.replace('-', '_')}.py").write_text(code)

    def run(*words):
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "QUERIST_CACHE": str(tmp_path)},
        )  # fmt: skip

    lay_out.run = run
    return lay_out


@pytest.mark.slow
def test_everything_that_a_plugin_adds_is_found_by_its_name(installed):
    installed("toy-plugin", ENTRIES, TOY)
    code = """
        import querist
        from querist.datasets.resolve import catalogue
        from querist.experiment import Specification, Store, run

        assert "toy_learner" in querist.ALGORITHMS and "toy_classifier" in querist.CLASSIFIERS
        karate = querist.load_graph("karate")
        assert querist.ALGORITHMS["toy_learner"](karate.adjacency.toarray(), 2).run([0, 33], karate.codes)
        assert len(querist.label(karate, {0: "Mr. Hi", 33: "Officer"}, method="toy_classifier").labels) == 34
        assert querist.load_graph("toy_set").n_edges == 2
        assert "toy_set" in {row.name for row in catalogue()}
        (found,) = run([Specification("toy.task", "karate", "none", repeats=2)], Store())
        assert found.values("one").tolist() == [1.0, 1.0]
    """
    done = installed.run("-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    done = installed.run("-m", "querist", "toy", "--word", "servus")
    assert (done.returncode, done.stdout) == (0, "toy says servus\n"), done.stderr
    assert "Say a word." in installed.run("-m", "querist", "--help").stdout
    assert "toy_learner" in installed.run("-m", "querist", "algorithms").stdout


@pytest.mark.slow
def test_a_broken_plugin_is_named_and_stops_nothing_else(installed):
    installed("broken-plugin", ENTRIES.replace("toy_plugin", "broken_plugin"), "import no_such_library\n")
    done = installed.run("-m", "querist", "toy", "--word", "x")
    assert done.returncode == 2
    assert (
        "the verb 'toy' of broken-plugin cannot be loaded" in done.stderr and "no_such_library" in done.stderr
    )
    assert installed.run("-m", "querist", "datasets", "--help").returncode == 0
    code = "import querist; assert 'msg' in querist.ALGORITHMS; querist.ALGORITHMS['toy_learner']"
    done = installed.run("-c", code)
    assert "InputError" in done.stderr and "of broken-plugin cannot be loaded" in done.stderr


@pytest.mark.slow
def test_two_plugins_of_one_name_are_refused(installed):
    installed("toy-plugin", ENTRIES, TOY)
    installed("other-plugin", ENTRIES, "")
    done = installed.run("-c", "import querist; querist.ALGORITHMS['toy_learner']")
    assert "the algorithm 'toy_learner' comes from other-plugin, toy-plugin" in done.stderr


def test_a_verb_of_a_plugin_that_is_not_installed_says_what_to_install(monkeypatch, capsys):
    from querist.cli import app, main
    from querist.cli.appearance import group

    made = group("querist", "")
    monkeypatch.setattr(app, "app", made)
    monkeypatch.setattr("querist.cli.entry.app", made)
    made.command("first")(lambda: None)
    app.add_verbs([])
    for words in (["reproduce", "sslgc13", "--quick"], ["bound", "--help"]):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"querist: {words[0]} is a verb of querist-papers, which is not installed")
        assert "pip install ./papers" in said
    assert "reproduce" not in (main(["--help"]), capsys.readouterr().out)[1]
