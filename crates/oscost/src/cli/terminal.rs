//! Notes and progress on standard error.

use std::cell::RefCell;
use std::io::IsTerminal;

use oscost_model::journal::Entry;

use super::output::report_line;
use crate::app::Observer;
use crate::report::progress::Progress;

/// Shows what a use case reports while it runs.
pub(super) struct Terminal {
    progress: RefCell<Option<Progress>>,
    /// Whether the first activity is printed as a line if standard error is not a terminal.
    announces: bool,
    /// Whether progress is not shown.
    is_quiet: bool,
}

impl Terminal {
    pub(super) fn new() -> Self {
        Self { progress: RefCell::new(None), announces: false, is_quiet: false }
    }

    /// A terminal that shows progress unless it is to be quiet. Notes are shown in any case: they
    /// say what a reader of the figures must know, and what the run waits for.
    pub(super) fn with_progress_unless(is_quiet: bool) -> Self {
        Self { is_quiet, ..Self::new() }
    }

    /// A terminal that also reports its first activity where no progress can be drawn.
    pub(super) fn with_announcements() -> Self {
        Self { announces: true, ..Self::new() }
    }
}

impl Observer for Terminal {
    fn note(&self, text: &str) {
        report_line(&format!("note: {text}"));
    }

    fn status(&self, text: &str) {
        if !self.is_quiet {
            report_line(text);
        }
    }

    fn waiting_for(&self, process: &str, host: Option<&str>) {
        let machine = host.map_or("this machine".to_owned(), |host| format!("`{host}`"));
        report_line(&format!("waiting for {process}: the lock of {machine} is held"));
    }

    fn working(&self, activity: &str) {
        if self.is_quiet {
            return;
        }
        let mut progress = self.progress.borrow_mut();
        match &*progress {
            Some(line) => line.show(activity),
            None => {
                if self.announces && !std::io::stderr().is_terminal() {
                    report_line(activity);
                }
                *progress = Some(Progress::with_message(activity));
            }
        }
    }

    fn finished(&self) {
        *self.progress.borrow_mut() = None;
    }

    fn entry(&self, entry: &Entry) {
        if self.is_quiet {
            return;
        }
        self.progress.borrow_mut().get_or_insert_with(Progress::new).update(entry);
    }
}
