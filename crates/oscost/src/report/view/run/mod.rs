//! A run: its figures, the cases without one, and what a reader must know of both.

pub mod cost_groups;
pub mod counters;
pub mod curves;
pub mod event_scaling;
pub mod flags;
pub mod headline;
pub mod instructions;
pub mod monitor;
pub mod one_way;
pub mod page_cache;
pub mod predictions;
pub mod preparation;
pub mod programs;
pub mod request_latency;
pub mod row;
pub mod timer_survey;
pub mod wait_steps;

use oscost_model::channel::Datagrams;
use oscost_model::record::{Estimate, Levels, Record, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_stats::order;

use self::counters::ShownFigure;
pub use self::counters::{CountedEvents, FigureUnit};
pub use self::curves::Plots;
use self::flags::FlagLines;
use self::headline::{headline, title};
use self::page_cache::CacheLines;
pub use self::row::is_requested;
use self::row::{class_style, entries, family, figure, floor, has, mark, spread_pct};
use crate::advice::words::Kind;
use crate::report::figures::{Style, per_cent};
use crate::report::text::plain;
use crate::report::view::answer;
use crate::report::view::document::{
    Block, Cell, Column, RowScale, Section, Table, TableRow, View,
};
use crate::report::view::sections::{Remarks, first_of, grouped, not_measured, notes_of, origin};

/// A run as a screen shows it.
pub fn view(record: &Record, plots: Plots, counted_events: CountedEvents) -> View {
    let rows: Vec<&Row> = record.results.iter().filter(|row| is_requested(row)).collect();
    let measured = measured_rows(&rows);
    // A curve has a line for each of its points.
    let in_curves = curves::cases(record);
    let is_single = |row: &Row| !in_curves.contains(&curves::case_of(row));
    let single: Vec<&Row> = measured
        .iter()
        .copied()
        .filter(|row| is_single(row) && !programs::is_program(row))
        .collect();
    let (counted, timed): (Vec<&Row>, Vec<&Row>) =
        single.into_iter().partition(|row| instructions::is_counted(row));
    let mut figures = Vec::new();
    figures.extend(table(&timed, counted_events.unit).map(Block::Table));
    figures.extend(instructions::table(&counted).map(Block::Table));
    figures.extend(programs::blocks(&measured));
    if counted_events.all {
        figures.extend(counters::table(&measured).map(Block::Table));
    }
    let mut sections = vec![Section { blocks: figures, ..Section::default() }];
    sections.extend(curves::section(record, plots));
    sections.push(Section { blocks: together(record, &measured), ..Section::default() });
    sections.extend(not_measured(&rows));
    sections.extend(notes(record, &rows));
    sections.extend(timer_survey::section(record));
    sections.extend(event_scaling::section(record));
    sections.extend(predictions::section(record));
    let answer = answer::run::answer(record);
    View { title: title(record), lead: headline(record), answer, sections, ..View::default() }
}

/// A run in short: its figures in tables, and nothing that follows from several of them.
pub fn brief(record: &Record) -> View {
    let rows: Vec<&Row> = record.results.iter().filter(|row| is_requested(row)).collect();
    let measured = measured_rows(&rows);
    let kind = |row: &Row| {
        (programs::is_program(row), instructions::is_counted(row), family(row).to_owned())
    };
    let of_kind = measured.chunk_by(|one, other| kind(one) == kind(other));
    let tables = of_kind.filter_map(|rows| match rows[0] {
        row if programs::is_program(row) => programs::table(rows),
        row if instructions::is_counted(row) => instructions::table(rows),
        _ => table(rows, FigureUnit::Own),
    });
    let mut sections =
        vec![Section { blocks: tables.map(Block::Table).collect(), ..Section::default() }];
    sections.extend(not_measured(&rows));
    sections.extend(notes(record, &rows));
    sections.push(origin(record));
    let answer = answer::run::answer(record);
    View { title: title(record), lead: headline(record), answer, sections, ..View::default() }
}

fn measured_rows<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    rows.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect()
}

/// What rows say together: steps of waits, latency of requests, groups of costs, halves of round
/// trips.
pub(super) fn together(record: &Record, measured: &[&Row]) -> Vec<Block> {
    let mut blocks: Vec<Block> = wait_steps::tables(&record.steps).map(Block::Table).collect();
    blocks.extend(request_latency::tables(measured).into_iter().map(Block::Table));
    blocks.extend(cost_groups::table(record, measured).map(Block::Table));
    blocks.extend(record.half_round_trips.iter().map(|it| Block::Text(one_way::line(it))));
    blocks
}

