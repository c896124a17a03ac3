//! How many wake-ups across CPUs were of CPUs that had been idle for microseconds, where the counter saw
//! that, and not whether they had stopped their ticks: the cool end takes all
//! of these as stopped, and no others. Prices of longer idle times contain what tickless CPUs add in their
//! rows, and a CPU that runs another task is not idle.

use oscost_model::program_calls::{
    KernelEvents, ProgramCalls, RemoteWakes, RemoteWakesByCall, WakesOfIdle, WakesOfIdleByCall,
};

use super::outside_wakes::wakes_with_outside;

/// What the two items of wake-ups by each mechanism begin with.
const ITEMS: [&str; 2] = ["wake-up across CPUs", "switch across CPUs"];

/// Wake-ups by one mechanism.
struct Wakes {
    of_idle: WakesOfIdle,
    /// All of them, in both items.
    in_all: u64,
}

/// The share of an item's wake-ups that were of CPUs that had been idle for less than 150 us, and perhaps had
/// stopped their ticks; 0 of other items, where the counter did not tell for how long they had been idle, and
/// where it told the tick, too. Which of the two items of a mechanism they are in is not
/// known: both have the same share.
pub(super) fn share_of_short_idle(name: &str, calls: &ProgramCalls) -> f64 {
    let Some(Wakes { of_idle, in_all }) = wakes_of(name, calls) else { return 0.0 };
    if of_idle.below_150_us_tickless.is_some() {
        return 0.0;
    }
    match in_all {
        0 => 0.0,
        _ => (of_idle.below_150_us as f64 / in_all as f64).min(1.0),
    }
}

/// Those of the mechanism of an item.
fn wakes_of(name: &str, calls: &ProgramCalls) -> Option<Wakes> {
    let events = calls.events?;
    if let Some(outside) = wakes_with_outside(name, &events) {
        return Some(Wakes { of_idle: outside.of_idle, in_all: outside.wakes });
    }
    let WakesOfIdleByCall { tcp, unix, pipe, futex, other } = events.remote_wakes_of_idle?;
    let by = events.remote_wakes_by.unwrap_or_default();
    let mechanism = ITEMS.iter().find_map(|begin| name.strip_prefix(*begin))?;
    let (of_idle, in_all) = match mechanism {
        " by TCP" => (tcp, sum_of(by.tcp)),
        " by unix socket" => (unix, sum_of(by.unix)),
        " by pipe" => (pipe, sum_of(by.pipe)),
        " by futex" => (futex, sum_of(by.futex)),
        "" => (other, others(&events, by)),
        _ => return None,
    };
    Some(Wakes { of_idle, in_all })
}

fn sum_of(wakes: RemoteWakes) -> u64 {
    wakes.after_idle.saturating_add(wakes.after_switch)
}

/// Those by none of these mechanisms, with the first runs of threads, and without the parents of children
/// on other CPUs, whose wake-ups are in the price of these.
fn others(events: &KernelEvents, by: RemoteWakesByCall) -> u64 {
    let of = |count: Option<u64>| count.unwrap_or(0);
    let in_all = RemoteWakes {
        after_idle: of(events.remote_wakes_after_idle),
        after_switch: of(events.remote_wakes_after_switch),
    };
    let without_mechanism = sum_of(in_all).saturating_sub(sum_of(by.sum()));
    let of_parents = of(events.forks_to_other_cpu);
    without_mechanism.saturating_sub(of_parents).saturating_add(of(events.starts_on_other_cpu))
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::{OutsideWakes, OutsideWakesByCall};

    use super::*;

    fn short(below_150_us: u64) -> WakesOfIdle {
        WakesOfIdle { below_150_us, ..WakesOfIdle::default() }
    }

    #[test]
    fn the_share_is_that_of_wake_ups_by_the_same_mechanism() {
        let wakes = |after_idle, after_switch| RemoteWakes { after_idle, after_switch };
        let of_idle = WakesOfIdleByCall {
            tcp: short(10),
            futex: short(90),
            other: short(3),
            ..WakesOfIdleByCall::default()
        };
        let by = RemoteWakesByCall {
            tcp: wakes(30, 10),
            pipe: wakes(5, 0),
            futex: wakes(20, 0),
            ..RemoteWakesByCall::default()
        };
        let events = KernelEvents {
            remote_wakes_after_idle: Some(55 + 9),
            remote_wakes_after_switch: Some(10),
            remote_wakes_by: Some(by),
            remote_wakes_of_idle: Some(of_idle),
            starts_on_other_cpu: Some(3),
            forks_to_other_cpu: Some(6),
            ..KernelEvents::default()
        };
        let share = |name: &str, events: KernelEvents| {
            let calls = ProgramCalls { events: Some(events), ..ProgramCalls::default() };
            share_of_short_idle(name, &calls)
        };
        for (name, expected) in [
            ("wake-up across CPUs by TCP", 0.25),
            ("switch across CPUs by TCP", 0.25),
            ("wake-up across CPUs by unix socket", 0.0),
            ("switch across CPUs by pipe", 0.0),
            // Not more than there are.
            ("wake-up across CPUs by futex", 1.0),
            // Six of nine are those of parents; three threads began.
            ("switch across CPUs", 0.5),
            ("wake-up after 1 ms idle by TCP", 0.0),
            ("getppid", 0.0),
        ] {
            assert_eq!(share(name, events), expected, "{name}");
        }
        let outside = OutsideWakesByCall {
            unix: OutsideWakes { wakes: 8, of_idle: short(2) },
            ..OutsideWakesByCall::default()
        };
        let events = KernelEvents { remote_wakes_of_outside: Some(outside), ..events };
        assert_eq!(share("wake-up of another program by unix socket", events), 0.25);
        assert_eq!(share("wake-up from another program by unix socket", events), 0.0);
        assert_eq!(share("wake-up across CPUs by TCP", events), 0.25);
        let tickless = WakesOfIdle { below_150_us_tickless: Some(4), ..short(10) };
        let tcp = WakesOfIdleByCall { tcp: tickless, ..of_idle };
        let told = KernelEvents { remote_wakes_of_idle: Some(tcp), ..events };
        assert_eq!(share("wake-up across CPUs by TCP", told), 0.0, "they have an item");
        let untold = KernelEvents { remote_wakes_of_idle: None, ..events };
        assert_eq!(share("wake-up across CPUs by TCP", untold), 0.0);
        assert_eq!(share_of_short_idle("switch across CPUs", &ProgramCalls::default()), 0.0);
    }
}
