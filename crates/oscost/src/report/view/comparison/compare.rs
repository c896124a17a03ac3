//! A comparison of stored runs, and the tables of comparisons of any kind.

use std::collections::BTreeSet;

use oscost_model::counters::is_work;
use oscost_model::record::{Comparison, Record, Row};
use oscost_stats::order;
use serde::Serialize;

use crate::advice::words::Kind;
use crate::estimate::comparison::RunComparison;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::estimate::comparison::threshold::Threshold;
use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::report::figures::per_cent;
use crate::report::text::{class_text, plain, plural};
use crate::report::view::answer::comparison::of_runs;
use crate::report::view::answer::priority::of_comparison;
use crate::report::view::comparison::counts;
use crate::report::view::comparison::forest::forest;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::comparison::texts::ComparisonText;
use crate::report::view::comparison::verdicts::{
    INCONCLUSIVE, MAY_BE_CHANCE, RegressionCount, count_verdicts, has_detectable_effect,
    may_be_chance, time_verdicts, verdict_style, what_widens,
};
use crate::report::view::comparison::work::{self, WorkText};
use crate::report::view::document::{
    Answer, Block, Cell, Column, Paragraph, RowMark, RowScale, Section, Table, TableRow, View,
};
use crate::report::view::run::flags::FlagLines;
use crate::report::view::run::headline::headline;
use crate::report::view::run::{flags, instructions};
use crate::report::view::sections::{Remarks, notes_of, section_of_cases};

/// What is shown.
pub struct ComparisonContent<'a> {
    /// The runs of the base, in the order of the command line.
    pub base: &'a [Record],
    /// The runs that are compared with it.
    pub new: &'a [Record],
    /// The result.
    pub compared: &'a RunComparison,
    /// The difference above which a slower row is a regression.
    pub threshold: Threshold,
}

/// A comparison as a screen shows it.
pub fn view(shown: &ComparisonContent<'_>) -> View {
    let RunComparison { results, comparisons, .. } = shown.compared;
    let row = |index: u32| results.get(index as usize);
    let pairs = comparisons.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.filter_map(|it| Some(Pair::of(it, row(it.base)?, row(it.new)?))).collect();
    let mut sections = vec![Section { blocks: compared(0, &pairs), ..Section::default() }];
    sections.extend(not_compared(shown));
    sections.push(notes_of(remarks(shown).blocks()));
    let (title, answer) = ("oscost compare".to_owned(), answer(shown));
    View { title, lead: lead(shown), answer, sections, ..View::default() }
}

/// What the comparison found.
pub(in crate::report::view) fn answer(shown: &ComparisonContent<'_>) -> Option<Answer> {
    of_runs(shown.compared, [shown.base, shown.new])
}

/// A comparison in short, with the machine of the new runs.
pub fn brief(shown: &ComparisonContent<'_>) -> View {
    let mut view = view(shown);
    view.lead.extend(shown.new.first().map(headline).unwrap_or_default());
    view
}

/// Both sides, and what else differs between them.
pub(in crate::report::view) fn lead(shown: &ComparisonContent<'_>) -> Vec<Paragraph> {
    let differences = shown.compared.differences.iter();
    let differences = differences.map(|text| plain(&format!("differ: {text}")).into());
    let sides = [side("base", shown.base), side("new ", shown.new)];
    let detectable = detectable_changes(shown.compared).map(|text| plain(&text).into());
    sides.into_iter().chain(differences).chain(detectable).collect()
}

/// Whether the verdict on its rows rests on another metric.
pub(in crate::report::view) fn is_secondary(it: &Comparison) -> bool {
    it.flags.iter().any(|flag| flag == SECONDARY)
}

