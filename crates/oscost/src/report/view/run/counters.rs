//! What the processor's counters show of the rows of a run.

use oscost_model::counters::{CORE_CYCLES, CPI, CounterEvent, GHZ, INSN};
use oscost_model::record::{CoreConditions, CoreFigure, Metric, Record, Row};
use oscost_model::unit::Unit;

use crate::estimate::{BestFigure, BestOfRows};
use crate::report::figures::{Style, per_cent};
use crate::report::text::{plain, without_error_number};
use crate::report::view::document::{Cell, Column, Table, TableRow};
use crate::report::view::run::row::{Figure, figure};
use crate::report::view::sections::{first_of, grouped};

/// How a record begins the reason for which nothing was counted.
const UNCOUNTABLE: &str = "instructions and cycles cannot be counted: ";

/// The time of counted ops over that of the timed ones, where it is as good as equal.
const EQUAL_TIME: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// The unit in which rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FigureUnit {
    /// That of their own figures.
    #[default]
    Own,
    /// Core cycles per op.
    Cycles,
    /// Instructions per op.
    Instructions,
}

/// How counted events are shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedEvents {
    /// The unit of the figures.
    pub unit: FigureUnit,
    /// Whether all events have a table.
    pub all: bool,
}

impl FigureUnit {
    /// The metric that rows are shown with; `None` for their own figures.
    fn metric(self) -> Option<&'static str> {
        match self {
            FigureUnit::Own => None,
            FigureUnit::Cycles => Some(CounterEvent::Cycles.metric()),
            FigureUnit::Instructions => Some(INSN),
        }
    }
}

/// The row with the figure of another metric; `None` if it has none.
pub(in crate::report::view) fn with_metric(row: &Row, metric: &str) -> Option<Row> {
    let Metric { unit, better, estimate } = row.metrics.get(metric)?.clone();
    Some(Row { unit, better, estimate: Some(estimate), ..row.clone() })
}

/// The row with its figure in cycles of the core, and the name of that metric after its own.
pub(in crate::report::view) fn in_cycles(row: &Row) -> Row {
    let mut shown = with_metric(row, CORE_CYCLES).unwrap_or_else(|| row.clone());
    let colon = if shown.case.contains(':') { ',' } else { ':' };
    shown.case = format!("{}{colon}metric={CORE_CYCLES}", shown.case);
    shown.point = shown.point.with("metric", CORE_CYCLES);
    shown
}

/// The figure of a row in a unit, and its spread between workers in per cent.
pub(super) struct ShownFigure {
    pub(super) figure: Option<Figure>,
    pub(super) spread_pct: Option<f64>,
}

/// The figure of a row in a unit that is not its own; `None` for its own.
pub(super) fn in_unit(row: &Row, unit: FigureUnit) -> Option<ShownFigure> {
    let metric = unit.metric()?;
    // What a bound says of the time says nothing of a count.
    let shown = with_metric(row, metric).map(|row| Row { flags: Vec::new(), ..row });
    let estimate = shown.as_ref().and_then(|row| row.estimate.as_ref());
    let spread_pct =
        estimate.and_then(|it| (it.median > 0.0).then_some(100.0 * it.sd? / it.median));
    Some(ShownFigure { figure: shown.as_ref().and_then(figure), spread_pct })
}

/// The median of a metric.
pub(in crate::report::view) fn median(row: &Row, metric: &str) -> Option<f64> {
    row.metrics.get(metric).map(|metric| metric.estimate.median)
}

