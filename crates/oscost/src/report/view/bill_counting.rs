//! How the calls of a bill were counted.

use oscost_model::bill::{BilledCounts, Watched};
use oscost_model::program_calls::{
    KernelEvents, OutsideWakesByCall, ProgramCalls, RemoteWakes, RemoteWakesByCall, WakesOfIdle,
};
use oscost_model::unit::Unit;

use crate::report::figures::{per_cent, rough, with_thousands};
use crate::report::text::plain;

/// The counter that cannot tell whether others refer to the file of a close, nor where tasks run.
const TRACER: &str = "ptrace";

/// For how long a process was watched.
pub(super) fn watch(watched: &Watched) -> String {
    let Watched { pid, seconds, threads, children, ended, on_cpu_ns } = watched;
    let time = rough(*seconds, Unit::Seconds);
    let threads = number_of((*threads).into(), "thread");
    let children = if *children { " and its descendants" } else { "" };
    let end = if *ended { ", until it ended" } else { "" };
    let on_cpu = on_cpu_ns.map_or(String::new(), |ns| {
        format!(", its threads {} on a CPU", rough(ns as f64, Unit::NsPerOp))
    });
    format!("process {pid} ({threads}){children}, watched for {time}{end}{on_cpu}")
}

/// How the calls were counted, and what the counts lack.
pub(super) fn counting(counted: &BilledCounts, is_watched: bool) -> Vec<String> {
    let calls = &counted.calls;
    let varying = match counted.varying_forms {
        0 => ", all with the same counts of calls".to_owned(),
        forms => format!("; the counts of {} differ", number_of(forms.into(), "form")),
    };
    let by = plain(&calls.by);
    let how = match (is_watched, counted.added_pct) {
        (true, _) => format!(
            "counted by {by} while it ran; what counting added is in its times, and not known"
        ),
        (false, added) => {
            let added = match added {
                None => "what counting added is not known".to_owned(),
                // Counting makes nothing faster: the real time varies.
                Some(less) if less < 0.0 => {
                    format!("the counted runs took {} less real time", per_cent(-less))
                }
                Some(more) => format!("counting added {} to the real time", per_cent(more)),
            };
            format!("{} counted by {by}{varying}; {added}", number_of(counted.runs.into(), "run"))
        }
    };
    let reason = counted.counter_reason.as_deref();
    let reason = reason.map(|why| format!("not counted by eBPF: {}", plain(why)));
    let mut lines = vec![how];
    lines.extend(reason);
    if calls.by == TRACER && calls.forms.iter().any(|it| it.form.starts_with("close ")) {
        lines.push(
            "each close is charged as the last one of its file: a tracer does not see duplicates"
                .to_owned(),
        );
    }
    if calls.by == TRACER && calls.forks.saturating_add(calls.threads) > 0 {
        lines.push(
            "all is charged as on one CPU: a tracer does not see on which CPU a child or a wake-up is"
                .to_owned(),
        );
    }
    if counted.lost_events > 0 {
        lines.push(format!(
            "missing: {} had no room in the counter, or met a busy one: the counts are too low",
            number_of(counted.lost_events, "event")
        ));
    }
    lines.extend(calls.events.as_ref().and_then(hidden_waker));
    if calls.unfinished > 0 {
        lines.push(format!("{} never returned", number_of(calls.unfinished, "call")));
    }
    if calls.killed > 0 {
        lines.push(format!("{} outlived the program", number_of(calls.killed, "task")));
    }
    if calls.unread > 0 {
        lines.push(format!(
            "{} could not be read: their forms are incomplete",
            number_of(calls.unread, "argument")
        ));
    }
    lines
}

/// How much was counted, and what else happened.
pub(super) fn events(calls: &ProgramCalls) -> Vec<String> {
    let all = format!(
        "{}, {}, {}, {}, {}",
        number_of(calls.calls(), "call"),
        number_of(calls.execs, "exec"),
        number_of(calls.forks, "fork"),
        number_of(calls.threads, "thread"),
        number_of(calls.signals, "signal")
    );
    [all].into_iter().chain(calls.events.iter().flat_map(event_lines)).collect()
}