/// The measured rows; `None` if there are none.
fn table(rows: &[&Row], unit: FigureUnit) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("per op", "median"),
        Column::number("95 % interval", "ci95"),
        Column::number("spread", "spread_pct").in_lines_of(70),
        Column { optional: true, ..Column::number("insn", "insn") },
        Column { optional: true, ..Column::number("cpi", "cpi") },
        Column::choice("class"),
        Column::number("calls", "kernel_entries").in_lines_of(76),
        Column::number("floor", "floor").in_lines_of(80),
        Column { optional: true, ..Column::text("treatments") },
    ];
    // Prices are also measured through a function, beside those without a treatment.
    let differ = rows.windows(2).any(|two| two[0].target.treatments != two[1].target.treatments);
    // Figures in another unit of the user's are not those that are marked.
    let marked = (unit == FigureUnit::Own).then_some(Unit::NsPerOp);
    let priorities = answer::priority::of_rows(rows);
    let line = |(row, priority): (&&Row, u32)| TableRow {
        mark: marked.and_then(|unit| mark(row, unit)),
        priority,
        ..TableRow::of(cells(row, unit, differ))
    };
    let rows: Vec<TableRow> = rows.iter().zip(priorities).map(line).collect();
    let scale = marked.map(RowScale::Figures);
    (!rows.is_empty()).then(|| Table { columns, rows, scale, ..Table::default() })
}

fn cells(row: &Row, unit: FigureUnit, has_treatments: bool) -> Vec<Cell> {
    let (figure, spread, floor) = match counters::in_unit(row, unit) {
        // A floor is a time.
        Some(ShownFigure { figure, spread_pct }) => (figure, spread_pct, None),
        None => (figure(row), spread_pct(row), floor(row)),
    };
    let (text, interval) = match &figure {
        Some(figure) => (figure.text.clone(), figure.interval_text()),
        None if unit != FigureUnit::Own => ("not counted".to_owned(), None),
        None => return vec![Cell::case(row)],
    };
    let spread = spread.map(per_cent);
    let uncertain = if has(row, "CLASS_BORDERLINE") { "?" } else { "" };
    let listed = row.target.treatments.iter().filter(|_| has_treatments);
    let treatments: Vec<String> = listed.map(|treatment| plain(treatment)).collect();
    let class = row.class.as_deref().map(|class| format!("{}{uncertain}", plain(class)));
    vec![
        Cell::case(row),
        Cell::text(text),
        Cell::text(interval.unwrap_or_default()),
        Cell::text(spread.unwrap_or_default()),
        Cell::text(counters::insn(row)),
        Cell::text(counters::cpi(row)),
        Cell::text(class.unwrap_or("-".to_owned())).with_style(class_style(row)),
        Cell::text(entries(row)),
        Cell::text(floor.unwrap_or_default()),
        Cell::text(treatments.join(" + ")),
    ]
}

/// The levels of rows whose repetitions lie around two values: of the first few, and how many more
/// there are.
fn levels(rows: &[&Row]) -> impl Iterator<Item = String> {
    const MAX_NAMED: usize = 4;
    let all: Vec<String> = rows.iter().filter_map(|row| levels_text(row)).collect();
    let more = match all.len().saturating_sub(MAX_NAMED) {
        0 => None,
        1 => Some("and 1 more row of two levels: `levels` in the record (`--json`)".to_owned()),
        more => {
            Some(format!("and {more} more rows of two levels: `levels` in the record (`--json`)"))
        }
    };
    all.into_iter().take(MAX_NAMED).chain(more).chain(compared_calls(rows))
}

/// The two values around which the repetitions of a row lie; `None` of other rows.
pub(in crate::report::view) fn levels_text(row: &Row) -> Option<String> {
    let Levels { low, low_count, high, high_count } =
        row.estimate.as_ref()?.levels.as_ref()?.clone();
    let (lower, higher) = (Style::of(low, row.unit), Style::of(high, row.unit));
    Some(format!(
        "{}: {} in {low_count} repetitions, {} in {high_count}",
        plain(&row.case),
        lower.with_unit(low),
        higher.with_unit(high)
    ))
}

