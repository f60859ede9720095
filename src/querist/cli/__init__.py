"""The command line: one short module a verb, each parse -> library -> print.

A new verb is a module here and a line in `app.py`. Verbs import what they need
inside their functions, so that `querist --help` stays quick.
"""

from querist.cli.entry import main as main
