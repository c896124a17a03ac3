#!/bin/sh
# What oscost adds, against hand-written loops and other tools, and how good its bills are. Hours, on an
# idle machine. The bills come last: of twelve programs, what three changes add to them, how much of what
# pH adds is explained, and at the very end six commands that no price was made by.
#
#   scripts/bench.sh                         all of that, with a built tool (`make bench`)
#   scripts/bench.sh between-runs OPTIONS    twelve runs in an hour, and what their intervals hold: on the
#                                            machine as it is (scripts/bench/between_runs.py --help)
#   scripts/bench.sh study-runs OPTIONS      five runs of each study, and whether claims keep their
#                                            verdicts (scripts/bench/study_runs.py --help)
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
'') ;;
between-runs)
    shift
    exec scripts/bench/between_runs.py "$@"
    ;;
study-runs)
    shift
    exec scripts/bench/study_runs.py "$@"
    ;;
*)
    echo "scripts/bench.sh: unknown: $1" >&2
    exit 2
    ;;
esac
cargo bench --locked --target "$(rustc -vV | sed -n 's/^host: //p')" -p oscost-worker --bench engine
cargo bench --locked -p oscost --bench bars
cargo bench --locked -p oscost --bench peers
for peers in spread studies counters memory programs; do
    cargo bench --locked -p oscost --bench peers -- "$peers"
done
scripts/bench/hyperfine.py
scripts/bench/commands.py
scripts/bench/counters.py
# A bar of bills that does not hold ends none of the others, which take hours.
failed=
for bars in bill-limits bill-counts bill bill-what-if bill-ph 'bill held-out'; do
    # shellcheck disable=SC2086 # the last one is two words
    cargo bench --locked -p oscost --bench bars -- $bars || failed="$failed, $bars"
done
if [ -n "$failed" ]; then
    echo "scripts/bench.sh: not all bars hold of: ${failed#, }" >&2
    exit 1
fi
