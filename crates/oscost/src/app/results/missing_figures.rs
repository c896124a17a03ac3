//! The figures of runs that have none in the store yet: those of an older oscost, and those that
//! could not be kept. Their records are computed once, on several CPUs, and their figures kept in
//! bulk.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::figures::{SUMMARY_RULES, summary};
use super::records::estimates;
use crate::app::observer::Observer;
use crate::estimate::history::LeftOut;
use crate::store::{Cause, Store, StoreError, SummarisedRun, Summary, UnsummarisedRun};

/// Reading that takes longer than this is reported, with its progress.
const UNREPORTED: Duration = Duration::from_secs(1);
/// The time between two reports.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Each reader has the whole journal of a run in memory.
const MAX_READERS: usize = 4;
/// For fewer runs, another thread is not worth its start.
const MIN_RUNS_OF_A_READER: usize = 4;
/// How many summaries are kept in one transaction, and after which time fewer: Ctrl-C loses the
/// work of about a second.
const RUNS_OF_A_TRANSACTION: usize = 32;
const TIME_OF_A_TRANSACTION: Duration = Duration::from_secs(1);

/// Runs whose figures were missing in the store.
pub(crate) struct RunsWithoutFigures {
    /// Runs whose figures could not be kept; this history includes them.
    pub(crate) unkept: Vec<SummarisedRun>,
    /// Runs that stay without figures, by the reason.
    pub(crate) without: Vec<LeftOut>,
}

/// Adds the figures of runs that have none yet. What was kept stays after Ctrl-C.
pub(crate) fn complete(
    store: &mut Store,
    observer: &dyn Observer,
) -> anyhow::Result<RunsWithoutFigures> {
    let missing = store.without_figures(SUMMARY_RULES)?;
    // If the store cannot be written, this is noted once.
    let is_writable = match missing.is_empty() {
        true => true,
        false => was_kept(store.delete_outdated_figures(SUMMARY_RULES), observer),
    };
    let readers = readers(store, missing.len());
    let mut writer = SummaryWriter::new(store, observer, is_writable);
    let mut unreadable: BTreeMap<usize, String> = BTreeMap::new();
    let mut progress = Progress::new(missing.len());
    let next = AtomicUsize::new(0);
    let mut take = |writer: &mut SummaryWriter<'_>, ReadRun { at, result }| {
        match result {
            Ok(summary) => writer.add(&missing[at], summary),
            Err(error) if was_deleted(&error) => {}
            Err(error) => {
                unreadable.insert(at, format!("run {} is left out: {error:#}", missing[at].id));
            }
        }
        if let Some(text) = progress.report(writer.is_writable) {
            observer.status(&text);
        }
    };
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(RUNS_OF_A_TRANSACTION);
        for reader in readers {
            let (sender, next, missing) = (sender.clone(), &next, &missing[..]);
            let read = move || read_runs(&reader, missing, next, &sender);
            if thread::Builder::new().spawn_scoped(scope, read).is_err() {
                break; // At a limit of processes, those that were started do it.
            }
        }
        drop(sender);
        for read in receiver {
            take(&mut writer, read);
        }
        // All of them, if no reader could be opened or started.
        while let Some(read) = read_next(writer.store, &missing, &next) {
            take(&mut writer, read);
        }
    });
    let unkept = writer.finish();
    unreadable.values().for_each(|text| observer.note(text));
    let unended = store.count_unended()?;
    let reasons = [
        ("its journal cannot be read", unreadable.len()),
        ("it has not ended, or was killed", unended),
    ];
    let without = reasons
        .into_iter()
        .filter(|(_, runs)| *runs > 0)
        .map(|(why, runs)| LeftOut { reason: why.to_owned(), runs })
        .collect();
    Ok(RunsWithoutFigures { unkept, without })
}

/// The stores that threads read; fewer where a limit of open files is near.
fn readers(store: &Store, runs: usize) -> Vec<Store> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let count = runs.div_ceil(MIN_RUNS_OF_A_READER).min(cpus).min(MAX_READERS);
    (0..count).map_while(|_| store.open_again_to_read().ok()).collect()
}

/// What was read of a run.
struct ReadRun {
    /// Its index.
    at: usize,
    result: anyhow::Result<Summary>,
}

/// Reads one run after the other, each that no other thread has taken.
fn read_runs(
    store: &Store,
    runs: &[UnsummarisedRun],
    next: &AtomicUsize,
    sender: &SyncSender<ReadRun>,
) {
    while let Some(read) = read_next(store, runs, next) {
        if sender.send(read).is_err() {
            return; // The receiver has ended.
        }
    }
}

fn read_next(store: &Store, runs: &[UnsummarisedRun], next: &AtomicUsize) -> Option<ReadRun> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    let run = runs.get(at)?;
    let result = estimates(store, &run.id).map(|record| summary(&record));
    Some(ReadRun { at, result })
}

/// Keeps summaries in bulk, or in memory where the store cannot be written.
struct SummaryWriter<'a> {
    store: &'a mut Store,
    observer: &'a dyn Observer,
    is_writable: bool,
    /// What is not kept yet.
    read: Vec<SummarisedRun>,
    last_kept: Instant,
    unkept: Vec<SummarisedRun>,
}

impl<'a> SummaryWriter<'a> {
    fn new(store: &'a mut Store, observer: &'a dyn Observer, is_writable: bool) -> Self {
        let (read, unkept) = (Vec::new(), Vec::new());
        Self { store, observer, is_writable, read, last_kept: Instant::now(), unkept }
    }

    fn add(&mut self, run: &UnsummarisedRun, summary: Summary) {
        let UnsummarisedRun { id, started, imported } = run.clone();
        self.read.push(SummarisedRun { id, started, imported, summary });
        let is_old = self.last_kept.elapsed() >= TIME_OF_A_TRANSACTION;
        if is_old || self.read.len() == RUNS_OF_A_TRANSACTION {
            self.keep();
            self.last_kept = Instant::now();
        }
    }

