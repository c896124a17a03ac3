#!/usr/bin/env python3
"""How far counted events can be relied on, on a machine whose processor shows its counters.

    scripts/bench/counters.py [PART]... [--pairs 40] [--runs 10] [--span 3600] [--boots FILE]

Parts, all of them without a name:

programs  Instructions of three programs are within 0.5 % of those of `perf stat`.
time      Over the price list the pooled ratio of times with counting workers and without is 1.000
          +- 0.003, and a run with `--quick` is at most 10 % longer with them.
repeats   Instructions of 60 rows repeat within 0.2 % over ten runs in an hour, with a load beside in
          every second one; in 1,000 compared rows none has a change of work; an added filter of
          1 % and more is found in 95 % of the rows.
causes    A neighbour, a waiting peer, a lower quota, an added call and a filter are named right in
          95 % of the rows that moved by over 10 %.
boots     How far instructions differ between boots: those of this one are added to a file, which is to
          be kept. It has no bar.

About two hours, on an idle machine. It ends with 1 if a bar fails. Without counters it says why, and
compares nothing. `--stand-in WORKER` shows on any machine that the script works: a worker with the
feature `fault-injection` counts a clock of the kernel in the place of each event, and no bar is judged.
"""

import argparse
import contextlib
import datetime
import itertools
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from spin import Spin, run, verdict

EVENTS = {"insn_user": "instructions:u", "insn_kernel": "instructions:k", "cycles": "cycles"}
MAX_PROGRAM_DIFFERENCE = 0.005
PERF_RUNS = 11
MAX_TIME_DIFFERENCE = 0.003
MAX_LONGER = 1.1
MAX_RANGE = 0.002
MIN_REPEATING_ROWS = 60
MIN_COMPARED_ROWS = 1_000
MIN_ADDED_SHARE = 0.01
MIN_FOUND_SHARE = 0.95
MIN_MOVED = 0.1
CALL = "syscall/getppid:via=raw"
# The treatment, the rows, and the cause.
CAUSES = [
    ("a neighbour", "antagonist=memory:other", [], "core"),
    ("a waiting peer", "antagonist=cpu:other", ["peer_cpu=other"], "waiting"),
    ("a lower quota", "cgroup=cpu:50%", [], "waiting"),
    ("an added call", "sud", ["syscall"], "work"),
    ("a filter", "seccomp=docker", ["syscall"], "work"),
]
# A worker with this variable counts a clock in the place of the processor's events.
STAND_IN = "OSCOST_COUNTER_FAULT=honest"


class Bench:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = pathlib.Path(folder)
        self.treatments = [f"env={STAND_IN}"] if arguments.stand_in else []
        self.spin = Spin(folder)

    def record(self, verb, *words):
        """The record of a command; a gate or a lost row has its own status."""
        options = [verb, "--no-store", "--json", "-"]
        return json.loads(run([self.arguments.program, *options, *words], statuses=(0, 1, 3)))

    def measured(self, *words):
        treated = ["--treat", "+".join(self.treatments)] if self.treatments else []
        return self.record("run", *treated, *words)

    def compared(self, treatment, *words):
        """A target with a treatment, in turns with the same target without."""
        base = "+".join(self.treatments) or "local"
        new = "+".join([*self.treatments, treatment])
        return self.record("ab", "--base", base, "--new", new, *words)

    def judge(self, what, holds):
        """Prints a bar; stand-ins show nothing of it."""
        if self.arguments.stand_in:
            print(f"{what}  not judged")
            return True
        print(f"{what}  {verdict(holds)}")
        return holds

    @contextlib.contextmanager
    def load(self, is_loaded):
        """Lets another program compute."""
        words = self.spin.command(1e9)
        others = [subprocess.Popen(words) for _ in range(1 if is_loaded else 0)]
        try:
            yield
        finally:
            for other in others:
                other.kill()
                other.wait()


def median(row, metric=None):
    """A figure of a row, or a metric of it; None if it has none."""
    found = row if metric is None else row["metrics"].get(metric)
    return found and found["estimate"] and found["estimate"]["median"]


def instructions(row):
    """Those of both modes, or of the program alone where the kernel's are not visible."""
    return median(row, "insn") or median(row, "insn_user")


def rows(record, figure):
    """A figure of each row that has one above zero, by case."""
    found = {row["case"]: figure(row) for row in record["results"] if row["outcome"] == "measured"}
    return {case: value for case, value in found.items() if value and value > 0}


def seconds(record):
    ends = [record[key].replace("Z", "+00:00") for key in ("started", "ended")]
    started, ended = map(datetime.datetime.fromisoformat, ends)
    return (ended - started).total_seconds()


def perf_stat(bench, command, events):
    """The counts of a run of a command."""
    report = str(bench.folder / "perf-stat")
    run(["perf", "stat", "-x", ";", "-e", ",".join(events), "-o", report, "--", *command])
    lines = [line.split(";") for line in pathlib.Path(report).read_text().splitlines()]
    counts = {line[2]: float(line[0]) for line in lines if len(line) > 2 and line[0].isdigit()}
    return {event: counts[event] for event in events if event in counts}


