#!/bin/sh
# The live tests: clocks and frequencies of this machine. They take minutes, on an idle machine.
#
# L7 makes an op slower by a known share, which no released worker can do: it uses a worker built with
# the feature `live`, in a folder of its own.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
one_at_a_time="--test-threads=1 --nocapture"
# shellcheck disable=SC2086 # two arguments
cargo test --release --locked --target "$host" -p oscost-worker --features live --test live -- $one_at_a_time
# Machines that are booted several times.
OSCOST_WORKER="$PWD/target/release/oscost-worker" \
    cargo test --release --locked -p oscost --test vm -- --ignored
scripts/worker.sh live
# shellcheck disable=SC2086
OSCOST_WORKER="$PWD/target/live/$host/release/oscost-worker" \
    cargo test --release --locked -p oscost --features live --test live -- $one_at_a_time l7
# shellcheck disable=SC2086
OSCOST_WORKER="$PWD/target/release/oscost-worker" \
    cargo test --release --locked -p oscost --features live --test live -- $one_at_a_time --skip l7
