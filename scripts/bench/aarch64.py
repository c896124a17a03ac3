#!/usr/bin/env python3
"""Counted events on an emulated aarch64 machine, against `perf stat` of bare loops in C.

    scripts/aarch64.sh build && scripts/aarch64.sh counters [RUNS]

Instructions per op, those of the kernel and all of them, are within 0.5 % of those that perf counts:
the slope over two lengths of a loop, without its start and its end. Each of so many runs (3 without it)
is compared alone, so that their ratios show how far counts repeat. Those of the program alone are a
few, which differ by compiler, and cycles are two an instruction: they are shown.

Both sides count the processes of a fork by counters that they inherit, and inheriting them executes
instructions: perf's figure has those, and that of a row has not. So the bar compares what both counted
of the same four events, and the figure of the row is shown beside that of perf without them: twice what
perf counts, less what it counts with each event opened twice. It ends with 1 if a bar fails. Minutes.
"""

import json
import math
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
from counters import median
from spin import verdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = ROOT / "target/aarch64/share/counts"
MAX_DIFFERENCE = 0.005
PROCESSES = 3
RUNS = 3
EVENTS = ["instructions:u", "instructions:k", "cycles"]
# What a worker counts together. Each costs at a fork, also the clock of the kernel.
WITH_CLOCK = EVENTS + ["task-clock"]
# The metric of a row, and the events of perf.
METRICS = {
    "insn": ["instructions:u", "instructions:k"],
    "insn_kernel": ["instructions:k"],
    "insn_user": ["instructions:u"],
    "cycles": ["cycles"],
}
JUDGED = ["insn", "insn_kernel"]
# A case, its loop in C, and two lengths of that: turns, and ops a turn. A batch is longer than the 3 ms of
# its warm-up, which is one batch then. Copies of a call in a turn leave the loop itself out of the slope.
OPS = [
    ("syscall/getppid:via=libc", "getppid", [(20_000, 4), (20_000, 8)]),
    ("syscall/write:via=libc", "write", [(20_000, 4), (20_000, 8)]),
    ("syscall/open-close:via=libc", "open-close", [(5_000, 4), (5_000, 8)]),
    ("process/fork-exit:touched_mib=0,peer_cpu=same", "fork-exit", [(500, 1), (1_000, 1)]),
]
# The loops whose counters processes inherit. A row that has another task, and creates none, shows what
# reading such counters adds to a batch: they are read one by one, and not as a group.
INHERITED = ["fork-exit"]
WITH_PEER = "switch/pipe:between=processes,peer_cpu=same"
# What fork(2) copies of a worker, "MAPPINGS,PAGES", to which the loop grows: that with which the most
# workers of a run are found, processes that have no other one below them.
MEMORY = r"""
oscost run --quick --no-store --no-counters syscall/getppid:via=raw >/dev/null 2>&1 &
run=$!
while kill -0 $run 2>/dev/null; do
    for process in /proc/[0-9]*; do
        [ "$process/exe" -ef /usr/local/bin/oscost-worker ] || continue
        ! grep -qs "^PPid:[[:space:]]*${process#/proc/}\$" /proc/[0-9]*/status || continue
        memory=$(awk '/^Anonymous:/ { kib += $2 } /^VmFlags:/ && !/ dc( |$)/ { mappings++ }
            END { if (kib) printf "%d,%d", mappings, kib / 4 }' "$process/smaps") || continue
        [ -z "$memory" ] || echo "$process $memory"
    done
    sleep 0.02
done 2>/dev/null | sort -u | cut -d ' ' -f 2 | sort | uniq -c | sort -n | tail -n 1 | awk '{ print $2 }' >memory
"""


def report(loop, length, process, times):
    """The file with what perf stat counts of a process, with each event opened so many times."""
    return f"perf-{loop}-{length}-{process}-{times}"


def run_file(run):
    return f"run-{run}.json"


def guest_script(runs):
    cases = " ".join(shlex.quote(case) for case in [case for case, _, _ in OPS] + [WITH_PEER])
    lines = ["set -e", "cd /share/counts"]
    for run in range(runs):
        # Status 3: a row failed, which has no figure to compare then.
        output = f"--seed {run + 1} --json {run_file(run)} {cases}"
        lines.append(f"oscost run --quick --no-store --counters {output} || [ $? = 3 ]")
    lines.append(MEMORY)
    for _, loop, lengths in OPS:
        inherited = loop in INHERITED
        act = f'"{loop}=$(cat memory)"' if inherited else loop
        for length, (turns, copies) in enumerate(lengths):
            for process in range(PROCESSES):
                for times in [1, 2] if inherited else [1]:
                    events = ",".join((WITH_CLOCK if inherited else EVENTS) * times)
                    perf = f"perf stat -x, -e {events} -o {report(loop, length, process, times)}"
                    lines.append(f"{perf} -- loops 0 {act} {turns} 1 {copies} >/dev/null")
    return "\n".join(lines) + "\n"


