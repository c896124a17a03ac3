//! A comparison of runs: its table, its forest plot, and its JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use oscost_model::case::Case;
use oscost_model::record::{Comparison, Record, Row};
use serde::Serialize;

use crate::estimate::comparison::threshold::Threshold;
use crate::estimate::comparison::{MIN_PAIRS, RunComparison};
use crate::report::figures::{Style, per_cent};
use crate::report::text::{fold, plain};
use crate::report::view::run::{Cells, first_of, gathered, laid_out};
use crate::report::view::{flags, instructions};

/// What is shown.
pub struct Shown<'a> {
    /// The runs that were compared with, as they were named.
    pub base: &'a [Record],
    /// The runs that were compared.
    pub new: &'a [Record],
    /// What came out.
    pub compared: &'a RunComparison,
    /// How much slower is too much.
    pub threshold: Threshold,
}

pub(super) const HEADINGS: [&str; 6] = ["base", "ratio", "95 % interval", "added", "verdict", ""];

/// The comparison as text of 80 columns.
pub fn text(shown: &Shown<'_>) -> String {
    let RunComparison { results, comparisons, .. } = shown.compared;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", side("base", shown.base));
    let _ = writeln!(out, "{}", side("new ", shown.new));
    differences(shown, &mut out);
    let row = |at: u32| &results[at as usize];
    let (counts, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|it| instructions::is_it(row(it.base)));
    let counts: Vec<_> = counts.into_iter().map(|it| (it, row(it.base), row(it.new))).collect();
    if comparisons.is_empty() {
        let _ = writeln!(out, "\nno row could be compared");
    }
    if !counts.is_empty() {
        let _ = write!(out, "\n{}", instructions::table(&counts));
    }
    if !timed.is_empty() {
        let rows: Vec<&Row> = timed.iter().map(|it| row(it.base)).collect();
        let cells: Vec<Cells> = timed.iter().zip(&rows).map(|(it, row)| cells(it, row)).collect();
        let _ = write!(out, "\n{}", laid_out(&rows, &cells, HEADINGS));
        out.push_str(&forest(timed.iter().map(|it| (*it, it.case.as_str()))));
    }
    not_compared(shown, &mut out);
    summary(shown, &mut out);
    out
}

/// A side: its run, or how many there are and when.
pub(super) fn side(name: &str, runs: &[Record]) -> String {
    let when = |run: &Record| run.started.get(..19).unwrap_or(&run.started).replace('T', " ");
    let id = |run: &Record| run.id.get(..13).unwrap_or(&run.id).to_owned();
    let text = match runs {
        [run] => {
            let label = run.label.as_ref().map(|label| format!(", {label:?}")).unwrap_or_default();
            let class = run.conditions.first().and_then(|it| it.class.clone());
            let class = class.map(|class| format!(", {class}")).unwrap_or_default();
            format!("{name}  run {} of {}{class}{label}", id(run), when(run))
        }
        runs => {
            let mut starts: Vec<String> = runs.iter().map(when).collect();
            starts.sort();
            let (first, last) = (starts.first(), starts.last());
            let (first, last) =
                (first.cloned().unwrap_or_default(), last.cloned().unwrap_or_default());
            format!("{name}  {} runs, begun from {first} to {last}", runs.len())
        }
    };
    fold(&plain(&text), 74, "      ")
}

fn differences(shown: &Shown<'_>, out: &mut String) {
    for text in &shown.compared.differences {
        let _ = writeln!(out, "{}", fold(&plain(&format!("differ: {text}")), 78, "  "));
    }
}

pub(super) fn cells(it: &Comparison, row: &Row) -> Cells {
    let size = row.estimate.as_ref().map_or(0.0, |estimate| estimate.median);
    let style = Style::of(size, row.unit);
    let decimals = it.ratio.ci95.map_or(3, |[low, high]| if high - low < 0.05 { 3 } else { 2 });
    let number = |value: f64| format!("{value:.decimals$}");
    let interval = it.ratio.ci95.map(|[low, high]| format!("{} .. {}", number(low), number(high)));
    // In digits of its own: an addition may be a small part of the figure.
    let added = Style::of(it.added.value, it.added.unit).with_unit(it.added.value);
    let sign = if it.added.value > 0.0 { "+" } else { "" };
    [
        style.with_unit(size),
        number(it.ratio.value),
        interval.unwrap_or_else(|| "-".to_owned()),
        format!("{sign}{added}"),
        verdict(it),
        String::new(),
    ]
}

