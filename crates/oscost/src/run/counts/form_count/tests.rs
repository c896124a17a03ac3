//! Under which treatments a program is counted, and when it is warmed up.

use oscost_model::program::Program;
use oscost_model::program_calls::{KernelEvents, OutsideWakesByCall};
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment};

use super::*;

#[test]
fn a_program_is_counted_under_treatments_that_need_no_tracer_of_their_own() {
    let of = |applied: Vec<AppliedTreatment>| {
        let treatments = TreatmentSet { applied, ..TreatmentSet::default() };
        let program = Program::default();
        let program = TurnProgram { program: &program, treatments: &treatments, cpu: Some(1) };
        let without = uncountable_treatment(&treatments, true);
        let counted = traced_spec(program, without.is_some());
        assert_eq!(uncountable_treatment(&treatments, false), None, "programs in the kernel");
        assert_eq!(counted.cpu, Some(1));
        assert_eq!(spec(program, Task::CountForms).treatments_of(0), treatments.applied);
        (counted.treatments_of(0).len(), without)
    };
    let nice = AppliedTreatment::Nice { increment: 5 };
    assert_eq!(of(Vec::new()), (0, None));
    assert_eq!(of(vec![nice.clone()]), (1, None));
    let (under, why) = of(vec![nice.clone(), AppliedTreatment::Ptrace]);
    assert!(under == 0 && why.unwrap().contains("only one monitor"));
    assert_eq!(of(vec![AppliedTreatment::Cgroup { limits: Vec::new() }, nice]), (2, None));
}

#[test]
fn switches_to_a_monitor_and_its_wake_ups_are_not_those_of_another_program() {
    let wakes = Some(OutsideWakesByCall::default());
    let events = KernelEvents {
        voluntary_to_process: Some(90),
        voluntary_to_thread: Some(5),
        remote_wakes_of_outside: wakes,
        remote_wakes_by_outside: wakes,
        same_cpu: 7,
        ..KernelEvents::default()
    };
    let without = KernelEvents {
        voluntary_to_process: None,
        remote_wakes_of_outside: None,
        remote_wakes_by_outside: None,
        ..events
    };
    let under = |treatment: AppliedTreatment| {
        let treatments = TreatmentSet { applied: vec![treatment], ..TreatmentSet::default() };
        let calls = ProgramCalls { events: Some(events), ..ProgramCalls::default() };
        without_events_of_monitor(calls, &treatments).events.unwrap()
    };
    assert_eq!(under(AppliedTreatment::Nice { increment: 5 }), events);
    assert_eq!(under(AppliedTreatment::Ptrace), without);
    assert_eq!(under(AppliedTreatment::SeccompTrace), without);
    assert_eq!(under(AppliedTreatment::SeccompNotify), without);
    assert_eq!(under(AppliedTreatment::Wrapper { command: Vec::new() }), without);
}

#[test]
fn a_program_is_warmed_up_again_after_prices_and_after_an_attachment() {
    let of = |last_block, attached: &[AttachedTreatment]| {
        let attached = attached.to_vec();
        is_warmed_up_again(last_block, &TreatmentSet { attached, ..TreatmentSet::default() })
    };
    assert!(of(LastBlock::AfterWarmUp, &[]) && !of(LastBlock::AtOnce, &[]));
    assert!(of(LastBlock::AtOnce, &[AttachedTreatment::Ftrace]));
}
