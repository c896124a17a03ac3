//! What is no part of a bill: time that the program waited, time that others took, and user time.

use oscost_model::bill::{Bill, BilledTrials, ClockReadItem, StolenTime};
use oscost_model::unit::Unit;

use crate::report::figures::{occurrences, rough, with_thousands};
use crate::report::text::plain;
use crate::report::view::what_if::with_interval;

/// What no counter of calls sees.
const CLOCK_READS: &str = "clock reads: those through the vDSO are no system calls, and are not \
                           counted; as root, `--clock-reads` counts them";
/// What no uprobe sees.
const OTHER_CLOCK_READS: &str = "clock reads: those of programs without that C library, as of Go or \
                                 linked statically, are not counted";

/// A line each, from the trials.
pub(in crate::report::view) fn lines(bill: &Bill) -> Vec<String> {
    let trials = &bill.trials;
    let calls = bill.counted.as_ref().map(|counted| &counted.calls);
    let is_one_task = calls.is_some_and(|it| it.threads + it.forks == 0)
        && bill.watched.as_ref().is_none_or(|it| it.threads <= 1);
    let mut lines = vec![waited(trials, is_one_task)];
    lines.extend(stolen(bill));
    if calls.is_some() {
        lines.extend(clock_reads(bill));
    }
    lines.push(cold_caches(trials));
    lines
}

/// What is known of clock reads.
fn clock_reads(bill: &Bill) -> Vec<String> {
    match (&bill.clock_reads[..], &bill.no_clock_reads) {
        ([], None) => vec![CLOCK_READS.to_owned()],
        ([], Some(why)) => vec![format!("clock reads: not counted: {}", plain(why))],
        (reads, _) => reads.iter().map(clock_read).chain([OTHER_CLOCK_READS.to_owned()]).collect(),
    }
}

/// The calls of one function.
fn clock_read(item: &ClockReadItem) -> String {
    let function = plain(&item.function);
    let why = item.missing.as_deref().map_or(String::new(), |why| format!(": {}", plain(why)));
    let Some(times) = item.times else {
        return format!("clock reads: {function}() is not counted{why}");
    };
    let nested = match item.nested {
        0 => String::new(),
        nested => format!(
            " (without {} by gettimeofday() and time(), which pay for them)",
            with_thousands(nested as f64)
        ),
    };
    let counted = format!(
        "clock reads: {} x {function}() by uprobes at the C library{nested}, {} of them system \
         calls",
        with_thousands(times as f64),
        with_thousands(item.system_calls as f64)
    );
    match &item.amount {
        Some(amount) => {
            format!("{counted}; the others take {} of user time", with_interval(amount))
        }
        None => format!("{counted}{why}"),
    }
}

