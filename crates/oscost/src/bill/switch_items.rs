//! The voluntary switches of a program, and what tasks that begin or are woken on another CPU take more:
//! without what prices of calls contain.

use oscost_model::program_calls::{
    FormCount, KernelEvents, ProgramCalls, RemoteWakes, RemoteWakesByCall,
};

use super::fault_items::Faults;
use super::idle_wakes::{idle_wakes, is_after_idle};
use super::outside_wakes::{is_of_outside, outside_wakes};
use super::rules::rule_of;

/// A switch that changes the memory that is mapped, too, and takes longer.
const TO_PROCESS: &str = "switch to another process";
/// One within a process.
const TO_THREAD: &str = "switch to another thread";

/// What a fork takes more whose child starts on another CPU, until the child is waited for.
const CHILD_ON_OTHER_CPU: &str = "child on another CPU";
/// A wait on a CPU that became idle, and the wake-up by a task on another one.
const WAKE_UP: &str = "wake-up across CPUs";
/// What that takes more than a wait and a wake-up on one CPU.
const WAKE_UP_BEYOND_SWITCH: &str = "switch across CPUs";

/// The same two items of wake-ups by calls of one kind, with prices of their own.
struct ItemsByCall {
    wake_up: &'static str,
    beyond_switch: &'static str,
    wakes: fn(RemoteWakesByCall) -> RemoteWakes,
}

/// Those whose prices contain a switch of each wait first: sockets and futexes.
const BY_CALL: [ItemsByCall; 4] = [
    ItemsByCall {
        wake_up: "wake-up across CPUs by TCP",
        beyond_switch: "switch across CPUs by TCP",
        wakes: |by| by.tcp,
    },
    ItemsByCall {
        wake_up: "wake-up across CPUs by unix socket",
        beyond_switch: "switch across CPUs by unix socket",
        wakes: |by| by.unix,
    },
    ItemsByCall {
        wake_up: "wake-up across CPUs by futex",
        beyond_switch: "switch across CPUs by futex",
        wakes: |by| by.futex,
    },
    ItemsByCall {
        wake_up: "wake-up across CPUs by pipe",
        beyond_switch: "switch across CPUs by pipe",
        wakes: |by| by.pipe,
    },
];

/// Whether an item is one of these, and no call.
pub(super) fn is_of_scheduler(name: &str) -> bool {
    [TO_PROCESS, TO_THREAD].contains(&name) || is_across_cpus(name)
}

/// Whether an item is about two CPUs. Its price is a difference of CPU times, in which the caches of
/// the other CPU are cold already.
pub(super) fn is_across_cpus(name: &str) -> bool {
    [CHILD_ON_OTHER_CPU, WAKE_UP, WAKE_UP_BEYOND_SWITCH].contains(&name)
        || BY_CALL.iter().any(|it| [it.wake_up, it.beyond_switch].contains(&name))
        || is_after_idle(name)
        || is_of_outside(name)
}

/// The same, as if all had happened on one CPU.
pub(super) fn on_one_cpu(calls: &ProgramCalls) -> ProgramCalls {
    let events = calls.events.map(|events| KernelEvents {
        forks_to_other_cpu: None,
        starts_on_other_cpu: None,
        remote_wakes_after_idle: None,
        remote_wakes_after_switch: None,
        remote_wakes_by: None,
        remote_wakes_of_idle: None,
        remote_wakes_of_outside: None,
        remote_wakes_by_outside: None,
        ..events
    });
    ProgramCalls { events, ..calls.clone() }
}

/// Switches of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SwitchItem {
    pub(super) name: &'static str,
    /// Below zero if the price of another item contains more of them than there were.
    pub(super) times: f64,
}

impl SwitchItem {
    /// Why there are less than none; `None` if there are not.
    pub(super) fn below_zero(self) -> Option<String> {
        (self.times < 0.0).then(|| FEWER_WAKE_UPS.to_owned())
    }
}

/// Why wake-ups are below zero.
const FEWER_WAKE_UPS: &str =
    "the price of its children on other CPUs contains more wake-ups of parents than there were";

