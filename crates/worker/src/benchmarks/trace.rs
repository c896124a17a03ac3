//! Points of tracing: what they cost the program that reaches them.

use std::time::Duration;

use kernel::cpu::procedure::{FirstInstruction, ProbedFunction};
use kernel::probe::trace_event::{Place, TraceEvent};
use kernel::process::task_name::TaskName;
use kernel::syscall;

use super::prelude::*;
use crate::bench::PointFilter;

pub(super) const FAMILY: Family = Family {
    name: "trace",
    about: "what tracepoints and probes cost the program that reaches them",
    benches: BENCHES,
};

const ATTACHED: Axis = Axis {
    name: "attached",
    sets: "what is attached to the point: nothing, an event of perf_event_open(2) that only \
           counts, or an empty eBPF program",
    points: Points::Words(&["nothing", "count", "program"]),
    default_points: Points::Words(&["nothing", "count", "program"]),
};

/// Without a probe nothing happens at a return.
const ATTACHED_TO_RETURN: Axis = Axis {
    points: Points::Words(&["count", "program"]),
    default_points: Points::Words(&["count", "program"]),
    ..ATTACHED
};

const COUNT: PointFilter = &[("attached", "count")];
const PROGRAM: PointFilter = &[("attached", "program")];
/// The points at which a probe may need a system call; see [`PROBE_CALL`].
const LONG_NOP_COUNT: PointFilter = &[("first", "long-nop"), ("attached", "count")];
const LONG_NOP_PROGRAM: PointFilter = &[("first", "long-nop"), ("attached", "program")];

/// It includes CAP_PERFMON and CAP_BPF, which Linux 5.8 split off, and allows a detached mount of
/// tracefs.
const NEEDS: &[Need] = &[
    Need::capability(Capability::SysAdmin).when(COUNT),
    Need::capability(Capability::SysAdmin).when(PROGRAM),
];

/// On x86-64 the kernel may enter itself by a system call of its own (uretprobe since Linux 6.11,
/// uprobe since 6.18) instead of a breakpoint. Filters do not see it since Linux 6.14.
const PROBE_CALL: ExpectedCall = other_calls(1);

/// How long after its registration a kprobe may still be a breakpoint: the kernel replaces it by a
/// jump after five timer ticks, at most 50 ms, where it is no call of ftrace from the beginning.
const TIME_TO_OPTIMISE: Duration = Duration::from_millis(100);

