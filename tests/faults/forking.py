"""Servers that start at once, to be killed: forked from a process that has read everything already.

On standard input `STORE PORT` starts a server of that store there, and its process id is said; `kill ID`
kills it, and says so when it is gone.
"""

import os
import signal
import sys


def main() -> None:
    from querist.serve.app import make_app  # noqa: F401
    from querist.serve.opening import open_campaign  # noqa: F401
    from querist.serve.running import bound, run
    from querist.serve.server import CampaignServer
    from querist.serve.stores import open_store

    print("ready", flush=True)
    for line in sys.stdin:
        place, port = line.split()
        if place == "kill":
            os.kill(int(port), signal.SIGKILL)
            os.waitpid(int(port), 0)
            print(port, flush=True)
            continue
        child = os.fork()
        if not child:
            sys.stdin.close()
            with bound("127.0.0.1", int(port)) as where:
                run(CampaignServer(open_store(place)), where, log=False)
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