/// How large a change would have been found; `None` if no row of times has a limit.
fn detectable_changes(compared: &RunComparison) -> Option<String> {
    let is_timed = |it: &&Comparison| {
        let base = &compared.results[it.base as usize];
        !is_work(&it.metric) && !is_secondary(it) && !instructions::is_counted(base)
    };
    let timed: Vec<&Comparison> = compared.comparisons.iter().filter(is_timed).collect();
    let limits: Vec<f64> = timed.iter().filter_map(|it| it.mde_pct).collect();
    let limits = order::sorted(&limits);
    let (median, most) = (order::median(&limits)?, limits.last()?);
    let (median, most) = (per_cent(median), per_cent(*most));
    let change = match limits.len() {
        1 => median,
        count if median == most => format!("{median} in {count} rows"),
        count => format!("{median} in half of {count} rows, of {most} in all of them"),
    };
    let none = match timed.len() - limits.len() {
        0 => String::new(),
        1 => "; none in 1 row".to_owned(),
        others => format!("; none in {others} rows"),
    };
    Some(format!("detectable: a change of {change}{none}"))
}

/// The runs of a side: the only one, or how many there are and when they were started.
fn side(name: &str, runs: &[Record]) -> Paragraph {
    let when = |run: &Record| run.started.get(..19).unwrap_or(&run.started).replace('T', " ");
    let id = |run: &Record| run.id.get(..13).unwrap_or(&run.id).to_owned();
    let text = match runs {
        [run] => {
            let label = run.label.as_ref().map(|label| format!(", {label:?}")).unwrap_or_default();
            let class = run.conditions.first().and_then(|it| it.class.clone());
            let class = class.map(|class| format!(", {}", class_text(&class))).unwrap_or_default();
            format!("{name}  run {} of {}{class}{label}", id(run), when(run))
        }
        runs => {
            let mut starts: Vec<String> = runs.iter().map(when).collect();
            starts.sort();
            let (first, last) = (starts.first(), starts.last());
            let (first, last) =
                (first.cloned().unwrap_or_default(), last.cloned().unwrap_or_default());
            format!("{name}  {} runs, started from {first} to {last}", runs.len())
        }
    };
    Paragraph { text: plain(&text), hanging: 6 }
}

/// Comparisons: a table of those that were timed and one of those that were counted, and a forest
/// plot.
pub(in crate::report::view) fn compared(number: usize, pairs: &[Pair<'_>]) -> Vec<Block> {
    if pairs.is_empty() {
        return vec![Block::Text("no row could be compared".to_owned())];
    }
    let (counted, timed): (Vec<&Pair<'_>>, Vec<&Pair<'_>>) =
        pairs.iter().filter(|pair| !pair.is_work()).partition(|pair| pair.is_counted());
    let mut blocks: Vec<Block> = counts::table(&counted).map(Block::Table).into_iter().collect();
    blocks.extend(table(&timed).map(Block::Table));
    let plot = forest(number, &timed);
    blocks.extend((!plot.lines.is_empty()).then_some(Block::Forest(plot)));
    blocks.extend(work::blocks(pairs));
    blocks
}

/// Comparisons of times; `None` if there are none.
fn table(pairs: &[&Pair<'_>]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("base", "base").in_lines_of(76),
        Column::number("ratio", "ratio"),
        Column::number("95 % interval", "ratio_ci95"),
        Column::number("added", "added").in_lines_of(70),
        Column::choice("verdict"),
    ];
    let row = |pair: &&Pair<'_>| {
        let ComparisonText { base, ratio, interval, added, verdict } =
            ComparisonText::timed(pair.it, &pair.base);
        let interval = interval.map(|[low, high]| format!("{low} .. {high}"));
        let cells = vec![
            Cell::case(&pair.base),
            Cell::text(base),
            Cell::text(ratio),
            Cell::text(interval.unwrap_or_else(|| "-".to_owned())),
            Cell::text(added),
            Cell::text(verdict).with_style(verdict_style(pair.it)),
        ];
        let mark = RowMark { value: pair.it.ratio.value, interval: pair.it.ratio.ci95 };
        TableRow { mark: Some(mark), priority: of_comparison(pair.it), ..TableRow::of(cells) }
    };
    let rows: Vec<TableRow> = pairs.iter().map(row).collect();
    let scale = Some(RowScale::Ratios);
    (!rows.is_empty()).then(|| Table { columns, rows, scale, ..Table::default() })
}

