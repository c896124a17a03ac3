#!/bin/sh
# Installs what the tests need, and builds the worker, while another command runs:
#
#   scripts/prepare-beside.sh COMMAND...
#
# The lints often have work for one CPU only, and the worker is one unit that one CPU links for a
# minute. The status is that of the command: without what cannot be installed, some tests are
# skipped, and a worker that is not built is built again, where the failure counts.
set -u
cd "$(dirname "$0")/.." || exit
log=$(mktemp)
(
    scripts/bounded.sh 900 scripts/install.sh browser hosts readers slurm vm &
    scripts/bounded.sh 1800 scripts/worker.sh
    wait
) >"$log" 2>&1 &
"$@"
status=$?
wait
cat "$log"
rm -f "$log"
exit $status
