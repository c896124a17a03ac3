#!/bin/sh
# Installs what the tests need while another command runs:
#
#   scripts/install-beside.sh COMMAND...
#
# The status is that of the command: without what cannot be installed, some tests are skipped.
set -u
cd "$(dirname "$0")/.." || exit
log=$(mktemp)
scripts/install.sh browser hosts readers vm >"$log" 2>&1 &
"$@"
status=$?
wait
cat "$log"
rm -f "$log"
exit $status