/// The cases that were not compared, by reason; `None` if all were. A case whose rows of both sides
/// lack their counterparts for one reason is listed once.
pub(in crate::report::view) fn not_compared(shown: &ComparisonContent<'_>) -> Option<Section> {
    let skipped = shown.compared.not_compared.iter();
    let mut listed = BTreeSet::new();
    let reasons = skipped
        .filter(|it| listed.insert((&it.case, &it.reason)))
        .map(|it| (plain(&it.reason), it.case.as_str()));
    section_of_cases("not-compared", "Not compared", reasons)
}

/// The rows that are slower by more than the threshold, a sentence each.
pub fn regressions(
    results: &[Row],
    comparisons: &[Comparison],
    threshold: Threshold,
) -> Vec<String> {
    let worse = |it: &&Comparison| threshold.is_exceeded(it, &results[it.base as usize]);
    let line = |it: &Comparison| {
        if is_work(&it.metric) {
            let WorkText { ratio, added, .. } = WorkText::of(it, &results[it.base as usize]);
            return format!("{}: more work, {ratio} times the base ({added})", plain(&it.case));
        }
        let (case, value) = (plain(&it.case), it.ratio.value);
        if instructions::is_counted(&results[it.base as usize]) {
            return format!("{case}: slower, {}", counts::added(it));
        }
        let [low, high] = it.ratio.ci95.unwrap_or([value; 2]);
        format!("{case}: slower, {value:.2} times the base ({low:.2} .. {high:.2})")
    };
    comparisons.iter().filter(worse).map(line).collect()
}

/// The flags of comparisons with their meanings, their cases, and what to do.
pub(in crate::report::view) fn flag_lines(comparisons: &[&Comparison]) -> FlagLines {
    let flagged = comparisons
        .iter()
        .flat_map(|it| it.flags.iter().map(move |flag| (flag.as_str(), it.case.as_str())));
    flags::lines(Kind::ComparisonFlag, flagged, comparisons.len())
}

