//! Places that were measured side by side: a table and a forest plot for each, and what to think of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use oscost_model::journal::Design;
use oscost_model::record::{Comparison, Record, Row, RowOutcome};

pub use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::report::figures::{Style, per_cent};
use crate::report::text::{fold, plain};
use crate::report::view::compare::{HEADINGS, cells, forest};
use crate::report::view::run::{
    Cells, first_of, gathered, headline, is_asked, laid_out, not_measured,
};
use crate::report::view::{flags, instructions, monitor, programs};

/// What is shown.
pub struct Shown<'a> {
    /// The run.
    pub record: &'a Record,
}

/// The comparisons of a run as text of 80 columns.
pub fn text(shown: &Shown<'_>) -> String {
    let record = shown.record;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", headline(record));
    for (base, new) in targets(record) {
        let (asked, reference_cases) = between(record, base, new);
        let _ = writeln!(out, "\n{}", title((base, new), &asked));
        let rows: Vec<Row> = asked
            .iter()
            .map(|it| programs::of_metric(&record.results[it.base as usize], it))
            .collect();
        let (counts, timed): (Vec<_>, Vec<_>) =
            asked.iter().zip(&rows).partition(|(_, row)| instructions::is_it(row));
        let new = |it: &Comparison| &record.results[it.new as usize];
        let counts: Vec<_> = counts.into_iter().map(|(it, row)| (*it, row, new(it))).collect();
        let (asked, rows): (Vec<&Comparison>, Vec<&Row>) = timed.into_iter().unzip();
        out.push_str(&instructions::table(&counts));
        if rows.is_empty() && counts.is_empty() {
            let _ = writeln!(out, "  no row could be compared");
        } else if !rows.is_empty() {
            let cells: Vec<Cells> =
                asked.iter().zip(&rows).map(|(it, row)| cells(it, row)).collect();
            out.push_str(&laid_out(&rows, &cells, HEADINGS));
            let named = asked.iter().zip(&rows).map(|(it, row)| (*it, row.case.as_str()));
            out.push_str(&forest(named));
        }
        if let Some(line) = beside(record, &reference_cases) {
            let _ = writeln!(out, "\n{}", fold(&line, 78, "  "));
        }
    }
    out.push_str(&below(record));
    out
}

/// What stands below all tables: what is missing in them, what marks mean, what the control says.
pub(super) fn below(record: &Record) -> String {
    let mut out = String::new();
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    not_measured(&asked, &mut out);
    not_compared(record, &asked, &mut out);
    summary(record, &mut out);
    out
}

/// The places that were compared, in the order of the record.
pub(super) fn targets(record: &Record) -> Vec<(&str, &str)> {
    let target = |row: u32| record.results.get(row as usize).map(|row| row.target.text.as_str());
    let mut found = Vec::new();
    for it in record.comparisons.iter().filter(|it| !it.control) {
        if let (Some(base), Some(new)) = (target(it.base), target(it.new))
            && !found.contains(&(base, new))
        {
            found.push((base, new));
        }
    }
    found
}

/// What was compared between two places: what was asked for, and the reference cases beside it.
pub(super) fn between<'a>(
    record: &'a Record,
    base: &str,
    new: &str,
) -> (Vec<&'a Comparison>, Vec<&'a Comparison>) {
    let of_both = |it: &&Comparison| {
        let target = |row: u32| record.results.get(row as usize).map(|row| &row.target.text[..]);
        !it.control && (target(it.base), target(it.new)) == (Some(base), Some(new))
    };
    let all = record.comparisons.iter().filter(of_both);
    all.partition(|it| is_asked(&record.results[it.base as usize]))
}

/// What is compared with what, and how.
pub(super) fn title((base, new): (&str, &str), rows: &[&Comparison]) -> String {
    let designs: BTreeSet<&str> = rows.iter().map(|it| design(&it.design)).collect();
    let designs = designs.into_iter().collect::<Vec<_>>().join("; ");
    let (least, most) = rows
        .iter()
        .fold((u32::MAX, 0), |(least, most), it| (least.min(it.pairs), most.max(it.pairs)));
    let pairs = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    let span = rows.iter().map(|it| it.span_s).fold(0.0, f64::max);
    let text = match rows {
        [] => format!("{new} against {base}"),
        rows if rows.iter().all(|it| it.design == Design::Boots.text()) => {
            format!("{new} against {base}: a boot of each")
        }
        _ => format!("{new} against {base}: {pairs} pairs over {span:.0} s, {designs}"),
    };
    fold(&plain(&text), 78, "  ")
}

/// How two places were interleaved, in words.
fn design(text: &str) -> &str {
    match text {
        "twins" => "as fork twins",
        "toggle" => "in one process, attached and detached",
        "pairs" => "in two processes, one after the other",
        other => other,
    }
}