/// Real time that is no CPU time, a lower bound if tasks may have run side by side. Means add up:
/// theirs is the mean of what the trials waited.
fn waited(trials: &BilledTrials, is_one_task: bool) -> String {
    let waited_s = trials.real.mean - trials.user.mean - trials.system.mean;
    let means = if trials.real.repetitions > 1 { " (means)" } else { "" };
    let real = format!("{} real time{means}", rough(trials.real.mean, Unit::Seconds));
    match waited_s >= 0.0 {
        true => format!(
            "time waited: {}{} of {real} are no CPU time: it waited for a device, for \
             others or for a CPU",
            if is_one_task { "" } else { "at least " },
            rough(waited_s, Unit::Seconds)
        ),
        false => format!(
            "time waited: not known: its CPU time is {} more than its {real}, since \
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
    let taken = match &bill.stolen {
        None => "not measured".to_owned(),
        Some(StolenTime { ns, seconds }) => {
            let of = if bill.watched.is_some() { "the watch" } else { "runs and prices" };
            let time = rough(*seconds, Unit::Seconds);
            match *ns > 0.0 {
                true => format!("{} of all CPUs in {time} of {of}", rough(*ns, Unit::NsPerOp)),
                // A hypervisor need not tell what it takes.
                false => format!("none in {time} of {of}, as far as the kernel is told"),
            }
        }
    };
    Some(format!(
        "time stolen: {taken}; what {host} takes is real time, and may be counted as system time"
    ))
}

/// What faults and switches cost the program in user mode.
fn cold_caches(trials: &BilledTrials) -> String {
    let faults = trials.minor_faults + trials.major_faults;
    let switches = trials.voluntary_switches.zip(trials.involuntary_switches);
    let switches = switches.map_or("an unknown number of".to_owned(), |(voluntary, forced)| {
        occurrences(voluntary + forced)
    });
    let mean = if trials.user.repetitions > 1 { " (mean)" } else { "" };
    format!(
        "cold caches: what {} faults and {switches} switches added to its user time of {}{mean} by \
         cold caches is not known, and not claimed",
        occurrences(faults),
        rough(trials.user.mean, Unit::Seconds)
    )
}

#[cfg(test)]
mod tests {
    use oscost_model::bill::Amount;

    use super::*;
    use crate::report::view::bill::made_up;

    #[test]
    fn what_is_no_cpu_time_was_waited_and_several_cpus_leave_that_open() {
        let mut bill = made_up::find();
        let trials = &mut bill.trials;
        (trials.real.mean, trials.user.mean, trials.system.mean) = (0.5, 0.1, 0.15);
        let text = waited(trials, true);
        assert!(text.starts_with("time waited: 250 ms of 500 ms real time (means)"), "{text}");
        assert!(waited(trials, false).starts_with("time waited: at least 250 ms of 500 ms"));
        trials.user.mean = 0.4;
        let text = waited(trials, false);
        assert!(text.contains("not known: its CPU time is 50.0 ms more than its 500 ms"), "{text}");
    }

    #[test]
    fn clock_reads_are_user_time_or_not_counted_for_a_reason() {
        let mut bill = made_up::find();
        let told = |bill: &Bill| {
            let lines = lines(bill).into_iter().filter(|it| it.starts_with("clock reads: "));
            lines.collect::<Vec<_>>()
        };
        assert!(told(&bill)[0].ends_with("`--clock-reads` counts them"), "{:?}", told(&bill));
        bill.no_clock_reads = Some("/bin/x is linked statically".to_owned());
        assert_eq!(told(&bill), ["clock reads: not counted: /bin/x is linked statically"]);
        let item = |times: Option<u64>, ns: Option<f64>| ClockReadItem {
            function: "clock_gettime".to_owned(),
            times,
            nested: 0,
            system_calls: 12,
            case: "timer/clock-gettime".to_owned(),
            unit: None,
            amount: ns.map(Amount::exact),
            missing: ns.is_none().then(|| "no price".to_owned()),
        };
        bill.no_clock_reads = None;
        bill.clock_reads = vec![item(Some(1_012), Some(25_000.0)), item(Some(12), None)];
        bill.clock_reads.push(item(None, None));
        let lines = told(&bill);
        assert!(lines[0].contains("1,012 x clock_gettime() by uprobes"), "{lines:?}");
        let end = "12 of them system calls; the others take 25.0 us of user time";
        assert!(lines[0].ends_with(end), "{lines:?}");
        assert!(lines[1].ends_with("system calls: no price"), "{lines:?}");
        assert!(lines[2].ends_with("clock_gettime() is not counted: no price"), "{lines:?}");
        assert_eq!(lines[3..], [OTHER_CLOCK_READS]);
        bill.clock_reads[0].nested = 3_000;
        let line = &told(&bill)[0];
        let words = "at the C library (without 3,000 by gettimeofday() and time(), which pay for \
                     them), 12 of them system calls; ";
        assert!(line.contains(words), "{line}");
        bill.counted = None;
        assert!(told(&bill).is_empty());
    }

    #[test]
    fn what_a_host_takes_is_told_where_there_may_be_one() {
        let mut bill = made_up::find();
        for (kind, lines_of_it) in [(Some("none"), 0), (Some("kvm"), 1), (None, 1)] {
            bill.machine.virtualization = kind.map(str::to_owned);
            let stolen = lines(&bill).iter().filter(|it| it.starts_with("time stolen: ")).count();
            assert_eq!(stolen, lines_of_it, "{kind:?}");
        }
        let told = |bill: &Bill| stolen(bill).unwrap();
        assert!(told(&bill).starts_with("time stolen: not measured; what a host"), "{bill:?}");
        bill.stolen = Some(StolenTime { ns: 3e7, seconds: 12.0 });
        let text = told(&bill);
        assert!(text.contains("30.0 ms of all CPUs in 12.0 s of runs and prices; what"), "{text}");
        bill.stolen = Some(StolenTime { ns: 0.0, seconds: 12.0 });
        let text = told(&bill);
        assert!(text.contains("none in 12.0 s of runs and prices, as far as"), "{text}");
        let last = lines(&bill).pop().unwrap();
        assert!(last.contains("what 1,202 faults and 34 switches added"), "{last}");
        bill.trials.voluntary_switches = None;
        let last = lines(&bill).pop().unwrap();
        assert!(last.contains("faults and an unknown number of switches added"), "{last}");
    }
}
