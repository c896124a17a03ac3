//! What the record of a run says of how far its figures can be believed.

use oscost_model::record::{Conditions, Record, Row, RowOutcome};

use super::trust::{Evidence, FlaggedRow, Grade, Trust, trust};

/// The flag of a run whose reference cases moved: a bill calls its prices stale for that.
const REFERENCE_DRIFT: &str = "REFERENCE_DRIFT";
/// A row of which nothing is doubtful.
const FLAWLESS_ROW: FlaggedRow<'static> = FlaggedRow { case: "", flags: &[], interval: None };
/// An answer tells each of so many figures with its interval.
const MAX_TOLD: usize = 3;

/// What is known of a run besides its figures.
pub fn evidence_of(record: &Record) -> Evidence<'_> {
    let conditions = &record.conditions;
    let lost = conditions.iter().filter_map(Conditions::lost_and_stolen_pct);
    let rows = record.results.iter();
    let requested = rows.filter(|row| row.outcome == RowOutcome::Measured && row.is_requested());
    let requested: Vec<&Row> = requested.collect();
    // Where rows are compared, the answer is their ratio.
    let are_told = requested.len() <= MAX_TOLD && record.comparisons.is_empty();
    Evidence {
        classes: conditions.iter().filter_map(|it| it.class.as_deref()).collect(),
        lost_pct: lost.reduce(f64::max),
        run_flags: conditions.iter().flat_map(|it| &it.flags).map(String::as_str).collect(),
        complete: record.complete,
        rows: requested.into_iter().map(|row| flagged_row(row, are_told)).collect(),
    }
}

fn flagged_row(row: &Row, is_told: bool) -> FlaggedRow<'_> {
    // A bound has no lower end.
    let is_bound = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
    let estimate = row.estimate.as_ref().filter(|_| is_told && !is_bound);
    let interval = estimate.and_then(|it| it.between_run_ci95.or(it.ci95));
    FlaggedRow { case: &row.case, flags: &row.flags, interval }
}

/// What is doubtful about all prices of a run, whatever their rows: of a poor run everything, of
/// another one what concerns no single row. `None` if there is nothing.
///
/// That it was cut short is no doubt about a row that it has measured, and a price has its interval.
pub fn price_doubt(record: &Record) -> Option<Trust> {
    let mut evidence = Evidence { complete: true, ..evidence_of(record) };
    for row in &mut evidence.rows {
        row.interval = None;
    }
    let whole = trust(&evidence)?;
    if whole.grade == Grade::Poor {
        return Some(whole);
    }
    let mut run_flags = evidence.run_flags;
    run_flags.retain(|flag| *flag != REFERENCE_DRIFT);
    let without_rows = Evidence { run_flags, rows: vec![FLAWLESS_ROW], ..evidence };
    trust(&without_rows).filter(|found| found.grade != Grade::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run on a machine of this class, of whose rows so many have a flag.
    fn run(class: &str, run_flag: Option<&str>, flagged: usize) -> Record {
        let text = include_str!("../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let mut row = record.results[0].clone();
        row.outcome = RowOutcome::Measured;
        row.flags.clear();
        record.results = vec![row; 10];
        for row in record.results.iter_mut().take(flagged) {
            row.flags.push("DRIFT".to_owned());
        }
        record.conditions.truncate(1);
        let conditions = &mut record.conditions[0];
        (conditions.class, conditions.lost_pct) = (Some(class.to_owned()), Some(4.0));
        conditions.flags = run_flag.map(str::to_owned).into_iter().collect();
        record
    }

    fn doubt(record: &Record) -> Option<(Grade, String)> {
        price_doubt(record).map(|Trust { grade, reasons }| (grade, reasons.join("; ")))
    }

    #[test]
    fn what_disturbed_a_whole_run_is_a_doubt_about_all_of_its_prices() {
        assert_eq!(doubt(&run("quiet", None, 0)), None);
        let noisy = "4 % of the time was lost: the machine was noisy".to_owned();
        assert_eq!(doubt(&run("noisy", None, 0)), Some((Grade::Fair, noisy)));
        let very_noisy = doubt(&run("very-noisy", None, 0)).unwrap();
        assert_eq!(very_noisy.0, Grade::Poor, "{very_noisy:?}");
    }

    #[test]
    fn rows_are_a_doubt_about_all_prices_where_there_are_enough_of_them_to_make_a_run_poor() {
        assert_eq!(doubt(&run("quiet", None, 2)), None, "the items at their prices tell");
        let (grade, why) = doubt(&run("quiet", None, 3)).unwrap();
        assert_eq!(grade, Grade::Poor);
        assert!(why.starts_with("3 of 10 rows have figures that should not be used"), "{why}");
    }

    #[test]
    fn drift_and_a_run_that_was_cut_short_are_told_otherwise() {
        let mut record = run("quiet", Some(REFERENCE_DRIFT), 0);
        record.complete = false;
        assert_eq!(doubt(&record), None);
        record.results.clear();
        assert_eq!(doubt(&record), None);
    }
}