/// What the place costs the reference cases, which are measured everywhere.
pub(super) fn beside(record: &Record, reference_cases: &[&Comparison]) -> Option<String> {
    let one = |it: &&Comparison| {
        let row = &record.results[it.base as usize];
        let name = plain(&row.case);
        if instructions::is_it(row) {
            return format!("{name} {}", instructions::added(it));
        }
        let added = Style::of(it.added.value, it.added.unit).with_unit(it.added.value);
        let sign = if it.added.value > 0.0 { "+" } else { "" };
        let surely = matches!(it.verdict.as_str(), "slower" | "faster");
        let surely = if surely { String::new() } else { format!(" ({})", plain(&it.verdict)) };
        format!("{name} {sign}{added}{surely}")
    };
    let told: Vec<String> = reference_cases.iter().map(one).collect();
    (!told.is_empty()).then(|| format!("measured beside them: {}", told.join(", ")))
}

/// Rows that have figures and yet stand in no comparison: why, and of which cases.
pub(super) fn left_out<'a>(record: &Record, asked: &[&'a Row]) -> Vec<(String, Vec<&'a str>)> {
    let stands = |row: &Row| {
        let is = |index: u32| std::ptr::eq(&record.results[index as usize], row);
        record.comparisons.iter().any(|it| is(it.base) || is(it.new))
    };
    let left =
        asked.iter().copied().filter(|row| row.outcome == RowOutcome::Measured && !stands(row));
    let why = left.map(|row| {
        let below = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
        let why = match below {
            _ if instructions::is_it(row) => {
                "its other side has no figure, or one side is no instruction at all: there is no \
                 ratio"
            }
            true => "its figure cannot be told from nothing: there is no ratio",
            false => "its other side has no figure",
        };
        (format!("at {}: {why}", plain(&row.target.text)), row.case.as_str())
    });
    gathered(why)
}

fn not_compared(record: &Record, asked: &[&Row], out: &mut String) {
    let left = left_out(record, asked);
    if !left.is_empty() {
        let _ = writeln!(out, "\nnot compared:");
    }
    for (why, cases) in left {
        let text = format!("{}, {why}", plain(&first_of(&cases)));
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
}

fn summary(record: &Record, out: &mut String) {
    let _ = writeln!(out);
    for line in said(record) {
        let _ = writeln!(out, "{}", fold(&line, 78, "  "));
    }
}

/// What the marks mean, what the control says, and how many verdicts of each kind there are.
pub(super) fn said(record: &Record) -> Vec<String> {
    let (controls, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        record.comparisons.iter().partition(|it| it.control);
    let asked = |it: &&Comparison| is_asked(&record.results[it.base as usize]);
    let rows: Vec<&Comparison> = rows.into_iter().filter(asked).collect();
    let mut lines = Vec::new();
    let mut by_flag: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in &rows {
        for flag in &it.flags {
            by_flag.entry(flag).or_default().push(&it.case);
        }
    }
    for (flag, cases) in by_flag {
        let meaning = flags::of_comparison(flag);
        lines.push(format!("{}: {meaning}: {}", plain(flag), plain(&first_of(&cases))));
    }
    for flag in record.conditions.iter().flat_map(|it| &it.flags) {
        lines.push(format!("{}: {}", plain(flag), flags::of_run(flag)));
    }
    lines.extend(monitor::line(record.results.iter().filter(|row| is_asked(row))));
    for it in &controls {
        lines.push(control(it));
    }
    let ties: u32 = rows.iter().map(|it| it.ties).sum();
    if ties > 0 {
        lines.push(format!(
            "{ties} pairs of batches did not differ at all: of a row in which these are many, the \
             clock's step hides what is left."
        ));
    }
    let is_counted = |it: &&Comparison| instructions::is_it(&record.results[it.base as usize]);
    let (counts, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        rows.into_iter().partition(is_counted);
    lines.extend(instructions::verdicts(&counts, None));
    lines.extend(instructions::line(record.results.iter().filter(|row| is_asked(row))));
    let count = |verdict: &str| rows.iter().filter(|it| it.verdict == verdict).count();
    if !rows.is_empty() {
        lines.push(format!(
            "{} slower, {} faster, {} equivalent (within 3 %), {} inconclusive.",
            count("slower"),
            count("faster"),
            count("equivalent"),
            count("inconclusive")
        ));
    }
    let open = rows.iter().filter(|it| it.verdict == "inconclusive");
    if open.clone().any(|it| it.mde_pct.is_some()) {
        lines.push(
            "inconclusive (12 %) says: had it changed by 12 %, four of five such comparisons would \
             have shown it. It does not say that nothing changed."
                .to_owned(),
        );
    }
    if !record.complete {
        lines.push("The run was cut short.".to_owned());
    }
    lines
}

/// What a control says: that nothing came out of nothing, or that nothing can be believed.
fn control(it: &Comparison) -> String {
    let design = design(&it.design);
    let Some([low, high]) = it.ratio.ci95 else {
        return format!("control ({design}): {} pairs, too few for an interval", it.pairs);
    };
    let ratio = it.ratio.value;
    let text = format!(
        "control, nothing differs ({design}): {} pairs, ratio {ratio:.3} [{low:.3} .. {high:.3}]",
        it.pairs
    );
    match it.mde_pct {
        Some(pct) => format!("{text}; {} would have shown", per_cent(pct)),
        None => text,
    }
}
