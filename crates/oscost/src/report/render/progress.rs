//! The progress of a run on standard error.
//!
//! It is drawn when an entry is added to the journal, that is between two workers. While a worker
//! measures, no thread of the tool runs: a redraw would disturb it.

use indicatif::{ProgressBar, ProgressStyle};
use oscost_model::journal::{Entry, Phase, PlannedRow};

/// The progress line of a run; silent if standard error is not a terminal.
pub struct Progress {
    line: ProgressBar,
    rows: Vec<PlannedRow>,
    done: usize,
    round: u32,
}

impl Progress {
    /// A line with a constant message.
    pub fn with_message(what: &str) -> Self {
        let progress = Self::new();
        progress.line.set_message(what.to_owned());
        progress.line.tick();
        progress
    }

    /// An empty line.
    pub fn new() -> Self {
        let line = ProgressBar::new_spinner();
        // The template is constant and valid; the default style would do as well.
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {wide_msg}") {
            line.set_style(style);
        }
        Self { line, rows: Vec::new(), done: 0, round: 0 }
    }

    /// Updates the line after an entry of the journal.
    pub fn update(&mut self, entry: &Entry) {
        match entry {
            Entry::MachineDescribed { .. } => self.show("looking for the quietest CPU"),
            Entry::CpuChosen { .. } => self.show("calibrating the clock"),
            Entry::Planned { rows, .. } => self.rows.clone_from(rows),
            Entry::RowsAdded { rows } => self.rows.extend_from_slice(rows),
            Entry::Piloted { row, .. } => self.show(&format!("pilot of {}", self.name(*row))),
            Entry::Counted { row, .. } | Entry::NotCounted { row, .. } => {
                self.show(&format!("counting the calls of {}", self.name(*row)));
            }
            Entry::Worker { row, phase, .. } => {
                if let Phase::Round(round) | Phase::Rehearsal(round) = phase {
                    self.round = *round + 1;
                }
                self.done += 1;
                let name = self.name(*row);
                let workload = self.rows.get(*row as usize).and_then(|row| row.workload.as_ref());
                if let Some(workload) = workload {
                    let max = workload.trials;
                    return self.show(&format!("trial {} of at most {max}, {name}", self.round));
                }
                self.show(&format!("round {}, {} workers, {name}", self.round, self.done));
            }
            Entry::Control { row, .. } => {
                self.done += 1;
                self.show(&format!("round {}, a control of {}", self.round, self.name(*row)));
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

    /// Shows a message.
    pub fn show(&self, what: &str) {
        self.line.set_message(what.to_owned());
        self.line.tick();
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}