/// The switches after which the CPU went to another task at once, without those that are in the prices
/// of calls and major faults. Which of them these are is not known: as many as there are of the
/// expensive kind are taken from that, so that the sum is never too high; where that kind was not counted,
/// from the other one.
pub(super) fn switch_items(calls: &ProgramCalls, faults: Faults) -> Vec<SwitchItem> {
    let Some(events) = calls.events else { return Vec::new() };
    let kinds =
        [(TO_PROCESS, events.voluntary_to_process), (TO_THREAD, events.voluntary_to_thread)];
    // With the wait for a child on another CPU the price of its fork contains no switch on one CPU.
    let children = events.forks_to_other_cpu.unwrap_or(0) as f64;
    let of_calls = (switches_in_prices(calls) - children).max(0.0);
    let mut in_prices = of_calls + faults.major;
    let mut items = Vec::new();
    for (name, counted) in kinds {
        let Some(counted) = counted else { continue };
        let counted = counted as f64;
        let in_price = in_prices.min(counted);
        in_prices -= in_price;
        items.push(SwitchItem { name, times: counted - in_price });
    }
    // No task ends the wait of a major fault: a disk does.
    items.extend(items_across_cpus(&events, in_prices.min(of_calls)));
    let after_idle = idle_wakes(&events).into_iter();
    items.extend(after_idle.map(|it| SwitchItem { name: it.name, times: it.times }));
    let outside = outside_wakes(&events).into_iter();
    items.extend(outside.map(|it| SwitchItem { name: it.name, times: it.times }));
    items.retain(|item| item.times != 0.0);
    items
}

/// What happened across CPUs, where the prices of calls contain so many switches on one CPU beside those
/// that a CPU has made.
///
/// The price of a child on another CPU contains one wake-up, that of its parent, which no call about a
/// socket, pipe or futex makes. A wait whose price contains a switch on one CPU pays what the wake-up
/// across CPUs takes more. Again the expensive kind is reduced first; the cheaper one may be below zero: a
/// parent that was not woken from another CPU has been charged at least that.
fn items_across_cpus(events: &KernelEvents, switches: f64) -> Vec<SwitchItem> {
    let of = |count: Option<u64>| count.unwrap_or(0);
    let by = events.remote_wakes_by.unwrap_or_default();
    let in_all = RemoteWakes {
        after_idle: of(events.remote_wakes_after_idle),
        after_switch: of(events.remote_wakes_after_switch),
    };
    let mut in_prices = switches;
    let mut items = Vec::new();
    for it in &BY_CALL {
        let RemoteWakes { after_idle, after_switch } = (it.wakes)(by);
        let (after_idle, after_switch) = (after_idle as f64, after_switch as f64);
        let in_price = in_prices.min(after_idle);
        in_prices -= in_price;
        items.push(SwitchItem { name: it.wake_up, times: after_idle - in_price });
        items.push(SwitchItem { name: it.beyond_switch, times: after_switch + in_price });
    }
    let by_calls = by.sum();
    let after_idle = in_all.after_idle as f64 - by_calls.after_idle as f64;
    let after_switch = in_all.after_switch as f64 - by_calls.after_switch as f64;
    let children = of(events.forks_to_other_cpu) as f64;
    let of_parents = children.min(after_idle);
    // What was not counted is no difference.
    let after_switch = match events.remote_wakes_after_switch {
        Some(_) => after_switch - (children - of_parents),
        None => 0.0,
    };
    let waits = after_idle - of_parents;
    let in_price = in_prices.min(waits);
    let beyond_switch = after_switch + in_price + of(events.starts_on_other_cpu) as f64;
    items.push(SwitchItem { name: CHILD_ON_OTHER_CPU, times: children });
    items.push(SwitchItem { name: WAKE_UP, times: waits - in_price });
    items.push(SwitchItem { name: WAKE_UP_BEYOND_SWITCH, times: beyond_switch });
    items
}

