#!/bin/sh
# Fuzzes one target: fuzz/run.sh TARGET SECONDS [LIBFUZZER OPTION]...
#
# Targets are the files in fuzz/targets. It needs a stable Rust and a C++ compiler, nothing else:
# the flags below instrument a program for libFuzzer. An
# input that breaks something is left in fuzz/artifacts/TARGET; `fuzz/run.sh TARGET 0 FILE` runs
# the target on that input alone.
#
# Each target fails on an input that takes longer than a second for each 100 KB (common/in_time.rs).
# Inputs grow up to that size: what is quadratic shows in long ones only.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: $0 TARGET SECONDS [LIBFUZZER OPTION]..." >&2
    exit 2
fi
target=$1
seconds=$2
shift 2
input=
if [ $# -gt 0 ] && [ -f "$1" ]; then
    input=$(realpath "$1")
    shift
fi
cd "$(dirname "$0")"

# Levels 1 to 4 are functions, blocks, edges and indirect calls. Compares are traced so that
# libFuzzer can guess keys and words. Flags for a named --target reach neither build scripts nor
# macros.
RUSTFLAGS="-Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares \
--cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS
export CARGO_TARGET_DIR="$PWD/target"
# The store of the target `history`, which makes it anew for each input.
export XDG_DATA_HOME="$PWD/target/data"
cargo build --release --target "$host" --bin "$target"

mkdir -p "corpus/$target" "artifacts/$target"
program="target/$host/release/$target"
if [ -n "$input" ]; then
    exec "$program" "$input" "$@"
fi
# New inputs go to the first folder.
exec "$program" -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" -timeout=10 \
    -max_len=100000 "$@" "corpus/$target" "seeds/$target"
