//! The time before the first repetition: pilots, counted calls and reference cases.

use oscost_model::record::Record;

use crate::report::view::run::row::is_requested;

/// From this share of the budget on, preparation is told: little is left for repetitions.
const TOLD_FROM_SHARE: f64 = 0.5;

/// How much of the budget preparation took, if that is much of it.
pub(in crate::report::view) fn line(record: &Record) -> Option<String> {
    let budget_s = record.settings.budget_s.filter(|budget_s| *budget_s > 0.0)?;
    let requested = record.results.iter().filter(|row| is_requested(row));
    let begun_s = requested.flat_map(|row| &row.repetitions).map(|it| it.at_s);
    let first_s = begun_s.reduce(f64::min).filter(|first_s| first_s.is_finite())?;
    (first_s >= TOLD_FROM_SHARE * budget_s).then(|| {
        format!(
            "Preparation (pilots, counted calls) took {first_s:.0} s of a budget of {budget_s:.0} s. Give \
             the run more time (`--budget`)."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preparation_is_told_where_it_took_half_of_the_budget() {
        let of_one = include_str!("../../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(of_one).unwrap();
        let mut told = |budget_s: Option<f64>, begun_s: f64| {
            record.settings.budget_s = budget_s;
            for (number, it) in
                (0..).zip(record.results.iter_mut().flat_map(|it| &mut it.repetitions))
            {
                it.at_s = begun_s + f64::from(number);
            }
            line(&record)
        };
        let found = told(Some(100.0), 100.3).unwrap();
        assert!(found.contains(" took 100 s of a budget of 100 s."), "{found}");
        assert!(told(Some(100.0), 50.0).is_some());
        assert_eq!(told(Some(100.0), 49.0), None);
        assert_eq!(told(None, 100.0), None, "the run had no time limit");
    }
}
