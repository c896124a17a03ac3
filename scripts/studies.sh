#!/bin/sh
# Measures the studies again, with what the lessons need besides, and writes docs/studies/: under an
# hour, on an idle machine, as root. PEER=ssh:HOST is the second machine of cs736-2019; without it,
# that is a network namespace behind a link of the study's rate, 1 Gbit/s.
set -eu
cd "$(dirname "$0")/.."
oscost=target/release/oscost
for study in sunos-1999 cs161-syscalls cse221-2014 lmbench-1996 xen-2003 lebench-2019; do
    "$oscost" run --study "$study"
done
if [ -n "${PEER:-}" ]; then
    "$oscost" run --study cs736-2019 --peer "$PEER"
else
    scripts/install.sh hosts
    # The two machines are this one: each has a CPU of its own.
    scripts/peer.sh 1gbit "$oscost" run --study cs736-2019 --peer ssh:peer --cpu 1 --peer-cpu 0
fi
scripts/install.sh programs
# What it cannot prepare it names, and the run skips it.
"$oscost" workload prepare --all || true
"$oscost" ab --study ph-2000 --quick
"$oscost" kernels fetch linux-image-6.12-cloud-amd64 && "$oscost" ab --study lebench-2019-mitigations || true
"$oscost" run syscall/getpid:via=raw procedure/call:args=0,chain=independent,code=plain \
    switch/pipe:between=processes switch/signal:between=processes
# A picture of a table that has none now is not to stay.
rm -f docs/studies/*.svg
"$oscost" study book docs/studies
