//! `oscost history`

pub(super) mod keep;
mod marks;
mod pick;
mod series;

use std::collections::BTreeSet;

use keep::Made;
use oscost_model::target::Target;

use super::output::{Destination, Output};
use super::{Done, UsageError, runs};
use crate::report;

/// As many runs as changes are looked for among.
const RUNS: &str = "60";

/// What to look back at.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Only runs on machines and kernels of the newest run's class make a series, and
of one revision of the benchmark; what is left out is counted. Versions of the
kernel, its command line, mitigations, what is attached to it, microcode, oscost
and the worker may differ: they are marked.

Examples:
  oscost history                               every case that changed
  oscost history syscall/getppid:via=raw       one case, run by run
  oscost history syscall 'pipe/*'              what there is of some, in short
  oscost history pipe/round-trip:size=4096     all cases with that size
  oscost history syscall/getppid --at seccomp=docker
  oscost history syscall --last 200 --json history.json
  oscost history 'syscall/*' --html history.html")]
pub(super) struct Arguments {
    /// A case, a benchmark, a family, or a glob, of what the store has; without any: what changed.
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Look at so many of the newest runs of a case; changes are looked for in the last 60.
    #[arg(long, value_name = "N", default_value = RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,
    /// Where it was measured.
    #[arg(long = "at", value_name = "TARGET", default_value = "local")]
    target: String,
    /// Write the history as JSON (`oscost.history/1`), to a file or with `-` to standard output
    /// instead of the text.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    /// Write a page for a browser likewise: one file, which needs no network.
    #[arg(long, value_name = "FILE")]
    html: Option<String>,
}

pub(super) fn history(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let target = Target::parse(&arguments.target).map_err(|error| UsageError(error.to_string()))?;
    let [json, html] =
        [&arguments.json, &arguments.html].map(|file| file.as_deref().map(Destination::of));
    if json.is_some() && json == html {
        return Err(UsageError("--json and --html are to be two files".to_owned()).into());
    }
    [&json, &html].into_iter().flatten().try_for_each(Destination::look)?;
    let selectors = pick::selectors(&arguments.cases)?;
    let mut store = runs::store()?;
    let Made { mut unkept, without } = keep::complete(&mut store)?;
    let mut known: BTreeSet<String> = store.cases()?.into_iter().collect();
    known.extend(unkept.iter().flat_map(|run| &run.summary.figures).map(|it| it.case.clone()));
    let known: Vec<String> = known.into_iter().collect();
    let wanted = pick::cases(&known, &selectors)?;
    unkept.iter_mut().for_each(|run| run.summary.figures.retain(|it| wanted.contains(&it.case)));
    let mut kept = store.figures(keep::RULES, &|case| wanted.contains(case))?;
    kept.append(&mut unkept);
    kept.sort_by(|one, other| (&one.started, &one.id).cmp(&(&other.started, &other.id)));
    let asked = series::Asked {
        target: &target.to_string(),
        last: arguments.last as usize,
        named: !selectors.is_empty(),
    };
    let history = series::history(&kept, &asked, without);
    if let Some(target) = &json {
        target.write(&report::history::json(&history)?, output)?;
    }
    if let Some(target) = &html {
        target.write(&report::html::history(&history)?, output)?;
    }
    if ![json, html].contains(&Some(Destination::Stdout)) {
        output.write(&report::history::text(&history))?;
    }
    Ok(Done::Well)
}
