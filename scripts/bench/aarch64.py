#!/usr/bin/env python3
"""Counted events on an emulated aarch64 machine, against `perf stat` of bare loops in C.

    scripts/aarch64.sh build && scripts/aarch64.sh counters

Instructions per op, those of the kernel and all of them, are within 0.5 % of those that perf counts:
the slope over two lengths of a loop, without its start and its end. Those of the program alone are a
few, which differ by compiler, and cycles are two an instruction: they are shown. It ends with 1 if a
bar fails. Minutes.
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
EVENTS = ["instructions:u", "instructions:k", "cycles"]
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


def report(loop, length, process):
    """The file with what perf stat counts of a process."""
    return f"perf-{loop}-{length}-{process}"


def guest_script():
    cases = " ".join(shlex.quote(case) for case, _, _ in OPS)
    lines = [
        "set -e",
        "cd /share/counts",
        # Status 3: a row failed, which has no figure to compare then.
        f"oscost run --quick --no-store --counters --json run.json {cases} || [ $? = 3 ]",
        MEMORY,
    ]
    for _, loop, lengths in OPS:
        act = '"fork-exit=$(cat memory)"' if loop == "fork-exit" else loop
        for length, (turns, copies) in enumerate(lengths):
            for process in range(PROCESSES):
                output = report(loop, length, process)
                perf = f"perf stat -x, -e {','.join(EVENTS)} -o {output}"
                lines.append(f"{perf} -- loops 0 {act} {turns} 1 {copies} >/dev/null")
    return "\n".join(lines) + "\n"


def perf_counts(loop, length):
    """The counts of a loop, by event: the medians over its processes."""
    found = {event: [] for event in EVENTS}
    for process in range(PROCESSES):
        for line in (COUNTS / report(loop, length, process)).read_text().splitlines():
            fields = line.split(",")
            if len(fields) > 2 and fields[2] in found:
                found[fields[2]].append(float(fields[0]))
    return {event: statistics.median(counts) for event, counts in found.items()}


def all_ops(turns, copies):
    """The ops of a process: those of its warm-up, of the turns before its batch, and of the batch."""
    return copies * (turns + min(turns // 8, 64) + turns)


def perf_per_op(loop, lengths):
    short, long = (perf_counts(loop, length) for length in range(2))
    ops = all_ops(*lengths[1]) - all_ops(*lengths[0])
    return {event: (long[event] - short[event]) / ops for event in EVENTS}


def compare(row, loop, lengths):
    """Prints the counts of a row beside those of perf; returns whether its bars hold."""
    holds = True
    perf = perf_per_op(loop, lengths)
    for metric, events in METRICS.items():
        ours, theirs = median(row, metric), sum(perf[event] for event in events)
        ratio = math.nan if ours is None else ours / theirs
        held = abs(ratio - 1) <= MAX_DIFFERENCE
        shown = "none" if ours is None else f"{ours:.2f}"
        line = f"  {metric:<14}{shown:>12}{theirs:>12.2f}{ratio:>10.4f}"
        print(f"{line}  {verdict(held)}" if metric in JUDGED else line)
        holds &= held or metric not in JUDGED
    return holds


def main():
    shutil.rmtree(COUNTS, ignore_errors=True)
    COUNTS.mkdir(parents=True)
    (COUNTS / "script").write_text(guest_script())
    words = [ROOT / "scripts/aarch64.sh", "run", "sh", "/share/counts/script"]
    if (status := subprocess.run(words).returncode) != 0:
        sys.exit(f"scripts/bench/aarch64.py: the machine counted nothing: status {status}")
    record = json.loads((COUNTS / "run.json").read_text())
    counters = record["machines"][0]["counters"]
    if why := counters["distrusted"] or counters["unavailable"]:
        sys.exit(f"scripts/bench/aarch64.py: no counters: {why}")
    memory = (COUNTS / "memory").read_text().strip()
    print(f"\nPMU {', '.join(counters['pmus'])}; a worker's mappings and pages: {memory}")
    print(f"per op          {'ours':>12}{'perf':>12}{'ratio':>10}")
    of_case = {row["case"]: row for row in record["results"]}
    holds = True
    for case, loop, lengths in OPS:
        print(case)
        holds &= compare(of_case[case], loop, lengths)
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