    fn keep(&mut self) {
        let read = std::mem::take(&mut self.read);
        if self.is_writable && !read.is_empty() {
            match self.store.summarise_all(&read) {
                Err(error) if matches!(error.cause, Cause::Invalid(_)) => {
                    return self.keep_each(read);
                }
                kept => self.is_writable = was_kept(kept, self.observer),
            }
        }
        if !self.is_writable {
            self.unkept.extend(read);
        }
    }

    /// Keeps all but those that cannot be stored, until the store cannot be written.
    fn keep_each(&mut self, read: Vec<SummarisedRun>) {
        for run in read {
            if self.is_writable {
                let kept = self.store.summarise(&run.id, &run.summary);
                let cause = kept.as_ref().err().map(|error| &error.cause);
                self.is_writable = matches!(cause, None | Some(Cause::Invalid(_) | Cause::NoRun));
                if matches!(cause, Some(Cause::NoRun)) || was_kept(kept, self.observer) {
                    continue;
                }
            }
            self.unkept.push(run);
        }
    }

    /// Keeps the rest; returns what could not be kept.
    fn finish(mut self) -> Vec<SummarisedRun> {
        self.keep();
        self.unkept
    }
}

/// How far the reading is.
struct Progress {
    begun: Instant,
    report_at: Duration,
    runs: usize,
    read: usize,
}

impl Progress {
    fn new(runs: usize) -> Self {
        Self { begun: Instant::now(), report_at: UNREPORTED, runs, read: 0 }
    }

    /// Counts a run; a report if one is due.
    fn report(&mut self, is_writable: bool) -> Option<String> {
        self.read += 1;
        let elapsed = self.begun.elapsed();
        if elapsed < self.report_at {
            return None;
        }
        self.report_at = elapsed + REPORT_EVERY;
        Some(progress_text(self.read, self.runs, elapsed, is_writable))
    }
}

fn progress_text(read: usize, runs: usize, elapsed: Duration, is_writable: bool) -> String {
    let left_s = elapsed.as_secs_f64() * (runs - read) as f64 / read as f64;
    let left = format!("{read} of {runs}, {left_s:.0} s left");
    match is_writable {
        true => format!(
            "reading runs whose figures are not kept yet, once: {left}; Ctrl-C keeps those that \
             were read"
        ),
        false => format!("reading runs whose figures cannot be kept: {left}"),
    }
}

/// Whether another process deleted the run meanwhile.
fn was_deleted(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StoreError>();
    error.is_some_and(|it| matches!(it.cause, Cause::NoRun))
}

/// Whether figures were kept; a failure is noted.
fn was_kept(kept: Result<(), StoreError>, observer: &dyn Observer) -> bool {
    match kept {
        Ok(()) => true,
        Err(error) => {
            observer.note(&format!("figures of runs are read again each time: {error}"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_store::{figure, store_of};
    use super::*;
    use crate::app::observer::test_observers::Silent;

    #[test]
    fn each_run_is_read_once_and_all_are_kept() {
        let ids: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
        let (_folder, mut store) = store_of(&ids);
        let found = complete(&mut store, &Silent).unwrap();
        assert_eq!((found.unkept, found.without), (Vec::new(), Vec::new()));
        let kept = store.figures(SUMMARY_RULES, &|_| true).unwrap();
        assert_eq!(kept.iter().map(|run| run.id.clone()).collect::<Vec<_>>(), ids);
        assert_eq!(store.without_figures(SUMMARY_RULES).unwrap(), []);
    }

    #[test]
    fn runs_are_read_without_readers() {
        let ids: Vec<String> = (0..10).map(|number| format!("{number:03}")).collect();
        let (folder, mut store) = store_of(&ids);
        // The store cannot be opened again.
        std::fs::rename(folder.path().join("store.db"), folder.path().join("moved.db")).unwrap();
        assert_eq!(readers(&store, ids.len()).len(), 0);
        let found = complete(&mut store, &Silent).unwrap();
        assert_eq!((found.unkept, found.without), (Vec::new(), Vec::new()));
        assert_eq!(store.without_figures(SUMMARY_RULES).unwrap(), []);
        assert_eq!(store.figures(SUMMARY_RULES, &|_| true).unwrap().len(), ids.len());
    }

    #[test]
    fn a_run_that_cannot_be_kept_is_returned_and_the_others_are_kept() {
        let (_folder, mut store) = store_of(&["a", "b", "c"]);
        let runs = store.without_figures(SUMMARY_RULES).unwrap();
        let mut writer = SummaryWriter::new(&mut store, &Silent, true);
        let summary = Summary { rules: SUMMARY_RULES, ..Summary::default() };
        let wrong = Summary { figures: vec![figure("a/b", f64::NAN)], ..summary.clone() };
        for (run, summary) in runs.iter().zip([summary.clone(), wrong, summary]) {
            writer.add(run, summary);
        }
        let unkept: Vec<String> = writer.finish().into_iter().map(|run| run.id).collect();
        assert_eq!(unkept, ["b"]);
        assert_eq!(store.figures(SUMMARY_RULES, &|_| true).unwrap().len(), 2);
    }

    #[test]
    fn progress_has_the_time_that_is_left() {
        let text = progress_text(500, 2_000, Duration::from_secs(9), true);
        assert!(text.contains(" 500 of 2000, 27 s left; Ctrl-C keeps"), "{text}");
        let text = progress_text(2_000, 2_000, Duration::from_secs(36), false);
        assert!(text.ends_with(" 2000 of 2000, 0 s left"), "{text}");
    }
}