/// A count in a column: with as many digits as repeat.
fn number(value: f64) -> String {
    match value.abs() {
        1e5.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The instructions of an op in a column; those of user mode alone are marked.
pub(in crate::report::view) fn insn(row: &Row) -> String {
    let user = || median(row, CounterEvent::InstructionsUser.metric());
    match (median(row, INSN), user()) {
        (Some(insn), _) => number(insn),
        (None, Some(user)) => format!("{} u", number(user)),
        (None, None) => String::new(),
    }
}

/// The cycles per instruction in a column.
pub(in crate::report::view) fn cpi(row: &Row) -> String {
    median(row, CPI).map(|cpi| format!("{cpi:.2}")).unwrap_or_default()
}

/// All counted events of rows; `None` if nothing was counted.
pub(super) fn table(rows: &[&Row]) -> Option<Table> {
    let title = |event: CounterEvent| match event {
        CounterEvent::InstructionsUser => "insn:u",
        CounterEvent::InstructionsKernel => "insn:k",
        CounterEvent::Instructions => "insn",
        CounterEvent::Cycles => "cycles",
        CounterEvent::BranchMisses => "branch\nmisses",
        CounterEvent::L1dMisses => "L1D\nmisses",
        CounterEvent::L1iMisses => "L1I\nmisses",
        CounterEvent::LastLevelMisses => "LLC\nmisses",
        CounterEvent::DtlbMisses => "dTLB\nmisses",
        CounterEvent::ItlbMisses => "iTLB\nmisses",
        CounterEvent::StalledCycles => "stalled",
        CounterEvent::TaskClock => "task-clock,\nns",
        CounterEvent::PageFaults => "faults",
        CounterEvent::ContextSwitches => "switches",
        CounterEvent::Migrations => "moves",
    };
    let optional = |column: Column, optional| Column { optional, ..column };
    let mut columns = vec![Column::text("case")];
    let events = CounterEvent::ALL.map(|event| {
        let is_work = CounterEvent::WORK.contains(&event);
        optional(Column::number(title(event), event.metric()), !is_work)
    });
    columns.extend(events);
    columns.insert(4, Column::number("cpi", CPI));
    columns.insert(5, Column::number("GHz", GHZ));
    let row = |row: &&Row| {
        row.counters.as_ref().filter(|it| it.workers > 0)?;
        let text = |metric: &str, decimals: usize| {
            let value = median(row, metric);
            let digits = |value| match decimals {
                0 => number(value),
                _ => format!("{value:.decimals$}"),
            };
            Cell::number(value.map(digits).unwrap_or_default(), value)
        };
        let mut cells = vec![Cell::case(row)];
        cells.extend(CounterEvent::ALL.map(|event| text(event.metric(), 0)));
        cells.insert(4, text(CPI, 3));
        cells.insert(5, text(GHZ, 3));
        Some(TableRow::of(cells))
    };
    let rows: Vec<TableRow> = rows.iter().filter_map(row).collect();
    let caption = "Events per op, counted by workers of their own".to_owned();
    (!rows.is_empty()).then(|| Table { caption, columns, rows, ..Table::default() })
}

/// What a reader must know of the counts, or why there are none.
pub(super) fn remarks(record: &Record, rows: &[&Row]) -> Vec<String> {
    let mut lines = Vec::new();
    let counted: Vec<_> =
        rows.iter().filter_map(|row| row.counters.as_ref()).filter(|it| it.workers > 0).collect();
    let user = CounterEvent::InstructionsUser.metric();
    let has_work =
        rows.iter().any(|row| row.metrics.contains_key(INSN) || row.metrics.contains_key(user));
    if has_work {
        lines.push(match counted.iter().any(|it| it.kernel) {
            true => "insn: instructions of an op, the program's and the kernel's; cpi: cycles per \
                     instruction: by the processor's counters, in workers of their own."
                .to_owned(),
            false => "insn: instructions of an op in user mode alone (u): the kernel's are not \
                      visible here (`oscost machine`)."
                .to_owned(),
        });
    }
    let facts = record.machines.first().map(|machine| &machine.counters);
    let why = facts.and_then(|it| it.distrusted.as_ref().or(it.unavailable.as_ref()));
    // The figures of a machine that counts them are instructions.
    let is_timed = rows.iter().any(|row| row.unit != Unit::InstructionsPerOp);
    if let Some(why) = why.filter(|_| !has_work && is_timed) {
        let why = without_error_number(&plain(why));
        let why = why.strip_prefix(UNCOUNTABLE).unwrap_or(&why);
        lines.push(format!("No instructions and cycles: {why}"));
    }
    let void = rows.iter().flat_map(|row| {
        let reasons = row.counters.iter().flat_map(|it| &it.void);
        reasons.map(|why| (plain(why), row.case.as_str()))
    });
    for (why, cases) in grouped(void) {
        lines.push(format!("not counted in some workers: {why}: {}", plain(&first_of(&cases))));
    }
    let short = rows.iter().filter(|row| is_short(row)).map(|row| row.case.as_str());
    let short: Vec<&str> = short.collect();
    if !short.is_empty() {
        lines.push(format!(
            "counted batches are too short: what counting adds varies by over 0.1 % of the \
             instructions of their ops, or 1 % of the cycles: {}",
            plain(&first_of(&short))
        ));
    }
    lines.extend(other_time(rows));
    let conditions = record.conditions.first();
    if let Some((core, conditions)) = conditions.and_then(|it| Some((it.core.as_ref()?, it))) {
        let of_machine = |row: &&Row| row.target.machine == conditions.machine;
        let best = BestOfRows::of(record.results.iter().filter(of_machine));
        lines.extend(core_lines(core, best));
    }
    lines
}

/// How the counts of rows were taken of which one op does work for many, or leaves some to later; `None`
/// without such rows.
pub(super) fn amortized(rows: &[&Row]) -> Option<String> {
    let is_amortized = |row: &&&Row| row.counters.as_ref().is_some_and(|it| it.amortized);
    let cases: Vec<&str> = rows.iter().filter(is_amortized).map(|row| row.case.as_str()).collect();
    (!cases.is_empty()).then(|| {
        format!(
            "One op does work for many (it refills a list, or a store of random numbers), or leaves \
             some to later (the kernel frees memory at a tick): counts are means over long batches, \
             interrupts included: {}.",
            plain(&first_of(&cases))
        )
    })
}

/// Which rows were counted at ops that took another time than the timed ones. Counters of other tasks
/// add to the time of what creates and switches them, so that such rows are not meant.
fn other_time(rows: &[&Row]) -> Option<String> {
    let ratio = |row: &&Row| {
        let counters = row.counters.as_ref().filter(|it| !it.inherited)?;
        counters.counted_time_ratio.filter(|ratio| !EQUAL_TIME.contains(ratio))
    };
    let found = rows.iter().filter_map(|row| Some((row.case.as_str(), ratio(row)?)));
    let (cases, ratios): (Vec<&str>, Vec<f64>) = found.unzip();
    let lowest = ratios.iter().copied().reduce(f64::min)?;
    let highest = ratios.iter().copied().reduce(f64::max)?;
    let times = match ratios.len() {
        1 => format!("{lowest:.2}"),
        _ => format!("{lowest:.2} to {highest:.2}"),
    };
    Some(format!(
        "counted ops took {times} times as long as the timed ones: {}",
        plain(&first_of(&cases))
    ))
}

/// Whether what counting adds cannot be told apart in the batches of a row.
fn is_short(row: &Row) -> bool {
    row.counters.as_ref().is_some_and(|it| it.short_by.is_some())
}

/// What the core did over the run, if it was not always at its best, and the best of all rows.
fn core_lines(core: &CoreConditions, best: BestOfRows<'_>) -> Vec<String> {
    let worse = |it: &CoreFigure| {
        let by = it.worse_by.filter(|_| it.worse_pct > 0.0)?;
        let share = format!("for {} of the run the core", per_cent(it.worse_pct));
        Some(WorseCore { share, by })
    };
    let cpi = core.cpi_of_kernel_op.as_ref().or(core.cpi_of_loop.as_ref());
    let neighbour = cpi.and_then(worse).map(|WorseCore { share, by }| {
        format!(
            "{share} took {by:.1} times its own best cycles per instruction: shared core or caches."
        )
    });
    let clock = core.ghz.as_ref().and_then(worse).map(|WorseCore { share, by }| {
        format!("{share} ran at a clock {by:.1} times lower than its own best.")
    });
    let mut lines: Vec<String> = neighbour.into_iter().chain(clock).collect();
    if let Some(last) = lines.last_mut() {
        last.push_str(&best_text(best));
    }
    lines
}

/// What is the best of all rows, after a sentence; empty if nothing is known.
fn best_text(BestOfRows { cpi, ghz }: BestOfRows<'_>) -> String {
    let text = |best: BestFigure<'_>, unit: &str| {
        format!("{:.2} {unit} ({})", best.value, plain(best.case))
    };
    let cpi = cpi.map(|best| text(best, "cycles per instruction"));
    let ghz = ghz.map(|best| text(best, "GHz"));
    let parts: Vec<String> = cpi.into_iter().chain(ghz).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(" The best of all rows: {}.", parts.join(", ")),
    }
}

