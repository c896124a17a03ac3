//! Comparisons of rows whose figures are counted instructions.

use oscost_model::record::{Comparison, Row};

use crate::report::figures::per_cent;
use crate::report::text::plain;
use crate::report::view::answer::priority::of_comparison;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::verdicts::verdict_style;
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::report::view::run::instructions::{PlusSign, number, range_text, unit, without_unit};

/// A ratio of counts: three decimals, or near 1 enough for one instruction in hundreds of thousands;
/// 1 is that of equal counts.
pub(in crate::report::view) fn ratio(ratio: f64) -> String {
    let decimals = match (ratio - 1.0).abs() {
        0.0 => 0,
        0.01.. => 3,
        0.001.. => 4,
        _ => 6,
    };
    format!("{ratio:.decimals$}")
}

/// The difference: with its sign, and as a share where that is a tenth of a per cent or more.
pub(in crate::report::view) fn added(it: &Comparison) -> String {
    difference(it, &format!(" {}", unit(it.added.unit)))
}

fn difference(it: &Comparison, unit: &str) -> String {
    let signed = |value: f64| {
        let sign = if value > 0.0 { "+" } else { "" };
        format!("{sign}{}", number(value, it.added.unit))
    };
    match it.added.ci95 {
        Some(ends @ [low, high]) if low < high => {
            return format!("{}{unit}", range_text(ends, PlusSign::Shown));
        }
        // Counts that are not exact are not known to be equal.
        _ if it.verdict == "equivalent" => return "=".to_owned(),
        _ => {}
    }
    let pct = 100.0 * (it.ratio.value - 1.0);
    let sign = if pct > 0.0 { "+" } else { "" };
    let share = match pct.abs() {
        0.05.. => format!(" ({sign}{})", per_cent(pct)),
        _ => String::new(),
    };
    format!("{}{unit}{share}", signed(it.added.value))
}

/// The table of such comparisons; `None` without rows. Three ranges are side by side, so the unit is
/// in the headings, and where they leave no room for names the new side is left out: it is the base
/// and what is added.
pub(in crate::report::view) fn table(pairs: &[&Pair<'_>]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("base, insn", "base"),
        Column { optional: true, ..Column::number("new, insn", "new") },
        Column::number("added, insn", "added"),
        Column::choice("verdict"),
    ];
    let row = |pair: &&Pair<'_>| {
        let cells = vec![
            Cell::case(&pair.base),
            figure(&pair.base),
            figure(pair.new),
            Cell::number(difference(pair.it, ""), Some(pair.it.added.value)),
            Cell::text(plain(&pair.it.verdict)).with_style(verdict_style(pair.it)),
        ];
        TableRow { priority: of_comparison(pair.it), ..TableRow::of(cells) }
    };
    let rows: Vec<TableRow> = pairs.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table { columns, rows, ..Table::default() })
}

/// The count of a side, as it is read and to its last digit.
fn figure(row: &Row) -> Cell {
    Cell::number(without_unit(row), row.estimate.as_ref().map(|estimate| estimate.median))
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_ratio_has_the_digits_that_tell_it_from_one() {
        let shown = [1.057_507, 1.003_14, 1.000_003, 1.0, 12.345_67, 0.98].map(ratio);
        assert_eq!(shown, ["1.058", "1.0031", "1.000003", "1", "12.346", "0.980"]);
    }
}
