//! Studies themselves: their list, one of them on a page, and the claims of all beside what runs say
//! of them.

use std::fmt::Write as _;

use oscost_model::record::Record;

use crate::report::render::markdown::cell;
use crate::report::text::{fold, plain};
use crate::report::view::claims;
use crate::report::view::study_run::study_method;
use crate::studies::judgement::JudgedClaim;
use crate::studies::single_target::compare_single_target;
use crate::studies::two_targets::compare_two_targets;
use crate::studies::verdict::Verdict;
use crate::studies::{Study, Subject, Table, TableRow};

/// The studies that come with oscost, three lines each.
pub fn list(studies: &[Study]) -> String {
    let mut out = String::new();
    for study in studies {
        let takes = study.expected_duration.map(|takes| {
            format!("takes {}, {} with --quick", time(takes.seconds), time(takes.quick_seconds))
        });
        // Writing to a String cannot fail.
        let indent = " ".repeat(16);
        let title = format!("{}  {}", study.year, study.title);
        let _ = writeln!(out, "{:<15} {}", study.id, fold(&plain(&title), 64, &indent));
        let facts = [
            Some(format!("{} rows", study.rows().count())),
            Some(format!("{} claims", study.claims.len())),
            takes,
        ];
        let facts = facts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let _ = writeln!(out, "{indent}{}", fold(&plain(&facts), 64, &indent));
        let _ = writeln!(out, "{indent}{}", command(study, &study.id));
    }
    out
}

/// How it is measured again; `word` is its name or its file.
fn command(study: &Study, word: &str) -> String {
    let verb = if study.columns.is_some() { "ab" } else { "run" };
    format!("oscost {verb} --study {word}")
}

/// Some seconds as a person says them.
fn time(seconds: u32) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        _ => format!("{} min", seconds.div_ceil(60)),
    }
}

/// A study on a page of 80 columns: all that was printed and said, and nothing that was measured. The
/// `word` is what it was asked for by.
pub fn page(study: &Study, word: &str) -> String {
    let mut out = String::new();
    let heading = [
        format!(
            "{}, {}: {}. {}. {}.",
            study.id,
            study.year,
            study.title,
            study.authors.join(", "),
            study.source
        ),
        format!("then: {}; {}", study.measured_on, study.protocol.original),
        format!("here: {}", study.protocol.replication),
        format!("again: {}", command(study, word)),
    ];
    for line in heading {
        let _ = writeln!(out, "{}", fold(&plain(&line), 78, "  "));
    }
    for table in &study.tables {
        out.push_str(&table_as_printed(study, table));
    }
    if !study.conditions.is_empty() {
        let _ = writeln!(out, "\nHow the study had its machine");
    }
    for condition in &study.conditions {
        let _ = writeln!(out, "  {}", fold(&plain(&condition.text), 76, "    "));
    }
    if !study.claims.is_empty() {
        let _ = writeln!(out, "\nWhat the study says");
    }
    for claim in &study.claims {
        let text = format!("\"{}\" ({})", claim.statement, claim.location);
        let _ = writeln!(out, "  {}", fold(&plain(&text), 76, "    "));
    }
    out
}

/// A table: each row with what was printed, its case and its manner.
fn table_as_printed(study: &Study, table: &Table) -> String {
    let names: Vec<String> = match &study.columns {
        Some(columns) => columns.iter().map(|column| column.name.clone()).collect(),
        None => table.figures.iter().map(|figure| figure.name.clone()).collect(),
    };
    let mut out = String::new();
    let title = format!("{}: {}. In {}.", table.name, table.title, table.unit.text());
    let _ = writeln!(out, "\n{}", fold(&plain(&title), 78, "  "));
    let in_series = |at: usize| table.series.iter().any(|series| series.rows().contains(&at));
    for (at, row) in table.rows.iter().enumerate() {
        if !in_series(at) {
            out.push_str(&row_as_printed(row, &names));
        }
    }
    for series in &table.series {
        let rows = &table.rows[series.rows()];
        let values: Vec<String> = series.values.iter().map(u64::to_string).collect();
        let case = rows.first().and_then(TableRow::case).unwrap_or_default();
        let given = series.given.as_deref().unwrap_or("not given");
        let text = format!("{}: {given}", series.name);
        let _ = writeln!(out, "  {}", fold(&plain(&text), 76, "    "));
        let text = format!("{} = {}; {case}", series.axis, values.join(" "));
        let _ = writeln!(out, "    {}", fold(&plain(&text), 74, "      "));
    }
    let notes = table.notes.iter().map(|note| note.text.clone());
    let of_rows = table
        .rows
        .iter()
        .flat_map(|row| row.notes.iter().map(|note| format!("{}: {}", row.name, note.text)));
    for note in notes.chain(of_rows) {
        let _ = writeln!(out, "  note: {}", fold(&plain(&note), 70, "    "));
    }
    out
}

