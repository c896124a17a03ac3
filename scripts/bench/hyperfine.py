#!/usr/bin/env python3
"""Compares `oscost` with hyperfine on three commands, in turns on one machine.

    scripts/bench/hyperfine.py [--seconds 10] [--repeats 20] [--program target/release/oscost]

Medians: both time the same command, in turns (ABBA); the median of their medians differs by at most
1 %. Ratios: both compare a command with one that does 2 % more, in the same wall time, again and
again; the standard deviation of the reported ratio of wall times is smaller with `oscost ab`.

Minutes to half an hour, on an idle machine. It ends with 1 if a bar fails, or without hyperfine.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
from spin import Spin, run, timed, verdict

# What the three commands take: a start, a short command, a long one.
MILLISECONDS = [1, 20, 200]
MORE = 1.02
MEDIAN_TURNS = 6
MAX_MEDIAN_DIFFERENCE = 0.01


class Bench:
    def __init__(self, program, folder, wall_s):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.wall_s = wall_s
        self.command = Spin(folder).command

    def hyperfine(self, commands, runs):
        """Its results, without a shell."""
        path = str(self.folder / "hyperfine.json")
        texts = [" ".join(words) for words in commands]
        options = ["-N", "--warmup", "3", "--runs", str(runs), "--style", "none"]
        run(["hyperfine", *options, "--export-json", path, *texts])
        return json.loads(pathlib.Path(path).read_text())["results"]

    def hyperfine_runs(self, commands, wall_s):
        """How many runs of each command it makes in this time, its own overhead included."""
        trial_runs = 10
        _, took_s = timed(lambda: self.hyperfine(commands, trial_runs))
        return max(trial_runs, int(trial_runs * wall_s / took_s))

    def oscost_median(self, command):
        path = str(self.folder / "oscost.json")
        options = ["--no-store", "--budget", str(self.wall_s), "--export-hyperfine", path]
        run([self.program, "run", *options, "--", *command])
        return json.loads(pathlib.Path(path).read_text())["results"][0]["median"]

    def oscost_ratios(self, base, new):
        """The ratios of wall time and of CPU time."""
        options = ["--no-store", "--budget", str(self.wall_s), "--json", "-"]
        record = json.loads(run([self.program, "ab", *options, "--", *base, "--", *new]))
        found = {it["metric"]: it["ratio"]["value"] for it in record["comparisons"]}
        return found["primary"], found["cpu"]

    def compare_medians(self, milliseconds):
        command = self.command(milliseconds)
        runs = self.hyperfine_runs([command], self.wall_s)
        ours, theirs = [], []
        sides = [
            lambda: ours.append(self.oscost_median(command)),
            lambda: theirs.append(self.hyperfine([command], runs)[0]["median"]),
        ]
        for turn in range(MEDIAN_TURNS):
            for side in sides if turn % 2 == 0 else reversed(sides):
                side()
        median, other = statistics.median(ours), statistics.median(theirs)
        holds = abs(median / other - 1) <= MAX_MEDIAN_DIFFERENCE
        print(
            f"{milliseconds:4} ms  median   oscost {1e3 * median:9.4f} ms  "
            f"hyperfine {1e3 * other:9.4f} ms  ratio {median / other:.4f}  {verdict(holds)}"
        )
        return holds

    def compare_ratios(self, milliseconds, repeats):
        base, new = self.command(milliseconds), self.command(milliseconds, MORE)
        # In the time that `oscost ab` takes as a whole, its surveys included.
        (_, took_s) = timed(lambda: self.oscost_ratios(base, new))
        runs = self.hyperfine_runs([base, new], took_s)
        wall, cpu, theirs, times_s = [], [], [], [0.0, 0.0]

        def ours():
            (of_wall, of_cpu), took_s = timed(lambda: self.oscost_ratios(base, new))
            wall.append(of_wall)
            cpu.append(of_cpu)
            times_s[0] += took_s

        def hyperfine():
            (first, second), took_s = timed(lambda: self.hyperfine([base, new], runs))
            theirs.append(second["mean"] / first["mean"])
            times_s[1] += took_s

        for turn in range(repeats):
            for side in (ours, hyperfine) if turn % 2 == 0 else (hyperfine, ours):
                side()
        deviations = [statistics.stdev(values) for values in (wall, cpu, theirs)]
        holds = deviations[0] < deviations[2]
        print(
            f"{milliseconds:4} ms  ratio of {MORE}: mean and sd over {repeats} repeats of "
            f"{times_s[0] / repeats:.1f} s and {times_s[1] / repeats:.1f} s  {verdict(holds)}"
        )
        names = ["oscost, wall time", "oscost, CPU time", "hyperfine, wall time"]
        for name, values, deviation in zip(names, (wall, cpu, theirs), deviations):
            print(f"         {name:<22}{statistics.mean(values):8.4f}{deviation:9.4f}")
        return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", default=str(root / "target/release/oscost"))
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run")
    parser.add_argument("--repeats", type=int, default=20, help="of each ratio, at least 2")
    arguments = parser.parse_args()
    if shutil.which("hyperfine") is None:
        print(
            "cannot compare with hyperfine: it is not installed\n"
            "  hint: scripts/install.sh peers, or apt-get install hyperfine",
            file=sys.stderr,
        )
        return 1
    os.environ["NO_COLOR"] = "1"
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.program, folder, arguments.seconds)
        for milliseconds in MILLISECONDS:
            holds &= bench.compare_medians(milliseconds)
        for milliseconds in MILLISECONDS:
            holds &= bench.compare_ratios(milliseconds, max(2, arguments.repeats))
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
