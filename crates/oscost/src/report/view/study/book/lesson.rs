//! A lesson with the figures of the runs. Where a run lacks one, the lesson names the command that
//! measures it.

use super::picture;
use super::study_run::{JoinedRun, StudyComparison, StudyRun, command};
use crate::report::figures::{DIGITS, Style, at_least, decimals_for, times};
use crate::report::text::plain;
use crate::report::view::document::{Block, Section, View};
use crate::studies::class_lesson::{
    ClassLesson, FigureColumn, FigurePlaceholder, LessonPart, LessonText, MachineFact, Placeholder,
};
use crate::studies::comparison::single_target::{ColumnResult, SingleTargetComparison};
use crate::studies::comparison::two_targets::TwoTargetComparison;
use crate::studies::history::across::MeasuredFigures;
use crate::studies::{ClockRates, PublishedFigure, Study, TableRow, TableUnit};

/// A value that a text can be made of.
struct ShownValue {
    value: Option<f64>,
    text: String,
}

/// What lessons take their figures from.
struct Sources<'a> {
    runs: &'a [StudyRun<'a>],
    figures: &'a MeasuredFigures,
}

/// A lesson as a page.
pub(super) fn view(lesson: &ClassLesson, runs: &[StudyRun<'_>], figures: &MeasuredFigures) -> View {
    let sources = Sources { runs, figures };
    let mut sections = vec![Section::default()];
    let mut items: Vec<String> = Vec::new();
    for part in &lesson.parts {
        if !matches!(part, LessonPart::Item(_)) {
            end_list(&mut items, &mut sections);
        }
        let blocks = match part {
            LessonPart::Heading(title) => {
                sections.push(Section::of(title.clone(), []));
                vec![]
            }
            LessonPart::Item(texts) => {
                items.push(sources.sentence(texts));
                vec![]
            }
            LessonPart::Paragraph(texts) => vec![Block::Text(sources.sentence(texts))],
            LessonPart::Commands(lines) => vec![Block::Preformatted(lines.clone())],
            LessonPart::Picture { study, table } => sources.pictures(lesson, study, table),
        };
        push(&mut sections, blocks);
    }
    end_list(&mut items, &mut sections);
    sections.retain(|section| !section.blocks.is_empty());
    View { title: lesson.title.clone(), sections, ..View::default() }
}

fn push(sections: &mut [Section], blocks: impl IntoIterator<Item = Block>) {
    if let Some(last) = sections.last_mut() {
        last.blocks.extend(blocks);
    }
}

fn end_list(items: &mut Vec<String>, sections: &mut [Section]) {
    let list = Block::list(std::mem::take(items));
    push(sections, list);
}

impl Sources<'_> {
    fn sentence(&self, texts: &[LessonText]) -> String {
        let text = |text: &LessonText| match text {
            LessonText::Words(words) => words.clone(),
            LessonText::Placeholder(placeholder) => plain(&self.filled_in(placeholder)),
        };
        texts.iter().map(text).collect()
    }

    fn filled_in(&self, placeholder: &Placeholder) -> String {
        match placeholder {
            Placeholder::Figure(it) => self.figure(it),
            Placeholder::Case { case, over: None } => match self.figures.get(case) {
                Some(it) => {
                    let style = Style::of(it.value, it.unit);
                    let interval = it.interval.map(|[low, high]| {
                        format!(" [{} .. {}]", style.number(low), style.number(high))
                    });
                    format!("{}{}", style.with_unit(it.value), interval.unwrap_or_default())
                }
                None => format!("(not measured here: oscost run {case})"),
            },
            Placeholder::Case { case, over: Some(over) } => {
                match (self.figures.get(case), self.figures.get(over)) {
                    (Some(one), Some(other)) if one.unit == other.unit && other.value > 0.0 => {
                        format!("{} times", times(one.value / other.value))
                    }
                    _ => format!("(not measured here: oscost run {case} {over})"),
                }
            }
            Placeholder::Machine(fact) => self.machine(*fact),
        }
    }

    fn machine(&self, fact: MachineFact) -> String {
        let mut machines =
            self.runs.iter().filter_map(|it| it.run.as_ref()?.record.machines.first());
        let Some(machine) = machines.next() else {
            return "(no study was measured here: oscost study list)".to_owned();
        };
        let unknown = || "(unknown)".to_owned();
        match fact {
            MachineFact::Cpu => machine.cpu.model_name.clone().unwrap_or_else(unknown),
            MachineFact::Kernel => machine.os.release.clone().unwrap_or_else(unknown),
            MachineFact::Mitigations => {
                let active = machine.mitigations.iter().filter(|(_, what)| *what != "Not affected");
                let active: Vec<String> =
                    active.map(|(flaw, what)| format!("{flaw}: {what}")).collect();
                match (machine.mitigations.is_empty(), active.is_empty()) {
                    (true, _) => unknown(),
                    (false, true) => {
                        "nothing, as it has none of the flaws that it knows".to_owned()
                    }
                    (false, false) => active.join("; "),
                }
            }
        }
    }

    fn figure(&self, it: &FigurePlaceholder) -> String {
        let Some(found) = self.runs.iter().find(|run| run.study.id == it.study) else {
            return format!("(there is no study {})", it.study);
        };
        let missing = || match it.column.is_published() {
            true => "(not given)".to_owned(),
            false => format!("(not measured here: {})", command(found.study)),
        };
        let figure = |row: &str| figure(found, row, it.column);
        match &it.over {
            None => figure(&it.row).map_or_else(missing, |shown| shown.text),
            Some(over) => {
                let values = [figure(&it.row), figure(over)];
                match values.map(|shown| shown.and_then(|it| it.value)) {
                    [Some(one), Some(other)] if other > 0.0 => {
                        format!("{} times", times(one / other))
                    }
                    _ => missing(),
                }
            }
        }
    }

    fn pictures(&self, lesson: &ClassLesson, study: &str, table: &str) -> Vec<Block> {
        let found = self.runs.iter().find(|run| run.study.id == study);
        let Some(StudyRun { study, run }) = found else { return vec![] };
        let Some(JoinedRun { joined, .. }) = run else {
            return vec![Block::Text(format!("(No picture: {} measures it.)", command(study)))];
        };
        let number = study.tables.iter().position(|it| it.name == table).map_or(0, |at| at + 1);
        let charts = picture::of_table(joined, table).into_iter();
        let charts = charts.map(|mut chart| {
            chart.id = format!("{}-{}-{number}-{}", lesson.id, study.id, chart.id);
            Block::chart(chart)
        });
        charts.collect()
    }
}

