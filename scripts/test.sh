#!/bin/sh
# Builds the worker and runs all tests, in two groups side by side:
#
#   scripts/test.sh FEATURES
#
# The worker is one unit that one CPU links for a minute: the tests are built beside it, unless it
# was built beside the lints.
#
# The simulated machines, the emulated guests and the unit tests compute; the tests of the tool
# mostly wait, for each other's runs (one per machine), browsers and sleeping processes. The counts of the
# supervisor's tests come last, when the first group has ended: a peer that answers late is asked
# again, which is one more call.
set -eu
cd "$(dirname "$0")/.."
logs=target/test-logs
features=$1

tests() {
    # Always the whole workspace: another selection of packages would have other features, and be
    # built anew.
    cargo test --locked --workspace --no-fail-fast --features "$features" "$@"
}

# The options that select each group. `live` is for make test-live; `ph` needs a BPF compiler.
computing="--lib"
waiting=""
for file in crates/*/tests/*.rs crates/*/tests/*/main.rs; do
    name=$(basename "${file%/main.rs}" .rs)
    case $name,$features in
    truth,* | store,* | vm,* | leaks,* | remote,* | schema,* | attacks,* | seccomp,*)
        computing="$computing --test $name"
        ;;
    live,*) ;;
    ph,*ebpf*) waiting="$waiting --test $name" ;;
    ph,*) ;;
    *) waiting="$waiting --test $name" ;;
    esac
done

mkdir -p $logs
scripts/worker.sh >$logs/worker 2>&1 &
tests --no-run
wait $! || {
    cat $logs/worker
    exit 1
}
# shellcheck disable=SC2086
(tests $computing && tests --doc) >$logs/computing 2>&1 &
failed=
# shellcheck disable=SC2086
tests $waiting || failed=yes
wait $! || failed=yes
cat $logs/computing
[ -z "$failed" ]
