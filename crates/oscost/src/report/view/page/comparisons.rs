//! Comparisons on a page: for each pair of targets or runs a forest plot and a table of all
//! comparisons.

use oscost_model::record::{PRIMARY, Record};

use crate::report::figures::{per_cent, probability, quantity};
use crate::report::text::plain;
use crate::report::view::comparison::ab::{self, TargetComparisons};
use crate::report::view::comparison::compare;
use crate::report::view::comparison::forest::{forest, row_id};
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::texts::ComparisonText;
use crate::report::view::comparison::verdicts::verdict_style;
use crate::report::view::document::{Block, Cell, Column, ForestPlot, Section, Table, TableRow};

/// The section of a run whose targets were measured interleaved.
pub(super) fn of_run(record: &Record) -> Option<Section> {
    let mut blocks = Vec::new();
    let row = |index: u32| record.results.get(index as usize);
    for (number, compared) in TargetComparisons::all(record).into_iter().enumerate() {
        let TargetComparisons { targets, requested, reference_cases, work } = compared;
        blocks.push(Block::Heading(ab::pair_title(targets, &requested)));
        let pairs = requested.into_iter().chain(work);
        let pairs: Vec<Pair<'_>> =
            pairs.filter_map(|it| Some(Pair::of(it, row(it.base)?, row(it.new)?))).collect();
        blocks.extend(side_by_side(number, &pairs));
        let added = ab::added_to_reference_cases(record, &reference_cases);
        blocks.extend(added.map(Block::Text));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Heading(REMARKS.to_owned()));
        blocks.extend(ab::remarks(record).blocks());
    }
    (!blocks.is_empty()).then(|| section(blocks))
}

/// The section of runs that were compared.
pub(super) fn of_runs(shown: &compare::ComparisonContent<'_>) -> Section {
    let compared = shown.compared;
    let row = |index: u32| compared.results.get(index as usize);
    let pairs = compared.comparisons.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.filter_map(|it| Some(Pair::of(it, row(it.base)?, row(it.new)?))).collect();
    let mut blocks = side_by_side(0, &pairs);
    if let Some(skipped) = compare::not_compared(shown) {
        blocks.push(Block::Heading(skipped.title));
        blocks.extend(skipped.blocks);
    }
    blocks.push(Block::Heading(REMARKS.to_owned()));
    blocks.extend(compare::remarks(shown).blocks());
    section(blocks)
}

const REMARKS: &str = "What the verdicts mean";

fn section(blocks: Vec<Block>) -> Section {
    let (id, title) = ("compared".to_owned(), "Comparison".to_owned());
    Section { id, title, blocks, ..Section::default() }
}

/// The chart and the table of a base and a new side.
fn side_by_side(number: usize, pairs: &[Pair<'_>]) -> Vec<Block> {
    if pairs.is_empty() {
        return vec![Block::Text("No row could be compared.".to_owned())];
    }
    let mut plot: ForestPlot = forest(number, &pairs.iter().collect::<Vec<_>>());
    for (line, pair) in plot.lines.iter_mut().zip(pairs) {
        if pair.it.metric != PRIMARY {
            line.name = format!("{} ({})", line.name, plain(&pair.it.metric));
        }
    }
    vec![Block::Forest(plot), Block::Table(self::table(number, pairs))]
}

fn table(number: usize, pairs: &[Pair<'_>]) -> Table {
    let has_causes = pairs.iter().any(|pair| pair.it.decomposition.is_some());
    let has_metrics = pairs.iter().any(|pair| pair.it.metric != PRIMARY);
    let row = |(which, Pair { it, base: row, .. }): (usize, &Pair<'_>)| {
        let ComparisonText { base, ratio, interval, added, verdict } = ComparisonText::of(it, row);
        let figure = row.estimate.as_ref().map(|estimate| estimate.median);
        let end = |which: usize| {
            let text = interval.as_ref().map_or("-".to_owned(), |ends| ends[which].clone());
            Cell::number(text, it.ratio.ci95.map(|ends| ends[which]))
        };
        let flags: Vec<String> = it.flags.iter().map(|flag| plain(flag)).collect();
        let metric = match (&*it.metric, &row.primary_metric) {
            (PRIMARY, Some(own)) => plain(own),
            (PRIMARY, None) => quantity(row.unit).to_owned(),
            (other, _) => plain(other),
        };
        let metric = Cell { value: Some(plain(&it.metric)), ..Cell::text(metric) };
        let mut cells = vec![Cell::text(plain(&it.case))];
        cells.extend(has_metrics.then_some(metric));
        cells.extend([
            Cell::number(base, figure),
            Cell::number(ratio, Some(it.ratio.value)),
            end(0),
            end(1),
            Cell::number(added, Some(it.added.value)),
            Cell { value: Some(plain(&it.verdict)), ..Cell::text(verdict) }
                .with_style(verdict_style(it)),
            Cell::number(probability(it.q), Some(it.q)),
            Cell::number(it.mde_pct.map_or("-".to_owned(), per_cent), it.mde_pct),
            Cell::number(it.pairs.to_string(), Some(f64::from(it.pairs))),
            Cell::text(flags.join(" ")).with_style("small"),
            Cell::text(row.unit.text()),
        ]);
        let why = it.decomposition.as_ref().map(|it| plain(&it.sentence)).unwrap_or_default();
        cells.extend(has_causes.then(|| Cell::text(why).with_style("small")));
        TableRow {
            id: row_id(number, which),
            benchmark: row.benchmark.clone(),
            ..TableRow::of(cells)
        }
    };
    Table {
        id: format!("comparisons-{number}"),
        caption: "Every comparison".to_owned(),
        columns: [Column::text("case")]
            .into_iter()
            .chain(has_metrics.then(|| Column::choice("metric")))
            .chain([
                Column::number("base", "base"),
                Column::number("ratio", "ratio"),
                Column::number("95 % low", "ratio_ci95_low"),
                Column::number("95 % high", "ratio_ci95_high"),
                Column::number("added", "added"),
                Column::choice("verdict"),
                Column::number("q", "q"),
                Column::number("detectable", "mde_pct"),
                Column::number("pairs", "pairs"),
                Column::words("flags"),
                Column::words("unit"),
            ])
            .chain(has_causes.then(|| Column::text("why")))
            .collect(),
        rows: pairs.iter().enumerate().map(row).collect(),
        notes: Vec::new(),
        interactive: true,
        ..Table::default()
    }
}
