//! The list of runs.

use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::text::{minute, plain, shortest_unique};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};

/// A run, as it is listed.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// RFC 3339.
    pub started: String,
    /// Whether it was measured to its end.
    pub complete: bool,
    /// The user's label.
    pub label: Option<String>,
    /// The command line.
    pub command: Vec<String>,
}

/// The runs: enough of the id to name each, when it was started, and its label or command.
pub fn view(lines: &[Line]) -> View {
    if lines.is_empty() {
        return View::sentence("no runs are kept");
    }
    let length = shortest_unique(&lines.iter().map(|line| line.id.as_str()).collect::<Vec<_>>());
    let row = |line: &Line| {
        let what = match &line.label {
            Some(label) => format!("{label:?}"),
            None => line.command.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
        };
        let cut_short = if line.complete { "" } else { "(cut short) " };
        TableRow::of(vec![
            Cell::text(line.id.get(..length).unwrap_or(&line.id)),
            Cell::text(minute(&line.started)),
            Cell::text(format!("{cut_short}{}", plain(&what))),
        ])
    };
    let table = Table {
        columns: vec![Column::text(""), Column::text(""), Column::excerpt("")],
        rows: lines.iter().map(row).collect(),
        ..Table::default()
    };
    View::of(vec![Section::of("", [Block::Table(table)])])
}

/// The size of the store.
#[derive(Clone, Copy, Debug)]
pub struct StoreSize {
    /// The number of runs.
    pub runs: usize,
    /// The number of those with their raw batches.
    pub with_raw_batches: usize,
    /// Its size.
    pub bytes: u64,
}

/// How much room the runs take, and how to get some of it back.
pub fn size_line(size: &StoreSize) -> String {
    let StoreSize { runs, with_raw_batches, bytes } = *size;
    let s = if runs == 1 { "" } else { "s" };
    format!(
        "{runs} run{s} in {}, {with_raw_batches} with raw batches: `oscost runs prune` removes old \
         ones",
        size_text(bytes)
    )
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

    #[test]
    fn the_size_of_the_store_and_what_was_freed_are_in_one_line_each() {
        let size = StoreSize { runs: 1, with_raw_batches: 0, bytes: 1_500_000 };
        assert!(size_line(&size).starts_with("1 run in 1.5"), "{}", size_line(&size));
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

    fn line(id: &str) -> Line {
        Line {
            id: id.to_owned(),
            started: "2026-11-21T08:00:00.000Z".to_owned(),
            complete: false,
            label: None,
            command: vec!["oscost".into(), "run".into(), "x".repeat(200)],
        }
    }

    #[test]
    fn ids_are_as_long_as_they_must_be_and_lines_fit() {
        let text =
            crate::report::terminal(&view(&[line("0197aaaa-1111-x"), line("0197aaaa-1122-x")]));
        assert!(text.starts_with("0197aaaa-112  ") || text.starts_with("0197aaaa-111  "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
