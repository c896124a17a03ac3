#!/bin/sh
# Shows the timed loop of each benchmark family as machine code, and fails on what does not belong
# there:
#
#   - a call of a function of ours: an op is inlined into its loop, or the call is in its figure
#     (the family `procedure` measures calls: those of its own functions are the op; asm-check.awk lists
#     ops of several system calls);
#   - in a body that is timed with its loop, a call of a crate's function (rustix, nix), or of one of
#     ours that asm-check.awk does not list with the reason;
#   - in a loop of raw system calls, or in the empty loop, an access to the stack: a spilled register.
#
#   scripts/asm-check.sh          the loop of one op of each family
#   scripts/asm-check.sh --all    all loops
#
# Needs objdump (binutils). The worker is built once more, with symbols, in target/asm.
set -eu
cd "$(dirname "$0")/.."
command -v objdump >/dev/null || {
    echo "asm-check needs objdump: sudo apt-get install binutils" >&2
    exit 1
}
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-C target-feature=+crt-static -C symbol-mangling-version=v0" CARGO_PROFILE_RELEASE_STRIP=false \
    cargo build --release --locked -p oscost-worker --bin oscost-worker --target "$host" --target-dir target/asm
objdump -d --no-show-raw-insn --demangle=rust "target/asm/$host/release/oscost-worker" |
    awk -v all="${1:-}" -f scripts/asm-check.awk
