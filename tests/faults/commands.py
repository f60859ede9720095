"""Commands that start at once, to be disturbed: forked from a process that has read everything already.

A line of JSON on standard input, a line of JSON on standard output:

{"arguments": [...], "folder": ..., "streams": [...], "size": ..., "user": ..., "environment": {...}}
    starts `querist ARGUMENTS` in a session of its own; its process id is said. A stream is the path of a
    file or terminal, None is closed; `size` is the most bytes of a file it may write (RLIMIT_FSIZE);
    `site` has the URL and SHA-256 of the files of a data set called toy
{"warm": line, "folder": ...}   runs a command there in this process: what is started later has read it all
{"wait": id}    its exit code when it has ended, minus the signal that killed it; `now` waits for nothing
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path


def main() -> None:
    from querist.cli import main as querist, screen

    screen.QUIET_SECONDS = 600.0  # what is said does not hang on the clock
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
    warm(querist)
    print("ready", flush=True)
    for line in sys.stdin:
        given = json.loads(line)
        if "wait" in given:
            id, status = os.waitpid(given["wait"], os.WNOHANG if given.get("now") else 0)
            said = os.waitstatus_to_exitcode(status) if id else None
        elif "warm" in given:
            said = silent(querist, [given["warm"]], given["folder"])
        else:
            said = os.fork()
            if not said:
                code = 99
                try:
                    code = begun(querist, **given)
                finally:
                    os._exit(code)
        print(json.dumps(said), flush=True)


def warm(querist) -> None:
    """Have every module read and every kernel loaded that the tests use."""
    import requests  # noqa: F401

    folder = Path(sys.argv[1])
    (folder / "warm.toml").write_text(
        'task = "online"\ndataset = "karate"\nrepeats = 1\n[[experiment]]\nmethod = "msg"\n', encoding="utf-8"
    )
    (folder / "warm.csv").write_text("source,target\na,b\nb,c\nc,d\n", encoding="utf-8")
    (folder / "known.csv").write_text("node,label\na,x\nd,y\n", encoding="utf-8")
    lines = (
        "ask warm.csv --oracle known.csv --budget 2 --journal warm.journal -o asked.csv",
        "label warm.csv --labels known.csv -o labelled.csv",
        "experiment warm.toml --processes 1 --out warm",
    )
    silent(querist, lines, folder)


def silent(querist, lines, folder) -> None:
    """Run commands in this process, whose output says other things."""
    said, here = os.dup(1), os.getcwd()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.chdir(folder)
    for line in lines:
        assert querist(line.split()) == 0, line
    sys.stdout.flush()
    os.chdir(here)
    os.dup2(said, 1)
    os.close(said)
    os.close(nothing)


def begun(querist, arguments, folder, streams, size, user, ignored, site, environment) -> int:
    os.setsid()
    os.chdir(folder)
    os.environ.update(environment)
    sys.stdin.close()
    for number, place in enumerate(streams):
        if place is None:
            os.close(number)
            continue
        # The first terminal that is opened becomes that of the session.
        file = os.open(place, os.O_RDWR | os.O_CREAT | (0 if number == 0 else os.O_APPEND), 0o666)
        if file != number:
            os.dup2(file, number)
            os.close(file)
    own = [
        None if place is None else os.fdopen(number, "rw"[number > 0], encoding="utf-8")
        for number, place in enumerate(streams)
    ]
    sys.stdin, sys.stdout, sys.stderr = own
    if size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error, as of a full disk, not a signal
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if ignored is not None:
        signal.signal(ignored, signal.SIG_IGN)
    if user is not None:
        os.setgid(user)
        os.setuid(user)
    if site is not None:
        register_toy(site)
    code = querist(arguments)
    for stream in own[1:]:
        with suppress(OSError, AttributeError):  # the terminal is gone, or it was closed
            stream.flush()
    return code


def register_toy(site) -> None:
    from querist.datasets.convert import linqs
    from querist.datasets.registry import ENTRIES, DownloadSource, Entry, File

    files = tuple(File(name, *each) for name, each in site.items())
    ENTRIES["toy"] = Entry("toy", 0, 0, 0, 0, "a toy", sources=(DownloadSource(files, linqs),))


if __name__ == "__main__":
    main()