/// What else happened while the calls were counted, but for the faults, which are items. Voluntary
/// switches to other tasks are, too, without those in prices of calls; the rest is in no amount.
fn event_lines(events: &KernelEvents) -> Vec<String> {
    let KernelEvents { voluntary_switches, forced_switches, same_cpu, other_cpu, .. } = events;
    let mut lines = vec![format!(
        "{} voluntary and {} involuntary switches while it was counted; tasks continued {} on the \
         same CPU, {} on another one",
        with_thousands(*voluntary_switches as f64),
        with_thousands(*forced_switches as f64),
        number_of(*same_cpu, "time"),
        number_of(*other_cpu, "time")
    )];
    if let Some((to_process, to_thread)) =
        events.voluntary_to_process.zip(events.voluntary_to_thread)
    {
        lines.push(format!(
            "after {} voluntary switches another process ran at once, after {} another thread or a \
             child of vfork(2)",
            with_thousands(to_process as f64),
            with_thousands(to_thread as f64)
        ));
    }
    lines.extend(across_cpus(events));
    lines.extend(after_idle(events));
    lines.extend(outside(events));
    let taken = [(events.softirqs, "softirq"), (events.interrupts, "interrupt")];
    let taken = taken.into_iter().filter_map(|(count, noun)| Some(number_of(count?, noun)));
    let taken: Vec<String> = taken.collect();
    if !taken.is_empty() {
        lines.push(format!("{} while its tasks were on a CPU", taken.join(", ")));
    }
    lines
}

/// What happened across CPUs; `None` where it was not counted, or did not happen.
fn across_cpus(events: &KernelEvents) -> Option<String> {
    let (forks, starts) = events.forks_to_other_cpu.zip(events.starts_on_other_cpu)?;
    let (idle, switch) = events.remote_wakes_after_idle.zip(events.remote_wakes_after_switch)?;
    let wakes = idle.saturating_add(switch);
    (forks > 0 || starts > 0 || wakes > 0).then(|| {
        format!(
            "tasks that began on another CPU than their parent's: {} by fork(2), {} by vfork(2) or \
             as threads; they were woken {} from another CPU{}",
            with_thousands(forks as f64),
            with_thousands(starts as f64),
            number_of(wakes, "time"),
            events.remote_wakes_by.map_or(String::new(), wakes_by_call)
        )
    })
}