def programs(bench):
    if shutil.which("perf") is None:
        print("programs: skipped: perf is not installed (apt-get install linux-perf)")
        return True
    holds = True
    script = "for each in 1 2 3; do ls -l /usr/bin >/dev/null; done"
    for name, command in [
        ("true", ["true"]),
        ("a loop of 20 ms", bench.spin.command(20)),
        ("a shell and its children", ["sh", "-c", script]),
    ]:
        record = bench.measured("--counters", "--", *command)
        row = next(row for row in record["results"] if row["primary_metric"])
        counted = {metric: median(row, metric) for metric in EVENTS if median(row, metric)}
        events = [EVENTS[metric] for metric in counted]
        all_counts = [perf_stat(bench, command, events) for _ in range(PERF_RUNS)]
        for metric, ours in counted.items():
            counts = [it[EVENTS[metric]] for it in all_counts if EVENTS[metric] in it]
            if not counts:
                print(f"{name:<26}{EVENTS[metric]:<16}skipped: perf stat counts none")
                continue
            theirs = statistics.median(counts)
            line = f"{name:<26}{EVENTS[metric]:<16}{ours:>16.0f}{theirs:>16.0f}"
            line += f"{100 * (ours / theirs - 1):>+9.2f} %"
            if metric == "cycles":
                # They differ with the state of the caches.
                print(line)
            else:
                holds &= bench.judge(line, abs(ours / theirs - 1) <= MAX_PROGRAM_DIFFERENCE)
    return holds


def times(bench):
    """Both runs of a pair have the same seed, and so the same order and layouts."""
    ratios, lengths = [], {True: [], False: []}
    for pair in range(bench.arguments.pairs):
        found = {}
        for counts in (True, False) if pair % 2 == 0 else (False, True):
            words = [] if counts else ["--no-counters"]
            seed = ["--seed", str(pair + 1)]
            record = bench.measured("--quick", *seed, *words, *bench.arguments.cases)
            found[counts] = rows(record, lambda row: row["unit"] == "ns/op" and median(row))
            lengths[counts].append(seconds(record))
        cases = found[True].keys() & found[False].keys()
        logs = [math.log(found[True][case] / found[False][case]) for case in cases]
        # A row on another level in one of the runs is not what counting adds.
        ratios.append(statistics.median(logs))
    pooled = math.exp(statistics.mean(ratios))
    deviation = statistics.stdev(ratios) if len(ratios) > 1 else math.inf
    error = 1.96 * deviation / math.sqrt(len(ratios))
    holds = abs(pooled - 1) <= MAX_TIME_DIFFERENCE and error <= MAX_TIME_DIFFERENCE
    line = f"time with counting workers over that without, {len(ratios)} pairs of runs"
    holds = bench.judge(f"{line}  {pooled:.4f} +- {error:.4f}", holds)
    longer = statistics.median(lengths[True]) / statistics.median(lengths[False])
    line = f"a run with --quick, with them over without  {longer:.3f}"
    return bench.judge(line, longer <= MAX_LONGER) and holds


def run_files(bench):
    """The records of runs in an hour, in files."""
    files = []
    started_s = time.monotonic()
    for number in range(bench.arguments.runs):
        due_s = started_s + bench.arguments.span * number / bench.arguments.runs
        time.sleep(max(0.0, due_s - time.monotonic()))
        with bench.load(number % 2 == 1):
            record = bench.measured(*bench.arguments.cases)
        files.append(bench.folder / f"run-{number}.json")
        files[-1].write_text(json.dumps(record))
    return files


def repeats(bench):
    files = run_files(bench)
    found = [rows(json.loads(file.read_text()), instructions) for file in files]
    common = set(found[0]).intersection(*found[1:])
    ranges = {}
    for case in sorted(common):
        values = [of_run[case] for of_run in found]
        ranges[case] = (max(values) - min(values)) / statistics.median(values)
    repeating = sum(of_case <= MAX_RANGE for of_case in ranges.values())
    line = f"rows whose instructions repeat within 0.2 %: {repeating} of {len(ranges)}"
    holds = bench.judge(line, repeating >= MIN_REPEATING_ROWS)
    for case in sorted(ranges, key=ranges.get)[-5:]:
        print(f"  {case:<60}{100 * ranges[case]:9.3f} %")

    changed, compared = [], 0
    for base, new in itertools.combinations(files, 2):
        words = ["compare", str(base), str(new), "--json", "-"]
        document = json.loads(run([bench.arguments.program, *words], statuses=(0, 1, 3)))
        for it in document["comparisons"]:
            if it["metric"] in ("insn", "insn_user"):
                compared += 1
                if it["verdict"] in ("slower", "faster"):
                    changed.append(it["case"])
    line = f"rows of equal work that are called changed: {len(changed)} of {compared}"
    holds &= bench.judge(line, not changed and compared >= MIN_COMPARED_ROWS)
    if changed:
        print(f"  {', '.join(sorted(set(changed)))}")
    return found_changes(bench) and holds


