//! The list of runs and bills.

use std::collections::BTreeSet;

use oscost_model::unit::Unit;
use serde_json::json;

pub use crate::advice::trust::Trust;
use crate::report::figures::rough;
use crate::report::text::{
    minute, plain, plain_paragraph, plural, shell_command, shorten, shortest_unique,
};
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// What a line is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineKind {
    /// A run.
    #[default]
    Run,
    /// A run that a bill has started for itself.
    BillRun,
    /// A bill.
    Bill,
    /// The visits of a fleet.
    Fleet,
}

impl LineKind {
    fn text(self) -> &'static str {
        match self {
            LineKind::Run => "run",
            LineKind::BillRun => "bill run",
            LineKind::Bill => "bill",
            LineKind::Fleet => "fleet",
        }
    }

    /// The kind of its record.
    fn record_text(self) -> &'static str {
        match self {
            LineKind::BillRun => LineKind::Run.text(),
            kind => kind.text(),
        }
    }
}

/// A run or a bill, as it is listed.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Which of them.
    pub kind: LineKind,
    /// Of a bill the measured system time, in nanoseconds.
    pub system_ns: Option<f64>,
    /// Its id.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// RFC 3339; `None` while it is running, and if it was killed.
    pub ended: Option<String>,
    /// From its start to its end, in seconds.
    pub duration_s: Option<f64>,
    /// Whether it was measured to its end.
    pub complete: bool,
    /// The user's label.
    pub label: Option<String>,
    /// The processor.
    pub processor: Option<String>,
    /// How noisy the machine was.
    pub class: Option<String>,
    /// How far it can be believed, and why no further.
    pub trust: Option<Trust>,
    /// The command line.
    pub command: Vec<String>,
    /// Whether it was imported.
    pub imported: bool,
    /// Whether the store has its raw batches.
    pub has_raw_batches: bool,
    /// The fleet of a visit, or the one whose visits this line is of.
    pub fleet: Option<String>,
    /// How many visits it stands for; 0 for a run or a bill.
    pub visits: u64,
    /// How many nodes these are of.
    pub nodes: u64,
}

/// The longest label and processor where there is room, and where there is not.
const MAX_LABEL: usize = 40;
const SHORT_LABEL: usize = 11;
const MAX_PROCESSOR: usize = 32;
const SHORT_PROCESSOR: usize = 14;

/// The columns of a list with bills or fleets stand behind id and start.
const KIND_AT: usize = 2;

/// The characters of a UUID.
const WHOLE_ID: usize = 36;

/// What a list without runs says.
pub const NO_RUNS: &str = "no runs are kept";

/// How to get a first one.
pub const FIRST_RUN: &str = "`oscost run` measures the price list and keeps it; `oscost runs import \
                             FILE` keeps another user's";

