//! Runs whose journal is recorded: into a record in memory, into the store, and for the user.

use anyhow::Context;
use oscost_model::journal::{Entry, PlannedRow, RunHeader};
use oscost_model::record::Record;

use super::base_levels::note_on_base_levels;
use super::failed_rows::FailedRows;
use crate::app::observer::Observer;
use crate::app::results::earlier_runs::runs_before;
use crate::app::results::earlier_study_runs::MeasuredStudy;
use crate::app::results::figures::keep_figures;
use crate::app::results::omissions::note_omission;
use crate::app::results::pruning::{self, PruneOccasion, PrunedRuns, RawBatchLimits};
use crate::app::results::run_before::PreviousRun;
use crate::app::selection::named_rows::NamedRows;
use crate::estimate::Assembler;
use crate::estimate::between_runs::{SystemRuns, note_on_boots, variations};
use crate::hosts::HostError;
use crate::plan;
use crate::run::{Observer as RunObserver, RunEnd, RunError, RunProgress};
use crate::store::{Cause, Store, StoreError};

/// How many old runs lose their raw batches after a run: more than one, so that a store that grew
/// before there were limits shrinks; few, so that it takes a fraction of a second.
const MAX_PRUNED_AFTER_A_RUN: usize = 4;

/// What is kept of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Whether the run is kept in the store.
    pub keep: bool,
    /// Whether the record has all raw samples.
    pub raw_samples: bool,
}

/// A run that has ended, with what was measured until then.
pub struct CompletedRun {
    /// The record.
    pub record: Record,
    /// The study that it was measured for.
    pub study: Option<MeasuredStudy>,
    /// The run before it on its machine, if there is one.
    pub before: Option<PreviousRun>,
    /// The id under which it is kept, if it is.
    pub kept_as: Option<String>,
    /// How the run ended.
    pub ended: Result<Completion, RunError>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Cases were measured, and all that were asked for by name, or skipped with a reason.
    Complete,
    /// A case that was asked for by name could not be measured, no case was, or a machine was lost.
    WithFailures,
    /// The user stopped it.
    Interrupted,
}

/// Runs `measure` and records its journal. An interrupted run without a single row is an error
/// ([`HostError::Interrupted`]), since there is nothing to show.
pub(crate) fn observe(
    header: &RunHeader,
    retention: Retention,
    named: &NamedRows,
    observer: &dyn Observer,
    measure: impl FnOnce(&mut dyn RunObserver) -> Result<RunEnd, RunError>,
) -> anyhow::Result<CompletedRun> {
    let mut recorder = Recorder {
        assembler: Assembler::default(),
        writer: JournalWriter::open(retention.keep, header, observer),
        observer,
    };
    let ended = measure(&mut recorder);
    let Recorder { assembler, mut writer, .. } = recorder;
    observer.finished();
    // A run that failed is shown as far as it got: the record exists from the first entry on.
    let record = assembler.record(retention.raw_samples).context("the run never began")?;
    if record.results.is_empty() {
        writer.delete();
        return Err(ended.err().unwrap_or(RunError::Host(HostError::Interrupted)).into());
    }
    writer.check_place();
    writer.keep_figures(&record);
    writer.prune_old_runs();
    let failed = FailedRows::of(&record, named);
    let ended = ended.map(|finish| match finish {
        RunEnd::Interrupted => Completion::Interrupted,
        RunEnd::Completed if !failed.has_run_failed() => Completion::Complete,
        RunEnd::Completed | RunEnd::MachineLost => Completion::WithFailures,
    });
    if matches!(ended, Ok(Completion::Complete | Completion::WithFailures))
        && let Some(note) = failed.note()
    {
        observer.note(&note);
    }
    let kept_as = writer.store.is_some().then_some(writer.id);
    Ok(CompletedRun { record, study: None, before: None, kept_as, ended })
}

/// The observer of a run.
struct Recorder<'a> {
    assembler: Assembler,
    writer: JournalWriter<'a>,
    observer: &'a dyn Observer,
}

impl RunObserver for Recorder<'_> {
    fn observe(&mut self, entry: &Entry) {
        if matches!(entry, Entry::Ended { .. })
            && let Some(known) = self.variation()
        {
            self.assembler.apply(&known);
            self.writer.append(&known);
        }
        self.assembler.apply(entry);
        self.writer.append(entry);
        self.observer.entry(entry);
    }

    fn progress(&mut self, progress: &RunProgress) {
        self.observer.progress(progress);
    }

    fn additional_rows(&mut self) -> Vec<PlannedRow> {
        let curves = self.assembler.record(false).map(|record| record.curves);
        plan::refinement_rows(&self.assembler.planned_rows(), &curves.unwrap_or_default())
    }
}

