#!/bin/sh
# Drains this node of Slurm if it is slower than the others of its class, found in two measurements.
#
# As HealthCheckProgram, with HealthCheckNodeState=IDLE so that no job is disturbed, or as Prolog in
# slurm.conf. A check takes less than 20 s. A node that could not be judged is not drained: it is
# noisy, another run is measuring on it, its class is unknown, or the fleet cannot be read.
#
#   OSCOST            the program (oscost)
#   OSCOST_FLEET      the fleet's data set, folder or name (/shared/fleet.parquet)
#   SLURMD_NODENAME   the node; set by slurmd for a prolog (the short host name)
#
# The data set is written once for all nodes, after `oscost fleet collect /shared/lab`:
#
#   oscost fleet report lab --data-set /shared/fleet.parquet
#   chmod -R a+rX /shared/fleet.parquet
#
# The folder of a fleet is its owner's alone, and its records are checked one by one each time, which
# takes longer than a check may.
#
# Arguments are passed on to `oscost fleet check`.
#
# Exit: always 0, since slurmd itself drains a node whose prolog fails.
set -u

fleet=${OSCOST_FLEET:-/shared/fleet.parquet}
node=${SLURMD_NODENAME:-$(uname -n | cut -d . -f 1)}

answer=$("${OSCOST:-oscost}" fleet check "$node" --against "$fleet" --quiet "$@")
status=$?

case $status in
0) ;;
1)
    # One line of bounded length, whatever the fleet's records contain.
    reason=$(printf '%s' "$answer" | head -n 1 | tr -cd '[:print:]' | cut -c 1-200)
    scontrol update "NodeName=$node" State=DRAIN "Reason=oscost: $reason"
    ;;
*)
    echo "$node was not judged: exit status $status" >&2
    ;;
esac
exit 0
