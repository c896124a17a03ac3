//! What is no part of a bill: time that the program waited, time that others took, and user time.

use oscost_model::bill::{Bill, BilledTrials};
use oscost_model::unit::Unit;

use crate::report::figures::{rough, with_thousands};
use crate::report::text::plain;

/// What no counter of calls sees.
const CLOCK_READS: &str =
    "clock reads: those through the vDSO are no system calls, and are not counted";

/// A line each, from the trials.
pub(in crate::report::view) fn lines(bill: &Bill) -> Vec<String> {
    let trials = &bill.trials;
    let calls = bill.counted.as_ref().map(|counted| &counted.calls);
    let is_one_task = calls.is_some_and(|it| it.threads + it.forks == 0)
        && bill.watched.as_ref().is_none_or(|it| it.threads <= 1);
    let all = [
        Some(waited(trials, is_one_task)),
        stolen(bill),
        calls.map(|_| CLOCK_READS.to_owned()),
        Some(cold_caches(trials)),
    ];
    all.into_iter().flatten().collect()
}

/// Real time that is no CPU time, a lower bound if tasks may have run side by side. Means add up:
/// theirs is the mean of what the trials waited.
fn waited(trials: &BilledTrials, is_one_task: bool) -> String {
    let waited_s = trials.real.mean - trials.user.mean - trials.system.mean;
    let real = rough(trials.real.mean, Unit::Seconds);
    match waited_s >= 0.0 {
        true => format!(
            "time waited: {}{} of {real} real time are no CPU time: it waited for a device, for \
             others or for a CPU",
            if is_one_task { "" } else { "at least " },
            rough(waited_s, Unit::Seconds)
        ),
        false => format!(
            "time waited: not known: its CPU time is {} more than its {real} real time, since \
             several CPUs worked for it at once",
            rough(-waited_s, Unit::Seconds)
        ),
    }
}

/// Time that a host takes from a virtual machine; `None` where there is no host.
fn stolen(bill: &Bill) -> Option<String> {
    let host = match bill.machine.virtualization.as_deref() {
        Some("none") => return None,
        Some(kind) => format!("the host ({})", plain(kind)),
        None => "a host, if there is one,".to_owned(),
    };
    Some(format!(
        "time stolen: not measured in the trials; what {host} takes is real time, and may be \
         counted as system time"
    ))
}

/// What faults and switches cost the program in user mode.
fn cold_caches(trials: &BilledTrials) -> String {
    let faults = trials.minor_faults + trials.major_faults;
    let switches = trials.voluntary_switches.zip(trials.involuntary_switches);
    let switches = switches.map_or("an unknown number of".to_owned(), |(voluntary, forced)| {
        with_thousands(voluntary + forced)
    });
    format!(
        "cold caches: what {} faults and {switches} switches added to its user time of {} by cold \
         caches is not known, and not claimed",
        with_thousands(faults),
        rough(trials.user.mean, Unit::Seconds)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up;

    #[test]
    fn what_is_no_cpu_time_was_waited_and_several_cpus_leave_that_open() {
        let mut bill = made_up::find();
        let trials = &mut bill.trials;
        (trials.real.mean, trials.user.mean, trials.system.mean) = (0.5, 0.1, 0.15);
        assert!(waited(trials, true).starts_with("time waited: 250 ms of 500 ms real time"));
        assert!(waited(trials, false).starts_with("time waited: at least 250 ms of 500 ms"));
        trials.user.mean = 0.4;
        let text = waited(trials, false);
        assert!(text.contains("not known: its CPU time is 50.0 ms more than its 500 ms"), "{text}");
    }

    #[test]
    fn what_a_host_takes_is_told_where_there_may_be_one() {
        let mut bill = made_up::find();
        for (kind, lines_of_it) in [(Some("none"), 0), (Some("kvm"), 1), (None, 1)] {
            bill.machine.virtualization = kind.map(str::to_owned);
            let stolen = lines(&bill).iter().filter(|it| it.starts_with("time stolen: ")).count();
            assert_eq!(stolen, lines_of_it, "{kind:?}");
        }
        let last = lines(&bill).pop().unwrap();
        assert!(last.contains("what 1,202 faults and 34 switches added"), "{last}");
        bill.trials.voluntary_switches = None;
        let last = lines(&bill).pop().unwrap();
        assert!(last.contains("faults and an unknown number of switches added"), "{last}");
    }
}
