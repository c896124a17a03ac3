//! What treatments added to a program, by a comparison of it in turns.

use oscost_model::bill::{Amount, MeasuredIncrease, PriceRun, TrialFigure};
use oscost_model::program::{CPU, REAL, SYSTEM};
use oscost_model::record::{Comparison, Estimate, PRIMARY, Record, Row, RowOutcome};

use super::trials::ModeTimes;
use crate::bill::{Change, is_divided_by_ticks, is_void, mean_increase};

/// A program that was compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedProgram<'a> {
    /// Its case.
    pub(super) case: &'a str,
    /// Both sides.
    pub(super) change: Change<'a>,
    /// How the kernel knows its system time.
    pub(super) mode_times: ModeTimes,
}

/// The measured rows of both sides, and their indices in the record.
struct BothSides<'a> {
    base: IndexedRow<'a>,
    new: IndexedRow<'a>,
}

#[derive(Clone, Copy)]
struct IndexedRow<'a> {
    index: u32,
    row: &'a Row,
}

/// What was added to the system time and to the real time of a program; or why that is not known.
pub(super) fn measured_increase(
    record: &Record,
    program: ComparedProgram<'_>,
    run: PriceRun,
) -> Result<MeasuredIncrease, String> {
    if is_void(record) {
        return Err("the control shows an effect where nothing differs: measure again".to_owned());
    }
    let Change { base, new, .. } = program.change;
    let sides = BothSides { base: side(record, program, base)?, new: side(record, program, new)? };
    let real = sides.comparison(record, REAL);
    let of_pairs = sides.comparison(record, SYSTEM);
    let [of_base, of_new] = sides.estimates(SYSTEM);
    let (of_base, of_new) = of_base.zip(of_new).ok_or("its system time was not measured")?;
    // A single trial says little then.
    let is_of_ticks = program.mode_times == ModeTimes::Divided
        && [of_base, of_new].into_iter().any(is_divided_by_ticks);
    let (system_ns, figure) = match of_pairs.filter(|_| !is_of_ticks) {
        Some(comparison) => (added(comparison), TrialFigure::Median),
        // In some trials the ticks leave none for the kernel: there are no ratios then.
        None => (mean_increase(of_base, of_new), TrialFigure::Mean),
    };
    let pairs = real.or(of_pairs).map_or(0, |comparison| comparison.pairs);
    let (real_ns, system_figure) = (real.map(added), figure.text().to_owned());
    let cpu_ns = sides.comparison(record, CPU).map(added).or_else(|| sides.mean_increase_of(CPU));
    Ok(MeasuredIncrease { run, pairs, system_ns, system_figure, cpu_ns, real_ns })
}

/// The measured row of a program under these treatments.
fn side<'a>(
    record: &'a Record,
    program: ComparedProgram<'_>,
    treatments: &[String],
) -> Result<IndexedRow<'a>, String> {
    let mut rows = (0..).zip(&record.results);
    let is_it = |row: &Row| row.case == program.case && row.target.treatments == treatments;
    let Some((index, row)) = rows.find(|(_, row)| is_it(row)) else {
        return Err("the comparison ended before the program was measured".to_owned());
    };
    match (row.outcome, &row.reason) {
        (RowOutcome::Measured, _) => Ok(IndexedRow { index, row }),
        (_, Some(reason)) => Err(reason.clone()),
        (_, None) => Err("the program was not measured".to_owned()),
    }
}

impl<'a> BothSides<'a> {
    /// A metric of the trials of both sides.
    fn estimates(&self, metric: &str) -> [Option<&'a Estimate>; 2] {
        let of_row = |row: &'a Row| row.metrics.get(metric).map(|metric| &metric.estimate);
        [self.base, self.new].map(|side| of_row(side.row))
    }

    /// The increase of the mean of a metric that is in seconds.
    fn mean_increase_of(&self, metric: &str) -> Option<Amount> {
        let [base, new] = self.estimates(metric);
        Some(mean_increase(base?, new?))
    }

