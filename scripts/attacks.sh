#!/bin/sh
# Makes all attacks of crates/oscost/tests/attacks, and prints a line for each with its outcome:
#
#   scripts/attacks.sh FEATURES
#
# One at a time, on a machine on which nothing else of oscost runs: each looks for what is left on
# it. OSCOST_KILLS, OSCOST_LINES and OSCOST_KERNELS are how many of those there are.
set -eu
cd "$(dirname "$0")/.."
export OSCOST_ATTACKS=all
exec cargo test --locked --workspace --features "$1" --test attacks -- --test-threads=1 --nocapture
