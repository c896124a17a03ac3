//! What a wake-up takes more of a CPU that had been idle for long enough to halt, where the counter saw
//! for how long.

use oscost_model::program_calls::{
    KernelEvents, OutsideWakes, OutsideWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

/// The items of wake-ups by calls of one kind, each with a price of its own.
struct IdleItems {
    /// Of a CPU that was idle for 150 to 600 us.
    medium: &'static str,
    /// For longer.
    long: &'static str,
    wakes: fn(WakesOfIdleByCall) -> WakesOfIdle,
    /// Those with one end outside of the program.
    outside: fn(OutsideWakesByCall) -> OutsideWakes,
}

/// The share of a wake-up that a program pays of which it is one of both ends.
const ONE_END: f64 = 0.5;

/// Those of each kind. Shorter ones are at the price of the wake-up itself.
const KINDS: [IdleItems; 5] = [
    IdleItems {
        medium: "wake-up after 0.3 ms idle by TCP",
        long: "wake-up after 1 ms idle by TCP",
        wakes: |by| by.tcp,
        outside: |by| by.tcp,
    },
    IdleItems {
        medium: "wake-up after 0.3 ms idle by unix socket",
        long: "wake-up after 1 ms idle by unix socket",
        wakes: |by| by.unix,
        outside: |by| by.unix,
    },
    IdleItems {
        medium: "wake-up after 0.3 ms idle by pipe",
        long: "wake-up after 1 ms idle by pipe",
        wakes: |by| by.pipe,
        outside: |by| by.pipe,
    },
    IdleItems {
        medium: "wake-up after 0.3 ms idle by futex",
        long: "wake-up after 1 ms idle by futex",
        wakes: |by| by.futex,
        outside: |by| by.futex,
    },
    IdleItems {
        medium: "wake-up after 0.3 ms idle",
        long: "wake-up after 1 ms idle",
        wakes: |by| by.other,
        outside: |by| by.other,
    },
];

/// Wake-ups by calls of one kind of CPUs that had been idle for about as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IdleWakes {
    pub(super) name: &'static str,
    pub(super) times: f64,
}

/// Whether an item is one of these.
pub(super) fn is_after_idle(name: &str) -> bool {
    KINDS.iter().any(|kind| [kind.medium, kind.long].contains(&name))
}

/// Those of a program; none where the counter did not tell for how long a CPU had been idle.
///
/// The price of a child on another CPU contains the wake-up of its parent, whose CPU was idle for as long
/// as a child lives that does nothing: as many of 150 to 600 us are not charged again. A wake-up with one
/// end outside of the program counts half.
pub(super) fn idle_wakes(events: &KernelEvents) -> Vec<IdleWakes> {
    let Some(by) = events.remote_wakes_of_idle else { return Vec::new() };
    let children = events.forks_to_other_cpu.unwrap_or(0);
    let of_parents = children.min(by.other.below_600_us);
    let other = WakesOfIdle { below_600_us: by.other.below_600_us - of_parents, ..by.other };
    let by = WakesOfIdleByCall { other, ..by };
    let outside = [events.remote_wakes_of_outside, events.remote_wakes_by_outside];
    let outside = outside.map(Option::unwrap_or_default);
    let items = KINDS.into_iter().flat_map(|kind| {
        let whole = (kind.wakes)(by);
        let [of, from] = outside.map(|by| (kind.outside)(by).of_idle);
        let times =
            |whole: u64, of: u64, from: u64| whole as f64 + ONE_END * (of as f64 + from as f64);
        let medium = times(whole.below_600_us, of.below_600_us, from.below_600_us);
        let long = times(whole.longer, of.longer, from.longer);
        [IdleWakes { name: kind.medium, times: medium }, IdleWakes { name: kind.long, times: long }]
    });
    items.filter(|item| item.times > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::families::family_of;
    use super::super::rules::rule_of;
    use super::*;

    fn wakes(below_150_us: u64, below_600_us: u64, longer: u64) -> WakesOfIdle {
        WakesOfIdle { below_150_us, below_600_us, longer }
    }

    fn named(events: KernelEvents) -> Vec<(&'static str, f64)> {
        idle_wakes(&events).into_iter().map(|it| (it.name, it.times)).collect()
    }

    #[test]
    fn wake_ups_are_charged_by_their_call_and_by_how_long_the_cpu_was_idle() {
        let by = WakesOfIdleByCall {
            tcp: wakes(9, 2, 0),
            futex: wakes(1, 0, 70),
            other: wakes(4, 5, 3),
            ..WakesOfIdleByCall::default()
        };
        let events = |forks| KernelEvents {
            remote_wakes_of_idle: Some(by),
            forks_to_other_cpu: forks,
            ..KernelEvents::default()
        };
        let expected = [
            ("wake-up after 0.3 ms idle by TCP", 2.0),
            ("wake-up after 1 ms idle by futex", 70.0),
            ("wake-up after 0.3 ms idle", 5.0),
            ("wake-up after 1 ms idle", 3.0),
        ];
        assert_eq!(named(events(None)), expected);
        // Four of these are in the price of children on another CPU, whose parents they woke.
        let of_others = [("wake-up after 0.3 ms idle", 1.0), ("wake-up after 1 ms idle", 3.0)];
        assert_eq!(named(events(Some(4)))[2..], of_others);
        assert_eq!(named(events(Some(40)))[2..], of_others[1..], "no longer ones");
        assert!(named(KernelEvents::default()).is_empty(), "it was not counted");
    }

    #[test]
    fn a_wake_up_with_one_end_outside_counts_half_whoever_woke() {
        let unix = |below_600_us, longer| {
            let of_idle = WakesOfIdle { below_150_us: 7, below_600_us, longer };
            let unix = OutsideWakes { wakes: 100, of_idle };
            Some(OutsideWakesByCall { unix, ..OutsideWakesByCall::default() })
        };
        let by = WakesOfIdleByCall { unix: wakes(9, 0, 5), ..WakesOfIdleByCall::default() };
        let events = KernelEvents {
            remote_wakes_of_idle: Some(by),
            remote_wakes_of_outside: unix(3, 10),
            remote_wakes_by_outside: unix(0, 4),
            ..KernelEvents::default()
        };
        let expected = [
            ("wake-up after 0.3 ms idle by unix socket", 1.5),
            ("wake-up after 1 ms idle by unix socket", 5.0 + 5.0 + 2.0),
        ];
        assert_eq!(named(events), expected);
    }

    #[test]
    fn each_kind_is_waiting_and_pays_all_that_a_round_trip_takes_more_after_idle() {
        for kind in &KINDS {
            for (name, idle_us) in [(kind.medium, "300"), (kind.long, "1000")] {
                let rule = rule_of(name).unwrap();
                let (begin, value) = rule.case.rsplit_once('=').unwrap();
                assert_eq!((rule.part, value), (1.0, idle_us), "{name}");
                assert_eq!(rule.less, [format!("{begin}=none,settle_ms=none")], "{name}");
                assert_eq!(family_of(name), "waiting");
                assert!(is_after_idle(name) && rule.ranges().next().is_none());
            }
        }
    }
}
