//! The figures of a table's rows on one scale, drawn beside the table where there is room.

use oscost_model::unit::Unit;

use super::forest::{RatioMark, RatioScale};
use crate::report::figures::short;
use crate::report::view::document::{RowMark, RowScale, Table};

/// With fewer columns a scale shows nothing.
pub(super) const MIN_CELLS: usize = 24;
/// More columns are hard to read along.
const MAX_CELLS: usize = 48;

/// The scale beside a table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bars {
    /// Figures, from one power of ten to another.
    Figures { from: i32, to: i32, cells: usize, unit: Unit },
    /// Ratios around 1.
    Ratios(RatioScale),
}

impl Bars {
    /// The scale of a table in at most this many columns; `None` if it has none, too few rows, or no
    /// room for it.
    pub(super) fn of(table: &Table, room: usize) -> Option<Self> {
        let cells = room.min(MAX_CELLS);
        let marks = || table.rows.iter().filter_map(|row| row.mark);
        if cells < MIN_CELLS || marks().count() < 2 {
            return None;
        }
        match table.scale? {
            RowScale::Ratios => {
                RatioScale::of(marks().filter_map(ratio), (cells - 1) / 2).map(Self::Ratios)
            }
            RowScale::Figures(unit) => {
                let values = || marks().map(|mark| mark.value).filter(|value| *value > 0.0);
                let least = values().min_by(f64::total_cmp)?;
                let most = values().max_by(f64::total_cmp)?;
                let (from, to) = (least.log10().floor() as i32, most.log10().ceil() as i32);
                // Of an untrusted record, the figures may be anything.
                let is_usable = (-30..30).contains(&from) && (-30..30).contains(&to);
                is_usable.then_some(Self::Figures { from, to: to.max(from + 1), cells, unit })
            }
        }
    }

    /// What the drawing means, for a line below the table.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Figures { .. } => {
                "On the right, o is the figure on a logarithmic scale, and = its interval."
            }
            Self::Ratios(_) => {
                "On the right, o is the ratio on a logarithmic scale, and [-] its interval."
            }
        }
    }

    /// The numbers above the scale: each power of ten, or as many at equal distances as have room.
    pub(super) fn heading(self) -> String {
        let (from, to) = match self {
            Self::Ratios(scale) => return scale.heading(),
            Self::Figures { from, to, .. } => (from, to),
        };
        let steps = 1..=(to - from).unsigned_abs() as usize;
        let lines = steps.filter_map(|step| self.numbers((from..=to).step_by(step)));
        lines.take(1).collect()
    }

    /// These powers of ten above the scale; `None` if they have no room side by side. The one at its
    /// end is left out if it would touch the one before.
    fn numbers(self, powers: impl Iterator<Item = i32>) -> Option<String> {
        let Self::Figures { to, cells, unit, .. } = self else { return None };
        let mut line = String::new();
        for power in powers {
            let name = short(10f64.powi(power), unit);
            // Not beyond the end.
            let last = cells.saturating_sub(name.chars().count());
            let start = self.cell(10f64.powi(power)).min(last);
            let gap = start.checked_sub(line.chars().count());
            match gap.filter(|&gap| gap > 0 || line.is_empty()) {
                Some(gap) => line += &format!("{:gap$}{name}", ""),
                None if power == to => break,
                None => return None,
            }
        }
        Some(line)
    }

    /// A figure with its interval.
    pub(super) fn bar(self, mark: RowMark) -> String {
        match self {
            Self::Ratios(scale) => ratio(mark).map(|mark| scale.line(mark)).unwrap_or_default(),
            Self::Figures { .. } if mark.value <= 0.0 => String::new(),
            Self::Figures { .. } => {
                let at = self.cell(mark.value);
                let [low, high] = mark.interval.unwrap_or([mark.value; 2]);
                let (low, high) = (self.cell(low).min(at), self.cell(high).max(at));
                let letter = |cell: usize| match cell {
                    _ if cell == at => 'o',
                    _ if (low..=high).contains(&cell) => '=',
                    _ => '-',
                };
                (0..=high).map(letter).collect()
            }
        }
    }

    /// The column of a figure.
    fn cell(self, value: f64) -> usize {
        let Self::Figures { from, to, cells, .. } = self else { return 0 };
        let share = (value.max(f64::MIN_POSITIVE).log10() - f64::from(from)) / f64::from(to - from);
        (share.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize
    }
}

