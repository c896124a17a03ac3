#!/bin/sh
# Measures the five studies again and writes docs/reference/STUDIES.md: half an hour, on an idle
# machine, as root. PEER=ssh:HOST adds the half of cs736-2019 that is between two machines.
set -eu
cd "$(dirname "$0")/.."
for study in sunos-1999 cs161-syscalls cse221-2014 cs736-2019; do
    target/release/oscost run --study "$study" ${PEER:+--peer "$PEER"}
done
target/release/oscost ab --study ph-2000 --quick
target/release/oscost study claims --markdown >docs/reference/STUDIES.md
