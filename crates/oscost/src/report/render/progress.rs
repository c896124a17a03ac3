//! The progress of a run on standard error.
//!
//! It is shown when the run reports it, that is between two workers. While a worker measures, no
//! thread of the tool runs: a redraw would disturb it.

use std::io::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use oscost_model::journal::{Entry, PlannedRow};

use crate::report::figures::{per_cent, rough};
use crate::report::text::{plain, shorten};

/// The time from one printed line to the next.
const LINE_INTERVAL: Duration = Duration::from_secs(1);
/// A terminal with fewer columns shows either the figure that settled last or the row at work ...
const MIN_COLUMNS_FOR_BOTH: usize = 120;
/// ... and a new figure for so long.
const FIGURE_TIME: Duration = Duration::from_secs(2);
/// The columns of a line without the names of rows.
const COLUMNS_WITHOUT_NAMES: usize = 64;
/// A name that is shortened to less says nothing.
const MIN_NAME: usize = 16;

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// On one line of a terminal, and nowhere else.
    Drawn,
    /// In lines, one a second at most.
    Lines,
    /// Nowhere.
    Hidden,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is counted, in the plural.
    pub work: &'static str,
    /// How many are done.
    pub done: u32,
    /// How many there are, if that is known.
    pub all: Option<u32>,
    /// The time since the start of the run.
    pub elapsed: Duration,
    /// An upper bound of the time until its end; `None` while there is none.
    pub at_most: Option<Duration>,
    /// The row at work.
    pub row: Option<u32>,
    /// The figure that settled last.
    pub figure: Option<Figure>,
}

/// A figure of a run that still measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The index of its row.
    pub row: u32,
    /// The figure.
    pub value: f64,
    /// Half its interval, as a fraction of it.
    pub relative_half_width: Option<f64>,
}

/// The progress of a run or of another activity.
pub struct Progress {
    medium: Medium,
    rows: Vec<PlannedRow>,
    /// The figure that was shown last, and since when.
    figure: Option<(Figure, Instant)>,
}

enum Medium {
    Line(ProgressBar),
    /// When the last line was printed.
    Lines(Option<Instant>),
    Hidden,
}

impl Progress {
    /// Progress of which nothing is shown yet.
    pub fn new(mode: ProgressMode) -> Self {
        let medium = match mode {
            ProgressMode::Drawn => Medium::Line(line()),
            ProgressMode::Lines => Medium::Lines(None),
            ProgressMode::Hidden => Medium::Hidden,
        };
        Self { medium, rows: Vec::new(), figure: None }
    }

    /// Takes an entry of the journal into account.
    pub fn update(&mut self, entry: &Entry) {
        match entry {
            Entry::MachineDescribed { .. } => self.show("looking for the quietest CPU"),
            Entry::CpuChosen { .. } => self.show("calibrating the clock"),
            Entry::Planned { rows, .. } => self.rows.clone_from(rows),
            Entry::RowsAdded { rows } => self.rows.extend_from_slice(rows),
            Entry::WarmedUp { row, .. } => self.show(&format!("warmed up {}", self.name(*row))),
            Entry::Started(_)
            | Entry::Calibrated { .. }
            | Entry::StudyMethodsPlanned { .. }
            | Entry::VariationKnown { .. }
            | Entry::Paired { .. }
            | Entry::Piloted { .. }
            | Entry::Worker { .. }
            | Entry::Control { .. }
            | Entry::EventsCounted { .. }
            | Entry::Counted { .. }
            | Entry::NotCounted { .. }
            | Entry::MonitorReported { .. }
            | Entry::Abandoned { .. }
            | Entry::RowFinished { .. }
            | Entry::Ended { .. }
            | Entry::Pruned { .. } => {}
        }
    }

    /// Shows how far a run is.
    pub fn advance(&mut self, step: &Step) {
        let text = match &self.medium {
            Medium::Hidden => return,
            Medium::Lines(_) => text(step, &self.rows, usize::MAX),
            Medium::Line(_) => {
                let since = self.figure_since(step);
                fitting_text(step, &self.rows, columns(), since.elapsed() < FIGURE_TIME)
            }
        };
        self.show(&text);
    }

    /// Since when the figure of a step has been shown.
    fn figure_since(&mut self, step: &Step) -> Instant {
        let now = Instant::now();
        let Some(figure) = step.figure else { return now };
        match self.figure {
            Some((last, since)) if last == figure => since,
            _ => self.figure.insert((figure, now)).1,
        }
    }

    /// Shows a message.
    pub fn show(&mut self, text: &str) {
        let text = plain(text);
        match &mut self.medium {
            Medium::Line(line) => {
                line.set_message(text);
                line.tick();
            }
            Medium::Lines(last) => {
                if last.is_none_or(|last| last.elapsed() >= LINE_INTERVAL) {
                    *last = Some(Instant::now());
                    // Where standard error is closed, the line is lost, and the work goes on.
                    let _ = writeln!(std::io::stderr(), "{text}");
                }
            }
            Medium::Hidden => {}
        }
    }

    /// Does something that prints, without mixing it with the line.
    pub fn suspend(&self, print: impl FnOnce()) {
        match &self.medium {
            Medium::Line(line) => line.suspend(print),
            Medium::Lines(_) | Medium::Hidden => print(),
        }
    }

    /// Removes the line.
    pub fn finish(self) {
        if let Medium::Line(line) = self.medium {
            line.finish_and_clear();
        }
    }

    fn name(&self, row: u32) -> String {
        self.rows.get(row as usize).map(|row| row.case.to_string()).unwrap_or_default()
    }
}

fn line() -> ProgressBar {
    let line = ProgressBar::new_spinner();
    // The template is constant and valid; the default style would do as well.
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {wide_msg}") {
        line.set_style(style);
    }
    line
}

