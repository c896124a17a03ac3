# Reads a disassembly, and judges the loops and the bodies that are timed: see asm-check.sh.

# A function begins: keep its code if it is a timed loop, compiled around an op.
/^[0-9a-f]+ <.*>:$/ {
    check()
    name = $0
    sub(/^[0-9a-f]+ </, "", name)
    sub(/>:$/, "", name)
    body = name ~ /WorkBody>::run$/
    timed = body || name ~ /bench::(loops::repeat|raw::run_by_value)/
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
    printf "%d timed loops, %d of them through a function, %d bodies, %d faults\n",
        loops, through_function, bodies, faults
    # Fewer loops than families would mean that this script no longer finds them. Five of raw calls
    # are through a function: one per unroll factor, and that of two calls.
    exit faults > 0 || loops < 100 || through_function < 5 || bodies < 50
}

# The loop of a timed function is its longest run of code that ends in a jump back and does not
# return: code for errors lies behind the return and jumps back to it.
function check(    i, j, target, first, last, returns) {
    if (body) judge_body()
    if (!timed || body) {
        for (i in at) delete at[i]
        return
    }
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

# The body of an op that is timed with its loop calls nothing of a crate's, and of ours only what is
# listed below. All of its code is read: it need not be a loop.
function judge_body(    i, callee, faulty) {
    bodies++
    for (i = 1; i <= count; i++) {
        if (code[i] !~ /^(call|jmp|bl|b) .*</) continue
        callee = code[i]
        sub(/^[^<]*</, "", callee)
        sub(/>$/, "", callee)
        if (callee !~ /^<*(oscost_worker|core|alloc|std|rustix|nix)[:[]/ || is_allowed(callee)) continue
        if (!faulty++) printf "%s: FAULT: a call in a timed body\n", name
        printf "    %s\n", code[i]
    }
    if (faulty) {
        faults++
        print ""
    }
}

# Whether a timed body may call this function.
function is_allowed(callee) {
    gsub(/oscost_worker::/, "", callee)
    return callee ~ /\+0x[0-9a-f]+$/ || # a jump within the body
        # The loops and other bodies, which are judged by themselves.
        callee ~ /^<*bench::(loops|raw)::/ || callee ~ /WorkBody>::run$/ ||
        # Errors: not reached by an op that succeeds.
        callee ~ /^(core::(panicking|slice|option|result|ptr::drop_in_place)|alloc::raw_vec::handle_error)/ ||
        callee ~ /^(core::cell::panic|alloc::fmt::format|std::thread::local::panic)/ ||
        callee ~ /^std::sys::thread_local::destructors::/ ||
        callee ~ /cache::Transfers>::wait_long_for$/ ||
        callee ~ /(::cause|::failure_cause)$/ ||
        # A vector that grows a few times in a run.
        callee ~ /RawVec<.*>>::grow_one$/ ||
        # Once per batch, or per piece of many pages.
        callee ~ /region::Region>::touch$/ ||
        callee ~ /prefault::Prefault>::map_piece$/ ||
        callee ~ /switch::pair::trips::</ ||
        callee ~ /server::Body>::burst$/ ||
        callee ~ /udp::client::Client>::run_command$/ ||
        callee ~ /control_stream::ControlStream>::receive$/ ||
        callee ~ /io_uring::batch::Batch>::(wait_for_completion|first_failure)$/ ||
        callee ~ /stream::StreamArrays>::run$/ ||
        # The same with inlined calls and with calls through a function.
        callee ~ /file::(read::Reader>::read|write::Writer>::write)_by::<(false|true)>$/ ||
        callee ~ /directory::PopulatedFolder>::run_by::<(false|true)>$/ ||
        # Once per op that makes at least one system call, mostly many: a call is small against it.
        is_of_several_calls(callee) ||
        callee ~ /file::read::Reader>::read$/ ||
        callee ~ /udp::client::Client>::finish_trip$/ ||
        callee ~ /waiters::WaiterGroup>::trigger_once$/ ||
        callee ~ /process_state::ProcessState>::voluntary_switches$/ ||
        callee ~ /io_uring::ring::Ring>::(new|with_setup)$/ ||
        callee ~ /sched::messaging::Messaging>::send_round$/ ||
        callee ~ /sched::wakeup::Wakeups>::wake_up$/ ||
        # Of ops that read the clock themselves: outside their window, or the window's end.
        callee ~ /stopwatch::Stopwatch>::read$/ ||
        callee ~ /spurious::Waiters>::wait_until_all_sleep$/ ||
        callee ~ /kernel_thread::KernelThread>::(exists|remove)$/ ||
        callee ~ /channel::BufferedChannel>::send_command$/ ||
        callee ~ /^benchmarks::switch::cpu_time::spin$/ ||
        callee ~ /^benchmarks::helper::timed_in_child::<.*{closure#0}$/ ||
        callee ~ /^benchmarks::(process::(children|cpu_time)|switch::one_way|timer::counter)::.*{closure#0}$/ ||
        callee ~ /^benchmarks::process::children::fork::.*{closure#1}$/
}

# Whether it makes several system calls, once per op, also in a timed loop.
function is_of_several_calls(callee) {
    gsub(/oscost_worker::/, "", callee)
    return callee ~ /io_uring::shots::.*(connect_and_accept|send_and_receive) as core::ops/ ||
        callee ~ /^benchmarks::socket::unconnected::REUSEPORT::/ ||
        callee ~ /^benchmarks::process::queries::PTRACE_ATTACH::/
}

# A loop through a function (treatment `call=function`) has one call of oscost_system_call, which is
# the instruction and a return, in the place of each inlined instruction: it is no fault there, and
# both in one loop would be neither.
function judge(first, last,    family, raw, fault, i, show, called, inlined, callee) {
    loops++
    family = name
    if (!sub(/.*oscost_worker::benchmarks::/, "", family)) family = name ~ /raw::run_by_value/ ? "raw" : "others"
    sub(/[^a-z_].*/, "", family)
    # A pair of calls has more arguments than there are registers.
    raw = name ~ /raw::run_by_value/ && name !~ /RawPair/
    if (name ~ /RawPair/) family = "raw pair"
    for (i = first; i <= last; i++) {
        callee = code[i]
        sub(/^[^<]*</, "", callee)
        if (code[i] ~ /^(call|bl) .*<(oscost_worker|core|alloc|std)/ && !is_of_several_calls(callee) &&
            code[i] !~ /kernel::cpu::procedure::/ && family != "procedure") fault = "a call"
        if (raw && code[i] ~ /(%rsp|\[sp)/) fault = "an access to the stack"
        if (code[i] ~ /^(call|bl) .*<oscost_system_call>/) called++
        if (code[i] ~ /^(syscall|svc)/) inlined++
    }
    if (called) {
        through_function++
        family = family " through a function"
        if (inlined) fault = "an inlined call beside one through a function"
    }
    show = all == "--all" || fault || !(family in shown)
    shown[family] = 1
    if (!show) return
    if (fault) faults++
    printf "%s%s\n", name, fault ? ": FAULT: " fault " in the timed loop" : ""
    for (i = first; i <= last; i++) printf "    %s\n", code[i]
    print ""
}