def found_changes(bench):
    """A filter adds as many instructions to each call, and so to each row what its calls are of its
    work."""
    record = bench.compared("seccomp=allow", *bench.arguments.cases)
    of_work = {
        it["case"]: it
        for it in record["comparisons"]
        if it["metric"] in ("insn", "insn_user") and not it["control"]
    }
    if CALL not in of_work:
        print(f"added instructions: skipped: {CALL} has no comparison of its work")
        return True
    of_call = of_work[CALL]["added"]["value"]
    planted, found = 0, 0
    for case, it in of_work.items():
        row = record["results"][it["base"]]
        calls = sum((row["calls"] or {"per_op": {}})["per_op"].values())
        if calls * of_call >= MIN_ADDED_SHARE * (instructions(row) or math.inf):
            planted += 1
            found += it["verdict"] == "slower"
    line = f"rows with 1 % more instructions by a filter ({of_call:.1f} a call) that are found: "
    line += f"{found} of {planted}"
    return bench.judge(line, planted > 0 and found >= MIN_FOUND_SHARE * planted)


def causes(bench):
    right, moved, wrong = 0, 0, []
    for name, treatment, words, expected in CAUSES:
        record = bench.compared(treatment, *bench.arguments.cases)
        of_cause = [0, 0]
        for it in record["comparisons"]:
            is_chosen = all(word in it["case"] for word in words)
            if it["metric"] != "primary" or it["control"] or not is_chosen:
                continue
            is_known = it["verdict"] in ("slower", "faster") and it["decomposition"]
            if not is_known or abs(it["ratio"]["value"] - 1) <= MIN_MOVED:
                continue
            cause = it["decomposition"]["cause"]
            of_cause[1] += 1
            of_cause[0] += cause == expected
            if cause != expected:
                wrong.append(f"{name}: {it['case']}: {cause}, not {expected}")
        print(f"{name:<16}{treatment:<26}{of_cause[0]:4} of {of_cause[1]} rows: {expected}")
        right, moved = right + of_cause[0], moved + of_cause[1]
    for line in wrong[:20]:
        print(f"  {line}")
    line = f"causes of rows that moved by over 10 %: {right} of {moved} right"
    return bench.judge(line, moved > 0 and right >= MIN_FOUND_SHARE * moved)


def boots(bench):
    """The instructions of this boot beside those of others in the file."""
    record = bench.measured(*bench.arguments.cases)
    boot = record["machines"][0]["counters"]["boot"] or "unknown"
    path = pathlib.Path(bench.arguments.boots)
    known = json.loads(path.read_text()) if path.exists() else {}
    known[boot] = rows(record, instructions)
    path.write_text(json.dumps(known, indent=1) + "\n")
    if len(known) < 2:
        print(f"boots: {path} has one: reboot and run this again, as often as you like")
        return True
    common = set.intersection(*(set(of_boot) for of_boot in known.values()))
    ranges = []
    for case in common:
        values = [of_boot[case] for of_boot in known.values()]
        ranges.append(((max(values) - min(values)) / statistics.median(values), case))
    ranges.sort()
    print(f"instructions in {len(known)} boots, {len(ranges)} rows: range over the median")
    for share in (0.5, 0.9, 1.0):
        of_rows, case = ranges[max(0, math.ceil(share * len(ranges)) - 1)]
        print(f"  {100 * share:3.0f} % of the rows within {100 * of_rows:.3f} %  ({case})")
    return True


PARTS = {
    "programs": programs,
    "time": times,
    "repeats": repeats,
    "causes": causes,
    "boots": boots,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"[default: {', '.join(PARTS)}]")
    parser.add_argument("--program", default=str(root / "target/release/oscost"))
    parser.add_argument("--pairs", type=int, default=40, help="of runs, for the part `time`")
    parser.add_argument("--runs", type=int, default=10, help="for the part `repeats`, at least 2")
    parser.add_argument("--span", type=float, default=3600.0, help="of these runs, in seconds")
    parser.add_argument("--boots", default=str(root / "boots.json"), help="of the part `boots`")
    parser.add_argument("--cases", nargs="*", default=[], help="[default: the price list]")
    parser.add_argument("--stand-in", metavar="WORKER", help="a worker that counts a clock")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}")
    os.environ["NO_COLOR"] = "1"
    if arguments.stand_in:
        name, value = STAND_IN.split("=")
        os.environ[name], os.environ["OSCOST_WORKER"] = value, arguments.stand_in
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        facts = bench.measured("--quick", CALL)["machines"][0]["counters"]
        why = facts["distrusted"] or facts["unavailable"]
        if why:
            print(f"counted events: skipped: {why}")
            return 0
        if arguments.stand_in and facts["pmus"] != ["stand-in"]:
            sys.exit(f"{arguments.stand_in} counts no clock: build it with `fault-injection`")
        for part in arguments.parts or PARTS:
            print(f"-- {part}")
            holds &= PARTS[part](bench)
    if not arguments.stand_in:
        print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
