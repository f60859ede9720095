"""Count what generated cases do; or fuzz by time.

    python tests/fuzz --graphs 100000 [--seed 0] [--only embed online collective] [--processes 2] [--json]
    python tests/fuzz --minutes 30

With `--graphs` each of the operations has that many cases, a graph each, and a table says how many kept every
promise, were refused with a message of ours, broke a promise, raised an error that is not ours, or crashed
the process. `--case 17` does the case of that number alone, and shows it. With `--minutes` the tests of this
folder run in rounds with new seeds, which are printed; failures are kept (profiles.py).
"""

import argparse
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUTCOMES = ("kept", "refused", "broken", "foreign", "crash")


def tried(operation: str, seed: int, number: int) -> tuple[str, str]:
    """(outcome, what was said) of one case."""
    from promises import check
    from strategies import numbered_case

    case = numbered_case(operation, seed, number)
    try:
        said = check(case)
    except AssertionError as broken:
        return "broken", f"{broken}"[:200]
    except Exception as foreign:
        ours = [frame for frame in traceback.extract_tb(foreign.__traceback__) if "querist" in frame.filename]
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
        return "foreign", f"{type(foreign).__name__} {place} {foreign}"[:200]
    return ("kept", "") if said == "kept" else ("refused", said)


def work(operation: str, seed: int, numbers: range) -> None:
    """A line on the standard output for every case: (number, outcome, what was said)."""
    for number in numbers:
        print(json.dumps([number, *tried(operation, seed, number)]), flush=True)


def outcomes(operation: str, seed: int, numbers: range) -> Iterator[tuple[int, str, str]]:
    """Of every case, from a process of its own: where that dies, another one goes on behind the case."""
    while numbers:
        command = [sys.executable, str(HERE), "--work", "--only", operation, "--seed", str(seed)]
        place = [
            "--first",
            str(numbers[0]),
            "--graphs",
            str(len(numbers) * numbers.step),
            "--step",
            str(numbers.step),
        ]
        with subprocess.Popen([*command, *place], stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                yield tuple(json.loads(line))
                numbers = numbers[1:]
        if worker.returncode and numbers:
            yield numbers[0], "crash", f"exit status {worker.returncode}"
            numbers = numbers[1:]


def interleaved(operation: str, seed: int, numbers: range, processes: int) -> Iterator[tuple[int, str, str]]:
    """The same from several processes, as they come."""
    found: queue.Queue[tuple[int, str, str]] = queue.Queue()

    def read(part: range) -> None:
        for each in outcomes(operation, seed, part):
            found.put(each)

    for k in range(processes):
        threading.Thread(target=read, args=(numbers[k::processes],), daemon=True).start()
    for _ in numbers:
        yield found.get()


def count(arguments: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    totals: dict[str, Counter[str]] = {}
    failures: list[dict[str, Any]] = []
    refusals: dict[str, Counter[str]] = {}
    started = time.perf_counter()
    numbers = range(arguments.first, arguments.first + arguments.graphs)
    with Progress(console=Console(stderr=True), disable=arguments.json) as progress:
        for operation in arguments.only:
            bar = progress.add_task(operation, total=len(numbers))
            totals[operation], refusals[operation] = Counter(dict.fromkeys(OUTCOMES, 0)), Counter()
            for number, outcome, said in interleaved(operation, arguments.seed, numbers, arguments.processes):
                totals[operation][outcome] += 1
                progress.advance(bar)
                if outcome == "refused":
                    refusals[operation][said[:60]] += 1
                elif outcome != "kept":
                    failures.append(
                        {"operation": operation, "case": number, "outcome": outcome, "said": said}
                    )
                    progress.console.print(f"{operation} {number}: {outcome}: {said}", markup=False)
    seconds = time.perf_counter() - started
    if arguments.json:
        found = {"graphs": len(numbers), "seed": arguments.seed, "seconds": round(seconds, 1)}
        often = {name: said.most_common(20) for name, said in refusals.items()}
        print(json.dumps({**found, "outcomes": totals, "failures": failures, "refusals": often}, indent=1))
    else:
        table = Table("operation", *OUTCOMES, title=f"{len(numbers):,} cases each, seed {arguments.seed}")
        for operation, found in totals.items():
            table.add_row(operation, *(f"{found[outcome]:,}" for outcome in OUTCOMES))
        Console().print(table)
        for name, found in refusals.items():
            for said, times in found.most_common(5 if arguments.refusals else 0):
                print(f"{name} refused {times:,}: {said}")
    return bool(failures)


def one(arguments: argparse.Namespace) -> int:
    """The case of a number alone."""
    from strategies import numbered_case

    (operation,) = arguments.only
    from promises import check

    case = numbered_case(operation, arguments.seed, arguments.case)
    print(case, flush=True)
    print(check(case))
    return 0


def by_time(minutes: float) -> int:
    """Rounds of the tests with new seeds until the time is over."""
    end, failed, done = time.monotonic() + 60 * minutes, [], 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(2**32)
        print(f"round {done + 1}, --hypothesis-seed={seed}", flush=True)
        command = [sys.executable, "-m", "pytest", str(HERE), f"--hypothesis-seed={seed}", "-n", "auto"]
        env = {**os.environ, "QUERIST_FUZZ_MINUTES": str(minutes)}
        rc = subprocess.run(command, env=env, cwd=HERE.parents[1], check=False).returncode
        done += 1
        if rc:
            failed.append(seed)
    print(f"{done} rounds, {len(failed)} failed" + (f": seeds {failed}" if failed else ""))
    return bool(failed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", nargs="+", default=["embed", "online", "collective"], help="operations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--minutes", type=float, help="fuzz by time instead")
    parser.add_argument("--refusals", action="store_true", help="print what was refused most")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.minutes is not None:
        return by_time(arguments.minutes)
    if arguments.work:
        numbers = range(arguments.first, arguments.first + arguments.graphs, arguments.step)
        work(arguments.only[0], arguments.seed, numbers)
        return 0
    return count(arguments) if arguments.case is None else one(arguments)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
