#!/bin/sh
# What oscost adds, against hand-written loops and other tools, and how good its bills are. Hours, on an
# idle machine: the bills of twelve programs, and what three changes add to them, come last.
set -eu
cd "$(dirname "$0")/.."
cargo bench --locked --target "$(rustc -vV | sed -n 's/^host: //p')" -p oscost-worker --bench engine
cargo bench --locked -p oscost --bench bars
cargo bench --locked -p oscost --bench peers
cargo bench --locked -p oscost --bench peers -- spread
cargo bench --locked -p oscost --bench peers -- studies
cargo bench --locked -p oscost --bench peers -- counters
cargo bench --locked -p oscost --bench peers -- memory
cargo bench --locked -p oscost --bench peers -- programs
scripts/bench/hyperfine.py
scripts/bench/commands.py
scripts/bench/counters.py
for bars in bill-limits bill-counts bill bill-what-if; do
    cargo bench --locked -p oscost --bench bars -- "$bars"
done