impl Recorder<'_> {
    /// How far the figures vary between runs, if the store has earlier runs of the same system. It is
    /// part of the journal: later runs do not change a record.
    fn variation(&self) -> Option<Entry> {
        let store = self.writer.store.as_ref()?;
        let record = self.assembler.record(false)?;
        match runs_before(store, &record) {
            Ok(earlier) => {
                if let Some(note) = earlier.note_on_noise() {
                    self.observer.detail(&note);
                }
                let runs = &earlier.runs;
                (!runs.is_empty()).then(|| self.known_variation(&record, runs))
            }
            Err(error) => {
                note_omission(self.observer, "earlier runs are not known", &error.into());
                None
            }
        }
    }

    fn known_variation(&self, record: &Record, earlier: &SystemRuns) -> Entry {
        let cases = variations(&record.results, earlier);
        if let Some(note) = note_on_boots(&cases) {
            self.observer.detail(&note);
        }
        if let Some(note) = note_on_base_levels(record, earlier) {
            self.observer.note(&note);
        }
        Entry::VariationKnown { cases }
    }
}

/// Writes the journal to the store as long as the store can; the run goes on without it.
struct JournalWriter<'a> {
    store: Option<Store>,
    id: String,
    observer: &'a dyn Observer,
}

impl<'a> JournalWriter<'a> {
    fn open(keep: bool, header: &RunHeader, observer: &'a dyn Observer) -> Self {
        let mut writer = Self { store: None, id: header.id.clone(), observer };
        if !keep {
            return writer;
        }
        let Some(path) = Store::default_path() else {
            observer.note("this run is not kept: neither XDG_DATA_HOME nor HOME names a folder");
            return writer;
        };
        let opened = Store::open(&path).and_then(|mut store| {
            store.begin(header)?;
            Ok(store)
        });
        let note = |error: StoreError| {
            note_omission(observer, "this run is not kept", &error.into());
        };
        writer.store = opened.map_err(note).ok();
        writer
    }

    fn append(&mut self, entry: &Entry) {
        if matches!(entry, Entry::Started(_)) {
            return; // The store began with it.
        }
        if let Some(store) = &mut self.store
            && let Err(error) = store.append(&self.id, entry)
        {
            self.recover(&error);
        }
    }

    /// After an entry could not be kept: if the store was deleted, the run moves to a new one, else
    /// it goes on without a store.
    fn recover(&mut self, error: &StoreError) {
        let Some(mut store) = self.store.take() else { return };
        if !matches!(error.cause, Cause::Gone) {
            self.observer.note(&format!("the rest of this run is not kept: {error}"));
            return;
        }
        match store.move_to_new_file(&self.id) {
            Ok(()) => {
                self.observer.note(&format!(
                    "the store {} was deleted or replaced during this run: the run is kept in the \
                     one that is there now",
                    error.path.display()
                ));
                self.store = Some(store);
            }
            Err(new_error) => {
                self.observer.note(&format!(
                    "this run is not kept: the store {} was deleted or replaced, and oscost \
                     {new_error}",
                    error.path.display()
                ));
            }
        }
    }

    /// Checks at the end of the run that all of it is where it will be looked for.
    fn check_place(&mut self) {
        if let Some(store) = &self.store
            && let Err(error) = store.check_place()
        {
            self.recover(&error);
        }
    }

    /// Keeps the figures of a run that has ended, next to its journal.
    fn keep_figures(&mut self, record: &Record) {
        if let Some(store) = self.store.as_mut().filter(|_| record.ended.is_some()) {
            keep_figures(store, &self.id, record, self.observer);
        }
    }

    /// Removes the raw batches of a few runs that are beyond the limits, so that the store stays of
    /// one size. Nothing is being timed now; but the user waits for the results, and does not wait
    /// for another process that has locked the store.
    fn prune_old_runs(&mut self) {
        let Some(store) = &mut self.store else { return };
        let limits = RawBatchLimits::of_environment().map_err(anyhow::Error::from);
        let pruned = limits.and_then(|limits| {
            let prune = |store: &mut Store| {
                pruning::prune(store, limits, MAX_PRUNED_AFTER_A_RUN, PruneOccasion::AfterRun)
            };
            Ok((limits, store.without_waiting(prune)??))
        });
        if let Ok((_, pruned)) = &pruned
            && let Some(note) = pruned.unended_note()
        {
            self.observer.note(&note);
        }
        let text = match pruned {
            Err(error) => format!("the raw batches of old runs are kept: {error:#}"),
            Ok((_, PrunedRuns { count: 0, locked: Some(_), .. })) => {
                "the raw batches of old runs are kept until the next run: another process has \
                 locked the store"
                    .to_owned()
            }
            Ok((_, PrunedRuns { count: 0, failures, .. })) if failures.is_empty() => return,
            Ok((_, PrunedRuns { count: 0, failures, .. })) => format!(
                "old runs that cannot be read keep their raw batches: {}; `oscost runs prune` says \
                 why",
                failures.len()
            ),
            Ok((limits, PrunedRuns { count, .. })) => format!(
                "removed the raw batches of old runs: {count}; their records are kept, and \
                 {limits} keep all (`oscost runs prune --help`)"
            ),
        };
        self.observer.note(&text);
    }

    /// Deletes a run that ended before it was planned.
    fn delete(&mut self) {
        if let Some(store) = &mut self.store
            && let Err(error) = store.delete(&self.id)
        {
            self.observer.note(&error.to_string());
        }
    }
}