/// How long the core was worse than its best, in words, and by which factor.
struct WorseCore {
    share: String,
    by: f64,
}

/// The counts of a row in a sentence, for explanations; `None` if nothing was counted.
pub(in crate::report::view) fn sentence(row: &Row) -> Option<String> {
    let counters = row.counters.as_ref().filter(|it| it.workers > 0)?;
    let of = |metric: &str| median(row, metric);
    let user = of(CounterEvent::InstructionsUser.metric());
    let kernel = of(CounterEvent::InstructionsKernel.metric());
    let mut parts = vec![match (of(INSN), user) {
        (Some(insn), _) => {
            let modes = user.zip(kernel).map(|(user, kernel)| {
                format!(" ({} in user mode, {} in the kernel)", number(user), number(kernel))
            });
            format!("{} instructions{}", number(insn), modes.unwrap_or_default())
        }
        (None, Some(user)) => format!("{} instructions in user mode", number(user)),
        (None, None) => return None,
    }];
    parts.extend(counters.insn_sd_pct.map(|sd| match counters.repeats {
        Some(true) => format!("which repeat within {sd:.2} %"),
        _ => format!("which vary by {sd:.2} %"),
    }));
    parts.extend(of(CPI).map(|cpi| format!("{cpi:.2} cycles per instruction")));
    parts.extend(of(GHZ).map(|ghz| format!("{ghz:.2} GHz")));
    parts.extend(counters.short_by.map(|by| format!("in batches {by:.0} times too short")));
    let means = "means, since one op does work for many or leaves some to later";
    parts.extend(counters.amortized.then(|| means.to_owned()));
    let waiting = counters.waiting_ns.filter(|&ns| ns.abs() >= 1.0);
    parts.extend(waiting.map(|ns| {
        let style = Style::of(ns, Unit::NsPerOp);
        format!("{} off the CPU", style.with_unit(ns))
    }));
    parts.extend(
        counters.counted_time_ratio.map(|it| format!("{it:.2} times the timed figure if counted")),
    );
    Some(parts.join(", "))
}

/// The misses of a row in words, for explanations; `None` if none were counted.
pub(in crate::report::view) fn misses(row: &Row) -> Option<String> {
    let named = |event: CounterEvent| {
        let value = median(row, event.metric())?;
        Some(format!("{} {}", number(value), event.perf_name()))
    };
    let parts: Vec<String> = CounterEvent::MISSES.into_iter().filter_map(named).collect();
    (!parts.is_empty()).then(|| format!("counted per op: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests;
