#!/bin/sh
# Builds the worker, one static-pie program that runs on any Linux of its architecture:
#
#   scripts/worker.sh           target/release/oscost-worker
#   scripts/worker.sh live      target/live/HOST/release/oscost-worker, with the feature `live`
#
# With --target the linkage applies to the worker alone, not to build scripts and macros.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="-C target-feature=+crt-static"
set -- "${1:-}" cargo build --release --locked -p oscost-worker --bin oscost-worker --target "$host"
kind=$1
shift
case $kind in
live) exec "$@" --features live --target-dir target/live ;;
"") "$@" ;;
*)
    echo "usage: scripts/worker.sh [live]" >&2
    exit 2
    ;;
esac
mkdir -p target/release
# Renamed into place: a run that is using the old program keeps it.
cp "target/$host/release/oscost-worker" target/release/oscost-worker.new
mv target/release/oscost-worker.new target/release/oscost-worker