/// A ratio that can be drawn.
fn ratio(mark: RowMark) -> Option<RatioMark> {
    let interval = mark.interval.filter(|[low, _]| *low > 0.0 && mark.value > 0.0)?;
    Some(RatioMark { ratio: mark.value, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::TableRow;

    fn table(scale: RowScale, marks: &[(f64, [f64; 2])]) -> Table {
        let row = |&(value, interval): &(f64, [f64; 2])| TableRow {
            mark: Some(RowMark { value, interval: Some(interval) }),
            ..TableRow::default()
        };
        Table { scale: Some(scale), rows: marks.iter().map(row).collect(), ..Table::default() }
    }

    #[test]
    fn figures_are_on_a_scale_from_a_power_of_ten_to_another() {
        let figures = table(
            RowScale::Figures(Unit::NsPerOp),
            &[(20.0, [19.0, 21.0]), (5_000.0, [2_000.0, 9_000.0])],
        );
        let bars = Bars::of(&figures, 31).unwrap();
        assert_eq!(bars.heading(), "10 ns     100 ns    1 us  10 us");
        let drawn = |row: usize| bars.bar(figures.rows[row].mark.unwrap());
        assert_eq!(drawn(0), "---o");
        assert_eq!(drawn(1), format!("{}====o===", "-".repeat(23)));
    }

    #[test]
    fn where_powers_of_ten_have_no_room_those_at_equal_distances_are_named() {
        let marks = [(1.2, [1.1, 1.3]), (128_400.0, [106_100.0, 176_900.0])];
        let bars = Bars::of(&table(RowScale::Figures(Unit::NsPerOp), &marks), 29).unwrap();
        assert_eq!(bars.heading(), "1 ns     100 ns    10 us 1 ms");
        let wide = Bars::of(&table(RowScale::Figures(Unit::NsPerOp), &marks), 48).unwrap();
        for name in ["1 ns", " 10 ns", " 100 ns", " 1 us", " 10 us", " 100 us"] {
            assert!(wide.heading().contains(name), "{name}: {}", wide.heading());
        }
    }

    #[test]
    fn ratios_are_around_1() {
        let ratios = table(RowScale::Ratios, &[(1.3, [1.25, 1.35]), (1.0, [0.98, 1.02])]);
        let bars = Bars::of(&ratios, 41).unwrap();
        assert_eq!(bars.heading(), "0.67                1                1.50");
        let drawn = |row: usize| bars.bar(ratios.rows[row].mark.unwrap());
        assert_eq!(drawn(0), "                    |          [-o-]");
        assert_eq!(drawn(1), "                   [o]");
    }

    #[test]
    fn a_scale_needs_room_two_figures_and_numbers_that_it_can_have() {
        let unit = RowScale::Figures(Unit::NsPerOp);
        let two = [(20.0, [19.0, 21.0]), (30.0, [29.0, 31.0])];
        assert!(Bars::of(&table(unit, &two), 23).is_none());
        assert!(Bars::of(&table(unit, &two[..1]), 40).is_none());
        let endless = [(1e300, [1e300; 2]), (f64::NAN, [0.0; 2]), (0.0, [0.0; 2])];
        assert!(Bars::of(&table(unit, &endless), 40).is_none());
        let below = [(-1.0, [-2.0, 3.0]), (0.0, [0.0; 2])];
        assert!(Bars::of(&table(unit, &below), 40).is_none());
        assert!(Bars::of(&table(RowScale::Ratios, &below), 40).is_none());
        let scale = Bars::of(&table(unit, &[two[0], two[1], below[0]]), 40).unwrap();
        assert_eq!(scale.bar(RowMark { value: -1.0, interval: None }), "");
    }
}