fn row_as_printed(row: &TableRow, columns: &[String]) -> String {
    let figures = row.published.iter().zip(columns).map(|(figure, column)| {
        let text = figure.as_ref().map_or("-", |figure| figure.text.as_str());
        if column.is_empty() { text.to_owned() } else { format!("{column} {text}") }
    });
    let subject = match &row.subject {
        Subject::Case(case) => case.clone(),
        Subject::Unmeasurable(why) => format!("not measured: {why}"),
    };
    let peer = if row.peer { ", its other end on another machine" } else { "" };
    let metric = row.metric.as_ref().map(|metric| format!(", {metric}")).unwrap_or_default();
    let how = match (&row.subject, &row.study_method) {
        (Subject::Case(_), Some(of)) => format!("; {}", study_method(Some(of))),
        _ => String::new(),
    };
    let head = format!("{}: {}", row.name, figures.collect::<Vec<_>>().join("; "));
    let below = format!("{subject}{metric}{peer}{how}");
    format!("  {}\n    {}\n", fold(&plain(&head), 76, "    "), fold(&plain(&below), 74, "      "))
}

/// What became of a study's claims in a run of it.
struct Tally {
    holds: usize,
    does_not: usize,
    undecided: usize,
}

impl Tally {
    fn of(judged: &[JudgedClaim<'_>]) -> Self {
        let count = |is: fn(&Verdict) -> bool| judged.iter().filter(|it| is(&it.verdict)).count();
        Self {
            holds: count(|verdict| *verdict == Verdict::Holds),
            does_not: count(|verdict| *verdict == Verdict::DoesNotHold),
            undecided: count(|verdict| matches!(verdict, Verdict::Undecided(_))),
        }
    }

    fn words(&self) -> String {
        format!("{} hold, {} do not, {} undecided", self.holds, self.does_not, self.undecided)
    }
}

/// The claims of a study as a run has judged them.
fn judged<'a>(study: &'a Study, record: &'a Record) -> Vec<JudgedClaim<'a>> {
    match compare_two_targets(study, record) {
        Some(laid) => laid.claims,
        None => compare_single_target(study, record).claims,
    }
}

/// When a run was, to the day, in which profile, and where, unless that was as the study has it.
fn when(study: &Study, record: &Record) -> String {
    let day = record.started.get(..10).unwrap_or(&record.started);
    let whole = if record.complete { "" } else { ", cut short" };
    let targets =
        elsewhere(study, record).map(|targets| format!(", {targets}")).unwrap_or_default();
    format!("{day}, {}{whole}{targets}", record.settings.profile)
}

/// The places of a run, where they are not those of the study.
fn elsewhere(study: &Study, record: &Record) -> Option<String> {
    match &study.columns {
        None => {
            let target = &record.results.first()?.target.text;
            (target != "local").then(|| format!("at {target}"))
        }
        Some(columns) => {
            let targets = compare_two_targets(study, record)?.targets;
            let its = columns.each_ref().map(|column| Some(column.target.as_str()));
            let [base, new] = targets.map(|target| target.unwrap_or("nowhere"));
            (targets != its).then(|| format!("{new} against {base}"))
        }
    }
}

/// The claims of all studies with their verdicts, a line or two each.
pub fn claims(studies: &[(&Study, Option<&Record>)]) -> String {
    let mut out = String::new();
    for (study, record) in studies {
        let Some(record) = record else {
            let _ =
                writeln!(out, "{}: not measured here; {}\n", study.id, command(study, &study.id));
            continue;
        };
        let judged = judged(study, record);
        let words = Tally::of(&judged).words();
        let head = format!("{} ({}): {words}", study.id, when(study, record));
        let _ = writeln!(out, "{}", fold(&plain(&head), 78, "  "));
        for it in judged {
            let text = format!("{}: {}", it.verdict.text(), it.claim.statement);
            let _ = writeln!(out, "  {}", fold(&plain(&text), 76, "    "));
        }
        out.push('\n');
    }
    out
}

/// The same as a page of Markdown, with what each claim came to.
pub fn markdown(studies: &[(&Study, Option<&Record>)]) -> String {
    let mut out = String::from(
        "# The five studies, then and now\n\nMade by `make studies` from real runs; do not edit. A \
         claim holds where the whole interval of what it says lies within its bounds, does not hold \
         where it lies outside, and is undecided else. The verdicts are those of one machine on one \
         day; `oscost study claims` shows yours.\n\n",
    );
    let _ = writeln!(out, "| study | published | measured | claims |\n| --- | --- | --- | --- |");
    for (study, record) in studies {
        let (measured, words) = match record {
            Some(record) => (cell(&when(study, record)), Tally::of(&judged(study, record)).words()),
            None => ("not here".to_owned(), format!("{} claims", study.claims.len())),
        };
        let _ = writeln!(out, "| {} | {} | {measured} | {words} |", study.id, study.year);
    }
    for (study, record) in studies {
        let _ = writeln!(out, "\n## {}\n", study.id);
        let title = format!("{}. {}.", study.title, study.source);
        let _ = writeln!(out, "{}\n", cell(&title));
        let Some(record) = record else {
            let _ = writeln!(out, "Not measured here: `{}`.", command(study, &study.id));
            continue;
        };
        let _ = writeln!(
            out,
            "Then: {}. Here: {}.\n",
            cell(&study.measured_on),
            cell(&machine(record))
        );
        let _ = writeln!(out, "| verdict | claim | then | here |\n| --- | --- | --- | --- |");
        for it in judged(study, record) {
            let [then, here] = claims::in_parts(study, &it);
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} |",
                it.verdict.text(),
                cell(&it.claim.statement),
                cells(&then),
                cells(&here)
            );
        }
    }
    out
}

