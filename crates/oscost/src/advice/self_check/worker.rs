//! The worker: whether it starts, its clock, and the system calls that were tried with it.

use oscost_model::clock::ClockKind;

use super::conditions::{CallTrial, Conditions};
use super::judgement::Judgement;

/// ptrace(2) in the list of trials.
pub const PTRACE: &str = "ptrace";
/// io_uring_setup(2) in the list of trials.
pub const IO_URING: &str = "io_uring";
/// userfaultfd(2) in the list of trials.
pub const USERFAULTFD: &str = "userfaultfd";

/// Whether a worker can be started.
pub(super) fn worker(conditions: &Conditions) -> Judgement {
    const HINT: &str = "hint: ";
    let Err(why) = &conditions.worker else { return Judgement::fine("starts") };
    let (found, hint) = why.split_once(HINT).unwrap_or((why.as_str(), ""));
    match hint {
        "" => Judgement::blocks(found.trim(), "`make build` builds a worker that fits this oscost"),
        hint => Judgement::blocks(found.trim(), hint.trim()),
    }
}

/// How a call's trial ended.
enum Trial<'a> {
    Works,
    Refused(&'a str),
    Unknown(Judgement),
}

fn trial<'a>(conditions: &'a Conditions, call: &str) -> Trial<'a> {
    let Ok(worker) = &conditions.worker else {
        return Trial::Unknown(Judgement::without_worker());
    };
    let trials = match &worker.trials {
        Ok(trials) => trials,
        Err(process) => {
            let why = format!("not tried: {process} is measuring, and would be disturbed");
            return Trial::Unknown(Judgement::unknown(why));
        }
    };
    let refused = |name: &str| {
        let trial = trials.iter().find(|trial| trial.call == name)?;
        trial.refused.as_deref()
    };
    match refused(call) {
        _ if !trials.iter().any(|CallTrial { call: tried, .. }| *tried == call) => {
            Trial::Unknown(Judgement::unknown("not tried"))
        }
        None => Trial::Works,
        // Every trial is traced: the same reason says nothing about another call.
        Some(why) if call != PTRACE && refused(PTRACE) == Some(why) => {
            Trial::Unknown(Judgement::unknown("not tried: it is tried under ptrace"))
        }
        Some(why) => Trial::Refused(why),
    }
}

/// Whether a tracer can be attached. Calls are counted with it.
pub(super) fn ptrace(conditions: &Conditions) -> Judgement {
    let scope = conditions.worker.as_ref().ok().and_then(|it| it.facts.security.yama_ptrace_scope);
    let yama =
        scope.map_or("no Yama".to_owned(), |scope| format!("Yama's ptrace_scope is {scope}"));
    let why = match trial(conditions, PTRACE) {
        Trial::Works => return Judgement::fine(format!("works; {yama}")),
        Trial::Unknown(judgement) => return judgement,
        Trial::Refused(why) => why,
    };
    let remedy = match scope {
        Some(3) => "reboot: ptrace_scope 3 cannot be changed before",
        Some(2) => "`sudo sysctl kernel.yama.ptrace_scope=1`, or run oscost as root",
        _ if conditions.host.process.seccomp_mode == Some(2) => {
            "start the container with `--cap-add SYS_PTRACE --security-opt seccomp=unconfined`"
        }
        _ => "allow ptrace(2) for this user",
    };
    Judgement::limits(
        format!("calls cannot be counted: {why}; {yama}"),
        "whether an op makes the calls that its definition names is not checked \
         (CALLS_UNCOUNTED); calls of programs, and treatments `ptrace` and `seccomp-trace`, are \
         not available",
        remedy,
    )
}

/// Whether io_uring can be used.
pub(super) fn io_uring(conditions: &Conditions) -> Judgement {
    match trial(conditions, IO_URING) {
        Trial::Works => Judgement::fine("works"),
        Trial::Unknown(judgement) => judgement,
        Trial::Refused(why) => Judgement::limits(
            why,
            "rows by io_uring are skipped: `syscall/io-uring`, `via=io-uring`, rings of `event`",
            "`sudo sysctl kernel.io_uring_disabled=0`, and a seccomp profile that allows it",
        ),
    }
}

/// Whether userfaultfd can be used.
pub(super) fn userfaultfd(conditions: &Conditions) -> Judgement {
    match trial(conditions, USERFAULTFD) {
        Trial::Works => Judgement::fine("works"),
        Trial::Unknown(judgement) => judgement,
        Trial::Refused(why) => Judgement::limits(
            why,
            "`fault/userfaultfd` is skipped",
            "`sudo sysctl vm.unprivileged_userfaultfd=1`, and a seccomp profile that allows it",
        ),
    }
}

/// Whether counters of the processor can be opened.
pub(super) fn perf_events(conditions: &Conditions) -> Judgement {
    let Ok(worker) = &conditions.worker else { return Judgement::without_worker() };
    let counters = &worker.facts.counters;
    let level = counters.paranoid.or(worker.facts.security.perf_event_paranoid);
    let level = level.map_or("perf_event_paranoid is unknown".to_owned(), |level| {
        format!("perf_event_paranoid is {level}")
    });
    let refused = counters.distrusted.as_ref().or(counters.unavailable.as_ref());
    let remedy = "`sudo sysctl kernel.perf_event_paranoid=1`, or root; in a guest a virtual PMU";
    match refused {
        Some(why) => Judgement::limits(
            format!("{why} ({level})"),
            "no instructions, cycles and misses per op: `--on insn` and the decomposition of a \
             changed time are not available",
            remedy,
        ),
        None if counters.events.is_empty() => Judgement::unknown(level),
        None if !counters.sees_kernel() => Judgement::limits(
            format!("the processor's counters open in user mode only ({level})"),
            "the kernel's instructions per op are not available",
            remedy,
        ),
        None => Judgement::fine(format!("counters open in both modes; {level}")),
    }
}

/// The best clock.
pub(super) fn clock(conditions: &Conditions) -> Judgement {
    let Ok(worker) = &conditions.worker else { return Judgement::without_worker() };
    let best = worker.clocks.iter().find(|clock| clock.unusable_reason.is_none());
    let source = worker.facts.scheduling.clocksource.as_deref().unwrap_or("unknown");
    let source = format!("the kernel's clock source is `{source}`");
    // A clock that counts instructions is one of virtual machines, which are not examined here.
    let counter = worker.clocks.iter().find(|clock| clock.kind == ClockKind::Tsc);
    let reason = counter.and_then(|clock| clock.unusable_reason.as_deref());
    let why = reason.map_or(String::new(), |why| format!(": the counter is not: {why}"));
    match best.map(|clock| clock.kind) {
        Some(ClockKind::Tsc | ClockKind::Instructions) => {
            Judgement::fine(format!("the processor's counter; {source}"))
        }
        Some(ClockKind::Vdso) => Judgement::limits(
            format!("clock_gettime(2) in the vDSO is used{why}; {source}"),
            "a read costs more than one of the counter: batches are longer",
            "`echo tsc | sudo tee \
             /sys/devices/system/clocksource/clocksource0/current_clocksource`, where the kernel \
             trusts it",
        ),
        Some(ClockKind::Syscall) => Judgement::limits(
            format!("the clock is read by a system call{why}; {source}"),
            "a read costs as much as what is measured: short ops need long batches, and single \
             ops have no figures",
            "use a kernel and a hypervisor with a stable counter, or boot with `tsc=reliable` if \
             it is known to be",
        ),
        None => Judgement::blocks(
            format!("no clock can be used; {source}"),
            "`oscost machine` names the reason for each clock",
        ),
    }
}
