//! What treatments added to a program, by a comparison of it in turns.

use oscost_model::bill::{Amount, MeasuredIncrease, PriceRun};
use oscost_model::program::{CPU, REAL, SYSTEM};
use oscost_model::record::{Comparison, Estimate, Record, Row, RowOutcome};

use crate::bill::{Change, SystemFigure, is_divided_by_ticks, is_void, mean_increase};

/// The metric of a row's own figure in a comparison.
const PRIMARY: &str = "primary";

/// A program that was compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedProgram<'a> {
    /// Its case.
    pub(super) case: &'a str,
    /// Both sides.
    pub(super) change: Change<'a>,
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
    let is_of_ticks = [of_base, of_new].into_iter().any(is_divided_by_ticks);
    let (system_ns, figure) = match of_pairs.filter(|_| !is_of_ticks) {
        Some(comparison) => (added(comparison), SystemFigure::Median),
        // In some trials the ticks leave none for the kernel: there are no ratios then.
        None => (mean_increase(of_base, of_new), SystemFigure::Mean),
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
    use oscost_model::record::{AddedCost, Ratio};
    use oscost_model::unit::Unit;

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
    fn a_comparison_whose_control_failed_is_no_measured_increase() {
        let text = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let mut why = |comparison: Comparison| {
            record.comparisons = vec![comparison];
            let change = Change { host: "local", base: &[], new: &[] };
            let program = ComparedProgram { case: "no/program", change };
            measured_increase(&record, program, PriceRun::of(&record)).err().unwrap_or_default()
        };
        assert!(why(comparison(false, &["VOID"])).contains("measure again"));
        let ended = "the comparison ended before the program was measured";
        assert_eq!(why(comparison(false, &[])), ended);
        assert_eq!(why(comparison(true, &["VOID"])), ended);
    }
}