/// The processor and the kernel of a run.
fn machine(record: &Record) -> String {
    let machine = record.machines.first();
    let cpu = machine.and_then(|it| it.cpu.model_name.clone());
    let kernel = machine.and_then(|it| it.os.release.clone()).map(|it| format!("Linux {it}"));
    let guest = machine.and_then(|it| it.virtualization.clone()).filter(|kind| kind != "none");
    let guest = guest.map(|kind| format!("a {kind} guest"));
    let parts: Vec<String> = [cpu, guest, kernel].into_iter().flatten().collect();
    if parts.is_empty() { "an unknown machine".to_owned() } else { parts.join(", ") }
}

/// Several texts in a cell, each bounded by itself: together they are as long as they are many.
fn cells(texts: &[String]) -> String {
    texts.iter().map(|text| cell(text)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::{built_in_names, find_built_in};

    #[test]
    fn every_study_is_listed_with_its_command_and_fits_a_page() {
        let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
        let listed = list(&studies);
        for study in &studies {
            assert!(listed.contains(&study.id), "{listed}");
            let page = page(study, &study.id);
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
            for table in &study.tables {
                assert!(page.contains(&table.name), "{page}");
            }
        }
        assert!(listed.contains("oscost ab --study ph-2000"));
        assert!(listed.contains("oscost run --study cse221-2014"));
        assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    }

    #[test]
    fn what_is_not_measured_says_how_it_would_be() {
        let studies: Vec<Study> = built_in_names().filter_map(find_built_in).collect();
        let none: Vec<(&Study, Option<&Record>)> =
            studies.iter().map(|study| (study, None)).collect();
        assert!(claims(&none).contains("cs736-2019: not measured here; oscost run --study"));
        assert!(markdown(&none).contains("Not measured here: `oscost run --study sunos-1999`."));
    }
}
