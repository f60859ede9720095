"""The command line: a module per verb or family of verbs, each parse -> library -> print.

A new verb is a function in one of them and a name in `app.py`. Verbs import what they need
inside their functions, so that `querist --help` stays quick.
"""

from querist.cli.entry import main as main
