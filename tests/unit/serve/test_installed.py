"""From the wheel with `[serve]` to the first answer in the browser: one command after the installation."""

import os
import shutil
import sqlite3
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PATIENCE = 120_000
"""Milliseconds that a page has: this server has never run before, and compiles as it goes."""


def pip(*words, **options):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, **options)


@pytest.fixture
def installed(tmp_path):
    """The programs of a new environment with the wheel and what it says it needs, no more."""
    found = pip("download", "--no-deps", "--dest", str(tmp_path / "index"), "hatchling")
    if found.returncode:
        pytest.skip(f"there is no package index here to install from: {found.stderr[-300:]}")
    built = pip("wheel", "--no-deps", "--wheel-dir", str(tmp_path / "wheel"), str(ROOT))
    assert built.returncode == 0, built.stderr
    (wheel,) = (tmp_path / "wheel").glob("querist-*.whl")
    place = tmp_path / "environment"
    venv.create(place)
    # What is not compiled now is compiled when it is first imported: most of it never.
    added = pip("--python", str(place / "bin" / "python"), "install", "--no-compile", f"{wheel}[serve]")
    assert added.returncode == 0, added.stderr
    yield place / "bin"
    shutil.rmtree(place)


def test_one_command_leads_to_the_first_answer(installed, browser, tmp_path):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "QUERIST"))}
    command = [installed / "querist", "serve", "--demo", "--port", "0"]
    server = subprocess.Popen(command, cwd=tmp_path, env=own, stdout=subprocess.PIPE, text=True)
    try:
        link = next(line for line in server.stdout if line.startswith("Answer questions:")).split()[-1]
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(link)
        page.locator("#question").wait_for()
        page.locator("#classes button").first.click()
        page.locator("#past .saved").wait_for()
        page.close()
    finally:
        server.terminate()
        server.wait(60)
    with sqlite3.connect(tmp_path / "querist-demo.db") as store:
        kinds = [kind for (kind,) in store.execute("SELECT kind FROM events ORDER BY seq")]
    assert kinds.count("answer") == 1
