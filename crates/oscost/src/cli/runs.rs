//! `oscost runs`

use std::io::Read;

use anyhow::Context;
use oscost_model::record::Record;

use super::output::{Destination, Output, remark};
use super::run::{self, plots};
use super::{Done, UsageError, ab, history, study};
use crate::estimate::Assembler;
use crate::report;
use crate::report::table::Plots;
use crate::store::{MOST_BYTES, Store, Stored};

/// What to do with the runs that were kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, or `last~1` for the run before it.

Examples:
  oscost runs list
  oscost runs show last
  oscost runs export 0197 run.json     a record to send to somebody
  oscost runs import run.json          a record from somebody")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The runs, newest first.
    List,
    /// A run's table.
    Show {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
        /// The record instead of the table, to a file or with `-` to standard output.
        #[arg(long, value_name = "FILE")]
        json: Option<String>,
        /// Put every raw batch into the JSON record.
        #[arg(long)]
        samples: bool,
        /// Draw all curves; without it, they are drawn where they make two pictures at most.
        #[arg(long)]
        plot: bool,
        /// Draw none.
        #[arg(long, conflicts_with = "plot")]
        no_plot: bool,
    },
    /// Forget a run.
    Delete {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
    },
    /// Write a run's record with all raw batches.
    Export {
        /// An id, the beginning of one, `last`, or `last~1`.
        run: String,
        /// The file; `-` is standard output.
        file: String,
    },
    /// Keep a record that somebody else made.
    Import {
        /// The file; `-` is standard input.
        file: String,
    },
}

pub(super) fn runs(arguments: Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let mut store = store()?;
    match arguments.verb {
        Verb::List => output.write(&report::runs::list(&store_lines(&store)?))?,
        Verb::Show { run, json, samples, plot, no_plot } => {
            let record = record(&store, &run, samples)?;
            match json.as_deref().map(Destination::of) {
                Some(target) => target.write(&report::json::record(&record)?, output)?,
                None => output.write(&text(&record, plots(plot, no_plot)))?,
            }
        }
        Verb::Delete { run } => {
            let id = store.find(&run)?;
            store.delete(&id)?;
            remark(&format!("deleted {id}"));
        }
        Verb::Export { run, file } => {
            let record = record(&store, &run, true)?;
            Destination::of(&file).write(&report::json::record(&record)?, output)?;
        }
        Verb::Import { file } => {
            let id = store
                .import(&read(&file, MOST_BYTES)?)
                .with_context(|| format!("cannot import {file}"))?;
            let record = record(&store, &id, false)?;
            history::keep::keep(&mut store, &id, &record);
            remark(&format!("kept as {id}"));
        }
    }
    Ok(Done::Well)
}

/// The user's store.
pub(super) fn store() -> anyhow::Result<Store> {
    let path = Store::default_path().ok_or_else(|| {
        UsageError(
            "cannot find the store: neither XDG_DATA_HOME nor HOME names a folder".to_owned(),
        )
    })?;
    Ok(Store::open(&path)?)
}

/// A run's record: read from its journal by the code that wrote the first one, or as imported.
pub(super) fn record(store: &Store, run: &str, samples: bool) -> anyhow::Result<Record> {
    load(store, &store.find(run)?, samples)
}

/// The record of the run of exactly that id.
pub(super) fn load(store: &Store, id: &str, samples: bool) -> anyhow::Result<Record> {
    match store.load(id)? {
        Stored::Journal(entries) => Assembler::read(&entries)
            .record(samples)
            .with_context(|| format!("run {id} never began")),
        Stored::Imported(record) => Ok(*record),
    }
}

/// A run that was kept as text, as the command showed it that measured it.
pub(super) fn text(record: &Record, plots: Plots) -> String {
    let study = study::of_record(record);
    match record.comparisons.is_empty() {
        true => run::text(record, study.as_ref(), plots),
        false => ab::text(record, study.as_ref()),
    }
}

fn store_lines(store: &Store) -> anyhow::Result<Vec<report::runs::Line>> {
    Ok(store
        .list()?
        .into_iter()
        .map(|run| report::runs::Line {
            id: run.id,
            started: run.started,
            complete: run.complete,
            label: run.label,
            command: run.command,
        })
        .collect())
}

/// A whole file, or standard input for `-`, but one byte more than it may have at most: whoever asked
/// refuses what is longer.
pub(super) fn read(file: &str, most_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bounded = |reader: Box<dyn Read>| reader.take(most_bytes as u64 + 1);
    let opened: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        path => Box::new(std::fs::File::open(path).with_context(|| format!("cannot open {path}"))?),
    };
    bounded(opened).read_to_end(&mut bytes).with_context(|| format!("cannot read {file}"))?;
    Ok(bytes)
}
