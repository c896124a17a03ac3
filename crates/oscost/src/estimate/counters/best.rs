//! The best that the rows of a run show of the core, and what a row's time on a CPU consists of
//! against it.

use oscost_model::counters::{CPI, GHZ};
use oscost_model::record::Row;

/// A figure of a row that no other row is better in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestFigure<'a> {
    /// The median over the row's workers.
    pub value: f64,
    /// The case of the row.
    pub case: &'a str,
}

/// The best of all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BestOfRows<'a> {
    /// The fewest cycles per instruction.
    pub cpi: Option<BestFigure<'a>>,
    /// The highest clock.
    pub ghz: Option<BestFigure<'a>>,
}

/// What the time of an op on a CPU consists of, as shares of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunningParts {
    /// Its instructions, at the best cycles per instruction and the best clock of all rows.
    pub instructions: f64,
    /// What more cycles per instruction add to that.
    pub cycles_per_instruction: f64,
    /// What a lower clock adds.
    pub clock: f64,
}

impl<'a> BestOfRows<'a> {
    /// The best of these rows, which are of one machine.
    pub fn of(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        rows.into_iter().fold(Self::default(), Self::with)
    }

    /// The best with another row.
    #[must_use]
    pub fn with(self, row: &'a Row) -> Self {
        let better = |best: Option<BestFigure<'a>>, metric, is_better: fn(&f64, &f64) -> bool| {
            let Some(value) = median(row, metric) else { return best };
            let stays = best.filter(|best| !is_better(&value, &best.value));
            stays.or(Some(BestFigure { value, case: &row.case }))
        };
        Self { cpi: better(self.cpi, CPI, f64::lt), ghz: better(self.ghz, GHZ, f64::gt) }
    }

    /// The parts of a row, which is one of those; `None` where its cycles or its clock are unknown.
    pub fn parts(&self, row: &Row) -> Option<RunningParts> {
        let of_best_clock = median(row, GHZ)? / self.ghz?.value;
        let of_cycles = self.cpi?.value / median(row, CPI)?;
        Some(RunningParts {
            instructions: of_cycles * of_best_clock,
            cycles_per_instruction: (1.0 - of_cycles) * of_best_clock,
            clock: 1.0 - of_best_clock,
        })
    }
}

/// The median of a metric, if it can be that of a core: a record from outside may hold any number.
fn median(row: &Row, metric: &str) -> Option<f64> {
    let value = row.metrics.get(metric)?.estimate.median;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{Estimate, Metric};
    use oscost_model::unit::Unit;

    use super::*;
    use crate::estimate::made_up_rows::row;

    fn counted(case: &str, cpi: f64, ghz: f64) -> Row {
        let mut row = row(case, 100.0);
        let estimate = row.estimate.clone().unwrap();
        for (name, unit, median) in
            [(CPI, Unit::CyclesPerInstruction, cpi), (GHZ, Unit::Gigahertz, ghz)]
        {
            let estimate = Estimate { median, ..estimate.clone() };
            row.metrics.insert(name.to_owned(), Metric { unit, better: unit.better(), estimate });
        }
        row
    }

    #[test]
    fn parts_are_shares_against_the_best_of_all_rows() {
        let rows = [counted("a", 0.5, 2.4), counted("b", 1.0, 3.0), counted("c", 1.0, 2.4)];
        let best = BestOfRows::of(&rows);
        assert_eq!(best.cpi, Some(BestFigure { value: 0.5, case: "a" }));
        assert_eq!(best.ghz, Some(BestFigure { value: 3.0, case: "b" }));
        let parts = rows.each_ref().map(|row| best.parts(row).unwrap());
        let shares = |it: RunningParts| {
            [it.instructions, it.cycles_per_instruction, it.clock]
                .map(|share| (1_000.0 * share).round() / 1_000.0)
        };
        assert_eq!(parts.map(shares), [[0.8, 0.0, 0.2], [0.5, 0.5, 0.0], [0.4, 0.4, 0.2]]);
    }

    #[test]
    fn figures_of_no_core_are_no_best_and_have_no_parts() {
        let rows = [
            counted("none", 0.0, -1.0),
            counted("endless", f64::INFINITY, f64::NAN),
            counted("some", 0.7, 2.0),
        ];
        let best = BestOfRows::of(&rows);
        assert_eq!((best.cpi.unwrap().case, best.ghz.unwrap().case), ("some", "some"));
        assert_eq!(rows.each_ref().map(|row| best.parts(row).is_some()), [false, false, true]);
        assert_eq!(BestOfRows::of([]), BestOfRows::default());
        assert_eq!(BestOfRows::default().parts(&rows[2]), None);
    }
}
