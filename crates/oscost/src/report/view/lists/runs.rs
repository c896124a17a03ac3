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
    /// A run that compares its two sides.
    Ab,
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
            LineKind::Ab => "ab",
            LineKind::BillRun => "bill run",
            LineKind::Bill => "bill",
            LineKind::Fleet => "fleet",
        }
    }

    /// The kind of its record.
    fn record_text(self) -> &'static str {
        match self {
            LineKind::Ab | LineKind::BillRun => LineKind::Run.text(),
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
/// below its run. Where not all are plain runs, each line has its kind, and a bill its system
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
mod tests;
