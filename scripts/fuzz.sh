#!/bin/sh
# Fuzzes the targets of fuzz/targets one after the other, also after one that fails, and ends with the
# inputs of all of them and the names of those that failed:
#
#   scripts/fuzz.sh [-t SECONDS] [-n INPUTS] [TARGET]...
#
# Each target has SECONDS, INPUTS, or both, whichever end first [default: 30 s]; without a name all
# are fuzzed. What a target prints is in fuzz/artifacts/TARGET.log, an input that breaks it in
# fuzz/artifacts/TARGET. Ten million inputs in all: scripts/fuzz.sh -n 1000000 -t 1200
set -eu
cd "$(dirname "$0")/.."

usage() {
    echo "usage: $0 [-t SECONDS] [-n INPUTS] [TARGET]..." >&2
    exit 2
}

seconds=
inputs=
while getopts t:n: option; do
    case $option in
    t) seconds=$OPTARG ;;
    n) inputs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
case $seconds$inputs in
*[!0-9]*) usage ;;
'') seconds=30 ;;
esac
if [ $# -eq 0 ]; then
    for file in fuzz/targets/*.rs; do
        set -- "$@" "$(basename "$file" .rs)"
    done
fi

total=0
failed=
mkdir -p fuzz/artifacts
for target; do
    log=fuzz/artifacts/$target.log
    status=0
    # Without a limit of time, 0; without one of inputs, -1.
    fuzz/run.sh "$target" "${seconds:-0}" "-runs=${inputs:--1}" -print_final_stats=1 \
        >"$log" 2>&1 || status=$?
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    total=$((total + ${count:-0}))
    if [ "$status" -eq 0 ]; then
        echo "$target: ${count:-0} inputs"
    else
        echo "$target: FAILED with status $status after ${count:-0} inputs; the end of $log:"
        tail -n 20 "$log" | sed 's/^/    /'
        failed="$failed $target"
    fi
done
echo "$total inputs over $# targets; failed:${failed:- none}"
[ -z "$failed" ]
