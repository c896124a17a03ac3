//! Wake-ups across CPUs of which one end is a task of another program: the program pays its own end.

use oscost_model::program_calls::{KernelEvents, OutsideWakes, OutsideWakesByCall};

/// The items of wake-ups by calls of one kind: of a task outside by the program, and the other way round.
struct OutsideItems {
    of_outside: &'static str,
    by_outside: &'static str,
    wakes: fn(OutsideWakesByCall) -> OutsideWakes,
}

const KINDS: [OutsideItems; 5] = [
    OutsideItems {
        of_outside: "wake-up of another program by TCP",
        by_outside: "wake-up from another program by TCP",
        wakes: |by| by.tcp,
    },
    OutsideItems {
        of_outside: "wake-up of another program by unix socket",
        by_outside: "wake-up from another program by unix socket",
        wakes: |by| by.unix,
    },
    OutsideItems {
        of_outside: "wake-up of another program by pipe",
        by_outside: "wake-up from another program by pipe",
        wakes: |by| by.pipe,
    },
    OutsideItems {
        of_outside: "wake-up of another program by futex",
        by_outside: "wake-up from another program by futex",
        wakes: |by| by.futex,
    },
    OutsideItems {
        of_outside: "wake-up of another program",
        by_outside: "wake-up from another program",
        wakes: |by| by.other,
    },
];

/// Wake-ups by calls of one kind in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OutsideWake {
    pub(super) name: &'static str,
    pub(super) times: f64,
}

/// Whether an item is one of these.
pub(super) fn is_of_outside(name: &str) -> bool {
    KINDS.iter().any(|kind| [kind.of_outside, kind.by_outside].contains(&name))
}

/// The counts that an item is of; `None` of other items.
pub(super) fn wakes_with_outside(name: &str, events: &KernelEvents) -> Option<OutsideWakes> {
    KINDS.iter().find_map(|kind| {
        let by = match name {
            _ if name == kind.of_outside => events.remote_wakes_of_outside,
            _ if name == kind.by_outside => events.remote_wakes_by_outside,
            _ => return None,
        };
        Some((kind.wakes)(by.unwrap_or_default()))
    })
}

/// Those of a program; none where the counter did not count them.
///
/// They pay what takes longer than on one CPU, whatever the CPU did that the task had left: a switch of
/// that is an item, or in the price of a call, as far as it is charged at all.
pub(super) fn outside_wakes(events: &KernelEvents) -> Vec<OutsideWake> {
    let [of_outside, by_outside] = [events.remote_wakes_of_outside, events.remote_wakes_by_outside]
        .map(Option::unwrap_or_default);
    let items = KINDS.into_iter().flat_map(|kind| {
        let times = |by| (kind.wakes)(by).wakes as f64;
        [
            OutsideWake { name: kind.of_outside, times: times(of_outside) },
            OutsideWake { name: kind.by_outside, times: times(by_outside) },
        ]
    });
    items.filter(|item| item.times > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::super::families::family_of;
    use super::super::rules::rule_of;
    use super::*;

    #[test]
    fn each_direction_and_kind_is_an_item() {
        let wakes = |wakes| OutsideWakes { wakes, ..OutsideWakes::default() };
        let of_outside = OutsideWakesByCall {
            unix: wakes(3_353),
            other: wakes(2),
            ..OutsideWakesByCall::default()
        };
        let by_outside = OutsideWakesByCall { tcp: wakes(7), ..OutsideWakesByCall::default() };
        let events = KernelEvents {
            remote_wakes_of_outside: Some(of_outside),
            remote_wakes_by_outside: Some(by_outside),
            ..KernelEvents::default()
        };
        let named = |events: &KernelEvents| -> Vec<(&'static str, f64)> {
            outside_wakes(events).into_iter().map(|it| (it.name, it.times)).collect()
        };
        let expected = [
            ("wake-up from another program by TCP", 7.0),
            ("wake-up of another program by unix socket", 3_353.0),
            ("wake-up of another program", 2.0),
        ];
        assert_eq!(named(&events), expected);
        let unknown = KernelEvents { remote_wakes_by_outside: None, ..events };
        assert_eq!(named(&unknown), expected[1..]);
        assert!(named(&KernelEvents::default()).is_empty(), "they were not counted");
    }

    #[test]
    fn each_end_pays_half_of_a_wake_up_between_two_tasks_of_a_program() {
        let beyond_switch = [
            "switch across CPUs by TCP",
            "switch across CPUs by unix socket",
            "switch across CPUs by pipe",
            "switch across CPUs by futex",
            "switch across CPUs",
        ];
        for (kind, both_ends) in KINDS.iter().zip(beyond_switch) {
            let whole = rule_of(both_ends).unwrap();
            for name in [kind.of_outside, kind.by_outside] {
                let rule = rule_of(name).unwrap();
                assert_eq!((2.0 * rule.part, &rule.case), (whole.part, &whole.case), "{name}");
                assert_eq!(rule.less, whole.less, "{name}");
                assert_eq!(family_of(name), "waiting");
                assert!(is_of_outside(name) && !is_of_outside(both_ends));
            }
        }
    }
}