/// How to see whether the way of its system call is why a row has two levels; `None` if no such row
/// makes calls without the C library.
fn compared_calls(rows: &[&Row]) -> Option<String> {
    let makes_calls = |row: &Row| {
        let calls = row.calls.as_ref();
        calls.is_some_and(|it| it.per_op.values().any(|&times| times > 0.0))
            && row.point.get("via").is_none_or(|via| via.to_string() == "raw")
    };
    let has_levels = |row: &Row| row.estimate.as_ref().is_some_and(|it| it.levels.is_some());
    let first = rows.iter().find(|row| has_levels(row) && makes_calls(row))?;
    Some(format!(
        "two levels may be those of an inlined system call: `oscost ab --base call=inline --new \
         call=function {}` shows it, if the loop of the case has one",
        plain(&first.case)
    ))
}

/// Datagrams that did not arrive once and in order.
fn lost_datagrams(rows: &[&Row]) -> Option<String> {
    let is_odd = |it: &Datagrams| it.lost + it.late + it.duplicate + it.reordered > 0;
    let odd = rows.iter().filter_map(|row| row.channel?.datagrams).filter(is_odd);
    let Datagrams { sent, lost, late, duplicate, reordered, .. } =
        odd.reduce(Datagrams::merged_with)?;
    Some(format!(
        "datagrams: of {sent} sent, {lost} were lost, {late} late, {duplicate} duplicated, {reordered} \
         reordered; what did not come back in time is in no figure"
    ))
}

/// What a reader must know of rows besides their figures: flags in words, surprises, losses; and how
/// they were measured.
fn remarks(record: &Record, rows: &[&Row]) -> Remarks {
    let of_rows = rows
        .iter()
        .flat_map(|row| row.flags.iter().map(move |flag| (flag.as_str(), row.case.as_str())));
    let measured = rows.iter().filter(|row| row.outcome == RowOutcome::Measured).count();
    let FlagLines { severe, information } = flags::lines(Kind::RowFlag, of_rows, measured);
    let mut lines: Vec<String> = monitor::line(rows.iter().copied()).into_iter().collect();
    lines.extend(preparation::line(record));
    lines.extend(severe);
    let surprises = rows.iter().flat_map(|row| {
        let texts = row.calls.iter().flat_map(|calls| &calls.unexpected);
        texts.map(|text| (plain(text), row.case.as_str()))
    });
    for (text, cases) in grouped(surprises) {
        lines.push(format!("{}: {text}", plain(&first_of(&cases))));
    }
    lines.extend(levels(rows));
    lines.extend(lost_datagrams(rows));
    let unauthorised: u64 = rows
        .iter()
        .filter_map(|row| row.channel.as_ref())
        .map(|channel| channel.unauthorised_connections)
        .sum();
    if unauthorised > 0 {
        lines.push(format!(
            "{unauthorised} unauthorised connections to the data sockets: each was closed, and none \
             is in a figure"
        ));
    }
    let CacheLines { as_meant, otherwise } =
        page_cache::lines(rows.iter().filter_map(|row| row.file.as_ref()));
    lines.extend(otherwise);
    let of_run = record.conditions.iter().flat_map(|conditions| &conditions.flags);
    lines.extend(of_run.map(|flag| flags::of_run(flag)));
    lines.extend(instructions::remark(rows.iter().copied()));
    lines.extend(counters::remarks(record, rows));
    let between = between_runs(rows);
    let (shown, beside) = match are_by_other_runs(rows) {
        true => (between, None),
        false => (None, between),
    };
    lines.extend(shown.map(|text| {
        format!("{text} A case without earlier runs has the interval of its class, which is wide.")
    }));
    let evidence: Vec<String> = [repetitions(record, rows), beside].into_iter().flatten().collect();
    let method = (!evidence.is_empty()).then(|| evidence.join(" "));
    let method = method.into_iter().chain(counters::amortized(rows)).chain(as_meant).collect();
    Remarks { shown: lines, information, method }
}

/// The remarks, and the number of repetitions of the figures; `None` if there are neither.
pub(super) fn notes(record: &Record, rows: &[&Row]) -> Option<Section> {
    let blocks = remarks(record, rows).blocks();
    (!blocks.is_empty()).then(|| notes_of(blocks))
}

