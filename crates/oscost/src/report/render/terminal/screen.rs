//! What a terminal has room for: of a table that is longer than its screen the rows that matter most,
//! and details only on demand.

use crate::report::view::document::{Block, ForestPlot, Section, Table, View};

use super::forest::forest;
use super::heat_map::heat_map;
use super::layout::ScreenFormat;
use super::table::table;

/// How many rows stand for a table that is too long.
const ROWS: usize = 15;

/// How a reader sees all rows of a table that is shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WholeTable {
    /// By an option of the same command.
    #[default]
    ByOption,
    /// Also by showing the run again: to repeat the command would measure again.
    ByShowingAgain,
    /// The same of several runs.
    ByTabulatingAgain,
}

impl WholeTable {
    fn text(self) -> &'static str {
        match self {
            Self::ByOption => "`--all-rows` shows all",
            Self::ByShowingAgain => {
                "`oscost runs show last` shows all of a run that is kept; measured again with \
                 `--all-rows`, they are shown at once"
            }
            Self::ByTabulatingAgain => {
                "`oscost table RUN... --all-rows` shows all of runs that are kept; measured again \
                 with `--all-rows`, they are shown at once"
            }
        }
    }
}

/// Of what the details are that `--verbose` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetailsOf {
    /// Of a run, or of several.
    #[default]
    Run,
    /// Of a bill.
    Bill,
}

impl DetailsOf {
    fn text(self) -> &'static str {
        match self {
            Self::Run => "More: `--verbose` shows how it was measured, and flags for information.",
            Self::Bill => {
                "More: `--verbose` shows which rows priced each item, and how it was measured."
            }
        }
    }
}

/// What is shown of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// The lines of the terminal, of which a table may have as many; `None` shows whole tables.
    pub lines: Option<usize>,
    /// Whether details are shown.
    pub verbose: bool,
    /// Of what they are.
    pub details: DetailsOf,
    /// How whole tables are shown.
    pub whole: WholeTable,
}

/// The report as it fits a screen. What is left out is said in its place or at the end.
pub fn fitted(mut view: View, screen: Screen, format: ScreenFormat) -> View {
    let lines = screen.lines.unwrap_or(usize::MAX);
    let mut folded = false;
    for Section { blocks, .. } in &mut view.sections {
        if !screen.verbose {
            let all = blocks.len();
            blocks.retain(|block| !matches!(block, Block::Details(_)));
            folded |= blocks.len() < all;
        }
        let mut is_table_shortened = false;
        for block in blocks {
            match block {
                Block::Table(it) => {
                    is_table_shortened = shorten_table(it, lines, screen.whole, format);
                }
                // It draws the rows of the table above it.
                Block::Forest(it) => shorten_plot(it, lines, is_table_shortened, format),
                Block::HeatMap(it) if heat_map(it, format).lines().count() > lines => {
                    it.rows_of_text = Some(ROWS);
                }
                _ => {}
            }
        }
    }
    if folded && let Some(answer) = &mut view.answer {
        answer.next.push(screen.details.text().to_owned());
    }
    view
}

/// Leaves out rows of a table that is too long; returns whether it was.
fn shorten_table(it: &mut Table, lines: usize, whole: WholeTable, format: ScreenFormat) -> bool {
    let priorities: Vec<u32> = it.rows.iter().map(|row| row.priority).collect();
    let is_long = || table(it, format).lines().count() > lines;
    if it.rows.len() <= ROWS || priorities.iter().all(|priority| *priority == 0) || !is_long() {
        return false;
    }
    let all = it.rows.len();
    let mut kept = most_important(&priorities).into_iter();
    it.rows.retain(|_| kept.next().unwrap_or(true));
    it.notes.push(format!("the {ROWS} rows of {all} that matter most: {}", whole.text()));
    true
}

fn shorten_plot(it: &mut ForestPlot, lines: usize, is_table_shortened: bool, format: ScreenFormat) {
    let priorities: Vec<u32> = it.lines.iter().map(|line| line.priority).collect();
    let is_long = || is_table_shortened || forest(it, format).lines().count() > lines;
    if it.lines.len() <= ROWS || !is_long() {
        return;
    }
    let mut kept = most_important(&priorities).into_iter();
    it.lines.retain(|_| kept.next().unwrap_or(true));
}