/// The switches that the prices of these calls contain.
fn switches_in_prices(calls: &ProgramCalls) -> f64 {
    let of_form = |count: &FormCount| {
        let bytes = count.bytes.map_or(0.0, |_| count.moved as f64);
        rule_of(&count.form).map_or(0.0, |rule| rule.switches_of(count.calls as f64, bytes))
    };
    calls.forms.iter().map(of_form).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(to_process: u64, to_thread: u64, forms: Vec<FormCount>) -> ProgramCalls {
        let events = KernelEvents {
            voluntary_to_process: Some(to_process),
            voluntary_to_thread: Some(to_thread),
            ..KernelEvents::default()
        };
        ProgramCalls { forms, events: Some(events), ..ProgramCalls::default() }
    }

    fn form(form: &str, bytes: Option<u64>, calls: u64, moved: u64) -> FormCount {
        FormCount { form: form.to_owned(), bytes, calls, moved, ..FormCount::default() }
    }

    fn named(calls: &ProgramCalls, faults: Faults) -> Vec<(&'static str, f64)> {
        switch_items(calls, faults).into_iter().map(|it| (it.name, it.times)).collect()
    }

    #[test]
    fn a_switch_in_the_price_of_a_call_is_not_charged_again() {
        // Half a switch a call; one for 64 KiB; one for the fork.
        let forms = vec![
            form("futex wait", None, 10, 0),
            form("write pipe", Some(4_096), 32, 131_072),
            form("clone process", None, 1, 0),
            form("close file", None, 1_000, 0),
        ];
        let faults = Faults { minor: 50.0, major: 2.0 };
        // 10 of 100 are in prices.
        let of_both = named(&calls(100, 7, forms.clone()), faults);
        assert_eq!(of_both, [(TO_PROCESS, 90.0), (TO_THREAD, 7.0)]);
        // The expensive ones first, and never less than none.
        assert_eq!(named(&calls(4, 7, forms.clone()), faults), [(TO_THREAD, 1.0)]);
        assert!(named(&calls(4, 6, forms), faults).is_empty());
    }

    #[test]
    fn a_call_pays_as_many_switches_as_its_part_of_a_round_trip_has() {
        for name in ["write eventfd", "sendto tcp", "recvfrom unix", "futex wake waiter"] {
            let rule = rule_of(name).unwrap();
            assert_eq!(rule.switches, 2.0 * rule.part, "{name}: a round trip has two");
        }
        // A hundred round trips of a byte, by both ends.
        let ends = ["sendto tcp", "recvfrom tcp"].map(|name| form(name, Some(1), 200, 200));
        let found = named(&calls(150, 100, ends.to_vec()), Faults::default());
        let bytes_in_prices = 400.0 / 65_536.0;
        assert_eq!(found, [(TO_THREAD, 50.0 - bytes_in_prices)]);
    }

    #[test]
    fn what_was_not_counted_is_no_item() {
        assert!(named(&ProgramCalls::default(), Faults::default()).is_empty());
        let events = Some(KernelEvents { voluntary_switches: 9, ..KernelEvents::default() });
        let unknown = ProgramCalls { events, ..ProgramCalls::default() };
        assert!(named(&unknown, Faults::default()).is_empty());
        let idle = calls(0, 0, Vec::new());
        assert!(named(&idle, Faults::default()).is_empty());
        // Half a switch a call. Under a monitor those to other processes are not known.
        let mut monitored = calls(9, 7, vec![form("futex wait", None, 10, 0)]);
        monitored.events.as_mut().unwrap().voluntary_to_process = None;
        assert_eq!(named(&monitored, Faults::default()), [(TO_THREAD, 2.0)]);
    }

    /// Events of a program on two CPUs.
    fn across_cpus(forks: u64, starts: u64, after_idle: u64, after_switch: u64) -> KernelEvents {
        KernelEvents {
            voluntary_to_process: Some(0),
            voluntary_to_thread: Some(0),
            forks_to_other_cpu: Some(forks),
            starts_on_other_cpu: Some(starts),
            remote_wakes_after_idle: Some(after_idle),
            remote_wakes_after_switch: Some(after_switch),
            ..KernelEvents::default()
        }
    }

    #[test]
    fn the_wake_up_of_a_parent_is_in_the_price_of_its_child_on_another_cpu() {
        let found = |forks, after_idle, after_switch| {
            let forms = vec![form("clone process", None, 10, 0)];
            let events = Some(across_cpus(forks, 0, after_idle, after_switch));
            named(&ProgramCalls { forms, events, ..ProgramCalls::default() }, Faults::default())
        };
        // All forks: no price contains a switch on one CPU.
        assert_eq!(
            found(10, 13, 2),
            [(CHILD_ON_OTHER_CPU, 10.0), (WAKE_UP, 3.0), (WAKE_UP_BEYOND_SWITCH, 2.0)]
        );
        // The cheaper kind is reduced when the other one is used up.
        assert_eq!(found(10, 8, 5), [(CHILD_ON_OTHER_CPU, 10.0), (WAKE_UP_BEYOND_SWITCH, 3.0)]);
        let five_less = [(CHILD_ON_OTHER_CPU, 10.0), (WAKE_UP_BEYOND_SWITCH, -5.0)];
        assert_eq!(found(10, 0, 5), five_less, "five parents were not woken from there");
        let wakes = |times| SwitchItem { name: WAKE_UP_BEYOND_SWITCH, times };
        assert!(wakes(-5.0).below_zero().is_some() && wakes(5.0).below_zero().is_none());
        // The six others contain a switch each: as many waits pay what they take more.
        assert_eq!(
            found(4, 11, 0),
            [(CHILD_ON_OTHER_CPU, 4.0), (WAKE_UP, 1.0), (WAKE_UP_BEYOND_SWITCH, 6.0)]
        );
    }

    #[test]
    fn a_switch_in_a_price_is_taken_from_switches_on_one_cpu_before_wake_ups_across() {
        // 20 switches are in the prices of the waits.
        let forms = vec![form("futex wait", None, 40, 0)];
        let events = KernelEvents { voluntary_to_thread: Some(15), ..across_cpus(0, 3, 100, 1) };
        let calls = ProgramCalls { forms, events: Some(events), ..ProgramCalls::default() };
        // Five of the waits; those of threads that start, and after which the CPU had another task.
        let expected = [(WAKE_UP, 95.0), (WAKE_UP_BEYOND_SWITCH, 5.0 + 3.0 + 1.0)];
        assert_eq!(named(&calls, Faults::default()), expected);
        // The waits of major faults are none of those that a task ends.
        assert_eq!(named(&calls, Faults { minor: 0.0, major: 70.0 })[0], (WAKE_UP, 80.0));
        let alone = on_one_cpu(&calls);
        assert!(named(&alone, Faults::default()).is_empty());
        assert_eq!(
            (&alone.forms, alone.events.unwrap().voluntary_to_thread),
            (&calls.forms, Some(15))
        );
    }

    #[test]
    fn a_wake_up_by_a_socket_pipe_or_futex_is_charged_once_and_by_its_own_price() {
        let wakes = |after_idle, after_switch| RemoteWakes { after_idle, after_switch };
        let by = RemoteWakesByCall {
            tcp: wakes(30, 2),
            unix: wakes(0, 0),
            pipe: wakes(5, 1),
            futex: wakes(20, 3),
        };
        let events = |forks, in_all: RemoteWakes| KernelEvents {
            remote_wakes_by: Some(by),
            ..across_cpus(forks, 4, in_all.after_idle, in_all.after_switch)
        };
        // 25 of the prices of these waits contain a switch: those by sockets come first.
        let forms = vec![form("futex wait", None, 50, 0)];
        let of = |events| {
            let forms = forms.clone();
            named(
                &ProgramCalls { forms, events: Some(events), ..ProgramCalls::default() },
                Faults::default(),
            )
        };
        let of_calls = [
            ("wake-up across CPUs by TCP", 5.0),
            ("switch across CPUs by TCP", 27.0),
            ("wake-up across CPUs by futex", 20.0),
            ("switch across CPUs by futex", 3.0),
            ("wake-up across CPUs by pipe", 5.0),
            ("switch across CPUs by pipe", 1.0),
        ];
        // Seven of the 62 waits, and one of the seven after a switch, were ended otherwise.
        let found = of(events(0, wakes(62, 7)));
        assert_eq!(found[..6], of_calls);
        assert_eq!(found[6..], [(WAKE_UP, 7.0), (WAKE_UP_BEYOND_SWITCH, 1.0 + 4.0)]);
        // All wake-ups and all starts are in one item each.
        assert_eq!(found.iter().map(|it| it.1).sum::<f64>(), 62.0 + 7.0 + 4.0);
        // The parents of these children were woken by none of these calls; the prices of as many forks
        // contain no switch on one CPU.
        let found = of(events(7, wakes(62, 7)));
        assert_eq!(found[..2], [(of_calls[0].0, 12.0), (of_calls[1].0, 20.0)]);
        assert_eq!(found[2..6], of_calls[2..]);
        let rest = [(CHILD_ON_OTHER_CPU, 7.0), (WAKE_UP_BEYOND_SWITCH, 1.0 + 4.0)];
        assert_eq!(found[6..], rest);
    }

    #[test]
    fn wake_ups_that_were_not_counted_are_not_taken_off() {
        let events = KernelEvents {
            remote_wakes_after_idle: None,
            remote_wakes_after_switch: None,
            ..across_cpus(2, 0, 0, 0)
        };
        let calls = ProgramCalls { events: Some(events), ..ProgramCalls::default() };
        assert_eq!(named(&calls, Faults::default()), [(CHILD_ON_OTHER_CPU, 2.0)]);
    }

    #[test]
    fn a_record_without_wake_ups_by_call_has_them_in_one_item() {
        let events = Some(across_cpus(0, 0, 9, 2));
        let calls = ProgramCalls { events, ..ProgramCalls::default() };
        let found = named(&calls, Faults::default());
        assert_eq!(found, [(WAKE_UP, 9.0), (WAKE_UP_BEYOND_SWITCH, 2.0)]);
    }

    #[test]
    fn each_kind_has_a_rule_that_subtracts_its_calls() {
        let by_call = BY_CALL.iter().flat_map(|it| [it.wake_up, it.beyond_switch]);
        let others = [TO_PROCESS, TO_THREAD, WAKE_UP, WAKE_UP_BEYOND_SWITCH];
        for name in others.into_iter().chain(by_call) {
            let rule = rule_of(name).unwrap();
            assert_eq!((rule.part, rule.less.len()), (0.5, 1), "{name}");
        }
        let rule = rule_of(CHILD_ON_OTHER_CPU).unwrap();
        assert_eq!((rule.part, rule.less.len()), (1.0, 1));
    }
}
