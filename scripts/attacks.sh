#!/bin/sh
# Makes all attacks of crates/oscost/tests/attacks, and prints a line for each with its outcome:
#
#   scripts/attacks.sh FEATURES [NAME]
#
# One at a time, on a machine on which nothing else of oscost runs: each looks for what is left on
# it. OSCOST_KILLS, OSCOST_FAMILY_KILLS, OSCOST_FLEET_KILLS, OSCOST_LINES and OSCOST_KERNELS are how
# many of those there are. NAME is a part of the names of the tests that are made.
set -eu
cd "$(dirname "$0")/.."
export OSCOST_ATTACKS=all
features=$1
shift
exec cargo test --locked --workspace --features "$features" --test attacks -- "$@" \
    --test-threads=1 --nocapture