/// Which of the rows are among the most important; of equals the first.
fn most_important(priorities: &[u32]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..priorities.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(priorities[at]));
    let mut kept = vec![false; priorities.len()];
    order.into_iter().take(ROWS).for_each(|at| kept[at] = true);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::render::terminal;
    use crate::report::view::document::{Answer, Cell, Column, ForestLine, TableRow};

    /// Rows of which each tenth is important.
    fn rows(count: usize) -> Table {
        let row = |at: usize| TableRow {
            priority: if at % 10 == 9 { 500 } else { 100 },
            ..TableRow::of(vec![Cell::text(format!("row {at}")), Cell::text("1 ns")])
        };
        let columns = vec![Column::text("case"), Column::number("per op", "median")];
        Table { columns, rows: (0..count).map(row).collect(), ..Table::default() }
    }

    fn shown(count: usize, screen: Screen) -> String {
        let details = Block::details("How it was measured", ["in a way".to_owned()]);
        let blocks = details.into_iter().chain([Block::Table(rows(count))]);
        let answer = Answer { findings: vec!["It costs 1 ns.".to_owned()], ..Answer::default() };
        let view = View { answer: Some(answer), ..View::of(vec![Section::of("", blocks)]) };
        terminal::report(&fitted(view, screen, ScreenFormat::PLAIN))
    }

    #[test]
    fn of_a_table_that_is_too_long_the_rows_that_matter_are_shown_in_their_order() {
        let screen = Screen { lines: Some(24), ..Screen::default() };
        let text = shown(60, screen);
        let named: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("row "))
            .filter_map(|line| line.split_whitespace().nth(1))
            .collect();
        let first = ["0", "1", "2", "3", "4", "5", "6", "7", "8"];
        assert_eq!(named, [&first[..], &["9", "19", "29", "39", "49", "59"]].concat());
        assert!(text.contains("the 15 rows of 60 that matter most: `--all-rows` shows"), "{text}");
        assert!(!text.contains("runs show"), "it does not show a comparison: {text}");
        let text = shown(60, Screen { whole: WholeTable::ByShowingAgain, ..screen });
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("`oscost runs show last` shows all of a run that is kept; measured"),
            "{text}"
        );
    }

    #[test]
    fn the_plot_of_a_shortened_table_has_the_same_rows() {
        let line = |at: usize| ForestLine {
            row: format!("c0-{at}"),
            name: format!("plotted {at}"),
            ratio: 1.0,
            interval: Some([0.9, 1.1]),
            verdict: "inconclusive".to_owned(),
            figure: String::new(),
            priority: if at % 10 == 9 { 500 } else { 100 },
        };
        let plot = ForestPlot {
            id: "forest-0".to_owned(),
            caption: String::new(),
            margin: None,
            lines: (0..26).map(line).collect(),
        };
        let table = Table { caption: "What differs".to_owned(), ..rows(26) };
        let blocks = [Block::Table(table), Block::Forest(plot)];
        let view = View::of(vec![Section::of("", blocks)]);
        // The plot alone would fit.
        let screen = Screen { lines: Some(27), ..Screen::default() };
        let text = terminal::report(&fitted(view, screen, ScreenFormat::PLAIN));
        let named = |word: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with(word));
            lines.filter_map(|line| Some(line.split_whitespace().nth(1)?.to_owned())).collect()
        };
        assert_eq!((named("row ").len(), named("row ")), (15, named("plotted ")), "{text}");
    }

    #[test]
    fn a_table_that_fits_and_one_that_is_no_terminals_is_whole() {
        let lines = |count, lines| {
            let text = shown(count, Screen { lines, ..Screen::default() });
            text.lines().filter(|line| line.starts_with("row ")).count()
        };
        assert_eq!((lines(20, Some(24)), lines(60, None), lines(60, Some(100))), (20, 60, 60));
    }

    #[test]
    fn details_are_shown_on_demand_and_the_answer_comes_last() {
        let text = shown(3, Screen::default());
        let end = "It costs 1 ns.\nMore: `--verbose` shows how it was measured, and flags for \
                   information.\n";
        assert!(text.ends_with(end) && !text.contains("in a way"), "{text}");
        let text = shown(3, Screen { verbose: true, ..Screen::default() });
        assert!(text.starts_with("How it was measured\n  in a way\n"), "{text}");
        assert!(text.ends_with("\n\nIt costs 1 ns.\n"), "{text}");
        let text = shown(3, Screen { details: DetailsOf::Bill, ..Screen::default() });
        assert!(text.contains("More: `--verbose` shows which rows priced each item"), "{text}");
    }
}
