//! Targets that were measured interleaved: comparisons of each pair, and what they mean.

use std::collections::BTreeSet;

use oscost_model::journal::Design;
use oscost_model::record::{Comparison, Record, Row, RowOutcome};

pub use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::report::figures::{Style, per_cent};
use crate::report::text::plain;
use crate::report::view::comparison::compare::{INCONCLUSIVE, Pair, compared, flag_remarks};
use crate::report::view::document::{Block, Section, View};
use crate::report::view::run::headline::{headline, title};
use crate::report::view::run::row::is_asked;
use crate::report::view::run::{flags, instructions, monitor};
use crate::report::view::sections::{not_measured, notes_of, origin, section_of_cases};

/// The comparisons of a run as a screen shows them.
pub fn view(record: &Record) -> View {
    let pairs = targets(record).into_iter().enumerate();
    let mut sections: Vec<Section> =
        pairs.map(|(number, targets)| pair(record, number, targets)).collect();
    sections.extend(summary(record));
    View { title: title(record), lead: headline(record), sections, ..View::default() }
}

/// The same in short, with the run that it comes from.
pub fn brief(record: &Record) -> View {
    let mut view = view(record);
    view.sections.push(origin(record));
    view
}

/// A pair of targets: what was compared, and what the new target adds to the reference cases.
fn pair(record: &Record, number: usize, targets: Targets<'_>) -> Section {
    let (asked, reference_cases) = between(record, targets);
    let row = |index: u32| record.results.get(index as usize);
    let pairs = asked.iter();
    let pairs: Vec<Pair<'_>> =
        pairs.filter_map(|it| Some(Pair::of(it, row(it.base)?, row(it.new)?))).collect();
    let mut blocks = compared(number, &pairs);
    blocks.extend(added_to_reference_cases(record, &reference_cases).map(Block::Text));
    Section { title: pair_title(targets, &asked), blocks, ..Section::default() }
}

/// What follows all tables: what is missing in them, what flags mean, what the controls show.
pub(in crate::report::view) fn summary(record: &Record) -> Vec<Section> {
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let mut sections = Vec::new();
    sections.extend(not_measured(&asked));
    sections.extend(not_compared(record, &asked));
    sections.push(notes_of(Block::list(remarks(record)).into_iter().collect()));
    sections
}

/// Two targets that were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report::view) struct Targets<'a> {
    /// The one that is compared with.
    pub(in crate::report::view) base: &'a str,
    /// The one that is compared.
    pub(in crate::report::view) new: &'a str,
}

fn targets_of<'a>(record: &'a Record, it: &Comparison) -> Option<Targets<'a>> {
    let target = |row: u32| record.results.get(row as usize).map(|row| row.target.text.as_str());
    Some(Targets { base: target(it.base)?, new: target(it.new)? })
}

/// The targets that were compared, in the order of the record.
pub(in crate::report::view) fn targets(record: &Record) -> Vec<Targets<'_>> {
    let mut found = Vec::new();
    for it in record.comparisons.iter().filter(|it| !it.control) {
        if let Some(targets) = targets_of(record, it)
            && !found.contains(&targets)
        {
            found.push(targets);
        }
    }
    found
}

/// What was compared between two targets: the cases that were asked for, and the reference cases.
pub(in crate::report::view) fn between<'a>(
    record: &'a Record,
    targets: Targets<'_>,
) -> (Vec<&'a Comparison>, Vec<&'a Comparison>) {
    let of_both = |it: &&Comparison| !it.control && targets_of(record, it) == Some(targets);
    let all = record.comparisons.iter().filter(of_both);
    all.partition(|it| is_asked(&record.results[it.base as usize]))
}

/// What is compared with what, and how.
pub(in crate::report::view) fn pair_title(targets: Targets<'_>, rows: &[&Comparison]) -> String {
    let Targets { base, new } = targets;
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
    plain(&text)
}

