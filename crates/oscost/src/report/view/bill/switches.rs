//! The context switches of a bill: those of trials, and whether as many were counted.

use oscost_model::bill::Bill;

use crate::report::figures::{occurrences, per_cent, with_thousands};

/// Counted switches that differ more than this from those of a trial are told of, in per cent of these ...
const MAX_DEVIATION_PCT: f64 = 20.0;
/// ... by at least so many: of a few, one is as much.
const MIN_DEVIATION: f64 = 100.0;

/// Why the switches of a trial are not known, or others were counted.
pub(super) fn doubts(bill: &Bill) -> Option<String> {
    unknown(bill).map(str::to_owned).or_else(|| otherwise_counted(bill))
}

/// Why the switches of a trial are not known; `None` if they are.
fn unknown(bill: &Bill) -> Option<&'static str> {
    let has_descendants = bill.watched.as_ref().is_some_and(|watched| watched.children);
    switches(bill).is_none().then_some(match has_descendants {
        true => "missing: the context switches of a process with its descendants are not read",
        false => "missing: the context switches of a thread are lost when it ends",
    })
}

/// The switches of a trial; `None` where they are not known.
pub(super) fn in_a_trial(bill: &Bill) -> Option<String> {
    let Switches { voluntary, involuntary } = switches(bill)?;
    let has_switches = bill.items.iter().any(|item| item.name.starts_with("switch to "));
    let how = match has_switches {
        true => "those to a task that could run are items, but for as many as prices of calls have",
        false => "in the prices of calls that wait, not charged again",
    };
    let (voluntary, involuntary) = (occurrences(voluntary), occurrences(involuntary));
    let when = if bill.watched.is_some() { "while it was watched" } else { "in a trial" };
    Some(format!("{voluntary} voluntary and {involuntary} involuntary switches {when}: {how}"))
}

/// The context switches of a trial.
struct Switches {
    voluntary: f64,
    involuntary: f64,
}

fn switches(bill: &Bill) -> Option<Switches> {
    let (voluntary, involuntary) =
        bill.trials.voluntary_switches.zip(bill.trials.involuntary_switches)?;
    Some(Switches { voluntary, involuntary })
}

/// Why the counted voluntary switches are other than those of a trial: the counter does not see the last
/// one of a task, at its exit, which is in rusage if the task is waited for after it; or the program switched
/// more or less often while it was counted. `None` where they are near, and of a watched process, which
/// is counted in its only observation.
fn otherwise_counted(bill: &Bill) -> Option<String> {
    let calls = &bill.counted.as_ref().filter(|_| bill.watched.is_none())?.calls;
    let counted = calls.events?.voluntary_switches as f64;
    let in_a_trial = bill.trials.voluntary_switches?;
    let exits = calls.exits as f64;
    if are_near(counted, in_a_trial) {
        return None;
    }
    let with_exits = counted + exits;
    // As many of the last ones are in rusage as make both equal, if that is possible.
    let nearest = in_a_trial.max(counted).min(with_exits);
    let [counted_text, exits_text] = [counted, exits].map(with_thousands);
    if are_near(nearest, in_a_trial) {
        return Some(format!(
            "{counted_text} voluntary switches were counted: those of a trial have the last one of \
             {exits_text} tasks, too, at the exit of each, which is not counted"
        ));
    }
    let more = nearest - in_a_trial;
    // Of nothing there are no per cent.
    let distance = (in_a_trial > 0.0).then(|| per_cent(100.0 * more.abs() / in_a_trial) + " ");
    let distance = distance.unwrap_or_default();
    let than = match more > 0.0 {
        true => format!("{distance}more than in a trial"),
        false => format!("{distance}fewer than in a trial, also with one at the exit of each task"),
    };
    Some(format!(
        "it made {counted_text} voluntary switches while it was counted, {than}: what is charged for \
         switches is by the counted ones"
    ))
}

/// Whether counted switches are no further from those of a trial than is worth a line.
fn are_near(counted: f64, in_a_trial: f64) -> bool {
    let deviation = (counted - in_a_trial).abs();
    100.0 * deviation <= MAX_DEVIATION_PCT * in_a_trial || deviation < MIN_DEVIATION
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::KernelEvents;

    use super::*;
    use crate::report::view::bill::made_up::find;

    /// What a bill of so many counted voluntary switches and exits, with so many in a trial, has as doubt.
    fn said(counted: u64, exits: u64, of_a_trial: f64) -> Option<String> {
        let mut bill = find();
        bill.trials.voluntary_switches = Some(of_a_trial);
        let events = KernelEvents { voluntary_switches: counted, ..KernelEvents::default() };
        bill.counted.iter_mut().for_each(|it| {
            (it.calls.events, it.calls.exits) = (Some(events), exits);
        });
        let of_trials = in_a_trial(&bill).unwrap();
        let end = " voluntary and 4 involuntary switches in a trial: in the prices of calls that wait, \
                   not charged again";
        assert!(of_trials.ends_with(end), "{of_trials}");
        doubts(&bill)
    }

    #[test]
    fn the_last_switch_of_each_task_is_in_those_of_a_trial_alone() {
        assert_eq!(
            said(22_928, 11_129, 34_319.5).as_deref(),
            Some(
                "22,928 voluntary switches were counted: those of a trial have the last one of 11,129 \
                 tasks, too, at the exit of each, which is not counted"
            )
        );
    }

    #[test]
    fn a_program_that_switches_more_or_less_often_while_it_is_counted_is_told_of() {
        let fewer = said(22_928, 1, 34_319.5).unwrap();
        assert_eq!(
            fewer,
            "it made 22,928 voluntary switches while it was counted, 33 % fewer than in a trial, also \
             with one at the exit of each task: what is charged for switches is by the counted ones"
        );
        let more = said(1_300, 5, 1_000.0).unwrap();
        assert!(more.contains(" counted, 30 % more than in a trial: what"), "{more}");
        let of_none = said(1_300, 5, 0.0).unwrap();
        assert!(of_none.contains(" counted, more than in a trial: what"), "{of_none}");
    }

    #[test]
    fn counted_switches_that_are_near_and_few_ones_are_not() {
        let near = [(13_226, 13_078.0), (800, 1_000.0), (1_200, 1_000.0), (99, 0.0)];
        for (counted, in_a_trial) in near {
            assert_eq!(said(counted, 42, in_a_trial), None, "{counted} {in_a_trial}");
        }
        let mut uncounted = find();
        uncounted.trials.voluntary_switches = Some(1_000.0);
        assert_eq!(doubts(&uncounted), None, "a tracer counts none");
    }
}
