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
    study_methods: Option<StudyMethodProgress>,
    /// When the first trial of a command ended, in seconds since the start of the run.
    trials_begun_at_s: Option<f64>,
}

/// The progress of the measurements by study methods.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StudyMethodProgress {
    rounds: u32,
    workers: u32,
    expected_s: f64,
    done: u32,
    /// When the first worker ended, in seconds since the start of the run.
    begun_at_s: Option<f64>,
}

impl StudyMethodProgress {
    /// Takes a worker into account that ended `at_s` seconds after the start of the run.
    fn add(&mut self, at_s: f64) {
        self.done += 1;
        self.begun_at_s = self.begun_at_s.or(Some(at_s));
    }

    /// The time left in seconds at `at_s`: as planned until a round is done, and as the pace has
    /// been from then on.
    fn left_s(&self, at_s: f64) -> f64 {
        let took_s = at_s - self.begun_at_s.unwrap_or(at_s);
        let (done, workers) = (f64::from(self.done), f64::from(self.workers.max(1)));
        if done * f64::from(self.rounds) < workers {
            return (self.expected_s - took_s).max(0.0);
        }
        (took_s / done * (workers - done)).max(0.0)
    }
}

/// A duration as a person says it, for what is only estimated.
fn about(seconds: f64) -> String {
    if seconds < 100.0 {
        return format!("{seconds:.0} s");
    }
    format!("{:.0} min", seconds / 60.0)
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
        Self {
            line,
            rows: Vec::new(),
            done: 0,
            round: 0,
            study_methods: None,
            trials_begun_at_s: None,
        }
    }

    /// Updates the line after an entry of the journal.
    pub fn update(&mut self, entry: &Entry) {
        match entry {
            Entry::MachineDescribed { .. } => self.show("looking for the quietest CPU"),
            Entry::CpuChosen { .. } => self.show("calibrating the clock"),
            Entry::Planned { rows, .. } => self.rows.clone_from(rows),
            Entry::RowsAdded { rows } => self.rows.extend_from_slice(rows),
            Entry::Piloted { row, .. } => self.show(&format!("pilot of {}", self.name(*row))),
            Entry::EventsCounted { row, .. } => {
                self.show(&format!("counting instructions of {}", self.name(*row)));
            }
            Entry::Counted { row, .. } | Entry::NotCounted { row, .. } => {
                self.show(&format!("counting the calls of {}", self.name(*row)));
            }
            Entry::StudyMethodsPlanned { rounds, workers, expected_s } => {
                let (rounds, workers, expected_s) = (*rounds, *workers, *expected_s);
                let (done, begun_at_s) = (0, None);
                self.study_methods =
                    Some(StudyMethodProgress { rounds, workers, expected_s, done, begun_at_s });
                self.show(&format!("by the study's method, about {}", about(expected_s)));
            }
            Entry::Worker { row, phase: Phase::StudyMethod { round, .. }, at_s, .. } => {
                let name = self.name(*row);
                let Some(progress) = &mut self.study_methods else { return };
                progress.add(*at_s);
                let (rounds, left) = (progress.rounds, about(progress.left_s(*at_s)));
                let round = round + 1;
                self.show(&format!(
                    "by the study's method, round {round} of {rounds}, about {left} left, {name}"
                ));
            }
            Entry::Worker { row, phase, at_s, .. } => {
                if let Phase::Round(round) | Phase::Rehearsal(round) = phase {
                    self.round = *round + 1;
                }
                self.done += 1;
                let name = self.name(*row);
                let workload = self.rows.get(*row as usize).and_then(|row| row.workload.as_ref());
                if let Some(time) = workload.and_then(|workload| workload.time) {
                    let begun_at_s = *self.trials_begun_at_s.get_or_insert(*at_s);
                    let end_s = begun_at_s + time.last_look_s.unwrap_or(time.first_look_s);
                    let left = about((end_s - at_s).max(0.0));
                    let number = self.round;
                    return self.show(&format!("trial {number}, at most {left} left, {name}"));
                }
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
            Entry::WarmedUp { row, .. } => self.show(&format!("warmed up {}", self.name(*row))),
            Entry::Started(_)
            | Entry::Calibrated { .. }
            | Entry::Paired { .. }
            | Entry::VariationKnown { .. }
            | Entry::MonitorReported { .. }
            | Entry::Abandoned { .. }
            | Entry::RowFinished { .. }
            | Entry::Pruned { .. } => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_planned_in_the_first_round_and_then_as_the_pace_has_been() {
        let mut progress = StudyMethodProgress {
            rounds: 10,
            workers: 40,
            expected_s: 60.0,
            done: 0,
            begun_at_s: None,
        };
        for at_s in [100.0, 101.0, 102.0] {
            progress.add(at_s);
        }
        assert_eq!(progress.left_s(102.0), 58.0);
        progress.add(108.0);
        assert_eq!(progress.left_s(108.0), 72.0, "two seconds a worker, 36 workers");
        assert_eq!(StudyMethodProgress { done: 40, ..progress }.left_s(200.0), 0.0);
        assert_eq!(StudyMethodProgress { workers: 0, ..progress }.left_s(108.0), 0.0);
        assert_eq!((about(72.4).as_str(), about(179.0).as_str()), ("72 s", "3 min"));
    }
}