def perf_counts(loop, length, times):
    """The counts of a loop, by event: the medians over its processes."""
    found = {event: [] for event in EVENTS}
    for process in range(PROCESSES):
        for line in (COUNTS / report(loop, length, process, times)).read_text().splitlines():
            # The count, its unit, the event, the time that it counted, and the share of its time.
            fields = line.split(",")
            if len(fields) > 4 and fields[2] in found:
                if float(fields[4]) < 100:
                    sys.exit(f"scripts/bench/aarch64.py: perf scaled {fields[2]}: {line}")
                found[fields[2]].append(float(fields[0]))
    return {event: statistics.median(counts) for event, counts in found.items()}


def all_ops(turns, copies):
    """The ops of a process: those of its warm-up, of the turns before its batch, and of the batch."""
    return copies * (turns + min(turns // 8, 64) + turns)


def perf_per_op(loop, lengths, times=1):
    short, long = (perf_counts(loop, length, times) for length in range(2))
    ops = all_ops(*lengths[1]) - all_ops(*lengths[0])
    return {event: (long[event] - short[event]) / ops for event in EVENTS}


def with_inheritance(record, case, metric):
    """What was counted per op, without reading the counters alone; None if there is no figure."""
    rows = {row["case"]: row for row in record["results"]}
    row, other = (rows[of]["metrics"].get(metric) for of in [case, WITH_PEER])
    if not row or not other or not row["estimate"] or not other["estimate"]:
        return None
    row, other = row["estimate"], other["estimate"]
    reads = other["overhead"]["clock"] * other["ops_per_sample"]
    return row["raw_median"] - reads / row["ops_per_sample"]


def compare(what, figures, theirs, is_judged):
    """Prints the figures of all runs beside that of perf; returns whether the bar holds in each."""
    ratios = [math.nan if figure is None else figure / theirs for figure in figures]
    holds = all(abs(ratio - 1) <= MAX_DIFFERENCE for ratio in ratios)
    known = [figure for figure in figures if figure is not None]
    ours = f"{statistics.median(known):.2f}" if known else "none"
    line = f"  {what:<14}{ours:>12}{theirs:>12.2f}  {' '.join(f'{ratio:.4f}' for ratio in ratios)}"
    print(f"{line}  {verdict(holds)}" if is_judged else line)
    return holds or not is_judged


def compare_op(records, case, loop, lengths):
    """Compares the counts of an op; returns whether its bars hold."""
    holds = True
    inherited = loop in INHERITED
    perf = perf_per_op(loop, lengths)
    doubled = perf_per_op(loop, lengths, 2) if inherited else None
    for metric, events in METRICS.items():
        rows = [row for record in records for row in record["results"] if row["case"] == case]
        figures = [median(row, metric) for row in rows]
        counted = [with_inheritance(record, case, metric) for record in records]
        theirs = sum(perf[event] for event in events)
        is_judged = metric in JUDGED
        holds &= compare(metric, counted if inherited else figures, theirs, is_judged)
        if inherited and is_judged:
            without = 2 * theirs - sum(doubled[event] for event in events)
            compare("  not inherited", figures, without, False)
    return holds


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    shutil.rmtree(COUNTS, ignore_errors=True)
    COUNTS.mkdir(parents=True)
    (COUNTS / "script").write_text(guest_script(runs))
    words = [ROOT / "scripts/aarch64.sh", "run", "sh", "/share/counts/script"]
    if (status := subprocess.run(words).returncode) != 0:
        sys.exit(f"scripts/bench/aarch64.py: the machine counted nothing: status {status}")
    records = [json.loads((COUNTS / run_file(run)).read_text()) for run in range(runs)]
    counters = records[0]["machines"][0]["counters"]
    if why := counters["distrusted"] or counters["unavailable"]:
        sys.exit(f"scripts/bench/aarch64.py: no counters: {why}")
    memory = (COUNTS / "memory").read_text().strip()
    print(f"\nPMU {', '.join(counters['pmus'])}; a worker's mappings and pages: {memory}")
    print(f"per op          {'ours':>12}{'perf':>12}  ratio in each of {runs} runs")
    holds = True
    for case, loop, lengths in OPS:
        of_case = [row for record in records for row in record["results"] if row["case"] == case]
        means = sum(bool((row["counters"] or {}).get("amortized")) for row in of_case)
        print(f"{case} (means in {means} of {runs} runs)")
        holds &= compare_op(records, case, loop, lengths)
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