/// The defaults of this family.
const DEFAULTS: Bench =
    Bench { axes: &[ATTACHED], needs: NEEDS, in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "trace/syscall-entry",
        asks: "What does a tracepoint at the entry of system calls cost?",
        op: "getegid(2) by the raw instruction, with the tracepoint syscalls:sys_enter_getegid \
             open for the calling thread. A program that returns 0 rejects the event, so that it \
             is not counted: both are verified after each batch. While the event is open, the \
             calls of all processes take the slow path of kernel entry: points that are measured \
             side by side would disturb each other; and while a program is attached, other \
             observers of the tracepoint get no events. Not included: opening and attaching; loop \
             overhead of about a cycle is included.",
        expected: "nothing: a null system call, some 60 ns; count 200 ns more; program some 180 ns \
                   more",
        why: "A tracepoint that nobody uses is a NOP. This one is not even that: a flag of each \
              thread says whether kernel entry is to leave its fast path, and one event sets it \
              for all of them. Then the number and the arguments are looked up, and a buffer is \
              prepared and filled in for the record, even if nobody takes samples. Calls of other \
              processes and of other numbers pay the slow path and a test.",
        calls: &[exactly("getegid", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/getppid:via=raw", "syscall/getuid"],
        source: "perf_event_open(2); kernel/trace/trace_syscalls.c: perf_syscall_enter",
        build: |params| traced_work(params, getegid, || TraceEvent::at_syscall("getegid")),
        ..DEFAULTS
    },
    Bench {
        id: "trace/tracepoint",
        asks: "What does a tracepoint within a system call cost?",
        op: "prctl(PR_SET_NAME) by the raw instruction, of the name that the thread has already, \
             with the tracepoint task:task_rename open for the calling thread. A program that \
             returns 0 rejects the event, so that it is not counted: both are verified after each \
             batch. While it is attached, other observers of the tracepoint get no events. Not \
             included: opening and attaching; loop overhead of about a cycle is included.",
        expected: "nothing: some 100 ns; count 100 ns more; program some 80 ns more",
        why: "The compiler leaves a NOP at the point, and the kernel replaces it by a jump while \
              somebody listens, for every thread that comes there. The code that is jumped to \
              finds the events of this CPU, takes a buffer, and copies the arguments of the \
              tracepoint into it (here two names). A program runs on that record, compiled to \
              machine code: if it is empty, all but a few ns are what surrounds it.",
        calls: &[exactly("prctl", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/prctl", "bpf/test-run"],
        source: "perf_event_open(2), PR_SET_NAME(2const); include/trace/perf.h, \
                 kernel/trace/trace_event_perf.c; bench_rename.c of the kernel's tests of BPF",
        build: |params| {
            let name = TaskName::current()?;
            let rename = move || name.set();
            traced_work(params, rename, || TraceEvent::at_tracepoint("task/task_rename"))
        },
        ..DEFAULTS
    },
    Bench {
        id: "trace/kprobe",
        asks: "What does a kprobe at the entry of a function of the kernel cost?",
        op: "getegid(2) by the raw instruction, with a kprobe at the kernel's function of this \
             call, open for the calling thread. A program that returns 0 rejects the event, so \
             that it is not counted: both are verified after each batch. Not included: opening \
             and attaching, and the kernel's replacement of a breakpoint by a jump, for which 100 \
             ms pass; loop overhead of about a cycle is included.",
        expected: "nothing: a null system call, some 60 ns; count 120 ns more; program some 100 ns \
                   more",
        why: "Functions begin with a NOP for ftrace, and a kprobe at the first instruction uses \
              it: a call of a trampoline that saves all registers. Elsewhere it is a jump to one, \
              or, where that is impossible, a breakpoint, whose exception costs several times as \
              much. All threads that call the function run into the probe and leave it at once if \
              the event is not theirs.",
        calls: &[exactly("getegid", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/getppid:via=raw", "trace/tracepoint:attached=count"],
        source: "Documentation/trace/kprobes.rst; kernel/trace/trace_kprobe.c: kprobe_perf_func; \
                 bench_trigger.c of the kernel's tests of BPF",
        build: |params| traced_work(params, getegid, || kprobe(Place::Entry)),
        ..DEFAULTS
    },
    Bench {
        id: "trace/kretprobe",
        asks: "What does a kprobe at the return of a function of the kernel cost?",
        op: "getegid(2) by the raw instruction, with a kretprobe on the kernel's function of this \
             call, open for the calling thread. Verified as trace/kprobe. Not included: opening \
             and attaching, and 100 ms for the kernel to optimise it; loop overhead of about a \
             cycle is included.",
        expected: "240 ns, 60 ns more than trace/kprobe",
        why: "The probe at the entry replaces the return address on the stack by that of a \
              trampoline and keeps the real one in a list of the thread. So the return is \
              mispredicted: the core's stack of return addresses knows nothing of it.",
        calls: &[exactly("getegid", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["trace/kprobe:attached=count", "trace/kprobe:attached=nothing"],
        axes: &[ATTACHED_TO_RETURN],
        source: "Documentation/trace/kprobes.rst; kernel/trace/trace_kprobe.c: \
                 kretprobe_perf_func, kernel/trace/rethook.c",
        build: |params| traced_work(params, getegid, || kprobe(Place::Return)),
        ..DEFAULTS
    },
    Bench {
        id: "trace/uprobe",
        asks: "What does a uprobe at the entry of a function of a program cost?",
        op: "a call through a pointer of a function of the worker, its addition and its return, \
             with a uprobe at the first instruction of the function: a NOP; a NOP of five bytes \
             (x86-64 only); or the addition itself. Verified as trace/kprobe. Not included: \
             opening and attaching, and the first call after that, in which the kernel may map \
             pages for the probe; loop overhead of about a cycle is included.",
        expected: "nothing: 1.5 ns. Count and program alike: 700 ns before a NOP, 1.4 us before \
                   the addition; before the NOP of five bytes 700 ns, and some 250 ns since Linux \
                   6.18",
        why: "The kernel writes a breakpoint over the first byte of the instruction, in this \
              process's copy of the page. Each call then raises an exception, in which the kernel \
              looks up what is attached to the address. The instruction that was overwritten must \
              be executed all the same: a NOP is skipped; others are executed in a copy elsewhere, \
              step by step, and the end of the step is a second exception. From Linux 6.18 on, a \
              NOP as long as a call becomes a call, on x86-64, of code that makes a system call; \
              since then probes that are compiled in (USDT) should be such NOPs.",
        calls: &[PROBE_CALL.when(LONG_NOP_COUNT), PROBE_CALL.when(LONG_NOP_PROGRAM)],
        floor: &[at_least(1, "procedure/call:args=1,chain=independent")],
        compare_with: &["procedure/indirect:chain=independent", "trace/kprobe:attached=count"],
        axes: &[
            Axis {
                name: "first",
                sets: "the instruction that is probed",
                points: Points::Words(&["nop", "long-nop", "arithmetic"]),
                default_points: Points::Words(&["nop", "long-nop", "arithmetic"]),
            },
            ATTACHED,
        ],
        source: "Documentation/trace/uprobetracer.rst; kernel/events/uprobes.c, \
                 arch/x86/kernel/uprobes.c; perf bench uprobe",
        build: |params| {
            let first = match params.word("first") {
                "long-nop" => FirstInstruction::LongNop,
                "arithmetic" => FirstInstruction::Arithmetic,
                _ => FirstInstruction::Nop,
            };
            uprobe(params, first, Place::Entry)
        },
        ..DEFAULTS
    },
    Bench {
        id: "trace/uretprobe",
        asks: "What does a uprobe at the return of a function of a program cost?",
        op: "a call through a pointer of a function of the worker that begins with a NOP, its \
             addition and its return, with a uretprobe on the function. Verified as trace/kprobe. \
             Not included: opening and attaching, and the first call after that; loop overhead of \
             about a cycle is included.",
        expected: "1 us since Linux 6.11 on x86-64, 1.5 us before and on aarch64",
        why: "A breakpoint at the entry, at which the kernel replaces the return address on the \
              stack; and a second entry of the kernel when the function returns there: by a system \
              call that exists for this purpose (uretprobe, x86-64 since Linux 6.11), or by a \
              second breakpoint.",
        calls: &[PROBE_CALL],
        floor: &[at_least(1, "procedure/call:args=1,chain=independent")],
        compare_with: &["trace/uprobe:first=nop,attached=count", "trace/kretprobe:attached=count"],
        axes: &[ATTACHED_TO_RETURN],
        source: "Documentation/trace/uprobetracer.rst; kernel/events/uprobes.c: \
                 prepare_uretprobe, arch/x86/kernel/uprobes.c: sys_uretprobe",
        build: |params| uprobe(params, FirstInstruction::Nop, Place::Return),
        ..DEFAULTS
    },
];

#[inline(always)]
fn getegid() -> Result<(), Errno> {
    syscall::getegid().map(drop)
}

/// A kprobe on the kernel's function of getegid(2), optimised as far as the kernel does that.
fn kprobe(place: Place) -> Result<TraceEvent, Errno> {
    let event = TraceEvent::at_getegid(place)?;
    std::thread::sleep(TIME_TO_OPTIMISE);
    Ok(event)
}

fn uprobe(params: Params<'_>, first: FirstInstruction, place: Place) -> Result<Work, Errno> {
    let Some(function) = ProbedFunction::new(first) else {
        return Ok(Work::unavailable("aarch64 has no NOP of five bytes: select first=nop"));
    };
    let call = move || {
        function.call();
        Ok(())
    };
    traced_work(params, call, || TraceEvent::at_address(function.address(), place))
}

/// The work: an op, which reaches the point that `open` opens an event for, once.
fn traced_work<F>(
    params: Params<'_>,
    mut op: F,
    open: impl FnOnce() -> Result<TraceEvent, Errno>,
) -> Result<Work, Errno>
where
    F: FnMut() -> Result<(), Errno> + 'static,
{
    let listener = match params.word("attached") {
        "nothing" => Ok(None),
        attached => Listener::new(open, &mut op, attached == "program").map(Some),
    };
    let work = listener
        .map(|listener| Work::from_body(Shape::WithLoop, TracedBody { op, listener, arrivals: 0 }));
    or_unavailable(work)
}

/// An op that reaches a point of tracing.
struct TracedBody<F> {
    op: F,
    listener: Option<Listener>,
    /// How often the point was reached since the work was built.
    arrivals: u64,
}

impl<F: FnMut() -> Result<(), Errno>> WorkBody for TracedBody<F> {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let ops = iterations * u64::from(unroll);
        for op in 0..ops {
            (self.op)().map_err(|errno| OpError { op, errno })?;
        }
        self.arrivals += ops;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.listener.as_ref().map_or(Ok(()), |listener| listener.check(self.arrivals))
    }
}

/// What is attached to a point.
struct Listener {
    event: TraceEvent,
    /// The count when the work was built.
    count_before: u64,
    /// Whether a program rejects the events, so that none is counted.
    rejects: bool,
}

impl Listener {
    /// Opens the event, and tries that `op` reaches it.
    fn new(
        open: impl FnOnce() -> Result<TraceEvent, Errno>,
        op: &mut impl FnMut() -> Result<(), Errno>,
        with_program: bool,
    ) -> Result<Self, Errno> {
        let event = open()?;
        op()?;
        if event.count()? == 0 {
            return Err(Errno::unavailable(
                "the kernel accepted the event, but does not count it: the point is not reached \
                 here, such as a function that the kernel's compiler has inlined"
                    .to_owned(),
            ));
        }
        if with_program {
            event.attach_empty_program()?;
            op()?;
        }
        Ok(Self { count_before: event.count()?, event, rejects: with_program })
    }

    /// Fails unless so many arrivals were counted, or all of them rejected.
    fn check(&self, arrivals: u64) -> Result<(), Errno> {
        let counted = self.event.count()?.wrapping_sub(self.count_before);
        let expected = if self.rejects { 0 } else { arrivals };
        if counted == expected {
            return Ok(());
        }
        Err(Errno::check_failed(format!(
            "the kernel counted {counted} events, and {expected} were expected"
        )))
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;

    use super::*;
    use crate::bench::Context;
    use crate::benchmarks::find;
    use crate::kernel::process::in_own_process;

    /// The work of a case; `None`, with a message, where it is not available.
    fn work_of(text: &str) -> Option<Work> {
        let case = Case::parse(text).unwrap();
        let work = find(&case.benchmark).unwrap().work(&case.point, Context::DEFAULT).unwrap();
        let reason = work.unavailable_reason().map(str::to_owned);
        reason.map_or(Some(work), |reason| {
            eprintln!("{text}: {reason}");
            None
        })
    }

    #[test]
    fn every_arrival_is_verified_at_points_that_are_listened_to() {
        in_own_process(|| {
            for case in [
                "trace/syscall-entry:attached=nothing",
                "trace/syscall-entry:attached=count",
                "trace/tracepoint:attached=program",
                "trace/uprobe:first=nop,attached=count",
                "trace/uprobe:first=arithmetic,attached=program",
                "trace/uretprobe:attached=count",
            ] {
                let Some(mut work) = work_of(case) else { continue };
                for (iterations, unroll) in [(0, 1), (1, 1), (100, 1), (7, 8)] {
                    work.prepare(iterations * u64::from(unroll)).unwrap();
                    work.run(iterations, unroll).unwrap();
                    assert_eq!(work.verify(), Ok(()), "{case}");
                }
            }
        });
    }

    #[test]
    fn a_batch_whose_events_are_missing_fails() {
        in_own_process(|| {
            let mut op = getegid;
            let open = || TraceEvent::at_syscall("getegid");
            let Ok(listener) = Listener::new(open, &mut op, false) else {
                return eprintln!("not tested: the event is refused");
            };
            op().unwrap();
            assert_eq!(listener.check(1), Ok(()));
            assert_eq!(listener.check(2), Err(Errno::CHECK_FAILED));
            assert!(Errno::reason().contains("1 events, and 2"), "{}", Errno::reason());
        });
    }
}
