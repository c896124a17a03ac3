#!/usr/bin/env python3
"""Compares the figures of two builds of oscost: quick runs in pairs, in the order ABBA.

    scripts/compare-builds.py [--pairs N] [--over MINUTES] [--names FILE] OLD NEW [-- SELECTOR...]

OLD and NEW are commands, split into words as a shell does (`env OSCOST_WORKER=... path/oscost`).
The pairs begin evenly spread over MINUTES, since what disturbs a machine changes within an hour.
FILE has lines "old-case new-case" for cases that were renamed. Per case: the median of the ratios
new/old within pairs, the interval of that median by order statistics (at least 95 %), the p of a
two-sided sign test, its q over all cases (Benjamini-Hochberg), and the smallest effect that the
pairs could have shown. Then the cases of one build only, and the wall time of the runs.
"""

import argparse
import json
import math
import shlex
import statistics
import subprocess
import sys
import time


def run(command, selectors):
    """Runs the build once; returns medians by case and the wall time in seconds."""
    begun = time.monotonic()
    words = shlex.split(command) + ["run", "--quick", "--no-store", "--json", "-", *selectors]
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    wall_s = time.monotonic() - begun
    if not ended.stdout:
        sys.exit(f"{command} measured nothing: {ended.stderr.decode(errors='replace').strip()}")
    rows = json.loads(ended.stdout)["results"]
    return {r["case"]: r["estimate"]["median"] for r in rows if r["estimate"]}, wall_s


def interval_ranks(n):
    """The ranks (from 0) of the narrowest order-statistic interval of at least 95 %."""
    for low in range(n // 2, -1, -1):
        outside = 2 * sum(math.comb(n, k) for k in range(low + 1)) / 2**n
        if outside <= 0.05:
            return low, n - 1 - low
    return 0, n - 1


def sign_test(logs):
    signs = [log > 0 for log in logs if log != 0]
    n, k = len(signs), min(sum(signs), len(signs) - sum(signs))
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0


def q_values(p_values):
    order = sorted(range(len(p_values)), key=lambda i: p_values[i], reverse=True)
    q, least = [1.0] * len(p_values), 1.0
    for rank, i in enumerate(order):
        least = min(least, p_values[i] * len(p_values) / (len(p_values) - rank))
        q[i] = least
    return q


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--over", type=float, default=0)
    parser.add_argument("--names")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("selectors", nargs="*")
    given = parser.parse_args()
    names = {}
    if given.names:
        with open(given.names, encoding="utf-8") as lines:
            names = dict(line.split() for line in lines if line.strip())

    ratios, walls, missing = {}, {"old": [], "new": []}, {"old": set(), "new": set()}
    begun = time.monotonic()
    for pair in range(given.pairs):
        time.sleep(max(0, begun + pair * given.over * 60 / given.pairs - time.monotonic()))
        order = ["old", "new"] if pair % 2 == 0 else ["new", "old"]
        figures = {}
        for side in order:
            figures[side], wall_s = run(getattr(given, side), given.selectors)
            walls[side].append(wall_s)
        old = {names.get(case, case): value for case, value in figures["old"].items()}
        new = figures["new"]
        for case in sorted(old.keys() | new.keys()):
            if case not in old or case not in new:
                missing["old" if case not in old else "new"].add(case)
            elif old[case] > 0 and new[case] > 0:
                ratios.setdefault(case, []).append(math.log(new[case] / old[case]))
        print(f"pair {pair + 1} of {given.pairs}", file=sys.stderr)

    cases = sorted(case for case in ratios if len(ratios[case]) >= 6)
    p_values = [sign_test(ratios[case]) for case in cases]
    print(f"{'case':<62} {'ratio':>6} {'95 % interval':>15} {'pairs':>5} {'p':>7} {'q':>7} {'shows':>6}")
    for case, p, q in zip(cases, p_values, q_values(p_values)):
        logs = sorted(ratios[case])
        low, high = interval_ranks(len(logs))
        half = (logs[high] - logs[low]) / 2
        # Four of five such comparisons show an effect of 1.43 half-widths (1.96 + 0.84 over 1.96).
        print(
            f"{case:<62} {math.exp(statistics.median(logs)):6.3f}"
            f" {math.exp(logs[low]):6.3f} .. {math.exp(logs[high]):5.3f} {len(logs):5}"
            f" {p:7.4f} {q:7.4f} {100 * (math.exp(1.43 * half) - 1):5.1f}%"
        )
    for side, absent in missing.items():
        print(f"not measured by {side}: {', '.join(sorted(absent)) or 'none'}")
    for side, seconds in walls.items():
        print(f"wall time of {side}: median {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main()
