#!/bin/sh
# Whether a figure depends on the capabilities that root's workers drop: runs that keep them (base)
# and runs that drop them (new), in turns, compared pair by pair. As root, on an idle machine:
#   scripts/privileges.sh [PAIRS [SELECTOR]...]
# A hundred rows take 12 pairs, one row takes 6; the price list takes a minute or two a run. Options of
# `oscost run`, such as --quick, may stand beside selectors.
set -eu
cd "$(dirname "$0")/.."
oscost=${OSCOST:-target/release/oscost}
if [ "$(id -u)" != 0 ]; then
    echo "privileges.sh: only root has capabilities to drop" >&2
    exit 2
fi
pairs=${1:-12}
[ $# -eq 0 ] || shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# What a plain worker of the last run of a side could do.
capabilities() {
    sed -n 's/.*"worker_capabilities": *\([0-9]*\).*/\1/p' "$folder/$1-$pair.json"
}

kept=
dropped=
pair=1
while [ "$pair" -le "$pairs" ]; do
    # base, new, new, base, ...
    if [ $((pair % 2)) = 1 ]; then order='kept dropped'; else order='dropped kept'; fi
    for side in $order; do
        keep=
        [ "$side" = dropped ] || keep=1
        # Status 3: a row failed, which the comparison leaves out.
        OSCOST_KEEP_CAPABILITIES=$keep "$oscost" run --no-store --json "$folder/$side-$pair.json" \
            "$@" > /dev/null || [ $? = 3 ]
    done
    if [ "$(capabilities kept)" = "$(capabilities dropped)" ]; then
        echo "privileges.sh: workers drop nothing here, so that both sides are the same" >&2
        exit 2
    fi
    kept=$kept,$folder/kept-$pair.json
    dropped=$dropped,$folder/dropped-$pair.json
    pair=$((pair + 1))
done
"$oscost" compare "${kept#,}" "${dropped#,}"