/// The same of a comparison of any kind.
pub(super) fn told(it: &Comparison, base: &Row) -> Cells {
    if !instructions::is_it(base) {
        return cells(it, base);
    }
    let ends = it.ratio.ci95.map(|ends| ends.map(instructions::ratio));
    let ends = ends.map_or("-".to_owned(), |[low, high]| format!("{low} .. {high}"));
    let (figure, ratio) = (instructions::figure(base), instructions::ratio(it.ratio.value));
    [figure, ratio, ends, instructions::added(it), plain(&it.verdict), String::new()]
}

/// The verdict in words; of what nobody can tell, the smallest effect that could have been seen.
fn verdict(it: &Comparison) -> String {
    match (it.verdict.as_str(), it.mde_pct) {
        ("inconclusive", Some(pct)) => format!("inconclusive ({})", per_cent(pct)),
        (verdict, _) => plain(verdict),
    }
}

/// Each ratio and its interval as a line on a common scale, 1 in the middle.
pub(super) fn forest<'a>(comparisons: impl Iterator<Item = (&'a Comparison, &'a str)>) -> String {
    /// Columns to either side of 1.
    const ARM: f64 = 20.0;
    const NAMES: usize = 38;
    let logs: Vec<(&str, f64, [f64; 2])> = comparisons
        .filter_map(|(it, name)| Some((name, it.ratio.value.ln(), it.ratio.ci95?.map(f64::ln))))
        .collect();
    let Some(furthest) =
        logs.iter().map(|(_, _, [low, high])| low.abs().max(high.abs())).max_by(f64::total_cmp)
    else {
        return String::new();
    };
    // The scale ends at a round ratio; what reaches beyond the last one ends in an arrow.
    let ends = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 10.0];
    let end = ends.into_iter().find(|end: &f64| end.ln() >= furthest).unwrap_or(10.0);
    let column = |log: f64| ((log / end.ln()).clamp(-1.0, 1.0) * ARM + ARM).round() as usize;
    let digits = |ratio: f64| format!("{ratio:.2}");
    let (left, right) = (digits(1.0 / end), digits(end));
    let arm = ARM as usize;
    let gap = arm.saturating_sub(left.len());
    let far = arm.saturating_sub(right.len());
    let mut out = format!("\n{:NAMES$} {left}{:gap$}1{:far$}{right}\n", "new / base", "", "");
    let names = names(&logs.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    for ((_, value, [low, high]), case) in logs.into_iter().zip(names) {
        let mut line = vec![' '; 2 * arm + 1];
        line[arm] = '|';
        let (from, to) = (column(low), column(high));
        line[from..=to].fill('-');
        let beyond = |log: f64| log.abs() > end.ln() + 1e-9;
        line[from] = if beyond(low) { '<' } else { '[' };
        line[to] = if beyond(high) { '>' } else { ']' };
        // What lies beyond the scale is no point on it.
        if !beyond(value) {
            line[column(value)] = 'o';
        }
        let line: String = line.into_iter().collect();
        let _ = writeln!(out, "{} {}", name(&plain(&case), NAMES), line.trim_end());
    }
    out
}

/// Cases by their benchmarks and the axes on which those of one benchmark differ.
pub(super) fn names(cases: &[&str]) -> Vec<String> {
    let parsed: Vec<Option<Case>> = cases.iter().map(|case| Case::parse(case)).collect();
    let name = |(text, case): (&&str, &Option<Case>)| {
        let Some(case) = case else { return (*text).to_owned() };
        let alike = parsed.iter().flatten().filter(|it| it.benchmark == case.benchmark);
        let differs =
            |axis: &str| alike.clone().any(|other| other.point.get(axis) != case.point.get(axis));
        let axes = case.point.iter().filter(|(axis, _)| differs(axis));
        let axes: Vec<String> = axes.map(|(axis, value)| format!("{axis}={value}")).collect();
        match axes.is_empty() {
            true => case.benchmark.clone(),
            false => format!("{}:{}", case.benchmark, axes.join(",")),
        }
    };
    cases.iter().zip(&parsed).map(name).collect()
}

/// A case in so many columns: what does not fit loses its middle.
pub(super) fn name(case: &str, width: usize) -> String {
    let letters: Vec<char> = case.chars().collect();
    if letters.len() <= width {
        return format!("{case:<width$}");
    }
    let tail = (width - 2) / 2;
    let head: String = letters[..width - 2 - tail].iter().collect();
    let end: String = letters[letters.len() - tail..].iter().collect();
    format!("{head}..{end}")
}

