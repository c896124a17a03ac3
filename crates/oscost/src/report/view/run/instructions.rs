//! Rows whose figures are counted instructions.
//!
//! A count has all of its digits, and no interval: it repeats exactly, or it has a range.

use oscost_model::clock::ClockKind;
use oscost_model::record::{Machine, Row};
use oscost_model::unit::Unit;

use crate::report::figures::{Style, rough_count, rough_range, thousands_apart};
use crate::report::text::plain;
use crate::report::view::document::{Cell, Column, Paragraph, Table, TableRow};
use crate::report::view::run::row::{entries, floor};

/// What such a figure does not include.
const NOT_TIME: &str = "insn: instructions of an op, the program's and the kernel's, as the emulator \
                        counted them. Instructions are not time: caches, TLB, mispredictions and \
                        stalls do not show.";

/// Whether a row's figure is a number of instructions.
pub(in crate::report::view) fn is_counted(row: &Row) -> bool {
    row.unit == Unit::InstructionsPerOp
}

/// The note on such rows; `None` without such rows.
pub(in crate::report::view) fn remark<'a>(
    mut rows: impl Iterator<Item = &'a Row>,
) -> Option<String> {
    rows.any(is_counted).then(|| NOT_TIME.to_owned())
}

/// The table of such rows; `None` without rows.
pub(in crate::report::view) fn table(rows: &[&Row]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("per op", "median"),
        Column::number("repeats", "exact"),
        Column::number("calls", "kernel_entries"),
        Column::number("floor", "floor"),
    ];
    let row = |row: &&Row| {
        let calls = row.calls.as_ref().map(|_| entries(row)).unwrap_or_default();
        TableRow::of(vec![
            Cell::case(row),
            Cell::text(figure(row)),
            Cell::text(repeats(row)),
            Cell::text(calls),
            Cell::text(floor(row).unwrap_or_default()),
        ])
    };
    let rows: Vec<TableRow> = rows.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table { columns, rows, ..Table::default() })
}

/// The smallest and the largest value of a row's repetitions.
fn range(row: &Row) -> Option<[f64; 2]> {
    let values = row.repetitions.iter().filter_map(|it| it.value);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low <= high).then_some([low, high])
}

/// The figure: one number if it is exact, otherwise the range of its repetitions.
pub(in crate::report::view) fn figure(row: &Row) -> String {
    match without_unit(row).as_str() {
        "" => String::new(),
        figure => format!("{figure} {}", unit(row.unit)),
    }
}

/// The figure as a sentence quotes it, in three or four digits.
pub(in crate::report::view) fn rough_figure(row: &Row) -> String {
    let Some(estimate) = &row.estimate else { return String::new() };
    let figure = match range(row).filter(|[low, high]| !estimate.exact && low < high) {
        Some(ends) => {
            let [low, high] = rough_range(ends);
            format!("{low} to {high}")
        }
        None => rough_count(estimate.median),
    };
    format!("{figure} {}", unit(row.unit))
}

/// The figure as `figure` writes it, without its unit.
pub(in crate::report::view) fn without_unit(row: &Row) -> String {
    let Some(estimate) = &row.estimate else { return String::new() };
    match range(row).filter(|[low, high]| !estimate.exact && low < high) {
        Some(ends) => range_text(ends, PlusSign::Omitted),
        None => number(estimate.median, row.unit),
    }
}

/// Whether the ends of a range have a plus sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::report::view) enum PlusSign {
    /// Yes: they are differences.
    Shown,
    /// No.
    Omitted,
}

/// A range, with enough digits to distinguish its ends; it is rounded outwards.
pub(in crate::report::view) fn range_text([low, high]: [f64; 2], plus_sign: PlusSign) -> String {
    // Two digits of their difference.
    let decimals = (1.0 - (high - low).log10().floor()).clamp(0.0, 300.0) as usize;
    let scale = 10f64.powi(decimals as i32);
    let text = |end: f64| {
        let sign = if plus_sign == PlusSign::Shown && end > 0.0 { "+" } else { "" };
        // Zero has no sign.
        thousands_apart(&format!("{sign}{:.decimals$}", end + 0.0))
    };
    let (low, high) = ((low * scale).floor() / scale, (high * scale).ceil() / scale);
    format!("{} .. {}", text(low), text(high))
}

/// The figure, and whether it repeats.
pub(in crate::report::view) fn figure_and_exactness(row: &Row) -> String {
    format!("{}, {}", figure(row), repeats(row))
}

fn repeats(row: &Row) -> &'static str {
    match row.estimate.as_ref().is_some_and(|estimate| estimate.exact) {
        true => "exact",
        false => "not exact",
    }
}

/// A count without its unit.
pub(in crate::report::view) fn number(value: f64, unit: Unit) -> String {
    Style::of(value, unit).number(value)
}

/// The name of a unit.
pub(in crate::report::view) fn unit(unit: Unit) -> &'static str {
    Style::of(0.0, unit).unit()
}

/// Whether a tick of a machine's clock is an instruction.
pub(in crate::report::view) fn counts(machine: &Machine) -> bool {
    let source = ClockKind::Instructions.text();
    machine.clock.as_ref().is_some_and(|clock| clock.source == source)
}

/// A machine that was booted for the run: kernel, emulator and emulated CPU.
pub(in crate::report::view) fn headline(machine: &Machine) -> Option<Paragraph> {
    let vm = machine.vm.as_ref()?;
    let kernel = machine.os.release.as_ref().map(|release| format!("Linux {release}"));
    // Two images of one release differ in their names.
    let mut parts = vec![match kernel {
        Some(kernel) if kernel.ends_with(vm.kernel.as_str()) => kernel,
        Some(kernel) => format!("{}: {kernel}", vm.kernel),
        None => vm.kernel.clone(),
    }];
    parts.extend(vm.append.as_ref().map(|words| format!("booted with `{words}`")));
    parts.push(format!("{} ({}), CPU {}", vm.emulator, vm.accel, vm.cpu));
    parts.push(format!("{} MiB", vm.mem_mib));
    parts.extend(counts(machine).then(|| "one instruction a tick".to_owned()));
    Some(plain(&parts.join(", ")).into())
}

#[cfg(test)]
mod tests {
    use super::{PlusSign, range_text};

    #[test]
    fn a_range_has_the_digits_that_distinguish_its_ends() {
        for (ends, text) in [
            ([1_141_693.0, 1_141_990.0], "1,141,693 .. 1,141,990"),
            ([7141.57, 7145.957], "7,141.5 .. 7,146.0"),
            ([634.3125, 634.6875], "634.31 .. 634.69"),
            ([3.89465, 3.89732], "3.8946 .. 3.8974"),
            ([826.875, 827.0], "826.87 .. 827.00"),
            ([9334.5, 9350.25], "9,334 .. 9,351"),
        ] {
            assert_eq!(range_text(ends, PlusSign::Omitted), text);
        }
        assert_eq!(range_text([-4.3867, 4.3867], PlusSign::Shown), "-4.4 .. +4.4");
        assert_eq!(range_text([-20_750.0, -0.25], PlusSign::Shown), "-20,750 .. 0");
        assert_eq!(range_text([0.25, 13.0], PlusSign::Shown), "0 .. +13");
    }
}