/// The runs: enough of the id to name each, when it was started, how long it took, how far it can
/// be believed, its label, its processor and its command. With `whole_commands` each command is
/// below its run. Where there are bills or fleets, each line has its kind, and a bill its system
/// time. `unlisted` are the ids of other runs, which the ids shown must not name.
pub fn table(lines: &[Line], unlisted: &[String], whole_commands: bool) -> Table {
    let has_bills = lines.iter().any(|line| line.kind == LineKind::Bill);
    let has_kinds = lines.iter().any(|line| line.kind != LineKind::Run);
    let length = id_length(lines, unlisted);
    let year = common_year(lines);
    let known = |text: Option<String>| Cell::text(text.unwrap_or_else(|| "-".to_owned()));
    let row = |line: &Line| {
        let trust = line.trust.as_ref().map(|trust| trust.grade.text());
        let command = match line.kind {
            LineKind::Fleet => {
                let name = line.fleet.as_deref().unwrap_or_default();
                let (visits, nodes) = (plural(line.visits, "visit"), plural(line.nodes, "node"));
                format!("{name}: {visits} of {nodes}")
            }
            _ => shell_command(line.command.get(1..).unwrap_or_default()),
        };
        let cut_short = if line.complete { "" } else { "(cut short) " };
        let label = plain(line.label.as_deref().unwrap_or_default());
        let processor = line.processor.as_deref().map(plain);
        let command = format!("{cut_short}{}", plain_paragraph(&command));
        let (excerpt, notes) = match whole_commands {
            true => (String::new(), vec![command]),
            false => (command, Vec::new()),
        };
        let mut cells = vec![
            known(
                (!line.id.is_empty()).then(|| line.id.get(..length).unwrap_or(&line.id).to_owned()),
            ),
            started(&line.started, year),
            known(line.duration_s.map(duration)),
            known(trust.map(str::to_owned)).with_style(trust.unwrap_or_default()),
            Cell::text(first_characters(&label, MAX_LABEL))
                .or_short(first_characters(&label, SHORT_LABEL)),
            match processor {
                Some(name) => Cell::text(first_characters(&name, MAX_PROCESSOR))
                    .or_short(short_processor(&name)),
                None => Cell::text("-"),
            },
            Cell::text(excerpt),
        ];
        if has_bills {
            let system = line.system_ns.map(|ns| rough(ns, Unit::NsPerOp));
            cells.insert(KIND_AT, Cell::number(system.unwrap_or_default(), line.system_ns));
        }
        if has_kinds {
            cells.insert(KIND_AT, Cell::text(line.kind.text()));
        }
        TableRow { notes, ..TableRow::of(cells) }
    };
    let mut columns = vec![
        Column::text("run"),
        Column {
            short_title: year.map(|year| format!("started {year}")),
            ..Column::text("started")
        },
        Column::number("took", "duration_s"),
        Column::choice("trust"),
        Column::text("label").in_lines_of(if has_kinds { 100 } else { 64 }),
        Column { optional: true, ..Column::text("machine") },
        Column::excerpt("command"),
    ];
    if has_bills {
        columns.insert(KIND_AT, Column::number("system", "system_ns"));
    }
    if has_kinds {
        columns.insert(KIND_AT, Column::text("kind"));
    }
    Table { columns, rows: lines.iter().map(row).collect(), ..Table::default() }
}

/// The year in which all of them were started; `None` if they were not in one.
fn common_year(lines: &[Line]) -> Option<&str> {
    let (year, _) = lines.first()?.started.split_once('-')?;
    let is_year = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let is_shared = |line: &Line| line.started.split_once('-').is_some_and(|(it, _)| it == year);
    (is_year && lines.iter().all(is_shared)).then_some(year)
}

/// The minute of a start, in short without the year that the heading has.
fn started(time: &str, year: Option<&str>) -> Cell {
    let whole = minute(time);
    let short =
        year.and_then(|year| whole.strip_prefix(year)?.strip_prefix('-').map(str::to_owned));
    Cell { short, ..Cell::text(whole) }
}

/// So many characters of an id name its line, and no run that is not listed.
fn id_length(lines: &[Line], unlisted: &[String]) -> usize {
    let ids: Vec<&str> =
        lines.iter().map(|line| line.id.as_str()).filter(|id| !id.is_empty()).collect();
    let shortest = shortest_unique(&ids);
    let is_unique = |length: &usize| {
        let beginnings: BTreeSet<&str> = ids.iter().filter_map(|id| id.get(..*length)).collect();
        !unlisted.iter().filter_map(|id| id.get(..*length)).any(|it| beginnings.contains(it))
    };
    (shortest..WHOLE_ID).find(is_unique).unwrap_or(WHOLE_ID)
}

/// The name of a processor in few characters: without words that many have, and its rated clock.
fn short_processor(name: &str) -> String {
    const COMMON: [&str; 4] = ["Intel", "CPU", "Processor", "processor"];
    let (name, _) = name.split_once('@').unwrap_or((name, ""));
    let without_marks = name.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let is_own = |word: &&str| !COMMON.contains(word) && !word.ends_with("-Core");
    let words: Vec<&str> = without_marks.split_whitespace().filter(is_own).collect();
    first_characters(&words.join(" "), SHORT_PROCESSOR)
}

