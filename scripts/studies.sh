#!/bin/sh
# Measures the five studies again and writes docs/reference/STUDIES.md: half an hour, on an idle
# machine, as root. PEER=ssh:HOST is the second machine of cs736-2019; without it, that is a network
# namespace behind a link of the study's rate, 1 Gbit/s.
set -eu
cd "$(dirname "$0")/.."
for study in sunos-1999 cs161-syscalls cse221-2014; do
    target/release/oscost run --study "$study"
done
if [ -n "${PEER:-}" ]; then
    target/release/oscost run --study cs736-2019 --peer "$PEER"
else
    scripts/install.sh hosts
    scripts/peer.sh 1gbit target/release/oscost run --study cs736-2019 --peer ssh:peer
fi
target/release/oscost ab --study ph-2000 --quick
target/release/oscost study claims --markdown >docs/reference/STUDIES.md
