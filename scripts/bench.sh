#!/bin/sh
# What oscost adds, against hand-written loops and other tools. Minutes, on an idle machine.
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