/// A figure of the first row of that name.
fn figure(run: &StudyRun<'_>, name: &str, column: FigureColumn) -> Option<ShownValue> {
    let row = run.study.rows().find(|row| row.name == name)?;
    if column.is_published() {
        return published(run.study, row, column);
    }
    match &run.run.as_ref()?.joined {
        StudyComparison::OneTarget(comparison) => of_one_target(comparison, row, column),
        StudyComparison::TwoTargets(comparison) => of_two_targets(comparison, row, column),
    }
}

/// A number with as many digits as are significant, and its unit.
fn with_unit(value: f64, unit: TableUnit) -> ShownValue {
    let number = at_least(value, decimals_for(value, DIGITS));
    ShownValue { value: Some(value), text: format!("{number} {}", unit.plural()) }
}

/// A published figure; with its unit, unless it names one.
fn as_published(figure: &PublishedFigure, unit: TableUnit) -> ShownValue {
    let names_unit = figure.text.ends_with(|it: char| it.is_ascii_alphabetic());
    let unit = if names_unit { String::new() } else { format!(" {}", unit.plural()) };
    ShownValue { value: figure.single(), text: format!("{}{unit}", figure.text) }
}

fn published(study: &Study, row: &TableRow, column: FigureColumn) -> Option<ShownValue> {
    let table = study.tables.iter().find(|table| table.rows.iter().any(|it| it == row))?;
    let unit = table.figures.first().map_or(row.unit, |figure| figure.in_row(row).unit);
    let figure = |side: usize| row.published.get(side).and_then(Option::as_ref);
    let sides = || Some([figure(0)?.single()?, figure(1)?.single()?]);
    match column {
        FigureColumn::Then => Some(as_published(figure(0)?, unit)),
        FigureColumn::ThenCycles => in_cycles(figure(0)?.single()?, unit, study.clock_rates),
        FigureColumn::ThenAdded => sides().map(|[base, new]| with_unit(new - base, unit)),
        FigureColumn::ThenRatio => sides().map(ratio),
        _ => None,
    }
}

fn ratio([base, new]: [f64; 2]) -> ShownValue {
    let ratio = new / base;
    ShownValue { value: Some(ratio), text: format!("{ratio:.2} times") }
}

/// A time in cycles of a core.
fn in_cycles(value: f64, unit: TableUnit, rates: ClockRates) -> Option<ShownValue> {
    let ns = value * unit.size(rates)?;
    Some(with_unit(ns * rates.core_ghz?, TableUnit::Cycles))
}

fn of_one_target(
    comparison: &SingleTargetComparison<'_>,
    row: &TableRow,
    column: FigureColumn,
) -> Option<ShownValue> {
    let rows = comparison.tables.iter().flat_map(|table| &table.rows);
    // The row itself: others may have its name.
    let found = rows.into_iter().find(|it| std::ptr::eq(it.row, row))?;
    let cell: &ColumnResult<'_> = found.cells.first()?;
    let unit = cell.figure.unit;
    match column {
        FigureColumn::Here => Some(with_unit(cell.by_study_statistic?.value, unit)),
        FigureColumn::HereCycles => {
            in_cycles(cell.by_study_statistic?.value, unit, comparison.clock_rates)
        }
        FigureColumn::Median => {
            let estimate = cell.estimate?;
            let digits = decimals_for(estimate.value, DIGITS);
            let interval = estimate
                .interval
                .map(|it| format!(" [{} .. {}]", at_least(it.lo, digits), at_least(it.hi, digits)));
            let ShownValue { value, text } = with_unit(estimate.value, unit);
            Some(ShownValue { value, text: format!("{text}{}", interval.unwrap_or_default()) })
        }
        _ => None,
    }
}

fn of_two_targets(
    comparison: &TwoTargetComparison<'_>,
    row: &TableRow,
    column: FigureColumn,
) -> Option<ShownValue> {
    let rows = comparison.tables.iter().flat_map(|table| &table.rows);
    let found = rows.into_iter().find(|it| std::ptr::eq(it.row, row))?;
    let [base, new] = found.statistics;
    let [base, new] = [base?.mean, new?.mean];
    match column {
        FigureColumn::Here => Some(with_unit(base, row.unit)),
        FigureColumn::HereAdded => Some(with_unit(new - base, row.unit)),
        FigureColumn::HereRatio => Some(ratio([base, new])),
        _ => None,
    }
}
