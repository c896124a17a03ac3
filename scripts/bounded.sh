#!/usr/bin/env bash
# Runs a command, and ends it with all that it has started if it takes too long:
#
#   scripts/bounded.sh SECONDS COMMAND...
#
# The status is that of the command, or 124. What each of its processes was waiting for is printed
# before it is ended, and what a long command took otherwise. It has no input and no terminal to ask
# at, as in CI, and Ctrl-C and Ctrl-\ have their usual effect in it, whatever the caller ignores.
set -u
limit=$1
shift

# The processes below a process and itself.
below() {
    grep -sH '^PPid:' /proc/[0-9]*/status | awk -F '[/:[:space:]]+' -v top="$1" '
        { parent[$3] = $6 }
        END {
            for (pid in parent) {
                for (at = pid; at in parent && at != top; at = parent[at]) {}
                if (at == top) print pid
            }
        }'
}

# Each process with its threads: the system call or the function of the kernel in which they wait.
describe() {
    local pid task line
    for pid in $(below "$command"); do
        line=$(tr '\0' ' ' <"/proc/$pid/cmdline" | tr -cd '[:print:]' | cut -c 1-200)
        echo "  process $pid, child of $(awk '/^PPid:/ { print $2 }' "/proc/$pid/status"): $line"
        for task in "/proc/$pid/task/"*; do
            printf '    %s %s, system call %s, waits in %s\n' \
                "$(awk '/^State:/ { print $2 }' "$task/status")" "$(cat "$task/comm")" \
                "$(cut -d ' ' -f 1 "$task/syscall")" "$(cat "$task/wchan")"
        done
    done 2>/dev/null | head -n 300
}

# Asks them to end, since the tool then undoes what it has done to the system, and kills them ten
# seconds later. A new process is no child of one that has ended: those found first are kept in mind.
end() {
    local pids tries=100
    pids=$(below "$command")
    # shellcheck disable=SC2046,SC2086 # lists
    {
        kill -TERM $pids
        kill -CONT $pids
        while [ $tries -gt 0 ] && kill -0 $pids; do
            sleep 0.1
            tries=$((tries - 1))
        done
        kill -KILL $pids $(below "$command")
    } 2>/dev/null
}

# The elapsed time of a command, and the CPU time of those of its processes that were waited for:
# fields 16 and 17 of proc_pid_stat(5), in hundredths of a second.
cost() {
    local words=$* fields
    [ $SECONDS -lt 10 ] && return
    read -r -a fields <"/proc/$$/stat"
    echo "bounded.sh: $SECONDS s, CPU $(((fields[15] + fields[16]) / 100)) s: ${words:0:100}" >&2
}

setsid env --default-signal=INT,QUIT "$@" </dev/null &
command=$!
# It holds no output of the command open.
sleep "$limit" >/dev/null 2>&1 &
timer=$!
trap 'kill $timer; end; exit 129' HUP
trap 'kill $timer; end; exit 130' INT
trap 'kill $timer; end; exit 143' TERM
wait -n "$command" "$timer"
status=$?
if kill "$timer" 2>/dev/null; then
    cost "$@"
    exit $status
fi
echo "bounded.sh: it has not ended within $limit s: $*" >&2
describe >&2
end
exit 124
