#!/bin/sh
# Checks whether one kernel takes more instructions than another for the same system calls.
#
#   kernel-gate.sh BASE NEW [SELECTOR]...
#
# BASE and NEW follow `vm:` in a target: a bzImage with a `/` in its path, a Debian package, or a
# version, optionally with options: `./bzImage,append=mitigations=off`. Without a SELECTOR the cases
# below are measured.
#
#   OSCOST            the program (oscost)
#   GATE_THRESHOLD    the largest tolerated increase: in per cent (1), or instructions (50insn)
#   GATE_OUT          a folder for the record and the table (gate-out)
#
# Exit: 0 no case is slower by more than that; 1 one is, or something could not be measured; 2 usage;
# 127 oscost was not found.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: kernel-gate.sh BASE NEW [SELECTOR]..." >&2
    exit 2
fi
base=$1
new=$2
shift 2

# Calls, a pipe, a child and its exit, faults. The machine has one CPU: both ends run on it.
if [ $# -eq 0 ]; then
    set -- \
        syscall/getppid:via=raw syscall/read:via=raw syscall/write:via=raw \
        syscall/stat:via=raw syscall/open-close:via=raw syscall/mmap-munmap \
        pipe/round-trip:size=64,peer_cpu=same \
        process/fork:touched_mib=0 process/fork-exit:touched_mib=0,peer_cpu=same \
        fault/zero-fill:pages=4k fault/copy-on-write fault/file-minor fault/protection
fi

out=${GATE_OUT:-gate-out}
mkdir -p "$out"

# The table goes to standard output; the record and a Markdown page are kept.
exec "${OSCOST:-oscost}" ab --base "vm:$base" --new "vm:$new" --quick \
    --gate "${GATE_THRESHOLD:-1}" --no-store -o "$out/record.json" -o "$out/table.md" "$@"
