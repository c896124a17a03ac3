//! The privileges of a worker: root's drops the capabilities that neither its case nor its
//! treatments need.

use oscost_model::capability::Capability;
use oscost_model::definition::{Definition, Requirement};
use oscost_model::point::Point;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::benchmarks;
use crate::kernel::process::privileges::{self, ALWAYS_KEPT, CapabilitySet};

/// Drops what the worker of a case does not need, before its treatments are applied (a filter may
/// forbid it) and before its work makes threads and processes, which inherit it. A program that the
/// user named keeps everything.
pub(crate) fn drop_privileges(spec: &WorkerSpec) {
    let Subject::Case(case) = &spec.subject else { return };
    // What is unknown is refused later.
    let Some(bench) = benchmarks::find(&case.benchmark) else { return };
    let definition = bench.definition();
    let kept = ALWAYS_KEPT
        | of_case(&definition, &definition.with_implied(&case.point))
        | of_task(&spec.task)
        | of_treatments(spec.treatments.iter().flatten());
    // A sandbox may refuse capset(2): the facts of the machine then say that nothing is dropped.
    let _ = privileges::keep_only(kept);
}

/// What a case needs by its definition.
fn of_case(definition: &Definition, point: &Point) -> CapabilitySet {
    let needs = definition.needs.iter().filter(|need| point.includes(&need.when));
    let of_need = needs.map(|need| match need.requirement {
        Requirement::Capability(Capability::Bpf) => CapabilitySet::BPF,
        Requirement::Capability(Capability::NetAdmin) => CapabilitySet::NET_ADMIN,
        Requirement::Capability(Capability::SysAdmin) => CapabilitySet::SYS_ADMIN,
        Requirement::Capability(Capability::SysPtrace) => CapabilitySet::SYS_PTRACE,
        Requirement::Capability(Capability::SetFcap) => CapabilitySet::SETFCAP,
        // With io_uring_disabled at 1, only this capability and one group may set up a ring.
        Requirement::IoUring => CapabilitySet::SYS_ADMIN,
        _ => CapabilitySet::empty(),
    });
    of_need.fold(CapabilitySet::empty(), CapabilitySet::union)
}

/// What a task needs: counters are opened by the worker, before Linux 5.8 with CAP_SYS_ADMIN.
fn of_task(task: &Task) -> CapabilitySet {
    match task {
        Task::CountEvents(_) => CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN,
        _ => CapabilitySet::empty(),
    }
}

/// What treatments need: they are applied by the worker or by processes that it forks.
fn of_treatments<'a>(applied: impl Iterator<Item = &'a AppliedTreatment>) -> CapabilitySet {
    let of_one = applied.map(|one| match one {
        AppliedTreatment::Nice { .. } => CapabilitySet::SYS_NICE,
        // A monitor attaches to a process that is not its child.
        monitored if monitored.has_monitor() => CapabilitySet::SYS_PTRACE,
        _ => CapabilitySet::empty(),
    });
    of_one.fold(CapabilitySet::empty(), CapabilitySet::union)
}

#[cfg(test)]
mod tests {
    use oscost_model::batch::BatchPlan;
    use oscost_model::case::Case;
    use oscost_model::counters::CountingPlan;
    use oscost_model::worker::Mode;

    use super::*;

    fn of(case: &str) -> CapabilitySet {
        let case = Case::parse(case).unwrap();
        let definition = benchmarks::find(&case.benchmark).unwrap().definition();
        of_case(&definition, &definition.with_implied(&case.point))
    }

    #[test]
    fn a_case_keeps_what_its_definition_needs_at_its_point() {
        assert_eq!(of("syscall/getppid:via=raw"), CapabilitySet::empty());
        let device = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
        assert_eq!(of("thread/kernel:thread=new"), device);
        assert_eq!(of("fault/userfaultfd:peer_cpu=same"), CapabilitySet::SYS_PTRACE);
        assert_eq!(of("syscall/io-uring:batch=1"), CapabilitySet::SYS_ADMIN);
        assert_eq!(of("bpf/map-delete"), CapabilitySet::BPF | CapabilitySet::SYS_ADMIN);
        assert_eq!(of("namespace/maps"), CapabilitySet::SETFCAP);
        let of_owner = |owner| of(&format!("namespace/container:user_namespace={owner}"));
        assert_eq!(of_owner("own"), CapabilitySet::SYS_ADMIN);
        assert_eq!(of_owner("new"), CapabilitySet::empty());
    }

    #[test]
    fn tasks_and_treatments_keep_what_they_need() {
        let none = CapabilitySet::empty();
        assert_eq!(of_task(&Task::Exact), none);
        let batches = BatchPlan {
            mode: Mode::B,
            iterations: 1,
            unroll_factors: vec![1],
            groups: 1,
            batch_ns: 1.0,
            coarse_clock: false,
        };
        let plan = CountingPlan {
            batches,
            sets: Vec::new(),
            inherits: false,
            read_by: None,
            deferred_work_ns: None,
        };
        assert_eq!(
            of_task(&Task::CountEvents(plan)),
            CapabilitySet::PERFMON | CapabilitySet::SYS_ADMIN
        );
        let of = |applied: &[AppliedTreatment]| of_treatments(applied.iter());
        assert_eq!(of(&[]), none);
        assert_eq!(of(&[AppliedTreatment::Sud]), none);
        assert_eq!(of(&[AppliedTreatment::Nice { increment: -5 }]), CapabilitySet::SYS_NICE);
        let monitored = [AppliedTreatment::Sud, AppliedTreatment::SeccompNotify];
        assert_eq!(of(&monitored), CapabilitySet::SYS_PTRACE);
    }
}
