//! Progress on standard error, while a run goes on.
//!
//! It draws when the journal grows, that is between two cells; while a cell is timing nothing of
//! ours is running, not even a thread that waits to redraw.

use indicatif::{ProgressBar, ProgressStyle};
use oscost_model::journal::{Entry, Phase, PlannedRow};

/// A line that says how far the run is; silent where standard error is no terminal.
pub struct Progress {
    line: ProgressBar,
    rows: Vec<PlannedRow>,
    done: usize,
    round: u32,
}

impl Progress {
    /// A line that says what takes a while, and nothing else.
    pub fn saying(what: &str) -> Self {
        let progress = Self::new();
        progress.line.set_message(what.to_owned());
        progress.line.tick();
        progress
    }

    /// A line with nothing on it yet.
    pub fn new() -> Self {
        let line = ProgressBar::new_spinner();
        // The template is a constant of ours; without it the default would do.
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {wide_msg}") {
            line.set_style(style);
        }
        Self { line, rows: Vec::new(), done: 0, round: 0 }
    }

    /// Looks at what happened.
    pub fn heard(&mut self, entry: &Entry) {
        match entry {
            Entry::MachineDescribed { .. } => self.say("looking for the quietest CPU"),
            Entry::CpuChosen { .. } => self.say("calibrating the clock"),
            Entry::Planned { rows, .. } => self.rows.clone_from(rows),
            Entry::RowsAdded { rows } => self.rows.extend_from_slice(rows),
            Entry::Piloted { row, .. } => self.say(&format!("pilot of {}", self.name(*row))),
            Entry::Counted { row, .. } | Entry::NotCounted { row, .. } => {
                self.say(&format!("counting the calls of {}", self.name(*row)));
            }
            Entry::Worker { row, phase, .. } => {
                if let Phase::Round(round) | Phase::Rehearsal(round) = phase {
                    self.round = *round + 1;
                }
                self.done += 1;
                let name = self.name(*row);
                let workload = self.rows.get(*row as usize).and_then(|row| row.workload.as_ref());
                if let Some(workload) = workload {
                    let most = workload.trials;
                    return self.say(&format!("trial {} of at most {most}, {name}", self.round));
                }
                self.say(&format!("round {}, {} cells, {name}", self.round, self.done));
            }
            Entry::Control { row, .. } => {
                self.done += 1;
                self.say(&format!("round {}, a control of {}", self.round, self.name(*row)));
            }
            Entry::Ended { .. } => self.line.finish_and_clear(),
            Entry::Started(_)
            | Entry::Calibrated { .. }
            | Entry::Paired { .. }
            | Entry::MonitorReported { .. }
            | Entry::Abandoned { .. }
            | Entry::RowFinished { .. } => {}
        }
    }

    fn name(&self, row: u32) -> String {
        self.rows.get(row as usize).map(|row| row.case.to_string()).unwrap_or_default()
    }

    /// Says what goes on now.
    pub fn say(&self, what: &str) {
        self.line.set_message(what.to_owned());
        self.line.tick();
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