    /// The comparison of a metric of both sides.
    fn comparison<'r>(&self, record: &'r Record, metric: &str) -> Option<&'r Comparison> {
        let is_primary = self.base.row.primary_metric.as_deref() == Some(metric);
        let name = if is_primary { PRIMARY } else { metric };
        record
            .comparisons
            .iter()
            .find(|it| it.base == self.base.index && it.new == self.new.index && it.metric == name)
    }
}

/// What a comparison found to be added, in nanoseconds; it is in seconds.
fn added(comparison: &Comparison) -> Amount {
    Amount { ns: comparison.added.value, ci95: comparison.added.ci95 }.times(1e9)
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{AddedCost, Metric, Ratio};
    use oscost_model::unit::{Better, Unit};

    use super::*;

    /// A comparison of the first row with itself.
    fn comparison(control: bool, flags: &[&str]) -> Comparison {
        Comparison {
            case: String::new(),
            metric: PRIMARY.to_owned(),
            base: 0,
            new: 0,
            design: "pairs".to_owned(),
            pairs: 8,
            span_s: 1.0,
            ratio: Ratio { value: 1.0, ci95: None },
            added: AddedCost { value: 0.0, ci95: None, unit: Unit::Seconds },
            added_cycles: None,
            p: 1.0,
            q: 1.0,
            verdict: "inconclusive".to_owned(),
            mde_pct: None,
            ties: 0,
            monitor_events_per_op: None,
            decomposition: None,
            control,
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
        }
    }

    #[test]
    fn a_short_system_time_that_the_kernel_measures_is_compared_by_its_median() {
        let text = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let mut base = record.results[0].clone();
        base.outcome = RowOutcome::Measured;
        base.target.treatments.clear();
        let estimate = base.estimate.clone().unwrap();
        let of_mean = |mean: f64| Metric {
            unit: Unit::Seconds,
            better: Better::Lower,
            estimate: Estimate { mean, ..estimate.clone() },
        };
        base.metrics.insert(SYSTEM.to_owned(), of_mean(0.01));
        let mut new = base.clone();
        new.target.treatments = vec!["nice=5".to_owned()];
        new.metrics.insert(SYSTEM.to_owned(), of_mean(0.015));
        let added = AddedCost { value: 0.002, ci95: None, unit: Unit::Seconds };
        let of_system =
            Comparison { new: 1, metric: SYSTEM.to_owned(), added, ..comparison(false, &[]) };
        (record.results, record.comparisons) = (vec![base.clone(), new.clone()], vec![of_system]);
        let found = |mode_times: ModeTimes| {
            let (of_base, of_new) = (&base.target.treatments, &new.target.treatments);
            let change = Change { host: &base.target.host, base: of_base, new: of_new };
            let program = ComparedProgram { case: &base.case, change, mode_times };
            let found = measured_increase(&record, program, PriceRun::of(&record)).unwrap();
            (found.system_figure, (found.system_ns.ns * 1e-6).round())
        };
        assert_eq!(found(ModeTimes::Divided), ("mean".to_owned(), 5.0));
        assert_eq!(found(ModeTimes::Measured), ("median".to_owned(), 2.0));
    }

    #[test]
    fn a_comparison_whose_control_failed_is_no_measured_increase() {
        let text = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let mut why = |comparison: Comparison| {
            record.comparisons = vec![comparison];
            let change = Change { host: "local", base: &[], new: &[] };
            let mode_times = ModeTimes::Divided;
            let program = ComparedProgram { case: "no/program", change, mode_times };
            measured_increase(&record, program, PriceRun::of(&record)).err().unwrap_or_default()
        };
        assert!(why(comparison(false, &["VOID"])).contains("measure again"));
        let ended = "the comparison ended before the program was measured";
        assert_eq!(why(comparison(false, &[])), ended);
        assert_eq!(why(comparison(true, &["VOID"])), ended);
    }
}