/// How two targets were interleaved, in words.
fn design(text: &str) -> &str {
    match text {
        "twins" => "as fork twins",
        "toggle" => "in one process, attached and detached",
        "pairs" => "in separate processes, in random order",
        other => other,
    }
}

/// What a target adds to the reference cases, which are measured in every run.
pub(in crate::report::view) fn added_to_reference_cases(
    record: &Record,
    reference_cases: &[&Comparison],
) -> Option<String> {
    let one = |it: &&Comparison| {
        let row = &record.results[it.base as usize];
        let name = plain(&row.case);
        if instructions::is_counted(row) {
            return format!("{name} {}", instructions::added(it));
        }
        let added = Style::of(it.added.value, it.added.unit).with_unit(it.added.value);
        let sign = if it.added.value > 0.0 { "+" } else { "" };
        let verdict = match it.verdict.as_str() {
            "slower" | "faster" => String::new(),
            verdict => format!(" ({})", plain(verdict)),
        };
        format!("{name} {sign}{added}{verdict}")
    };
    let added: Vec<String> = reference_cases.iter().map(one).collect();
    (!added.is_empty()).then(|| format!("reference cases: {}", added.join(", ")))
}

/// Rows that have figures but are in no comparison, by reason.
pub(in crate::report::view) fn not_compared(record: &Record, asked: &[&Row]) -> Option<Section> {
    let is_compared = |row: &Row| {
        let is = |index: u32| std::ptr::eq(&record.results[index as usize], row);
        record.comparisons.iter().any(|it| is(it.base) || is(it.new))
    };
    let left = asked
        .iter()
        .copied()
        .filter(|row| row.outcome == RowOutcome::Measured && !is_compared(row));
    let reasons = left.map(|row| {
        let is_bound = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
        let why = match is_bound {
            _ if instructions::is_counted(row) => {
                "its other side has no figure, or one side has no instructions: there is no ratio"
            }
            true => "its figure cannot be distinguished from zero: there is no ratio",
            false => "its other side has no figure",
        };
        (format!("at {}: {why}", plain(&row.target.text)), row.case.as_str())
    });
    section_of_cases("not-compared", "Not compared", reasons)
}

/// What flags mean, what the controls show, and how many verdicts there are of each kind.
pub(in crate::report::view) fn remarks(record: &Record) -> Vec<String> {
    let (controls, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        record.comparisons.iter().partition(|it| it.control);
    let asked = |it: &&Comparison| is_asked(&record.results[it.base as usize]);
    let rows: Vec<&Comparison> = rows.into_iter().filter(asked).collect();
    let mut lines = flag_remarks(rows.iter().copied());
    for flag in record.conditions.iter().flat_map(|it| &it.flags) {
        lines.push(format!("{}: {}", plain(flag), flags::of_run(flag)));
    }
    lines.extend(monitor::line(record.results.iter().filter(|row| is_asked(row))));
    lines.extend(controls.iter().map(|it| control(it)));
    let ties: u32 = rows.iter().map(|it| it.ties).sum();
    if ties > 0 {
        lines.push(format!(
            "{ties} pairs of batches did not differ: in a row with many of them, the clock's step \
             hides smaller differences."
        ));
    }
    let is_counted = |it: &&Comparison| instructions::is_counted(&record.results[it.base as usize]);
    let (counts, rows): (Vec<&Comparison>, Vec<&Comparison>) =
        rows.into_iter().partition(is_counted);
    lines.extend(instructions::verdicts(&counts, None));
    lines.extend(instructions::remark(record.results.iter().filter(|row| is_asked(row))));
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
    if rows.iter().any(|it| it.verdict == "inconclusive" && it.mde_pct.is_some()) {
        lines.push(INCONCLUSIVE.to_owned());
    }
    if !record.complete {
        lines.push("The run was interrupted.".to_owned());
    }
    lines
}

/// What a control shows: no effect of nothing, or an effect, and then no verdict can be trusted.
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
        Some(pct) => format!("{text}; {} would have been detected", per_cent(pct)),
        None => text,
    }
}
