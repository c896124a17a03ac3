//! The CPU time of a fork: what parent and child take at once on two CPUs is no elapsed time.

use crate::benchmarks::placement::cpu_of_peer;
use crate::benchmarks::prelude::*;
use crate::kernel::cpu::affinity;
use crate::kernel::process::{self, spawn, usage};
use crate::kernel::time::clock::process_cpu_ns;

use super::limits::try_once;
use super::parents::LIBC_CALLS;

const SAME: &[(&str, &str)] = &[("peer_cpu", "same")];
const OTHER: &[(&str, &str)] = &[("peer_cpu", "other")];

pub(super) const FORK_CPU_TIME: Bench = Bench {
    id: "process/fork-cpu-time",
    asks: "What CPU time does a process that does nothing take, on its parent's CPU and on \
           another one?",
    op: "the CPU time, and not the time that passes, of libc's fork(), _exit(2) at once in the \
         child, and waitpid(2) in the parent until the child is reaped, of both together: the \
         parent's by CLOCK_PROCESS_CPUTIME_ID, the child's by getrusage(2) of RUSAGE_CHILDREN, in \
         both modes. With `peer_cpu=other` the child may run on both CPUs when it is forked, and \
         starts on the other one if that is idle; if not, it moves there before it exits. In the \
         figure are two sched_setaffinity(2) of the parent at either point, which change its \
         mask to both CPUs and back, and what the child runs in user mode. Not included: what an \
         idle CPU does when it is woken, which is nobody's CPU time.",
    expected: "170 us with the child on another CPU, 120 us on its parent's: nothing that the \
               child touches is in the caches of the other CPU, and two wake-ups are interrupts \
               to it and from it",
    why: "A shell's children mostly start on an idle CPU: fork(2) balances the load. The elapsed \
          time of that (`process/fork-exit:peer_cpu=other`) contains waits, and has what runs at \
          the same time on both CPUs once. What a program is charged is the CPU time of all its \
          processes. The kernel adds a child's when its parent reaps it, as it was updated at the \
          last tick or switch of the child's CPU: what a child has taken since that is then still \
          on its way off that CPU is charged to nobody, in this figure as in that of any program.",
    calls: &[
        exactly("clone", 1),
        exactly("exit_group", 1),
        exactly("wait4", 1),
        LIBC_CALLS,
        exactly("sched_setaffinity", 2).when(SAME),
        up_to("sched_setaffinity", 3).when(OTHER),
        exactly("getrusage", 2),
        exactly("clock_gettime", 2),
    ],
    floor: &[at_least(3, NULL_CALL)],
    compare_with: &["process/fork-exit:touched_mib=0,peer_cpu=same"],
    axes: &[Axis {
        name: "peer_cpu",
        sets: "where the child runs: on its parent's CPU, or on another one",
        points: Points::Words(&["same", "other"]),
        default_points: Points::Words(&["same", "other"]),
    }],
    needs: &[Need::time()],
    in_price_list: false,
    switches: true,
    source: "fork(2), getrusage(2), clock_gettime(2); sched_balance_find_dst_cpu in \
             kernel/sched/fair.c",
    build: fork_cpu_time,
    ..Bench::DEFAULT
};

fn fork_cpu_time(params: Params<'_>) -> Result<Work, Errno> {
    let Some(own_cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let child_cpu = match cpu_of_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    // The kernel does far less for a mask that does not change: at both points it changes twice.
    let both_cpus = [own_cpu, params.context.other_cpu.unwrap_or(own_cpu)];
    let stays = child_cpu == own_cpu;
    try_once(Work::own_value(move || {
        let before_ns = cpu_time_ns()?;
        affinity::restrict_to(&both_cpus)?;
        if stays {
            affinity::pin(own_cpu)?;
        }
        let child = process::fork(|| run_on(child_cpu));
        let pinned = if stays { Ok(()) } else { affinity::pin(own_cpu) };
        child.and_then(spawn::reap)?;
        pinned?;
        Ok(1_000 * (cpu_time_ns()? - before_ns) as i64)
    }))
}

/// That of the process and of the children that it has reaped.
fn cpu_time_ns() -> Result<u64, Errno> {
    Ok(process_cpu_ns()? + usage::children_cpu_ns()?)
}

/// What a child does: it ends on this CPU. Returns its exit status.
fn run_on(cpu: u32) -> i32 {
    match affinity::current_cpu() == cpu as i32 {
        true => 0,
        false => affinity::pin(cpu).err().map_or(0, |error| error.0),
    }
}
