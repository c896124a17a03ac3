#!/bin/sh
# Builds the worker and runs all tests, in groups side by side:
#
#   scripts/test.sh FEATURES
#
# The worker is one unit that one CPU links for a minute: the tests are built beside it, unless it
# was built beside the lints.
#
# The simulated machines, the emulated guests and the unit tests compute; the tests of the tool
# mostly wait, for each other's runs (one per machine), browsers and sleeping processes; those with
# clusters wait for Slurm, and do not ask for the machine. The counts of the
# supervisor's tests come last, when the first group has ended: a peer that answers late is asked
# again, which is one more call.
#
# Nothing is waited for without limit: each build, each test program and each group ends within some
# three times of what it takes on two CPUs, and the tests that did not end are named.
#
# Many tests count what the live kernel does: switches, faults, wake-ups. Other tests, and the
# neighbours of a virtual machine, take CPU time in the middle of such a count. A few tests that fail
# are therefore run once more, alone, and named; what fails twice fails.
set -eu
cd "$(dirname "$0")/.."
logs=target/test-logs
features=$1
host=$(rustc -vV | sed -n 's/^host: //p')
build_seconds=1800
program_seconds=900
group_seconds=1800
max_repeated=8

tests() {
    # Always the whole workspace: another selection of packages would have other features, and be
    # built anew.
    set -- --locked --workspace --no-fail-fast --features "$features" "$@"
    exec scripts/bounded.sh $group_seconds cargo test \
        --config "target.$host.runner = ['$PWD/scripts/bounded.sh', '$program_seconds']" "$@"
}

# The tests of a log that had run for a minute and not ended when their program was ended.
not_ended() {
    awk '
        function tell(name) {
            for (name in slow) print "  " program ": " name
            delete slow
        }
        $1 == "Running" { tell(); program = $0; sub(/^ *Running /, "", program) }
        $1 == "test" && / has been running for over / { slow[$2] = 1 }
        $1 == "test" && / \.\.\. / { delete slow[$2] }
        END { tell() }
    ' "$1"
}

# The tests of a log that failed, a line each. Fails if a program did not end by itself, or was not
# built: then there is more to it than those tests.
failed_in() {
    awk '
        /^failures:$/ { count = 0; listed = 1; next }
        listed && /^    [^ ]+$/ { names[count++] = $1; next }
        /^test result: FAILED/ { for (i = 0; i < count; i++) print names[i]; told++; listed = 0 }
        /^error: test failed, to rerun/ { programs++ }
        /^error: could not compile/ { told = -1000 }
        END { exit !(told == programs && told > 0) }
    ' "$1"
}

# Runs the failed tests of a log once more, in the programs that the options select:
#
#   repeat LOG OPTIONS...
repeat() {
    log=$1
    shift
    names=$(failed_in "$log") || return
    number=$(echo "$names" | wc -l)
    [ "$number" -le $max_repeated ] || return
    printf 'These tests failed beside others, and are run again alone:\n'
    echo "$names" | sed 's/^/  /'
    # shellcheck disable=SC2086
    (tests "$@" -- --exact --test-threads=1 $names) >"$log-again" 2>&1 || {
        cat "$log-again"
        return 1
    }
    passed=$(awk '/^test result: ok/ { sum += $4 } END { print sum + 0 }' "$log-again")
    echo "$passed of $number passed alone."
    [ "$passed" -ge "$number" ]
}

# The options that select each group. `live` is for make test-live; `ph` needs a BPF compiler.
computing="--lib"
waiting=
for file in crates/*/tests/*.rs crates/*/tests/*/main.rs; do
    name=$(basename "${file%/main.rs}" .rs)
    case $name,$features in
    truth,* | store,* | vm,* | leaks,* | remote,* | schema,* | attacks,* | seccomp,*)
        computing="$computing --test $name"
        ;;
    live,* | slurm,*) ;;
    ph,*ebpf*) waiting="$waiting --test $name" ;;
    ph,*) ;;
    *) waiting="$waiting --test $name" ;;
    esac
done

mkdir -p $logs
running=
# What runs in the background ignores Ctrl-C.
trap 'kill $running 2>/dev/null; exit 130' INT TERM HUP
scripts/bounded.sh $build_seconds scripts/worker.sh >$logs/worker 2>&1 &
running=$!
scripts/bounded.sh $build_seconds \
    cargo test --locked --workspace --no-run --features "$features"
wait "$running" || {
    cat $logs/worker
    exit 1
}

# Each writes to its log alone: a process that a test has left behind would hold what reads the output
# of this script open.
# shellcheck disable=SC2086
(tests $computing) >$logs/computing 2>&1 &
computes=$!
: >$logs/waiting
# shellcheck disable=SC2086
(tests $waiting) >$logs/waiting 2>&1 &
waits=$!
(tests --test slurm) >$logs/clusters 2>&1 &
clusters=$!
(tests --doc) >$logs/documentation 2>&1 &
documents=$!
running="$computes $waits $clusters $documents"
tail -n +1 -f --pid=$waits $logs/waiting &
shown=$!

failed=
wait $computes || failed="$failed computing"
wait $waits || failed="$failed waiting"
wait $clusters || failed="$failed clusters"
wait $documents || failed="$failed documentation"
wait $shown
cat $logs/computing $logs/clusters $logs/documentation
for group in $failed; do
    case $group in
    computing) programs=$computing ;;
    waiting) programs=$waiting ;;
    clusters) programs="--test slurm" ;;
    *) exit 1 ;;
    esac
    running=
    # shellcheck disable=SC2086
    repeat $logs/$group $programs && continue
    names=$(not_ended "$logs/$group")
    [ -z "$names" ] || printf 'These tests had not ended, see %s:\n%s\n' "$logs/$group" "$names"
    exit 1
done
