#!/usr/bin/env python3
"""Writes the outcomes of attacks into their list in docs/explanation/ATTACKS.md.

    make attacks 2>&1 | tee attacks.log
    scripts/attack-list.py attacks.log

Each line of the list is a class of attacks, in which `*` stands for a number or a name. Its outcome
is what was printed for its one attack, or how many of its attacks were withstood and why others were
not made. A class of which nothing was made keeps what it has.
"""

import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).parent.parent / "docs/explanation/ATTACKS.md"
HEADING = "\n## The list\n"
OUTCOME = re.compile(r": (withstood|not made here|GOT THROUGH)")
LONGEST = 100


def split(line):
    """The name and the outcome of a line behind `attack `."""
    found = OUTCOME.search(line)
    return (line[: found.start()], line[found.start() + 2 :]) if found else (line, "")


def outcome_of(outcomes):
    """The outcome of a class of attacks."""
    if len(outcomes) == 1:
        return outcomes[0]
    parts = []
    for kind in ["withstood", "not made here", "GOT THROUGH"]:
        count = sum(outcome.startswith(kind) for outcome in outcomes)
        if count:
            parts.append(f"{kind}: {count}")
    return ", ".join(parts)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/attack-list.py LOG")
    log = pathlib.Path(sys.argv[1]).read_text(errors="replace")
    # The name of its test may stand before the first attack of a table.
    lines = re.findall(r"^(?:test \S+ \.\.\. )?attack (.*)", log, re.MULTILINE)
    made = [split(line) for line in lines]
    page, heading, rest = PAGE.read_text().partition(HEADING)
    if not heading:
        sys.exit(f"attack-list.py: {PAGE} has no list")
    used = set()

    def filled(line):
        name, before = split(line.group(1))
        pattern = ".*".join(re.escape(part) for part in name.split("*"))
        of_class = [at for at, (it, _) in enumerate(made) if re.fullmatch(pattern, it)]
        used.update(of_class)
        outcome = outcome_of([made[at][1] for at in of_class]) if of_class else before
        return f"attack {name}: {outcome}"[:LONGEST] if outcome else f"attack {name}"

    rest = re.sub(r"^attack (.*)", filled, rest, flags=re.MULTILINE)
    PAGE.write_text(page + heading + rest)
    unlisted = [name for at, (name, _) in enumerate(made) if at not in used]
    if unlisted:
        sys.exit("attack-list.py: not in the list: " + "; ".join(unlisted))


main()
