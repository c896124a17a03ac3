use super::*;
use crate::kernel::process::{Termination, in_own_process};
use crate::kernel::syscall::getppid;

fn under(applied: &[AppliedTreatment]) -> Treatments<'_> {
    Treatments { applied, cpu: None, arm: 0 }
}

/// Runs `body` in a process of its own under `treatments`, and waits until it has exited.
fn run(
    treatments: &Treatments<'_>,
    body: &mut dyn FnMut(&MonitorPage) -> i32,
) -> Result<Termination, Refusal> {
    treatments.start(body)?.wait()
}

/// How often the monitors of a process under these treatments wake for 23 calls, as the exit status
/// of the process; 200 without a monitor.
fn stops(applied: &[AppliedTreatment]) -> Result<Termination, Refusal> {
    const NO_MONITOR: u64 = 200;
    run(&under(applied), &mut |page| {
        let before = page.wakeups();
        for _ in 0..23 {
            getppid().unwrap();
        }
        before.zip(page.wakeups()).map_or(NO_MONITOR, |(then, now)| now - then) as i32
    })
}

#[test]
fn a_monitor_wakes_exactly_as_often_as_documented() {
    for (applied, each) in [
        (vec![AppliedTreatment::Ptrace], 2),
        (vec![AppliedTreatment::SeccompTrace], 1),
        (vec![AppliedTreatment::SeccompNotify], 1),
        (vec![AppliedTreatment::Ptrace, AppliedTreatment::SeccompTrace], 3),
        (vec![AppliedTreatment::Ptrace, AppliedTreatment::SeccompNotify], 3),
        (
            vec![
                AppliedTreatment::SeccompNotify,
                AppliedTreatment::Nice { increment: 1 },
                AppliedTreatment::Sud,
            ],
            1,
        ),
    ] {
        in_own_process(|| match stops(&applied) {
            Err(Refusal::Unavailable(reason)) => eprintln!("cannot run here: {reason}"),
            other => assert_eq!(other, Ok(Termination::Exited(23 * each)), "{applied:?}"),
        });
    }
    in_own_process(|| {
        assert_eq!(stops(&[AppliedTreatment::Nice { increment: 1 }]), Ok(Termination::Exited(200)))
    });
}

#[test]
fn a_refused_treatment_gives_its_reason_and_leaves_no_process() {
    let program = |code: u64| vec![AppliedTreatment::Seccomp { program: vec![code] }];
    let failing = [
        (
            vec![AppliedTreatment::SeccompTrace, AppliedTreatment::SeccompNotify],
            "cannot be combined",
        ),
        (vec![AppliedTreatment::Nice { increment: 100 }], "outside -20 to 19"),
        (program(0xFFFF << 48), "rejects its program of 1 "),
        (
            vec![AppliedTreatment::SeccompNotify, AppliedTreatment::SeccompNotify],
            "only one listener",
        ),
    ];
    for (applied, words) in failing {
        in_own_process(|| {
            let reason = match run(&under(&applied), &mut |_| 0) {
                Err(Refusal::Failed(reason) | Refusal::Unavailable(reason)) => reason,
                Ok(other) => panic!("{applied:?}: {other:?}"),
            };
            assert!(reason.contains(words), "{reason}");
            assert_eq!(crate::kernel::process::children(), [0u32; 0]);
        });
    }
}

#[test]
fn a_process_killed_by_its_filter_has_exited_by_sigsys() {
    let kill = vec![AppliedTreatment::Seccomp { program: vec![0x06 << 48 | 0x8000_0000] }];
    in_own_process(|| {
        let ended = run(&under(&kill), &mut |_| 0);
        assert_eq!(ended, Ok(Termination::Killed(libc::SIGSYS)));
    });
}
