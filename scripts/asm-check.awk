# Reads a disassembly and finds the loops of the functions that time ops: see asm-check.sh.

# A function begins: keep its code if it is a timed loop, compiled around an op.
/^[0-9a-f]+ <.*>:$/ {
    check()
    name = $0
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    timed = name ~ /bench::(work::repeat|raw::run_by_value)/
    count = 0
    next
}

timed && /^ +[0-9a-f]+:/ {
    address = $1
    sub(/:$/, "", address)
    at[address] = ++count
    code[count] = $0
    sub(/^ +[0-9a-f]+:[ \t]*/, "", code[count])
}

END {
    check()
    printf "%d timed loops, %d faults\n", loops, faults
    # Fewer loops than families would mean that this script no longer finds them.
    exit faults > 0 || loops < 100
}

# The loop of a timed function is its longest run of code that ends in a jump back and does not
# return: code for errors lies behind the return and jumps back to it.
function check(    i, j, target, first, last, returns) {
    if (!timed) return
    first = last = 0
    for (i = 1; i <= count; i++) {
        if (code[i] !~ /^(j[a-z]+|b(\.[a-z]+)?|cbn?z|tbn?z) /) continue
        target = code[i]
        sub(/ <.*/, "", target)
        sub(/.*[ ,\t]/, "", target)
        if (!(target in at) || at[target] > i || i - at[target] < last - first) continue
        returns = 0
        for (j = at[target]; j <= i; j++) if (code[j] ~ /^ret/) returns = 1
        if (returns) continue
        first = at[target]
        last = i
    }
    if (last) judge(first, last)
    for (i in at) delete at[i]
}

function judge(first, last,    family, raw, fault, i, show) {
    loops++
    family = name
    if (!sub(/.*oscost_worker::benchmarks::/, "", family)) family = name ~ /raw::run_by_value/ ? "raw" : "others"
    sub(/[^a-z_].*/, "", family)
    # A pair of calls has more arguments than there are registers.
    raw = name ~ /raw::run_by_value/ && name !~ /RawPair/
    if (name ~ /RawPair/) family = "raw pair"
    for (i = first; i <= last; i++) {
        if (code[i] ~ /^(call|bl) .*<(oscost_worker|core|alloc|std)/ &&
            code[i] !~ /kernel::cpu::procedure::/ && family != "procedure") fault = "a call"
        if (raw && code[i] ~ /(%rsp|\[sp)/) fault = "an access to the stack"
    }
    show = all == "--all" || fault || !(family in shown)
    shown[family] = 1
    if (!show) return
    if (fault) faults++
    printf "%s%s\n", name, fault ? ": FAULT: " fault " in the timed loop" : ""
    for (i = first; i <= last; i++) printf "    %s\n", code[i]
    print ""
}
