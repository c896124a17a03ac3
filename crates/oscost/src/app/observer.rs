//! What a use case reports while it runs.

use oscost_model::journal::Entry;

use crate::run::RunProgress;

/// What is not done because of an error.
#[derive(Clone, Copy, Debug)]
pub struct Omission<'a> {
    /// What, as the start of a sentence: `this run is not kept`.
    pub what: &'a str,
    /// The error.
    pub error: &'a str,
    /// The part of the error that is the same whatever was to be done.
    pub reason: &'a str,
}

/// Receives notes and progress. Nothing here is called while a worker is timing.
pub trait Observer {
    /// A message that is not an error.
    fn note(&self, text: &str);

    /// A message for those who ask for details.
    fn detail(&self, _text: &str) {}

    /// Something is not done because of an error, which may be that of other things as well.
    fn omitted(&self, omission: &Omission<'_>) {
        self.note(&format!("{}: {}", omission.what, omission.error));
    }

    /// An error with a part of what was asked for, after which the rest goes on.
    fn failed(&self, error: &anyhow::Error) {
        self.note(&format!("{error:#}"));
    }

    /// What was done, in one line.
    fn status(&self, text: &str);

    /// Another process is measuring on the machine, and this one waits for it.
    fn waiting_for(&self, process: &str, host: Option<&str>);

    /// An activity that takes a while has begun; it lasts until [`Observer::finished`].
    fn working(&self, activity: &str);

    /// The activity or the run has ended.
    fn finished(&self);

    /// An entry was added to the journal of the run.
    fn entry(&self, entry: &Entry);

    /// How far the run is: the next worker starts after this.
    fn progress(&self, _progress: &RunProgress) {}
}

/// What tests give to a use case.
#[cfg(test)]
pub(crate) mod test_observers {
    use std::cell::RefCell;

    use super::{Entry, Observer};

    /// Keeps the notes, and ignores everything else.
    #[derive(Default)]
    pub(crate) struct Notes(pub(crate) RefCell<Vec<String>>);

    impl Observer for Notes {
        fn note(&self, text: &str) {
            self.0.borrow_mut().push(text.to_owned());
        }
        fn status(&self, _text: &str) {}
        fn waiting_for(&self, _process: &str, _host: Option<&str>) {}
        fn working(&self, _activity: &str) {}
        fn finished(&self) {}
        fn entry(&self, _entry: &Entry) {}
    }

    /// Ignores everything.
    pub(crate) struct Silent;

    impl Observer for Silent {
        fn note(&self, _text: &str) {}
        fn status(&self, _text: &str) {}
        fn waiting_for(&self, _process: &str, _host: Option<&str>) {}
        fn working(&self, _activity: &str) {}
        fn finished(&self) {}
        fn entry(&self, _entry: &Entry) {}
    }
}