/// A text of at most `width` characters.
fn first_characters(text: &str, width: usize) -> String {
    shorten(text, width).trim_end().to_owned()
}

/// A time as a person says it: `38 s`, `4 min`, `2.5 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3_600.0),
    }
}

/// The runs as one JSON object (`oscost.runs/1`).
pub fn json(lines: &[Line], store_bytes: u64) -> serde_json::Value {
    let run = |line: &Line| {
        let reasons = line.trust.as_ref().map(|trust| trust.reasons.clone());
        json!({
            "kind": line.kind.record_text(),
            "of_bill": line.kind == LineKind::BillRun,
            "id": line.id,
            "started": line.started,
            "ended": line.ended,
            "duration_s": line.duration_s,
            "complete": line.complete,
            "label": line.label,
            "cpu_model": line.processor,
            "class": line.class,
            "trust": line.trust.as_ref().map(|trust| trust.grade.text()),
            "trust_reasons": reasons,
            "command": line.command,
            "system_ns": line.system_ns,
            "imported": line.imported,
            "has_raw_batches": line.has_raw_batches,
            "fleet": line.fleet,
        })
    };
    let runs: Vec<serde_json::Value> = lines.iter().map(run).collect();
    json!({ "schema": "oscost.runs/1", "store_bytes": store_bytes, "runs": runs })
}

/// The size of the store.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    /// The number of runs.
    pub runs: usize,
    /// The number of bills.
    pub bills: usize,
    /// The number of runs with their raw batches.
    pub with_raw_batches: usize,
    /// Its size.
    pub bytes: u64,
}

/// How to list what a line of a fleet stands for.
pub const FOLDED_FLEETS: &str =
    "a fleet is one line: `--fleet NAME` lists its visits, `--all` those of all fleets";

/// How many visits of a fleet were deleted.
pub fn deletion_line(fleet: &str, visits: usize) -> String {
    format!("deleted {} of fleet {}", plural(visits as u64, "visit"), plain(fleet))
}

/// How to get room back where runs have raw batches.
pub const PRUNABLE: &str = "`oscost runs prune` removes the raw batches of old runs";

/// How much room the runs and bills take.
pub fn size_line(size: &StoreSize) -> String {
    let StoreSize { runs, bills, with_raw_batches, bytes } = *size;
    let s = if runs == 1 { "" } else { "s" };
    let bills = match bills {
        0 => String::new(),
        bills => format!(" and {}", plural(bills as u64, "bill")),
    };
    format!("{runs} run{s}{bills} in {}, {with_raw_batches} with raw batches", size_text(bytes))
}

/// The runs whose raw batches were removed, or would be.
#[derive(Clone, Debug)]
pub struct PrunedBatches {
    /// The runs that keep theirs, in words.
    pub kept: String,
    /// How many do not.
    pub runs: usize,
    /// The size of their journals.
    pub bytes_before: u64,
    /// What is left of them.
    pub bytes_after: u64,
    /// The size of the store.
    pub store_bytes: u64,
    /// Whether nothing was removed.
    pub is_preview: bool,
}

/// What was removed, and what that freed.
pub fn pruning_line(pruned: &PrunedBatches) -> String {
    let PrunedBatches { kept, runs, bytes_before, bytes_after, store_bytes, .. } = pruned;
    let s = if *runs == 1 { "" } else { "s" };
    let (before, store) = (size_text(*bytes_before), size_text(*store_bytes));
    match runs {
        0 => format!("nothing to prune: {kept} keep their raw batches; the store takes {store}"),
        _ if pruned.is_preview => format!(
            "the raw batches of {runs} run{s} would be removed: their journals take {before} of \
             the store's {store}; {kept} keep theirs"
        ),
        _ => format!(
            "removed the raw batches of {runs} run{s}: {before} became {}; the store takes {store} \
             now; {kept} keep theirs",
            size_text(*bytes_after)
        ),
    }
}

