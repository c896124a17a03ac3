//! How rounds are spread, and what a failed trial suggests.

use super::*;

#[test]
fn rounds_are_spread_from_the_first_to_the_last() {
    let started_at = Instant::now();
    let set = |done, trial_count| TrialSet {
        number: 0,
        attaches: true,
        rows: vec![0, 1],
        done,
        trial_count,
        started_at: Some(started_at),
        span: MIN_PAIR_SPAN,
        due: None,
        pace: Pace::expected(Duration::ZERO),
    };
    let due = |done, trial_count| set(done, trial_count).next_due().map(|due| due - started_at);
    assert_eq!(due(1, 10), Some(MIN_PAIR_SPAN / 9));
    assert_eq!(due(9, 10), Some(MIN_PAIR_SPAN));
    assert_eq!(due(10, 10), Some(MIN_PAIR_SPAN), "nothing is due after the last one");
    assert_eq!(due(1, 1), Some(MIN_PAIR_SPAN));
    // The time of a run may be shorter.
    let short = TrialSet { span: Duration::from_secs(9), ..set(1, 10) };
    assert_eq!(short.next_due(), Some(started_at + Duration::from_secs(1)));
    assert_eq!(TrialSet { started_at: None, ..set(0, 0) }.next_due(), None);
}

#[test]
fn a_failure_after_the_warm_up_suggests_prepare() {
    let failure =
        |outcome, is_final| JobFailure { is_final, ..JobFailure::new(outcome, "it broke") };
    let reason = |outcome, is_final| explain_first_failure(failure(outcome, is_final)).reason;
    assert!(reason(RowOutcome::Failed, false).contains("--prepare"));
    assert_eq!(reason(RowOutcome::Failed, true), "it broke");
    assert_eq!(reason(RowOutcome::TimedOut, false), "it broke");
}
