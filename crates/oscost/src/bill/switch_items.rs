//! The voluntary switches of a program, without those that prices of calls contain.

use oscost_model::program_calls::{FormCount, ProgramCalls};

use super::fault_items::Faults;
use super::rules::rule_of;

/// A switch that changes the memory that is mapped, too, and takes longer.
pub(super) const TO_PROCESS: &str = "switch to another process";
/// One within a process.
pub(super) const TO_THREAD: &str = "switch to another thread";

/// Switches of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SwitchItem {
    pub(super) name: &'static str,
    pub(super) times: f64,
}

/// The switches after which the CPU went to another task at once, without those that are in the prices
/// of calls and major faults. Which of them these are is not known: as many as there are of the
/// expensive kind are taken from that, so that the sum is never too high.
pub(super) fn switch_items(calls: &ProgramCalls, faults: Faults) -> Vec<SwitchItem> {
    let Some(events) = calls.events else { return Vec::new() };
    let kinds =
        [(TO_PROCESS, events.voluntary_to_process), (TO_THREAD, events.voluntary_to_thread)];
    let mut in_prices = switches_in_prices(calls) + faults.major;
    let mut items = Vec::new();
    for (name, counted) in kinds {
        let Some(counted) = counted else { continue };
        let counted = counted as f64;
        let in_price = in_prices.min(counted);
        in_prices -= in_price;
        items.push(SwitchItem { name, times: counted - in_price });
    }
    items.retain(|item| item.times > 0.0);
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
    use oscost_model::program_calls::KernelEvents;

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
    fn what_was_not_counted_is_no_item() {
        assert!(named(&ProgramCalls::default(), Faults::default()).is_empty());
        let events = Some(KernelEvents { voluntary_switches: 9, ..KernelEvents::default() });
        let unknown = ProgramCalls { events, ..ProgramCalls::default() };
        assert!(named(&unknown, Faults::default()).is_empty());
        let idle = calls(0, 0, Vec::new());
        assert!(named(&idle, Faults::default()).is_empty());
    }

    #[test]
    fn each_kind_has_a_rule_that_subtracts_its_calls() {
        for name in [TO_PROCESS, TO_THREAD] {
            let rule = rule_of(name).unwrap();
            assert_eq!((rule.part, rule.less.len()), (0.5, 1), "{name}");
        }
    }
}
