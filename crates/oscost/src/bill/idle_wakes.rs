//! What a wake-up takes more of an idle CPU that had stopped its tick, or had been idle for long, where the
//! counter saw that.

use oscost_model::program_calls::{
    KernelEvents, OutsideWakes, OutsideWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

/// The items of wake-ups by calls of one kind, each with a price of its own.
struct IdleItems {
    /// Of a CPU that was idle for less than 150 us, and had stopped its tick.
    tickless: &'static str,
    /// Of one that was idle for 150 to 600 us.
    medium: &'static str,
    /// For longer.
    long: &'static str,
    wakes: fn(WakesOfIdleByCall) -> WakesOfIdle,
    /// Those with one end outside of the program.
    outside: fn(OutsideWakesByCall) -> OutsideWakes,
}

/// The share of a wake-up that a program pays of which it is one of both ends.
const ONE_END: f64 = 0.5;

/// That of a tickless CPU by no call of these kinds, as that of the parent of a child.
const TICKLESS: &str = "wake-up of a tickless CPU";

/// Those of each kind. Shorter ones of a CPU that keeps its tick are at the price of the wake-up itself. The
/// prices of longer ones contain what tickless CPUs add in their rows.
const KINDS: [IdleItems; 5] = [
    IdleItems {
        tickless: "wake-up of a tickless CPU by TCP",
        medium: "wake-up after 0.3 ms idle by TCP",
        long: "wake-up after 1 ms idle by TCP",
        wakes: |by| by.tcp,
        outside: |by| by.tcp,
    },
    IdleItems {
        tickless: "wake-up of a tickless CPU by unix socket",
        medium: "wake-up after 0.3 ms idle by unix socket",
        long: "wake-up after 1 ms idle by unix socket",
        wakes: |by| by.unix,
        outside: |by| by.unix,
    },
    IdleItems {
        tickless: "wake-up of a tickless CPU by pipe",
        medium: "wake-up after 0.3 ms idle by pipe",
        long: "wake-up after 1 ms idle by pipe",
        wakes: |by| by.pipe,
        outside: |by| by.pipe,
    },
    IdleItems {
        tickless: "wake-up of a tickless CPU by futex",
        medium: "wake-up after 0.3 ms idle by futex",
        long: "wake-up after 1 ms idle by futex",
        wakes: |by| by.futex,
        outside: |by| by.futex,
    },
    IdleItems {
        tickless: TICKLESS,
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
    KINDS.iter().any(|kind| [kind.tickless, kind.medium, kind.long].contains(&name))
}

/// Those of a program; none where the counter did not tell for how long a CPU had been idle.
///
/// The price of a child on another CPU contains the wake-up of its parent, whose CPU was idle for as long
/// as a child lives that does nothing: as many of 150 to 600 us are not charged again, and if there are
/// fewer, the share of so many shorter ones. A wake-up with one end outside of the program counts half.
pub(super) fn idle_wakes(events: &KernelEvents) -> Vec<IdleWakes> {
    let Some(by) = events.remote_wakes_of_idle else { return Vec::new() };
    let children = events.forks_to_other_cpu.unwrap_or(0);
    let of_parents = children.min(by.other.below_600_us);
    let other = WakesOfIdle { below_600_us: by.other.below_600_us - of_parents, ..by.other };
    let short = by.other.below_150_us;
    let of_short_parents = (children - of_parents).min(short);
    let share_of_others =
        if short > 0 { 1.0 - of_short_parents as f64 / short as f64 } else { 1.0 };
    let by = WakesOfIdleByCall { other, ..by };
    let outside = [events.remote_wakes_of_outside, events.remote_wakes_by_outside];
    let outside = outside.map(Option::unwrap_or_default);
    let items = KINDS.into_iter().flat_map(|kind| {
        let whole = (kind.wakes)(by);
        let [of, from] = outside.map(|by| (kind.outside)(by).of_idle);
        let times =
            |whole: u64, of: u64, from: u64| whole as f64 + ONE_END * (of as f64 + from as f64);
        let tickless = |wakes: WakesOfIdle| wakes.below_150_us_tickless.unwrap_or(0);
        let share = if kind.tickless == TICKLESS { share_of_others } else { 1.0 };
        let tickless_times =
            share * tickless(whole) as f64 + times(0, tickless(of), tickless(from));
        let medium = times(whole.below_600_us, of.below_600_us, from.below_600_us);
        let long = times(whole.longer, of.longer, from.longer);
        [
            IdleWakes { name: kind.tickless, times: tickless_times },
            IdleWakes { name: kind.medium, times: medium },
            IdleWakes { name: kind.long, times: long },
        ]
    });
    items.filter(|item| item.times > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::families::family_of;
    use super::super::rules::rule_of;
    use super::*;

    fn wakes(below_150_us: u64, below_600_us: u64, longer: u64) -> WakesOfIdle {
        WakesOfIdle { below_150_us, below_600_us, longer, below_150_us_tickless: None }
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
            let of_idle = wakes(7, below_600_us, longer);
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
    fn short_wake_ups_of_a_cpu_that_had_stopped_its_tick_are_charged() {
        let tickless = |below_150_us_tickless| WakesOfIdle {
            below_150_us: 100,
            below_150_us_tickless,
            ..WakesOfIdle::default()
        };
        let by = |tcp, other| WakesOfIdleByCall { tcp, other, ..WakesOfIdleByCall::default() };
        let events = |tcp, forks| KernelEvents {
            remote_wakes_of_idle: Some(by(tickless(tcp), tickless(Some(30)))),
            forks_to_other_cpu: Some(forks),
            ..KernelEvents::default()
        };
        let of = ("wake-up of a tickless CPU by TCP", 20.0);
        let other = |times| ("wake-up of a tickless CPU", times);
        assert_eq!(named(events(Some(20), 0)), [of, other(30.0)]);
        // These are in the price of children.
        assert_eq!(named(events(Some(20), 12)), [of, other(0.88 * 30.0)]);
        assert_eq!(named(events(Some(20), 400)), [of]);
        assert_eq!(named(events(None, 0)), [other(30.0)], "the kernel does not tell");
        let unix = OutsideWakes { wakes: 100, of_idle: tickless(Some(50)) };
        let outside = Some(OutsideWakesByCall { unix, ..OutsideWakesByCall::default() });
        let events = KernelEvents { remote_wakes_of_outside: outside, ..events(Some(0), 400) };
        assert_eq!(named(events), [("wake-up of a tickless CPU by unix socket", 25.0)]);
    }

    #[test]
    fn each_kind_is_waiting_and_pays_what_a_round_trip_takes_more_in_its_case() {
        for kind in &KINDS {
            for (name, last_value, part) in
                [(kind.tickless, "100", 0.5), (kind.medium, "300", 1.0), (kind.long, "1000", 1.0)]
            {
                let rule = rule_of(name).unwrap();
                let (of_kind, last) = rule.case.rsplit_once(',').unwrap();
                let (_, value) = last.split_once('=').unwrap();
                assert_eq!((rule.part, value), (part, last_value), "{name}");
                assert_eq!(rule.less, [format!("{of_kind},idle_us=none,settle_ms=none")], "{name}");
                assert_eq!(family_of(name), "waiting");
                assert!(is_after_idle(name) && rule.ranges().next().is_none());
            }
        }
    }
}
