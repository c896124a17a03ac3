//! A run or a comparison as a page of Markdown, for a pull request or a README.

use std::fmt::Write as _;

use oscost_model::record::{Comparison, Record, Row, RowOutcome};

use crate::report::render::markdown::{cell, code, lined_up, list, one_line};
use crate::report::view::compare::Shown;
use crate::report::view::run::{
    Cells, Headings, behind, family, first_of, gathered, headline, is_asked, said,
};
use crate::report::view::{ab, compare, instructions, programs, run};

/// A run: what the text of it says, in tables of Markdown.
pub fn run(record: &Record) -> String {
    let mut out = opening(record);
    match record.comparisons.is_empty() {
        true => figures(record, &mut out),
        false => side_by_side(record, &mut out),
    }
    let _ = writeln!(out, "\n{}", origin(record));
    out
}

/// Runs that were compared.
pub fn comparison(shown: &Shown<'_>) -> String {
    let mut out = String::new();
    for (name, runs) in [("base", shown.base), ("new", shown.new)] {
        let text = compare::side("", runs);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- **{name}**: {}", cell(&one_line(&text)));
    }
    if let Some(record) = shown.new.first() {
        let _ = write!(out, "\n{}", opening(record));
    }
    let results = &shown.compared.results;
    let row = |at: u32| results.get(at as usize);
    let rows = shown.compared.comparisons.iter();
    let rows: Vec<(&Comparison, Row, &Row)> =
        rows.filter_map(|it| Some((it, row(it.base)?.clone(), row(it.new)?))).collect();
    compared(&rows, &mut out);
    let left = shown.compared.not_compared.iter();
    let left = gathered(left.map(|it| (it.why.clone(), it.case.as_str())));
    let left = left.iter().map(|(why, cases)| about(cases, why));
    list("Not compared", left, &mut out);
    let differ = shown.compared.differences.iter().map(|text| format!("differ: {text}"));
    list("Notes", differ.chain(compare::said(shown)).map(|line| cell(&line)), &mut out);
    out
}

/// The machine and how quiet it was.
fn opening(record: &Record) -> String {
    let label = record.label.as_ref().map(|label| format!(" ({})", cell(label)));
    let machine = cell(&one_line(&headline(record)));
    format!("**oscost**{}: {machine}\n", label.unwrap_or_default())
}

/// Which run it is, so that whoever has it can look at all of it.
fn origin(record: &Record) -> String {
    let started = record.started.get(..19).unwrap_or(&record.started).replace('T', " ");
    format!(
        "Run {}, {} UTC, oscost {}.",
        code(&record.id),
        cell(&started),
        cell(&record.tool.version)
    )
}

/// The figures of a run: a table for each family, what is missing in them, and what marks mean.
fn figures(record: &Record, out: &mut String) {
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let measured: Vec<&Row> =
        asked.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect();
    let kind = |row: &&Row| (family(row).to_owned(), instructions::is_it(row));
    for rows in measured.chunk_by(|one, other| kind(one) == kind(other)) {
        let (headings, cells): (Headings, fn(&Row) -> Cells) = match rows[0] {
            row if programs::is_program(row) => (programs::HEADINGS, programs::cells),
            row if instructions::is_it(row) => (instructions::HEADINGS, instructions::cells),
            _ => (run::HEADINGS, run::cells),
        };
        let lines: Vec<(String, Cells)> =
            rows.iter().map(|row| (code(short(row)), cells(row))).collect();
        let _ = writeln!(out, "\n{}\n", code(family(rows[0])));
        out.push_str(&lined_up(headings, &lines));
    }
    not_measured(&asked, out);
    list("Notes", said(record, &asked).iter().map(|line| cell(line)), out);
    if let Some(text) = behind(record, &asked) {
        let _ = writeln!(out, "\n{}", cell(&text));
    }
}

/// What was compared within a run: tables for each pair of places, and what to think of them.
fn side_by_side(record: &Record, out: &mut String) {
    for (base, new) in ab::targets(record) {
        let (asked, reference_cases) = ab::between(record, base, new);
        let _ = writeln!(out, "\n{}", cell(&one_line(&ab::title((base, new), &asked))));
        let row = |it: &Comparison| programs::of_metric(&record.results[it.base as usize], it);
        let new = |it: &Comparison| &record.results[it.new as usize];
        let rows: Vec<(&Comparison, Row, &Row)> =
            asked.iter().map(|it| (*it, row(it), new(it))).collect();
        compared(&rows, out);
        if let Some(line) = ab::beside(record, &reference_cases) {
            let _ = writeln!(out, "\n{}", cell(&line));
        }
    }
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    not_measured(&asked, out);
    let left = ab::left_out(record, &asked);
    list("Not compared", left.iter().map(|(why, cases)| about(cases, why)), out);
    list("Notes", ab::said(record).iter().map(|line| cell(line)), out);
}

/// A table for each family of what was compared.
fn compared(rows: &[(&Comparison, Row, &Row)], out: &mut String) {
    if rows.is_empty() {
        let _ = writeln!(out, "\nNo row could be compared.");
    }
    let kind = |row: &Row| (family(row).to_owned(), instructions::is_it(row));
    for rows in rows.chunk_by(|(_, one, _), (_, other, _)| kind(one) == kind(other)) {
        let is_counted = instructions::is_it(&rows[0].1);
        let cells = |it: &Comparison, base: &Row, new: &Row| match is_counted {
            true => instructions::compared(it, base, new),
            false => compare::cells(it, base),
        };
        let lines: Vec<(String, Cells)> =
            rows.iter().map(|(it, row, new)| (code(short(row)), cells(it, row, new))).collect();
        let _ = writeln!(out, "\n{}\n", code(family(&rows[0].1)));
        let headings = if is_counted { instructions::COMPARED } else { compare::HEADINGS };
        out.push_str(&lined_up(headings, &lines));
    }
}

fn not_measured(asked: &[&Row], out: &mut String) {
    let left = asked.iter().filter(|row| row.outcome != RowOutcome::Measured);
    let reasons = left.map(|row| {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        (format!("{}: {reason}", row.outcome.text()), row.case.as_str())
    });
    let gathered = gathered(reasons);
    list("Not measured", gathered.iter().map(|(why, cases)| about(cases, why)), out);
}

/// A reason, and the cases that it is of.
fn about(cases: &[&str], why: &str) -> String {
    match cases {
        [case] => format!("{}: {}", code(case), cell(why)),
        cases => format!("{}: {}", cell(&first_of(cases)), cell(why)),
    }
}

/// A case without its family, which stands above it.
fn short(row: &Row) -> &str {
    row.case.split_once('/').map_or(row.case.as_str(), |(_, name)| name)
}
