//! `oscost predict`

use std::time::SystemTime;

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::journal::PlannedRow;
use oscost_model::record::Prediction;
use oscost_model::unit::Unit;

use super::output::{Output, remark};
use super::programs::Programs;
use super::{Done, UsageError, runs};
use crate::hosts::WorkerBinary;
use crate::store::Store;
use crate::studies::prediction::Estimate;
use crate::{plan, report};

/// What to predict, or what to do with what was.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
An ESTIMATE is a number and its unit: ns, us, ms, s, cycles (of the core) or
ticks (of the processor's counter). It may be
  120 ns         a value: it holds within a factor of 1.25
  <25 cycles     a bound (`>1 us` is the other); it needs quotes
  100..200 ns    a range
It holds where the whole 95 % interval of the figure lies within it, does not
where all of the interval lies outside, and is undecided in between. Cycles
are those of the core, estimated in the same run.

Each run of the case that begins later keeps the prediction in its record, and
sets it beside oscost's own guess, the floor and the figure.

Examples:
  oscost predict syscall/getppid:via=raw 120 ns
  oscost predict syscall/getppid:via=raw '<300 cycles'
  oscost predict syscall/getpid:via=raw --hardware 40..80cycles --software 9ns
  oscost predict syscall/getpid:via=raw --below syscall/getppid:via=raw
  oscost run syscall                            measures, and says which held
  oscost predict check                          the table of the last run again
  oscost predict remove all")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// One case in full, as tables and `oscost explain` name it.
    #[arg(value_name = "CASE", required = true)]
    case: Option<String>,
    /// What it will cost.
    #[arg(value_name = "ESTIMATE")]
    estimate: Vec<String>,
    /// What the hardware takes of that; with `--software` alone, the sum is the estimate.
    #[arg(long, value_name = "ESTIMATE", value_parser = Estimate::parse)]
    hardware: Option<Estimate>,
    /// What the software takes of that.
    #[arg(long, value_name = "ESTIMATE", value_parser = Estimate::parse)]
    software: Option<Estimate>,
    /// That it costs less than another case.
    #[arg(long, value_name = "CASE", conflicts_with_all = ["estimate", "hardware", "software"])]
    below: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// The predictions that are kept, with their numbers.
    List,
    /// Forget predictions; runs keep theirs.
    Remove {
        /// The number of one, or `all`.
        #[arg(value_name = "N|all", value_parser = which)]
        which: Which,
    },
    /// The predictions of a run, and which of them held.
    Check {
        /// An id, the beginning of one, `last`, or `last~1`.
        #[arg(default_value = "last")]
        run: String,
    },
}

#[derive(Clone, Copy, Debug)]
enum Which {
    All,
    Number(i64),
}

fn which(text: &str) -> Result<Which, String> {
    match text {
        "all" => Ok(Which::All),
        text => {
            let number = text.parse().map_err(|_| "it must be a number or `all`".to_owned())?;
            Ok(Which::Number(number))
        }
    }
}

pub(super) fn predict(arguments: Arguments, output: &mut Output) -> anyhow::Result<Done> {
    match &arguments.verb {
        None => say(&arguments)?,
        Some(Verb::List) => {
            let predictions = match existing()? {
                Some(store) => store.predictions()?,
                None => Vec::new(),
            };
            output.write(&report::predictions::list(&predictions))?;
        }
        Some(Verb::Remove { which }) => {
            let number = match *which {
                Which::All => None,
                Which::Number(number) => Some(number),
            };
            let removed = runs::store()?.remove_predictions(number)?;
            let s = if removed == 1 { "" } else { "s" };
            remark(&format!("removed {removed} prediction{s}"));
        }
        Some(Verb::Check { run }) => {
            let record = runs::record(&runs::store()?, run, false)?;
            let text = report::predictions::text(&record);
            match text.trim_start() {
                "" => remark(&format!("nothing was predicted of run {} before it", record.id)),
                text => output.write(text)?,
            }
        }
    }
    Ok(Done::Well)
}

/// Keeps what the user says of a case.
fn say(arguments: &Arguments) -> anyhow::Result<()> {
    let catalog = Programs::known().beside(&WorkerBinary::find()?.catalog);
    let whole = match &arguments.estimate[..] {
        [] => None,
        words => Some(Estimate::parse(&words.join(" ")).map_err(UsageError)?),
    };
    let text = |estimate: Option<Estimate>| estimate.map(|it| it.to_string());
    let below = arguments.below.as_deref().map(|it| predictable(&catalog, it)).transpose()?;
    let case = predictable(&catalog, arguments.case.as_deref().unwrap_or_default())?;
    let parts = (arguments.hardware, arguments.software);
    if below.is_none() && whole.is_none() && !matches!(parts, (Some(_), Some(_))) {
        let text = "cannot keep a prediction that says nothing of the whole\n  hint: add an \
                    estimate, both `--hardware` and `--software`, or `--below CASE`";
        return Err(UsageError(text.to_owned()).into());
    }
    if below.as_ref() == Some(&case) {
        return Err(UsageError(format!("`{case}` does not cost less than itself")).into());
    }
    let predicted = Prediction {
        case: case.to_string(),
        estimate: text(whole),
        hardware: text(arguments.hardware),
        software: text(arguments.software),
        below: below.map(|case| case.to_string()),
        made_at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
    };
    let number = runs::store()?.predict(&predicted)?;
    remark(&format!(
        "kept as prediction {number}: runs that begin from now on are held against it"
    ));
    Ok(())
}

/// The one case in full that a word names, whose cost is a time.
fn predictable(catalog: &Catalog, word: &str) -> anyhow::Result<Case> {
    let mut found = plan::select(catalog, &[word.to_owned()], Extent::Default)?;
    let is_it = matches!(&found[..], [one] if one.to_string() == word);
    let Some(case) = found.pop().filter(|_| is_it) else {
        let found = plan::select(catalog, &[word.to_owned()], Extent::Default)?;
        let meant = found.first().map(|it| format!("\n  hint: `{it}` is one")).unwrap_or_default();
        let text = format!("`{}` is not a single case in full{meant}", word.escape_debug());
        return Err(UsageError(text).into());
    };
    match catalog.get(&case.benchmark).map(|definition| definition.unit) {
        Some(Unit::NsPerOp | Unit::Seconds) => Ok(case),
        unit => {
            let unit = unit.map_or("nothing", Unit::text);
            let text = format!("cannot predict `{case}`: it is told in {unit}, and is no time");
            Err(UsageError(text).into())
        }
    }
}

/// The user's store, where there is one: to look is no reason to make it.
fn existing() -> anyhow::Result<Option<Store>> {
    match Store::default_path().filter(|path| path.exists()) {
        Some(path) => Ok(Some(Store::open(&path)?)),
        None => Ok(None),
    }
}

/// What was predicted until now of the cases of a run that is about to begin.
pub(super) fn of(rows: &[PlannedRow]) -> Vec<Prediction> {
    let read = existing().and_then(|store| match store {
        Some(store) => Ok(store.predictions()?),
        None => Ok(Vec::new()),
    });
    let all = read.unwrap_or_else(|error| {
        remark(&format!("note: predictions are left out: {error}"));
        Vec::new()
    });
    let is_measured = |case: &str| rows.iter().any(|row| row.case.to_string() == case);
    all.into_iter().map(|(_, it)| it).filter(|it| is_measured(&it.case)).collect()
}
