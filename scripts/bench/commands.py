#!/usr/bin/env python3
"""How well `oscost ab -- A -- B` tells commands apart, and what it costs.

    scripts/bench/commands.py [--only share|start|differences|equal]... [--tries 10] [--equal 100]
                              [--load 1] [--program target/release/oscost]

Bars: two programs of 1, 5 and 50 ms that are 2 % apart are found in 9 of 10 tries of 20 s, those of
500 ms in 60 s; 1 % at 5 ms in 8 of 10 tries of 60 s; of equal programs at most 5 of 100 are called
different; at least 60 % of the wall time runs the commands; starting one takes at most 30 us more
than a bare loop of fork, exec and wait. Other programs (`--load`) compute meanwhile, except for the
last two. About 45 minutes for all but the equal programs, and 40 for 100 comparisons of these; the
last two alone take three (`--only share --only start`). It ends with 1 if a bar fails.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from spin import BARE_LOOP, Spin, compiled, run, timed, verdict

# Milliseconds, how much more the new one does, seconds, and how many of ten must be found.
DIFFERENCES = [
    (1, 1.02, 20, 9),
    (5, 1.02, 20, 9),
    (50, 1.02, 20, 9),
    (500, 1.02, 60, 9),
    (5, 1.01, 60, 8),
]
MAX_FALSE_SHARE = 0.05
MIN_COMMAND_SHARE = 0.6
MAX_START_US = 30.0
PARTS = ["share", "start", "differences", "equal"]


class Bench:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.command = Spin(folder).command

    def compare(self, base, new, budget_s):
        """The record of a comparison."""
        options = ["--no-store", "--budget", str(budget_s), "--json", "-"]
        return json.loads(run([self.program, "ab", *options, "--", *base, "--", *new]))

    @contextlib.contextmanager
    def load(self, count):
        """Lets so many other programs compute."""
        words = self.command(1e9)
        others = [subprocess.Popen(words) for _ in range(count)]
        try:
            yield
        finally:
            for other in others:
                other.kill()
                other.wait()

    def difference(self, milliseconds, more, budget_s, wanted, tries):
        pair = self.command(milliseconds), self.command(milliseconds, more)
        verdicts = [judged(self.compare(*pair, budget_s))["verdict"] for _ in range(tries)]
        found = verdicts.count("slower")
        holds = 10 * found >= wanted * tries
        print(
            f"{milliseconds:4} ms, {100 * (more - 1):.0f} % apart, {budget_s} s: "
            f"found in {found} of {tries}  {verdict(holds)}"
        )
        return holds

    def equal(self, tries):
        commands = [self.command(ms) for ms in (1, 5, 50)]
        false = 0
        for number in range(tries):
            command = commands[number % len(commands)]
            it = judged(self.compare(command, command, 20))
            false += it["verdict"] in ("slower", "faster")
        holds = false <= max(1, MAX_FALSE_SHARE * tries)
        print(f"equal programs, 20 s: {false} of {tries} called different  {verdict(holds)}")
        return holds

    def share(self, milliseconds):
        """The part of the wall time in which the commands run."""
        command = self.command(milliseconds)
        record, took_s = timed(lambda: self.compare(command, command, 20))
        rows = [row for row in record["results"] if row["command"]]
        trials = [it["value"] for row in rows for it in row["repetitions"]]
        share = sum(value for value in trials if value is not None) / took_s
        holds = share >= MIN_COMMAND_SHARE
        said = f"{100 * share:.0f} % of the wall time runs it"
        print(f"{milliseconds:4} ms: {said}  {verdict(holds)}")
        return holds

    def start(self):
        """What starting a program takes more than in a bare loop, which runs before and after."""
        loop = compiled(self.folder, "loop", BARE_LOOP)
        command = self.command(0)
        options = ["--no-store", "--json", "-"]
        above_us = {"median": [], "p10": []}

        def bare():
            return [float(word) for word in run([loop, *command]).split()]

        for _ in range(5):
            before = bare()
            record = json.loads(run([self.program, "run", *options, "--", *command]))
            estimate = next(row for row in record["results"] if row["command"])["estimate"]
            both = [(one + other) / 2 for one, other in zip(before, bare())]
            for (name, found), loop_ns in zip(above_us.items(), both):
                found.append(1e6 * estimate[name] - 1e-3 * loop_ns)
        median, p10 = (statistics.median(found) for found in above_us.values())
        holds = median <= MAX_START_US
        print(
            f"starting a program: {median:.1f} us above a bare loop in the median, {p10:.1f} us in "
            f"the least disturbed tenth  {verdict(holds)}"
        )
        return holds


def judged(record):
    """The comparison that the verdict rests on."""
    found = record["comparisons"]
    return next(it for it in found if not it["control"] and "SECONDARY" not in it["flags"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", default=str(root / "target/release/oscost"))
    parser.add_argument("--only", action="append", choices=PARTS, help="this part [all]")
    parser.add_argument("--tries", type=int, default=10, help="of each difference")
    parser.add_argument("--equal", type=int, default=100, help="comparisons of equal programs")
    parser.add_argument("--load", type=int, default=1, help="other programs that compute")
    arguments = parser.parse_args()
    os.environ["NO_COLOR"] = "1"
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.program, folder)
        parts = arguments.only or PARTS
        for milliseconds in (1, 5, 50, 500) if "share" in parts else ():
            holds &= bench.share(milliseconds)
        if "start" in parts:
            holds &= bench.start()
        with bench.load(arguments.load):
            for of in DIFFERENCES if "differences" in parts else ():
                holds &= bench.difference(*of, arguments.tries)
            if "equal" in parts:
                holds &= bench.equal(arguments.equal)
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