/// The old runs that keep their raw batches because they have no end.
pub fn unended_line(runs: usize) -> String {
    let (s, keep) = if runs == 1 { ("", "keeps its") } else { ("s", "keep their") };
    format!(
        "{runs} run{s} without an end {keep} raw batches, since a process may still add to them: \
         `oscost runs delete` removes one that was killed"
    )
}

fn size_text(bytes: u64) -> String {
    rough(bytes as f64, Unit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ScreenFormat;

    #[test]
    fn the_size_of_the_store_and_what_was_freed_are_in_one_line_each() {
        let size = StoreSize { runs: 1, bills: 0, with_raw_batches: 0, bytes: 1_500_000 };
        assert!(size_line(&size).starts_with("1 run in 1.5"), "{}", size_line(&size));
        let both = size_line(&StoreSize { bills: 2, ..size });
        assert!(both.starts_with("1 run and 2 bills in 1.5"), "{both}");
        let many = StoreSize { runs: 30_000, bills: 30_000, with_raw_batches: 30_000, ..size };
        assert!(size_line(&many).chars().count().max(PRUNABLE.len()) <= 80, "{}", size_line(&many));
        let none = PrunedBatches {
            kept: "the last 50 runs".to_owned(),
            runs: 0,
            bytes_before: 0,
            bytes_after: 0,
            store_bytes: 1_500_000,
            is_preview: false,
        };
        assert!(pruning_line(&none).starts_with("nothing to prune: "), "{}", pruning_line(&none));
        let two = PrunedBatches { runs: 2, bytes_before: 9_000_000, bytes_after: 60_000, ..none };
        let text = pruning_line(&two);
        assert!(text.starts_with("removed the raw batches of 2 runs: 9"), "{text}");
        let text = pruning_line(&PrunedBatches { is_preview: true, ..two });
        assert!(text.contains("would be removed: their journals take 9"), "{text}");
    }

    #[test]
    fn old_runs_without_an_end_are_counted_and_have_a_next_step() {
        let one = unended_line(1);
        assert!(one.starts_with("1 run without an end keeps its raw batches"), "{one}");
        assert!(one.ends_with("`oscost runs delete` removes one that was killed"), "{one}");
        assert!(unended_line(2).starts_with("2 runs without an end keep their"));
    }

    #[test]
    fn a_fleet_is_one_line_and_no_id_is_that_of_a_visit() {
        let fleet = Line {
            kind: LineKind::Fleet,
            started: "2026-11-22T08:00:00.000Z".to_owned(),
            complete: true,
            fleet: Some("monday".to_owned()),
            visits: 30_000,
            nodes: 10_000,
            ..Line::default()
        };
        let lines = [fleet, line("0197aaaa-1111-x")];
        let unlisted = ["0197aaaa-1122-x".to_owned()];
        let screen = ScreenFormat { columns: 240, ..ScreenFormat::PLAIN };
        let text = crate::report::terminal_table(&table(&lines, &unlisted, false), screen);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].contains("kind") && !rows[0].contains("system"), "{text}");
        assert!(rows[1].starts_with("- ") && rows[1].contains(" fleet "), "{text}");
        assert!(rows[1].contains("monday: 30000 visits of 10000 nodes"), "{text}");
        assert_eq!(deletion_line("monday", 2), "deleted 2 visits of fleet monday");
        assert!(rows[2].starts_with("0197aaaa-111  "), "{text}");
    }

    fn line(id: &str) -> Line {
        Line {
            id: id.to_owned(),
            started: "2026-11-21T08:00:00.000Z".to_owned(),
            duration_s: Some(65.5),
            label: Some("a label of thirty characters..".to_owned()),
            processor: Some("Some Processor 3000 with a long name".to_owned()),
            command: vec!["oscost".into(), "run".into(), "x".repeat(60)],
            ..Line::default()
        }
    }

    #[test]
    fn ids_are_as_long_as_they_must_be_and_lines_fit() {
        let lines = [line("0197aaaa-1111-x"), line("0197aaaa-1122-x")];
        let narrow = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
        let (heading, rows) = narrow.split_once('\n').unwrap();
        assert!(heading.starts_with("run ") && heading.ends_with("command"), "{narrow}");
        assert!(heading.contains("  started 2026  ") && heading.contains(" machine "), "{narrow}");
        assert!(rows.starts_with("0197aaaa-111  11-21 08:00 "), "{narrow}");
        assert!(narrow.contains("66 s") || narrow.contains("65 s"), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(rows.contains("Some 3..g name") && rows.contains("a lab..rs.."), "{narrow}");
    }

    #[test]
    fn every_width_from_eighty_on_has_labels_machines_and_at_most_three_lines_of_a_command() {
        let long = ["argument-of-a-command"; 120].join(" ");
        let with = |label: &str, command: &str, line: Line| Line {
            label: (!label.is_empty()).then(|| label.to_owned()),
            command: vec!["oscost".to_owned(), "run".to_owned(), command.to_owned()],
            complete: true,
            ..line
        };
        let lists = [
            ("", ""),
            ("before", "syscall"),
            ("a label of more than thirty characters", "process"),
            ("after", long.as_str()),
        ];
        for (label, command) in lists {
            let lines =
                ["0197aaaa-1111-x", "0197aaaa-1122-x"].map(|id| with(label, command, line(id)));
            let table = table(&lines, &[], false);
            for columns in 60..=160 {
                let screen = ScreenFormat { columns, ..ScreenFormat::PLAIN };
                let text = crate::report::terminal_table(&table, screen);
                assert!(text.lines().all(|line| line.chars().count() <= columns), "{text}");
                let rows = text.lines().count() - 1;
                let most = if columns < 120 { 2 } else { 2 * 3 };
                assert!((2..=most).contains(&rows), "{columns} columns:\n{text}");
                assert_eq!(text.matches(" run").count(), 2, "{columns} columns:\n{text}");
                if columns >= 80 {
                    assert!(
                        text.contains(" machine") && text.contains("Some"),
                        "{columns}:\n{text}"
                    );
                    assert_eq!(text.contains(" label"), !label.is_empty(), "{columns}:\n{text}");
                }
                assert!(command != long || text.contains("..."), "{columns}:\n{text}");
            }
        }
    }

    #[test]
    fn starts_keep_their_year_where_they_have_not_one() {
        let later =
            Line { started: "2027-01-02T08:00:00.000Z".to_owned(), ..line("0197aaaa-1122-x") };
        let text = crate::report::terminal_table(
            &table(&[later, line("0197aaaa-1111-x")], &[], false),
            ScreenFormat::PLAIN,
        );
        assert!(text.contains(" started ") && text.contains("  2027-01-02 08:00  "), "{text}");
        assert!(text.contains("  2026-11-21 08:00  "), "{text}");
        let unknown = [Line::default(), Line { started: "so".to_owned(), ..Line::default() }];
        assert_eq!(common_year(&unknown), None);
        assert_eq!(common_year(&unknown[1..]), None);
    }

    #[test]
    fn a_wide_terminal_shows_the_machine_the_label_and_the_whole_command() {
        let wide = crate::report::terminal_table(
            &table(&[line("0197aaaa-1111-x")], &[], false),
            ScreenFormat { columns: 240, ..ScreenFormat::PLAIN },
        );
        for part in ["machine", "Some Process", "a label of thirty", &"x".repeat(60)] {
            assert!(wide.contains(part), "`{part}` is missing in\n{wide}");
        }
        let whole = crate::report::terminal_table(
            &table(&[line("0197aaaa-1111-x")], &[], true),
            ScreenFormat::PLAIN,
        );
        assert_eq!(whole.matches('x').count(), 60, "{whole}");
    }

    #[test]
    fn lines_without_labels_have_the_machine_in_eighty_columns_and_wide_ones_the_whole_command() {
        let long = "y".repeat(40) + " " + &"z".repeat(40);
        let run = Line {
            label: None,
            processor: Some("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz".to_owned()),
            command: vec!["oscost".into(), "run".into(), long],
            ..line("0197aaaa-1111-x")
        };
        let shown = |columns: usize| {
            let screen = ScreenFormat { columns, ..ScreenFormat::PLAIN };
            crate::report::terminal_table(&table(std::slice::from_ref(&run), &[], false), screen)
        };
        let usual = shown(80);
        assert!(usual.contains("machine") && usual.contains("Xeon P.. 8375C"), "{usual}");
        assert!(usual.lines().all(|line| line.chars().count() <= 80), "{usual}");
        let wide = shown(140);
        assert!(wide.contains(&"y".repeat(40)) && wide.contains(&"z".repeat(40)), "{wide}");
        assert!(wide.lines().all(|line| line.chars().count() <= 140), "{wide}");
        assert_eq!(short_processor("AMD EPYC 7R13 48-Core Processor"), "AMD EPYC 7R13");
    }

    #[test]
    fn a_list_with_bills_says_which_lines_they_are_and_their_system_time() {
        let bill = Line {
            kind: LineKind::Bill,
            system_ns: Some(12_340_000.0),
            trust: None,
            ..line("0197aaaa-1122-x")
        };
        let lines = [line("0197aaaa-1111-x"), bill];
        let text = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows[0].contains(&"kind") && rows[1].contains(&"run"), "{text}");
        assert!(rows[2].contains(&"bill") && rows[2].contains(&"12.3"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let listed = json(&lines, 7);
        let kinds = [&listed["runs"][0]["kind"], &listed["runs"][1]["kind"]];
        assert_eq!(kinds, ["run", "bill"]);
        assert_eq!(listed["runs"][1]["system_ns"], json!(12_340_000.0));
        assert!(listed["runs"][0]["system_ns"].is_null(), "a run has none, and not 0");
    }

    #[test]
    fn a_run_that_a_bill_has_started_is_told_from_others() {
        let of_bill = Line { kind: LineKind::BillRun, ..line("0197aaaa-1122-x") };
        let lines = [of_bill, line("0197aaaa-1111-x")];
        let text = crate::report::terminal_table(&table(&lines, &[], false), ScreenFormat::PLAIN);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].contains(" kind ") && rows[1].contains(" bill run "), "{text}");
        assert!(!rows[2].contains("bill"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let listed = json(&lines, 7);
        let kinds = [&listed["runs"][0]["kind"], &listed["runs"][1]["kind"]];
        assert_eq!(kinds, ["run", "run"], "the kind of the record");
        let of_bills = [&listed["runs"][0]["of_bill"], &listed["runs"][1]["of_bill"]];
        assert_eq!(of_bills, [&json!(true), &json!(false)]);
    }

    #[test]
    fn what_is_unknown_is_null_in_json_and_a_dash_in_the_table() {
        let unknown = Line { id: "0197aaaa-1111-x".to_owned(), ..Line::default() };
        let json = json(std::slice::from_ref(&unknown), 7);
        assert_eq!((&json["schema"], &json["store_bytes"]), (&json!("oscost.runs/1"), &json!(7)));
        for key in ["ended", "duration_s", "label", "cpu_model", "class", "trust"] {
            assert_eq!(json["runs"][0].get(key), Some(&serde_json::Value::Null), "{key}");
        }
        let text =
            crate::report::terminal_table(&table(&[unknown], &[], false), ScreenFormat::PLAIN);
        assert!(text.lines().nth(1).unwrap().matches(" -").count() >= 2, "{text}");
    }
}
