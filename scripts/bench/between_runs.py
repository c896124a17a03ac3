#!/usr/bin/env python3
"""How often intervals of a run hold the figure of its case in other runs, and what pairs of runs show.

    scripts/bench/between_runs.py [--runs 12] [--every 300] [--quick] [--earlier] [--records FOLDER]

Makes so many runs of the price list, one every so many seconds, each with an empty store: its intervals
between runs are then those of the class of each case. With `--earlier` the runs share a store, and rest
on those before them. Each interval is judged by the mean of the case's medians in the other runs, with
a bootstrap over runs. Then each pair of runs is compared: nothing changed, so each verdict is false.

Bars: intervals between runs hold in at least 90 % (it fails only if the upper end of the bootstrap's
interval is below that); at most 1 % of compared rows have a verdict; REFERENCE_DRIFT is in no more runs
than 5 of 100 explain. About an hour, on the machine as it is: other work on it belongs to the question.
With `--records` the records are kept in FOLDER, and those that are there already are not made again.
It ends with 1 if a bar fails.
"""

import argparse
import collections
import itertools
import json
import math
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from spin import run, verdict

MIN_HELD_SHARE = 0.9
MAX_FALSE_SHARE = 0.01
DRIFT_SHARE = 0.05
RESAMPLES = 2000
# A row counts if so many runs have it: the mean of few says little.
MIN_RUNS = 3
# With fewer a row has no interval.
MIN_REPETITIONS = 6
KINDS = {"ci95": "of one run (`ci95`)", "between_run_ci95": "between runs (`between_run_ci95`)"}
# What the verdict on a row rests on: its time, or its cycles.
FIGURES = ("primary", "core-cycles")
# The row of a run that failed in part is measured or not, each for itself.
STATUSES = (0, 3)


def measure(arguments, folder):
    """The files of the records, in order."""
    program = [arguments.program, "run", "--quiet"]
    program += ["--quick"] if arguments.quick else []
    started_s = time.monotonic()
    paths = []
    for number in range(arguments.runs):
        path = folder / f"run-{number:02}.json"
        paths.append(path)
        if path.exists():
            continue
        time.sleep(max(0.0, started_s + number * arguments.every - time.monotonic()))
        store = folder / ("store" if arguments.earlier else f"store-{number:02}")
        os.environ["XDG_DATA_HOME"] = str(store)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(run([*program, "--json", "-"], STATUSES))
        unfinished.rename(path)
        print(f"run {number + 1} of {arguments.runs}", file=sys.stderr)
    return paths


def estimates(record):
    """The estimates of the rows that have an interval between runs, by target and case."""
    found = {}
    for row in record["results"]:
        it = row["estimate"]
        if row["outcome"] == "measured" and it and it["between_run_ci95"] and it["ci95"]:
            found.setdefault((row["target"]["text"], row["case"]), it)
    return found


class Judged:
    """For each run how many of its intervals hold, and of how many; the widths of all."""

    def __init__(self, runs, kind):
        of_case = collections.defaultdict(list)
        for number, rows in enumerate(runs):
            for key, it in rows.items():
                of_case[key].append((number, it))
        self.held, self.all = [0] * len(runs), [0] * len(runs)
        self.families = collections.defaultdict(lambda: [0, 0])
        self.half_widths = []
        self.rows = 0
        for (_, case), found in of_case.items():
            if len(found) < MIN_RUNS:
                continue
            self.rows += 1
            total = sum(it["median"] for _, it in found)
            for number, it in found:
                others = (total - it["median"]) / (len(found) - 1)
                low, high = it[kind]
                holds = low <= others <= high
                self.held[number] += holds
                self.all[number] += 1
                family = self.families[case.split("/")[0]]
                family[0] += holds
                family[1] += 1
                self.half_widths.append((high - low) / 2 / it["median"])

    def share(self, numbers):
        return sum(self.held[it] for it in numbers) / sum(self.all[it] for it in numbers)

    def bootstrap(self):
        """The ends of the interval of 95 % of the share: runs are drawn, not rows."""
        source = random.Random(1)
        numbers = [number for number, count in enumerate(self.all) if count]
        shares = sorted(
            self.share(source.choices(numbers, k=len(numbers))) for _ in range(RESAMPLES)
        )
        return shares[round(0.025 * RESAMPLES)], shares[round(0.975 * RESAMPLES) - 1]

    def line(self, name):
        low, high = self.bootstrap()
        by_share = sorted((held / count, family) for family, (held, count) in self.families.items())
        named = [f"{family} {100 * share:.0f}" for share, family in by_share]
        return (
            f"| {name} | {100 * self.share(range(len(self.all))):.1f} % "
            f"({100 * low:.1f} .. {100 * high:.1f}) "
            f"| {100 * statistics.median(self.half_widths):.1f} % "
            f"| {', '.join(named[:2])} | {named[-1]} |"
        )


def deviations(runs):
    """The standard deviations between runs of the logarithms of each case's medians."""
    of_case = collections.defaultdict(list)
    for rows in runs:
        for key, it in rows.items():
            if it["median"] > 0:
                of_case[key].append(math.log(it["median"]))
    return [statistics.stdev(logs) for logs in of_case.values() if len(logs) >= MIN_RUNS]


def deviation_of_case(found):
    """How far the medians of a case vary between runs, without what its repetitions explain."""
    logs = [math.log(it["median"]) for _, it in found]
    errors = [
        1.253 * statistics.stdev(values) / math.sqrt(len(values))
        for values in (log_values(row) for row, _ in found)
    ]
    own = statistics.mean(error**2 for error in errors)
    return math.sqrt(max(0.0, statistics.variance(logs) - own))


