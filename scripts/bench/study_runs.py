#!/usr/bin/env python3
"""Whether the claims of studies keep their verdicts from run to run.

    scripts/bench/study_runs.py [STUDY]... [--runs 5] [--quick] [--alone]
                                [--program target/release/oscost]

Measures each study so many times, in turns, and reads the verdicts on its claims after each run. A
claim flips if two of its decided verdicts differ: holds, does not hold, no difference, depends on
the placement.

Runs share a store, as those of a user do: a verdict then rests on the runs before it, too, and none
is against an earlier one. With `--alone` each run has a store of its own, and is judged by itself.

Bar: no claim flips. Five runs of all studies but ph-2000 take some three hours, or one with
`--quick`; ph-2000 takes 90 minutes a run, or nine. Some studies need root, a kernel, a second
machine or prepared programs: what cannot be measured is skipped, and said. It ends with 1 if a claim
flips, or if no claim was decided in two runs.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from spin import run, verdict

DECIDED = ("holds", "does not hold", "no difference", "depends on the placement")
# The row of a run that failed in part is measured or not, each for itself.
STATUSES = (0, 3)


class Bench:
    def __init__(self, arguments, folder):
        self.program = arguments.program
        self.effort = ["--quick"] if arguments.quick else []
        self.is_alone = arguments.alone
        self.folder = pathlib.Path(folder)
        # The verdicts on each claim, in the order of the runs.
        self.verdicts = collections.defaultdict(list)
        self.last_runs = {}

    def studies(self, names):
        """The identifiers of the studies and the words that measure each, of these or of all."""
        listed = json.loads(run([self.program, "study", "list", "--json"]))["studies"]
        found = {it["id"]: it["command"].split()[1:] for it in listed}
        unknown = [name for name in names if name not in found]
        if unknown:
            sys.exit(f"not a study: {', '.join(unknown)}")
        return {name: found[name] for name in names or found}

    def measure(self, study, words, number):
        """Measures a study once more; returns whether that was possible."""
        store = f"store-{study}-{number}" if self.is_alone else "store"
        os.environ["XDG_DATA_HOME"] = str(self.folder / store)
        command = [self.program, *words, "--quiet", *self.effort]
        done = subprocess.run(command, capture_output=True, text=True)
        listed = json.loads(run([self.program, "study", "claims", "--json"]))["studies"]
        found = next(it for it in listed if it["id"] == study)
        is_new = found["run"] not in (None, self.last_runs.get(study))
        self.last_runs[study] = found["run"]
        if done.returncode not in STATUSES or not is_new:
            print(f"{study}: skipped, exit status {done.returncode}: {done.stderr.strip()}")
            return False
        for claim in found["claims"]:
            key = (study, claim["location"], claim["statement"])
            self.verdicts[key].append(claim["verdict"])
        return True

    def report(self):
        """Prints what became of the claims of each study; returns whether none flips."""
        of_study = collections.defaultdict(collections.Counter)
        flips = []
        for (study, location, statement), verdicts in self.verdicts.items():
            decided = [it for it in verdicts if it in DECIDED]
            counts = of_study[study]
            counts["claims"] += 1
            counts["decided once"] += len(decided) >= 1
            counts["decided twice"] += len(decided) >= 2
            counts["always"] += len(decided) == len(verdicts)
            if len(set(decided)) > 1:
                counts["flips"] += 1
                flips.append(f"{study}, {location}: {statement}: {', '.join(verdicts)}")
        print("| study | claims | decided in a run | in two or more | in all | flip |")
        print("| --- | --- | --- | --- | --- | --- |")
        for study, counts in of_study.items():
            columns = ("claims", "decided once", "decided twice", "always", "flips")
            print(f"| {study} | {' | '.join(str(counts[it]) for it in columns)} |")
        for flip in flips:
            print(flip)
        compared = sum(counts["decided twice"] for counts in of_study.values())
        print(f"of {compared} claims decided in two runs or more {len(flips)} flip", end="  ")
        holds = compared > 0 and not flips
        print(verdict(holds))
        return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="those to measure [all]")
    parser.add_argument("--program", default=str(root / "target/release/oscost"))
    parser.add_argument("--runs", type=int, default=5, help="of each study, at least 2")
    parser.add_argument("--quick", action="store_true", help="quick runs")
    parser.add_argument("--alone", action="store_true", help="judge each run by itself")
    arguments = parser.parse_args()
    if arguments.runs < 2:
        parser.error("--runs is at least 2")
    arguments.program = str(pathlib.Path(arguments.program).resolve())
    os.environ["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        studies = bench.studies(arguments.studies)
        # In turns: what wanders on the machine is in the runs of all studies.
        for number in range(arguments.runs):
            for study, words in list(studies.items()):
                print(f"run {number + 1} of {arguments.runs}: {study}", file=sys.stderr)
                if not bench.measure(study, words, number):
                    del studies[study]
        holds = bench.report()
    print(f"bars hold: {holds}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
