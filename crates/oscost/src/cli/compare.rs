//! `oscost compare`

use oscost_model::record::{Comparison, Record, Row};

use super::exports::{Exports, Subject};
use super::output::{Output, remark};
use super::records::Reader;
use super::{Done, UsageError};
use crate::estimate::comparison;
use crate::estimate::comparison::threshold::Threshold;
use crate::report;

/// More runs than these on a side are a slip of the shell.
const MOST_RUNS: usize = 200;

/// What to compare with what.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
RUN is an id, the beginning of one, `last`, or `last~1` for the run before it;
or a record file, named with a slash or as *.json; `-` is standard input.

Two runs that were measured one after the other differ by what happened to the
machine in between, too. Only what is far more than that is called slower or
faster, and nothing is ever called equivalent. Several runs a side that took
turns (base, new, new, base, ...) prove more: six a side are the fewest.

Examples:
  oscost compare last~1 last
  oscost compare old.json ./new.json --json comparison.json
  oscost compare last~1 last --markdown -            for a pull request
  oscost compare --base A,B,C,D,E,F --new G,H,I,J,K,L
  oscost compare last~1 last --gate --threshold 5    exit 1 on a regression
  oscost compare last~1 last --gate --threshold 0insn   of kernels in vm: places")]
pub(super) struct Arguments {
    /// The run to compare with.
    #[arg(value_name = "BASE", required_unless_present = "base", requires = "new_run",
          conflicts_with_all = ["base", "new"])]
    base_run: Option<String>,
    /// The run to compare.
    #[arg(value_name = "NEW", conflicts_with_all = ["base", "new"])]
    new_run: Option<String>,
    /// Several runs to compare with, as A,B,C.
    #[arg(long, value_name = "RUNS", value_delimiter = ',', requires = "new")]
    base: Vec<String>,
    /// Several runs to compare.
    #[arg(long, value_name = "RUNS", value_delimiter = ',', requires = "base")]
    new: Vec<String>,
    /// How much slower is too much: in per cent, or as 10insn in instructions.
    #[arg(long, value_name = "PCT", default_value = "5", value_parser = threshold)]
    threshold: Threshold,
    /// Exit with 1 when a case is surely slower, and by more than the threshold.
    #[arg(long)]
    gate: bool,
    #[command(flatten)]
    exports: Exports,
}

pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    Threshold::parse(text).ok_or_else(|| {
        "a number of per cent from 0 to 10000, or of instructions: 10insn".to_owned()
    })
}

pub(super) fn compare(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let one = |run: &Option<String>| run.iter().cloned().collect::<Vec<_>>();
    let (base, new) = match arguments.base.is_empty() {
        true => (one(&arguments.base_run), one(&arguments.new_run)),
        false => (arguments.base.clone(), arguments.new.clone()),
    };
    arguments.exports.look()?;
    let mut reader = Reader::to("compare");
    let base = records(&mut reader, &base)?;
    let new = records(&mut reader, &new)?;
    each_once(base.iter().chain(&new))?;
    let compared = comparison::compare(&base, &new);
    let threshold = arguments.threshold;
    let shown = report::compare::Shown { base: &base, new: &new, compared: &compared, threshold };
    let text = || report::compare::text(&shown);
    arguments.exports.show(&Subject::Compared(&shown), text, output)?;
    match arguments.gate {
        true => Ok(judge_gate(&compared.results, &compared.comparisons, threshold)),
        false => Ok(Done::Well),
    }
}

/// Whether the gate holds, with a word on why.
pub(super) fn judge_gate(
    results: &[Row],
    comparisons: &[Comparison],
    threshold: Threshold,
) -> Done {
    if comparisons.is_empty() {
        remark("gate: failed: no row of one side could be compared with one of the other");
        return Done::WithFailures;
    }
    let judged = comparisons.iter().filter(|it| threshold.applies_to(it)).count();
    let left = comparisons.len() - judged;
    if judged == 0 {
        remark(&format!(
            "gate: failed: of {left} rows compared none is counted in instructions: a threshold \
             of {threshold} says nothing of times"
        ));
        return Done::WithFailures;
    }
    let slower = report::compare::regressions(results, comparisons, threshold);
    for line in &slower {
        remark(&format!("gate: failed: {line}"));
    }
    if !slower.is_empty() {
        return Done::WithFailures;
    }
    let seen = comparisons.iter().filter(|it| threshold.would_detect(it)).count();
    let left = match left {
        0 => String::new(),
        left => format!("; {left} more are times, of which such a threshold says nothing"),
    };
    // Of what is exact any instruction shows.
    let change = match threshold {
        Threshold::PerCent(_) => format!("a change of {threshold}"),
        Threshold::Instructions(_) => "one instruction".to_owned(),
    };
    remark(&format!(
        "gate: passed: of {judged} rows compared none is surely slower by more than {threshold}; \
         in {seen} of them {change} would have shown{left}"
    ));
    Done::Well
}

/// The runs of a side.
fn records(reader: &mut Reader, names: &[String]) -> anyhow::Result<Vec<Record>> {
    if names.len() > MOST_RUNS {
        let count = names.len();
        let text = format!("{count} runs on a side: at most {MOST_RUNS} are compared");
        return Err(UsageError(text).into());
    }
    names.iter().map(|name| reader.record(name.trim(), false)).collect()
}

/// Refuses a run that stands twice among those that are compared.
fn each_once<'a>(records: impl Iterator<Item = &'a Record>) -> Result<(), UsageError> {
    let mut seen = std::collections::BTreeSet::new();
    for record in records {
        if !seen.insert(&record.id) {
            let id = &record.id;
            return Err(UsageError(format!(
                "run {id} is named twice: a run is no second of itself"
            )));
        }
    }
    Ok(())
}