/// The columns of the terminal at standard error.
fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stderr());
    terminal.map_or(80, |(terminal_size::Width(columns), _)| columns.into())
}

/// How far a run is in so many columns: where they are few with a new figure or with the row at work.
fn fitting_text(step: &Step, rows: &[PlannedRow], columns: usize, is_new: bool) -> String {
    let left = columns.saturating_sub(COLUMNS_WITHOUT_NAMES);
    if columns >= MIN_COLUMNS_FOR_BOTH {
        return text(step, rows, left / 2);
    }
    let step = match step.figure.is_some() && is_new {
        true => Step { row: None, ..step.clone() },
        false => Step { figure: None, ..step.clone() },
    };
    text(&step, rows, left.max(MIN_NAME))
}

/// How far a run is, its last figure, and the row at work; names in at most so many columns. What
/// matters most comes first, since a narrow terminal has no room for the rest.
fn text(step: &Step, rows: &[PlannedRow], name_columns: usize) -> String {
    let row = |index: u32| rows.get(index as usize);
    let name = |row: &PlannedRow| {
        let name = row.case.to_string();
        match name.chars().count() > name_columns {
            true => shorten(&name, name_columns),
            false => name,
        }
    };
    let share = share_done(step).map(|share| format!("{:.0} %", (100.0 * share).floor()));
    let count = match step.all {
        Some(all) => format!("{} of {all} {}", step.done, step.work),
        None => format!("{} {}", step.done, step.work),
    };
    let left = step.at_most.map(|left| format!("at most {} left", at_most(left)));
    let figure = step.figure.and_then(|Figure { row: index, value, relative_half_width }| {
        let row = row(index)?;
        let half = relative_half_width.map(|half| format!(" +-{}", per_cent(100.0 * half)));
        let value = rough(value, row.definition.unit);
        Some(format!("{} {value}{}", name(row), half.unwrap_or_default()))
    });
    let at = step.row.and_then(row).map(|row| format!("at {}", name(row)));
    let parts = [share, Some(count), left, figure, at];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The share of a run's time that is over at least; `None` without a bound of the rest.
fn share_done(step: &Step) -> Option<f64> {
    let (elapsed, left) = (step.elapsed.as_secs_f64(), step.at_most?.as_secs_f64());
    (elapsed + left > 0.0).then(|| elapsed / (elapsed + left))
}

/// A bound of a time, rounded up.
fn at_most(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil();
    match seconds {
        ..100.0 => format!("{seconds:.0} s"),
        ..6_000.0 => format!("{:.0} min", (seconds / 60.0).ceil()),
        _ => format!("{:.1} h", (seconds / 360.0).ceil() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;
    use oscost_model::record::TargetInfo;

    use super::*;

    fn planned(case: &str) -> PlannedRow {
        let case = Case::parse(case).unwrap();
        let catalog = oscost_worker::benchmarks::data();
        PlannedRow {
            definition: catalog.get(&case.benchmark).unwrap().clone(),
            case,
            target: TargetInfo {
                text: "local".to_owned(),
                host: "local".to_owned(),
                treatments: Vec::new(),
                machine: "m0".to_owned(),
                cpu: None,
                peer: None,
            },
            requested: true,
            is_reference: false,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        }
    }

    fn step() -> Step {
        Step {
            work: "rows",
            done: 12,
            all: Some(83),
            elapsed: Duration::from_secs(20),
            at_most: Some(Duration::from_millis(39_200)),
            row: None,
            figure: None,
        }
    }

    #[test]
    fn a_step_says_how_much_is_done_and_how_long_the_rest_takes_at_most() {
        assert_eq!(text(&step(), &[], 80), "33 %, 12 of 83 rows, at most 40 s left");
        let unbounded = Step { all: None, at_most: None, work: "trials", ..step() };
        assert_eq!(text(&unbounded, &[], 80), "12 trials");
    }

    #[test]
    fn a_step_names_the_row_at_work_and_the_figure_that_settled_last() {
        let rows = ["syscall/getppid:via=raw", "timer/nothing"].map(planned);
        let figure = Figure { row: 0, value: 121.44, relative_half_width: Some(0.012) };
        let step = Step { row: Some(1), figure: Some(figure), ..step() };
        let begin = "33 %, 12 of 83 rows, at most 40 s left, ";
        let (settled, at) = ("syscall/getppid:via=raw 121 ns +-1.2 %", "at timer/nothing");
        assert_eq!(text(&step, &rows, 80), format!("{begin}{settled}, {at}"));
        // Where there is no room for both, a new figure is shown for a moment, in short.
        let fitting = |columns: usize, is_new| fitting_text(&step, &rows, columns, is_new);
        assert_eq!(fitting(140, false), format!("{begin}{settled}, {at}"));
        assert_eq!(fitting(80, true), format!("{begin}syscall..via=raw 121 ns +-1.2 %"));
        assert_eq!(fitting(80, false), format!("{begin}{at}"));
        assert!(fitting(80, true).chars().count() + 5 <= 80);
    }

    #[test]
    fn a_bound_is_rounded_up() {
        let seconds = [0.0, 0.2, 99.0, 99.1, 121.0, 5_999.5, 7_201.0];
        let texts = seconds.map(|seconds| at_most(Duration::from_secs_f64(seconds)));
        assert_eq!(texts, ["0 s", "1 s", "99 s", "2 min", "3 min", "1.7 h", "2.1 h"]);
    }

    #[test]
    fn rows_that_are_not_known_have_no_name() {
        let figure = Figure { row: 7, value: 1.0, relative_half_width: None };
        let unknown = Step { row: Some(7), figure: Some(figure), ..step() };
        assert_eq!(text(&unknown, &[], 80), text(&step(), &[], 80));
    }
}