fn not_compared(shown: &Shown<'_>, out: &mut String) {
    let left = &shown.compared.not_compared;
    if left.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nnot compared:");
    for (why, cases) in gathered(left.iter().map(|it| (plain(&it.why), it.case.as_str()))) {
        let text = format!("{}: {why}", plain(&first_of(&cases)));
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
}

/// The rows that are surely slower and by more than the threshold, a sentence each.
pub fn regressions(
    results: &[Row],
    comparisons: &[Comparison],
    threshold: Threshold,
) -> Vec<String> {
    let worse = |it: &&Comparison| threshold.is_exceeded(it, &results[it.base as usize]);
    let line = |it: &Comparison| {
        let (case, value) = (plain(&it.case), it.ratio.value);
        if instructions::is_it(&results[it.base as usize]) {
            return format!("{case}: slower, {}", instructions::added(it));
        }
        let [low, high] = it.ratio.ci95.unwrap_or([value; 2]);
        format!("{case}: slower, {value:.2} times the base ({low:.2} .. {high:.2})")
    };
    comparisons.iter().filter(worse).map(line).collect()
}

fn summary(shown: &Shown<'_>, out: &mut String) {
    let _ = writeln!(out);
    for line in said(shown) {
        let _ = writeln!(out, "{}", fold(&line, 78, "  "));
    }
}

/// How many verdicts of each kind, what they stand on, and what they do not say.
pub(super) fn said(shown: &Shown<'_>) -> Vec<String> {
    let RunComparison { comparisons, pairs_needed, notes, .. } = shown.compared;
    let mut lines: Vec<String> = Vec::new();
    let mut by_flag: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in comparisons {
        for flag in &it.flags {
            by_flag.entry(flag).or_default().push(&it.case);
        }
    }
    for (flag, cases) in by_flag {
        let meaning = flags::of_comparison(flag);
        lines.push(format!("{}: {meaning}: {}", plain(flag), plain(&first_of(&cases))));
    }
    lines.extend(notes.iter().map(|note| plain(note)));
    let results = &shown.compared.results;
    let is_counted = |it: &&Comparison| instructions::is_it(&results[it.base as usize]);
    let (counts, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(is_counted);
    let beyond = |rows: &[&Comparison]| {
        let row = |it: &Comparison| &results[it.base as usize];
        rows.iter().filter(|it| shown.threshold.is_exceeded(it, row(it))).count()
    };
    lines.extend(instructions::verdicts(&counts, Some((beyond(&counts), shown.threshold))));
    lines.extend(instructions::line(counts.iter().map(|it| &results[it.base as usize])));
    let count = |verdict: &str| timed.iter().filter(|it| it.verdict == verdict).count();
    if !timed.is_empty() {
        lines.push(format!(
            "{} slower ({} of them by more than {}), {} faster, {} equivalent (within 3 %), {} \
             inconclusive.",
            count("slower"),
            beyond(&timed),
            shown.threshold,
            count("faster"),
            count("equivalent"),
            count("inconclusive")
        ));
    }
    if count("inconclusive") > 0 && timed.iter().any(|it| it.mde_pct.is_some()) {
        lines.push(
            "inconclusive (12 %) says: had it changed by 12 %, four of five such comparisons would \
             have shown it. It does not say that nothing changed."
                .to_owned(),
        );
    }
    if timed.is_empty() && !counts.is_empty() {
        return lines;
    }
    let one_a_side = shown.base.len() == 1 && shown.new.len() == 1;
    if one_a_side {
        lines.push(format!(
            "Runs measured apart prove less than turns: the machine of the second run is another \
             than that of the first, and each interval is as wide as runs of one thing are seen to \
             differ. {MIN_PAIRS} runs a side in turns (base, new, new, base, ...) say more: \
             --base A,B,.. --new C,D,..; `oscost ab` most, where one run can hold both."
        ));
    } else {
        lines.push(
            "Each run is one value, each pair of neighbouring runs one ratio. Runs measured apart \
             prove less than `oscost ab`, where one run can hold both."
                .to_owned(),
        );
        let open = comparisons.iter().zip(pairs_needed);
        let open = open.filter(|(it, _)| it.verdict == "inconclusive");
        let short = open.filter_map(|(it, needed)| needed.filter(|&all| all > f64::from(it.pairs)));
        if let Some(most) = short.max_by(f64::total_cmp).filter(|&most| most < 1e6) {
            lines.push(format!("{most:.0} pairs would show 1 % in every inconclusive row."));
        }
    }
    lines
}

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
    not_compared: Vec<Left<'a>>,
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
struct Left<'a> {
    case: &'a str,
    target: &'a str,
    why: &'a str,
}

/// The comparison as JSON, indented, with a line end.
pub fn json(shown: &Shown<'_>) -> Result<String, serde_json::Error> {
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
    let left = not_compared.iter();
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
        not_compared: left
            .map(|it| Left { case: &it.case, target: &it.target, why: &it.why })
            .collect(),
        differences,
        notes,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