/// How many verdicts there are of each kind, the evidence for them, and its limits.
pub(in crate::report::view) fn remarks(shown: &ComparisonContent<'_>) -> Remarks {
    let RunComparison { comparisons, pairs_needed, notes, .. } = shown.compared;
    let FlagLines { severe: mut lines, information } =
        flag_lines(&comparisons.iter().collect::<Vec<_>>());
    let mut method = Vec::new();
    lines.extend(notes.iter().map(|note| plain(note)));
    let results = &shown.compared.results;
    let is_counted = |it: &&Comparison| instructions::is_counted(&results[it.base as usize]);
    let (work, others): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|it| is_work(&it.metric));
    let (counted, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        others.into_iter().partition(is_counted);
    let regressions = |rows: &[&Comparison]| {
        let row = |it: &Comparison| &results[it.base as usize];
        let exceeding = rows.iter().filter(|it| shown.threshold.is_exceeded(it, row(it)));
        Some(RegressionCount { rows: exceeding.count(), threshold: shown.threshold })
    };
    lines.extend(count_verdicts(&counted, regressions(&counted)));
    lines.extend(instructions::remark(counted.iter().map(|it| &results[it.base as usize])));
    let (beside, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        timed.into_iter().partition(|it| is_secondary(it));
    lines.extend(time_verdicts(&timed, regressions(&timed)));
    let of_beside = time_verdicts(&beside, regressions(&beside));
    lines.extend(of_beside.map(|text| format!("Beside: {text}")));
    lines.extend(work::verdicts(&work));
    if has_detectable_effect(&timed) {
        method.push(INCONCLUSIVE.to_owned());
    }
    if timed.iter().chain(&work).any(|it| may_be_chance(it, &results[it.base as usize])) {
        method.push(MAY_BE_CHANCE.to_owned());
    }
    if timed.is_empty() && !counted.is_empty() {
        return Remarks { shown: lines, information, method };
    }
    let one_a_side = shown.base.len() == 1 && shown.new.len() == 1;
    let paired = comparisons.iter().any(|it| it.design == "boots");
    let needed = min_pairs_for_discovery(timed.len());
    if !paired && has_detectable_effect(&timed) {
        lines.push(what_widens(timed.len()));
    }
    if one_a_side {
        method.push(format!(
            "Two separate runs are weaker evidence than an interleaved one: each interval contains \
             the known variation between runs, and is corrected for the number of rows. {needed} \
             runs a side in alternation (base, new, new, base, ...) are better: `oscost compare \
             A,B,... C,D,...`; `oscost ab` is best, where one run can measure both."
        ));
    } else {
        let value = match paired {
            true => "Each run is one value, each pair of neighbouring runs one ratio.".to_owned(),
            false => format!(
                "Each run is one value; intervals contain the known variation between runs, and are \
                 corrected for the number of rows. {needed} pairs of neighbours, in alternation \
                 (base, new, new, base, ...), would be compared pair by pair."
            ),
        };
        method.push(format!(
            "{value} Separate runs are weaker evidence than `oscost ab`, where one run can measure \
             both."
        ));
        let inconclusive = comparisons.iter().zip(pairs_needed);
        let inconclusive = inconclusive.filter(|(it, _)| it.verdict == "inconclusive");
        let missing =
            inconclusive.filter_map(|(it, needed)| needed.filter(|&all| all > f64::from(it.pairs)));
        if let Some(max) = missing.max_by(f64::total_cmp).filter(|&max| max < 1e6) {
            let pairs = plural(max.round() as u64, "pair");
            lines.push(format!(
                "{pairs} would detect the smallest difference worth reporting in every \
                 inconclusive row (1 %; of wall time 0.5 %)."
            ));
        }
    }
    if !paired && !timed.is_empty() {
        method.push(NEVER_EQUIVALENT.to_owned());
    }
    Remarks { shown: lines, information, method }
}

/// Why no times are called equivalent.
const NEVER_EQUIVALENT: &str = "Times of runs that did not alternate are never called equivalent: how far they vary between \
     runs is not known well enough. Pairs can be.";

/// The comparison as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    base: Vec<Run<'a>>,
    new: Vec<Run<'a>>,
    threshold_pct: Option<f64>,
    threshold_insn: Option<f64>,
    results: &'a [Row],
    comparisons: &'a [Comparison],
    not_compared: Vec<SkippedComparison<'a>>,
    differences: &'a [String],
    notes: &'a [String],
}

#[derive(Serialize)]
struct Run<'a> {
    id: &'a str,
    started: &'a str,
    label: Option<&'a str>,
    class: Option<&'a str>,
}

#[derive(Serialize)]
struct SkippedComparison<'a> {
    case: &'a str,
    target: &'a str,
    reason: &'a str,
}

/// The comparison as JSON, indented, with a line end.
pub fn json(shown: &ComparisonContent<'_>) -> Result<String, serde_json::Error> {
    fn runs(runs: &[Record]) -> Vec<Run<'_>> {
        runs.iter()
            .map(|run| Run {
                id: &run.id,
                started: &run.started,
                label: run.label.as_deref(),
                class: run.conditions.first().and_then(|it| it.class.as_deref()),
            })
            .collect()
    }
    let RunComparison { results, comparisons, not_compared, differences, notes, .. } =
        shown.compared;
    let (threshold_pct, threshold_insn) = match shown.threshold {
        Threshold::PerCent(pct) => (Some(pct), None),
        Threshold::Instructions(count) => (None, Some(count)),
    };
    let document = Document {
        schema: "oscost.comparison/1",
        base: runs(shown.base),
        new: runs(shown.new),
        threshold_pct,
        threshold_insn,
        results,
        comparisons,
        not_compared: not_compared
            .iter()
            .map(|it| SkippedComparison { case: &it.case, target: &it.target, reason: &it.reason })
            .collect(),
        differences,
        notes,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