def log_values(row):
    values = (it["value"] for it in row["repetitions"])
    return [math.log(value) for value in values if value is not None and value > 0]


def print_classes(records):
    """The deviations of each class of cost and number of CPUs, as in class_variation.toml."""
    of_case = collections.defaultdict(list)
    for record in records:
        if record["conditions"][0]["class"] == "very-noisy":
            continue
        for row in record["results"]:
            it = row["estimate"]
            is_figure = row["outcome"] == "measured" and it and it["between_run_ci95"]
            if is_figure and it["median"] > 0 and len(log_values(row)) >= MIN_REPETITIONS:
                of_case[(row["target"]["text"], row["case"])].append((row, it))
    classes = collections.defaultdict(list)
    for (_, case), found in of_case.items():
        if len(found) >= MIN_RUNS:
            row = found[0][0]
            cpus = 2 if row["point"].get("peer_cpu") == "other" else 1
            classes[(row["class"] or "none", cpus)].append((deviation_of_case(found), case))
    print("| class | CPUs | cases | sd between runs, root mean square | largest |")
    print("| --- | --- | --- | --- | --- |")
    for (name, cpus), cases in sorted(classes.items()):
        mean = math.sqrt(statistics.mean(deviation**2 for deviation, _ in cases))
        most, case = max(cases)
        print(
            f"| {name} | {cpus} | {len(cases)} | {100 * mean:.1f} % "
            f"| {100 * most:.1f} %, {case} |"
        )


def compare_pairs(program, paths, folder):
    """How many rows were compared over all pairs, how many have a verdict, and what they show."""
    os.environ["XDG_DATA_HOME"] = str(folder / "empty-store")
    rows, false, detectable = 0, collections.Counter(), []
    for base, new in itertools.combinations(paths, 2):
        compared = json.loads(run([program, "compare", str(base), str(new), "--json", "-"]))
        for it in compared["comparisons"]:
            if it["metric"] not in FIGURES or "SECONDARY" in it["flags"]:
                continue
            rows += 1
            if it["verdict"] in ("slower", "faster"):
                false[it["case"]] += 1
            if it["mde_pct"] is not None:
                detectable.append(it["mde_pct"])
    return rows, false, detectable


def most_by_chance(count, share):
    """As many of so many as at most one of twenty series exceeds, if each has this probability."""
    total = 0.0
    for number in range(count + 1):
        total += math.comb(count, number) * share**number * (1 - share) ** (count - number)
        if total >= 0.95:
            return number
    return count


def report(records, arguments, paths, folder):
    runs = [estimates(record) for record in records]
    classes = collections.Counter(record["conditions"][0]["class"] for record in records)
    judged = {kind: Judged(runs, kind) for kind in KINDS}
    rows = judged["ci95"].rows
    if rows == 0:
        sys.exit(f"no row has an interval between runs in {MIN_RUNS} runs")
    print(f"{len(records)} runs ({', '.join(f'{n} {name}' for name, n in classes.items())}), ", end="")
    print(f"{rows} rows, {sum(judged['ci95'].all)} intervals")
    print("| interval | holds | half-width | worst families | best |")
    print("| --- | --- | --- | --- | --- |")
    for kind, name in KINDS.items():
        print(judged[kind].line(name))
    print(f"sd between runs, median of the rows: {100 * statistics.median(deviations(runs)):.1f} %")

    print("\nwithout very noisy runs:")
    print_classes(records)

    _, upper = judged["between_run_ci95"].bootstrap()
    holds = upper >= MIN_HELD_SHARE
    print(f"intervals between runs hold in at least 90 %  {verdict(holds)}")

    drifted = sum("REFERENCE_DRIFT" in it["conditions"][0]["flags"] for it in records)
    allowed = most_by_chance(len(records), DRIFT_SHARE)
    print(f"REFERENCE_DRIFT in {drifted} runs, {allowed} allowed  {verdict(drifted <= allowed)}")
    holds &= drifted <= allowed

    compared, false, detectable = compare_pairs(arguments.program, paths, folder)
    share = sum(false.values()) / compared if compared else 0.0
    few = share <= MAX_FALSE_SHARE
    named = "".join(f", {case} {count}" for case, count in false.most_common(5))
    pairs = math.comb(len(paths), 2)
    print(
        f"{pairs} pairs of runs: of {compared} rows compared {sum(false.values())} have a "
        f"verdict{named}  {verdict(few)}"
    )
    if detectable:
        print(f"a change of {statistics.median(detectable):.0f} % would have shown in half of them")
    return holds and few


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--program", default=str(root / "target/release/oscost"))
    parser.add_argument("--runs", type=int, default=12, help="at least 3")
    parser.add_argument("--every", type=float, default=300.0, help="seconds from run to run")
    parser.add_argument("--quick", action="store_true", help="quick runs")
    parser.add_argument("--earlier", action="store_true", help="let runs share a store")
    parser.add_argument("--records", type=pathlib.Path, help="keep the records in this folder")
    arguments = parser.parse_args()
    if arguments.runs < MIN_RUNS:
        parser.error(f"--runs is at least {MIN_RUNS}")
    arguments.program = str(pathlib.Path(arguments.program).resolve())
    os.environ["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.records or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        paths = measure(arguments, folder)
        records = [json.loads(path.read_text()) for path in paths]
        holds = report(records, arguments, paths, folder)
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
