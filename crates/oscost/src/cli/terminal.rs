//! Notes and progress on standard error.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::IsTerminal;

use oscost_model::journal::Entry;

use super::output::{Output, report_error, report_line};
use crate::app::{Observer, Omission, RunActivity, RunProgress, SettledFigure};
use crate::report::progress::{self, Progress, ProgressMode};

/// Shows what a use case reports while it runs.
pub(super) struct Terminal {
    mode: ProgressMode,
    progress: RefCell<Option<Progress>>,
    /// Whether the first activity is printed as a line if standard error is not a terminal.
    announces: bool,
    /// Whether nothing but notes is shown.
    is_quiet: bool,
    /// Whether details are shown, too.
    is_verbose: bool,
    /// The reasons that were told: a damaged store is met by several parts of a run.
    reasons: RefCell<BTreeSet<String>>,
}

impl Terminal {
    /// A terminal beside an output.
    pub(super) fn new(output: &Output) -> Self {
        let mode = output.progress();
        Self {
            mode,
            progress: RefCell::new(None),
            announces: false,
            is_quiet: false,
            is_verbose: false,
            reasons: RefCell::default(),
        }
    }

    /// The same, without progress if it is to be quiet. Notes are shown in any case: they say what a
    /// reader of the figures must know, and what the run waits for.
    pub(super) fn quiet_if(self, is_quiet: bool) -> Self {
        let mode = if is_quiet { ProgressMode::Hidden } else { self.mode };
        Self { mode, is_quiet, ..self }
    }

    /// The same, with details if it is to be verbose.
    pub(super) fn verbose_if(self, is_verbose: bool) -> Self {
        Self { is_verbose, ..self }
    }

    /// The same, which also reports its first activity where no progress can be drawn.
    pub(super) fn announcing(self) -> Self {
        Self { announces: true, ..self }
    }

    /// Prints a line, not into one of progress.
    fn line(&self, text: &str) {
        self.beside_progress(|| report_line(text));
    }

    fn beside_progress(&self, print: impl FnOnce()) {
        match &*self.progress.borrow() {
            Some(progress) => progress.suspend(print),
            None => print(),
        }
    }
}

impl Observer for Terminal {
    fn note(&self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn detail(&self, text: &str) {
        if self.is_verbose {
            self.note(text);
        }
    }

    fn omitted(&self, omission: &Omission<'_>) {
        let Omission { what, error, reason } = *omission;
        match self.reasons.borrow_mut().insert(reason.to_owned()) {
            true => self.note(&format!("{what}: {error}")),
            false => self.note(&format!("{what}, for the same reason")),
        }
    }

    fn failed(&self, error: &anyhow::Error) {
        self.beside_progress(|| report_error(error));
    }

    fn status(&self, text: &str) {
        if !self.is_quiet {
            self.line(text);
        }
    }

    fn waiting_for(&self, process: &str, host: Option<&str>) {
        let machine = host.map_or("this machine".to_owned(), |host| format!("`{host}`"));
        self.line(&format!(
            "waiting for {process}: one run measures on {machine} at a time, and this one goes on when \
             that ends"
        ));
    }

    fn working(&self, activity: &str) {
        if self.is_quiet {
            return;
        }
        let mut progress = self.progress.borrow_mut();
        if progress.is_none() && self.announces && self.mode == ProgressMode::Drawn {
            // A line that cannot be drawn is printed once.
            if !std::io::stderr().is_terminal() {
                report_line(activity);
            }
        }
        progress.get_or_insert_with(|| Progress::new(self.mode)).show(activity);
    }

    fn finished(&self) {
        if let Some(progress) = self.progress.borrow_mut().take() {
            progress.finish();
        }
    }

    fn entry(&self, entry: &Entry) {
        let mut progress = self.progress.borrow_mut();
        progress.get_or_insert_with(|| Progress::new(self.mode)).update(entry);
    }

    fn progress(&self, progress: &RunProgress) {
        let mut shown = self.progress.borrow_mut();
        shown.get_or_insert_with(|| Progress::new(self.mode)).advance(&step(progress));
    }
}

/// The progress of a run as it is shown.
fn step(progress: &RunProgress) -> progress::Step {
    let RunProgress { activity, done, all, elapsed, at_most, row, settled } = progress;
    let figure = settled.map(|SettledFigure { row, value, relative_half_width }| {
        progress::Figure { row, value, relative_half_width }
    });
    progress::Step {
        work: match activity {
            RunActivity::Pilots => "pilots",
            RunActivity::CallCounts => "call counts",
            RunActivity::ReferenceCases => "rounds of reference cases",
            RunActivity::Rounds => "rows",
            RunActivity::Pairs => "pairs",
            RunActivity::StudyMethods => "rounds by the study's method",
            RunActivity::Trials => "trials",
            RunActivity::Counting => "workers",
        },
        done: *done,
        all: *all,
        elapsed: *elapsed,
        at_most: *at_most,
        row: *row,
        figure,
    }
}