/// How many of these wake-ups were by calls of each kind.
fn wakes_by_call(by: RemoteWakesByCall) -> String {
    let RemoteWakesByCall { tcp, unix, pipe, futex } = by;
    let kinds =
        [(tcp, "over TCP"), (unix, "over unix sockets"), (pipe, "by pipes"), (futex, "by futexes")];
    let of_kind = |(wakes, how): (RemoteWakes, &str)| {
        let count = wakes.after_idle.saturating_add(wakes.after_switch);
        (count > 0).then(|| format!(", {} {how}", with_thousands(count as f64)))
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// For how long the CPUs had been idle on which tasks continued, or began, that were woken from another
/// one; `None` where that was not counted, or none was idle.
fn after_idle(events: &KernelEvents) -> Option<String> {
    let all = events.remote_wakes_of_idle?.sum();
    let WakesOfIdle { below_150_us, below_600_us, longer, below_150_us_tickless } = all;
    (all.wakes() > 0).then(|| {
        format!(
            "a CPU had been idle when a task on another one woke a task there, for less than 150 us \
             {}{}, for 150 to 600 us {}, for longer {}",
            number_of(below_150_us, "time"),
            below_150_us_tickless.filter(|_| below_150_us > 0).map_or_else(String::new, |times| {
                format!(" (with its tick stopped {})", number_of(times, "time"))
            }),
            number_of(below_600_us, "time"),
            number_of(longer, "time")
        )
    })
}

/// Why only one direction of the wake-ups of and by other programs was counted.
const HIDDEN_WAKER: &str = "missing: how often other programs woke its tasks from another CPU: before \
                            Linux 5.15 eBPF does not tell whether a task outside is in a call";

/// Wake-ups across CPUs of which one end is a task outside; empty where none was counted.
fn outside(events: &KernelEvents) -> Vec<String> {
    let times = |by: Option<OutsideWakesByCall>| {
        let wakes = by.map_or(0, OutsideWakesByCall::wakes);
        (wakes > 0).then(|| number_of(wakes, "time"))
    };
    let of_outside = times(events.remote_wakes_of_outside)
        .map(|times| format!("it woke tasks of other programs on another CPU {times}"));
    let by_outside = times(events.remote_wakes_by_outside)
        .map(|times| format!("other programs woke its tasks from another CPU {times}"));
    of_outside.into_iter().chain(by_outside).collect()
}

/// Why wake-ups by other programs are not known; `None` where they are.
fn hidden_waker(events: &KernelEvents) -> Option<String> {
    // A monitor, and a counter that tells neither, leave both out.
    let is_hidden =
        events.remote_wakes_of_outside.is_some() && events.remote_wakes_by_outside.is_none();
    is_hidden.then(|| HIDDEN_WAKER.to_owned())
}

/// A number of things, its thousands apart: `1,013 calls`.
fn number_of(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", with_thousands(count as f64))
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::{FaultCounts, FormCount, OutsideWakes, WakesOfIdleByCall};

    use super::*;

    fn counted() -> BilledCounts {
        BilledCounts {
            calls: ProgramCalls { by: "ebpf".to_owned(), ..ProgramCalls::default() },
            runs: 3,
            varying_forms: 0,
            added_pct: Some(2.5),
            counter: "ebpf".to_owned(),
            counter_reason: None,
            lost_events: 0,
        }
    }

    #[test]
    fn lost_events_and_the_reason_of_a_tracer_are_lines() {
        let lines = counting(&counted(), false);
        let first = "3 runs counted by ebpf, all with the same counts of calls; counting added \
                     2.5 % to the real time";
        assert_eq!(lines, [first]);
        assert_eq!(
            super::events(&counted().calls),
            ["0 calls, 0 execs, 0 forks, 0 threads, 0 signals"]
        );
        let reason = Some("rights: not root".to_owned());
        let counts =
            BilledCounts { added_pct: None, counter_reason: reason, lost_events: 1, ..counted() };
        let lines = counting(&counts, true);
        assert!(lines[0].ends_with("is in its times, and not known"), "{lines:?}");
        assert_eq!(lines[1], "not counted by eBPF: rights: not root");
        assert!(lines[2].starts_with("missing: 1 event had no room"), "{lines:?}");
        let first = "3 runs counted by ebpf, all with the same counts of calls; what counting \
                     added is not known";
        assert_eq!(counting(&counts, false)[0], first);
        let faster = BilledCounts { added_pct: Some(-16.0), ..counted() };
        let first = &counting(&faster, false)[0];
        assert!(first.ends_with("; the counted runs took 16 % less real time"), "{first}");
    }

    #[test]
    fn a_tracer_says_that_it_charges_each_close_as_the_last_one() {
        let lines = |by: &str, form: &str| {
            let form = FormCount { form: form.to_owned(), calls: 1, ..FormCount::default() };
            let by = by.to_owned();
            let calls = ProgramCalls { by, forms: vec![form], ..ProgramCalls::default() };
            counting(&BilledCounts { calls, ..counted() }, false)
        };
        let told = lines("ptrace", "close file");
        assert!(told[1].starts_with("each close is charged as the last one"), "{told:?}");
        for (by, form) in [("ebpf", "close file"), ("ptrace", "close_range")] {
            assert!(!lines(by, form).iter().any(|it| it.contains("close")), "{by} {form}");
        }
    }

    #[test]
    fn a_tracer_says_that_it_charges_all_as_on_one_cpu() {
        let says = |by: &str, forks| {
            let calls = ProgramCalls { by: by.to_owned(), forks, ..ProgramCalls::default() };
            let lines = counting(&BilledCounts { calls, ..counted() }, false);
            lines.iter().any(|it| it.starts_with("all is charged as on one CPU"))
        };
        assert_eq!([says("ptrace", 1), says("ptrace", 0), says("ebpf", 1)], [true, false, false]);
    }

    #[test]
    fn events_are_lines_and_what_the_kernel_does_not_tell_is_none() {
        let events = KernelEvents {
            faults: FaultCounts::default(),
            voluntary_switches: 1_200,
            forced_switches: 4,
            voluntary_to_process: Some(900),
            voluntary_to_thread: Some(100),
            same_cpu: 1_203,
            other_cpu: 1,
            forks_to_other_cpu: None,
            starts_on_other_cpu: None,
            remote_wakes_after_idle: None,
            remote_wakes_after_switch: None,
            remote_wakes_by: None,
            remote_wakes_of_idle: None,
            remote_wakes_of_outside: None,
            remote_wakes_by_outside: None,
            softirqs: Some(7),
            interrupts: None,
            clock_reads: None,
            mapped_file_pages: None,
        };
        let expected = [
            "1,200 voluntary and 4 involuntary switches while it was counted; tasks continued 1,203 \
             times on the same CPU, 1 time on another one",
            "after 900 voluntary switches another process ran at once, after 100 another thread or a \
             child of vfork(2)",
            "7 softirqs while its tasks were on a CPU",
        ];
        assert_eq!(event_lines(&events), expected);
        let calls = ProgramCalls { events: Some(events), ..counted().calls };
        assert_eq!(super::events(&calls)[1..], expected);
        let unknown = KernelEvents { softirqs: None, voluntary_to_process: None, ..events };
        assert_eq!(event_lines(&unknown).len(), 1);
    }

    #[test]
    fn what_happened_across_cpus_is_a_line() {
        let events = |forks, wakes| KernelEvents {
            forks_to_other_cpu: Some(forks),
            starts_on_other_cpu: Some(0),
            remote_wakes_after_idle: Some(wakes),
            remote_wakes_after_switch: Some(1),
            ..KernelEvents::default()
        };
        let expected = "tasks that began on another CPU than their parent's: 1,500 by fork(2), 0 by \
                        vfork(2) or as threads; they were woken 6 times from another CPU";
        let lines = event_lines(&events(1_500, 5));
        assert_eq!(lines[1..], [expected]);
        assert!(event_lines(&events(0, 0))[1].ends_with("woken 1 time from another CPU"));
        let by = RemoteWakesByCall {
            tcp: RemoteWakes { after_idle: 1_200, after_switch: 300 },
            futex: RemoteWakes { after_idle: 2, after_switch: 0 },
            ..RemoteWakesByCall::default()
        };
        let by_calls = KernelEvents { remote_wakes_by: Some(by), ..events(0, 2_000) };
        let end = "woken 2,001 times from another CPU, 1,500 over TCP, 2 by futexes";
        assert!(event_lines(&by_calls)[1].ends_with(end), "{:?}", event_lines(&by_calls));
        let nothing = KernelEvents { remote_wakes_after_switch: Some(0), ..events(0, 0) };
        assert_eq!(event_lines(&nothing).len(), 1);
        assert_eq!(event_lines(&KernelEvents::default()).len(), 1, "it was not counted");
    }

    #[test]
    fn for_how_long_woken_cpus_had_been_idle_is_a_line() {
        let of_idle = |futex: WakesOfIdle| {
            let by = WakesOfIdleByCall {
                futex,
                other: WakesOfIdle { longer: futex.longer, ..WakesOfIdle::default() },
                ..WakesOfIdleByCall::default()
            };
            KernelEvents { remote_wakes_of_idle: Some(by), ..KernelEvents::default() }
        };
        let wakes =
            WakesOfIdle { below_150_us: 3, below_600_us: 1, longer: 20, ..Default::default() };
        let with_tick = WakesOfIdle { below_150_us_tickless: Some(0), ..WakesOfIdle::default() };
        let expected = "a CPU had been idle when a task on another one woke a task there, for less \
                        than 150 us 3 times, for 150 to 600 us 1 time, for longer 40 times";
        assert_eq!(event_lines(&of_idle(wakes))[1..], [expected]);
        let told = WakesOfIdle { below_150_us_tickless: Some(2), ..wakes };
        let by = WakesOfIdleByCall { futex: told, ..WakesOfIdleByCall::default() };
        let by = WakesOfIdleByCall { other: with_tick, tcp: with_tick, ..by };
        let by = WakesOfIdleByCall { unix: with_tick, pipe: with_tick, ..by };
        let told = KernelEvents { remote_wakes_of_idle: Some(by), ..KernelEvents::default() };
        let line = event_lines(&told)[1].clone();
        assert!(line.contains("150 us 3 times (with its tick stopped 2 times), for 150"), "{line}");
        assert_eq!(event_lines(&of_idle(WakesOfIdle::default())).len(), 1);
    }

    #[test]
    fn wake_ups_of_and_by_other_programs_are_lines() {
        let by = |wakes| {
            let unix = OutsideWakes { wakes, ..OutsideWakes::default() };
            let pipe = OutsideWakes { wakes: 2 * wakes, ..unix };
            Some(OutsideWakesByCall { unix, pipe, ..OutsideWakesByCall::default() })
        };
        let events = |remote_wakes_of_outside, remote_wakes_by_outside| KernelEvents {
            remote_wakes_of_outside,
            remote_wakes_by_outside,
            ..KernelEvents::default()
        };
        let both = [
            "it woke tasks of other programs on another CPU 3 times",
            "other programs woke its tasks from another CPU 12 times",
        ];
        assert_eq!(event_lines(&events(by(1), by(4)))[1..], both);
        assert_eq!(event_lines(&events(None, by(4)))[1..], both[1..]);
        assert_eq!(event_lines(&events(by(0), by(0))).len(), 1);
        assert_eq!(event_lines(&events(by(1), None))[1..], both[..1]);
        assert_eq!(event_lines(&events(None, None)).len(), 1, "under a monitor neither is told");
        let is_hidden = |by_outside| {
            let calls = ProgramCalls { events: Some(events(by(0), by_outside)), ..counted().calls };
            let lines = counting(&BilledCounts { calls, ..counted() }, false);
            lines.iter().any(|line| line == HIDDEN_WAKER)
        };
        assert_eq!([is_hidden(None), is_hidden(by(1))], [true, false]);
        assert_eq!(hidden_waker(&events(None, None)), None);
    }

    #[test]
    fn a_watch_says_of_what_and_how_it_ended() {
        let watched = Watched {
            pid: 7,
            seconds: 10.0,
            threads: 2,
            children: true,
            ended: true,
            on_cpu_ns: None,
        };
        let text = watch(&watched);
        let begin = "process 7 (2 threads) and its descendants, watched for ";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.ends_with(", until it ended"), "{text}");
        let more = Watched { ended: false, on_cpu_ns: Some(5_000_000), ..watched };
        assert!(watch(&more).ends_with(" on a CPU"));
    }
}