/// What the intervals are, how much narrower those of the run alone, and how many rows have only those;
/// `None` if no row has one between runs.
fn between_runs(rows: &[&Row]) -> Option<String> {
    let estimates = rows.iter().filter_map(|row| row.estimate.as_ref());
    let half_width_pct = |it: &Estimate| {
        it.between_run_ci95.filter(|_| !it.exact)?;
        let [low, high] = it.ci95?;
        Some(50.0 * (high - low) / it.median)
    };
    let has_own_alone = |it: &&Estimate| it.ci95.is_some() && it.between_run_ci95.is_none();
    let alone = match estimates.clone().filter(has_own_alone).count() {
        0 => "",
        1 => " One row has the interval of this run alone.",
        _ => " Some rows have intervals of this run alone.",
    };
    let widths = order::sorted(&estimates.filter_map(half_width_pct).collect::<Vec<_>>());
    let (half, most) = (per_cent(order::median(&widths)?), per_cent(*widths.last()?));
    let own = match widths.len() {
        1 => format!("+-{half}"),
        _ if half == most => format!("+-{half} in all rows"),
        _ => format!("+-{half} in half of the rows, up to +-{most}"),
    };
    Some(format!(
        "Intervals say where long-run figures lie on this machine and kernel; what this run leaves open \
         is {own}.{alone}"
    ))
}

/// Whether the interval of a row has ends that differ by a factor of two or more, most of which this
/// run did not show: its figures then look more certain than their intervals.
fn are_by_other_runs(rows: &[&Row]) -> bool {
    let width = |[low, high]: [f64; 2]| (high / low).ln();
    let is_by_others = |it: &Estimate| {
        let (Some(between), Some(own)) = (it.between_run_ci95, it.ci95) else { return false };
        let (between, own) = (width(between), width(own));
        between >= 2f64.ln() && own < between / 2.0
    };
    rows.iter().filter_map(|row| row.estimate.as_ref()).any(is_by_others)
}

/// How many repetitions the figures rest on.
pub(super) fn repetitions(record: &Record, rows: &[&Row]) -> Option<String> {
    let estimates = rows.iter().filter_map(|row| row.estimate.as_ref());
    let repetitions = estimates.map(|estimate| estimate.repetitions);
    let (fewest, most) = (repetitions.clone().min()?, repetitions.max()?);
    let times = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let s = if most == 1 { "" } else { "s" };
    let cut = if record.complete { "" } else { "; the run was cut short" };
    Some(format!("{times} repetition{s} a row, each a fresh process{cut}."))
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;

    use super::*;

    #[test]
    fn the_way_of_a_call_is_named_for_two_levels_of_rows_that_make_calls() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let found = record.results.into_iter().find(|row| row.calls.is_some()).unwrap();
        let row = |case: &str, times: f64| {
            let mut row = Row { case: case.to_owned(), ..found.clone() };
            row.point = Case::parse(case).unwrap().point;
            if let Some(estimate) = &mut row.estimate {
                estimate.levels =
                    Some(Levels { low: 120.0, low_count: 9, high: 160.0, high_count: 6 });
            }
            if let Some(calls) = &mut row.calls {
                calls.per_op = [("getppid".to_owned(), times)].into();
            }
            row
        };
        let (raw, libc) =
            (row("syscall/getppid:via=raw", 1.0), row("syscall/getppid:via=libc", 1.0));
        let none = row("fault/zero-fill", 0.0);
        let level = levels_text(&raw).unwrap();
        assert_eq!(level, "syscall/getppid:via=raw: 120.0 ns in 9 repetitions, 160.0 ns in 6");
        assert_eq!(compared_calls(&[&none, &libc]), None);
        let advice = compared_calls(&[&none, &libc, &raw]).unwrap();
        assert!(advice.contains("call=function syscall/getppid:via=raw` shows it"), "{advice}");
    }

    #[test]
    fn intervals_far_wider_than_a_run_shows_are_told_to_be_of_other_runs() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let found = record.results.into_iter().find(|row| row.estimate.is_some()).unwrap();
        let is_told = |own: [f64; 2], between: Option<[f64; 2]>| {
            let mut row = found.clone();
            let estimate = row.estimate.as_mut().unwrap();
            (estimate.ci95, estimate.between_run_ci95) = (Some(own), between);
            are_by_other_runs(&[&row])
        };
        assert!(is_told([99.0, 101.0], Some([20.0, 780.0])));
        assert!(!is_told([99.0, 101.0], Some([90.0, 110.0])), "it is narrow");
        assert!(!is_told([30.0, 700.0], Some([20.0, 780.0])), "the run shows most of it");
        assert!(!is_told([99.0, 101.0], None));
        assert!(!is_told([-1.0, 1.0], Some([-2.0, 2.0])), "around zero there is no factor");
    }
}
