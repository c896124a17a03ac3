//! oscost's figures compared with those of peers' own programs: `cargo bench --bench peers --
//! programs`.
//!
//! A row runs a program for about a second on the CPU of the worker, and sets the figure that it
//! prints beside the cases of the same act, in turns. Where the program's figure contains more than
//! one act, a read of its clock for example, ours is the sum of their cases. A program that is not
//! installed, or whose version does not have the act, is skipped with its reason.
//!
//! Bar: the interval of the ratio, ours over the peer's, holds a value within 10 % of 1, or the row
//! says what differs. A peer's figure is one mean over all that happened to it, interruptions
//! included, and of ours disturbed batches are left out: on a noisy machine ours are smaller.
//!
//! Words select the rows whose name, program or cases contain one of them.

mod fio;
mod lmbench;
mod perf;
mod reading;
mod row;
mod scheduler;
mod stress_ng;
mod transfer;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::worker::BatchPlan;

use super::acts::find_case;
use super::pairs::{Comparison, alternate_times, figure, line};
use super::peer_programs::{PeerPrograms, free_port};
use super::tools::PeerCpu;
use super::worker_session::WorkerSession;

use reading::Printed;
use row::{PORT, Part, Row};

/// Pairs of figures; each of the peer's takes a second.
const PAIRS: usize = 7;
/// How far from 1 a ratio may be without a reason.
const MAX_FACTOR: f64 = 1.1;
/// Columns of a reason.
const REASON_COLUMNS: usize = 76;
/// Debian keeps lmbench's programs in a folder for each architecture, outside the search path.
const LMBENCH: &str = "/usr/lib/lmbench/bin";

const TABLES: [&[Row]; 6] =
    [stress_ng::ROWS, perf::ROWS, scheduler::ROWS, fio::ROWS, transfer::ROWS, lmbench::ROWS];

/// What came of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Agrees,
    /// Beyond 10 %, for the reason that the row has.
    Differs,
    Unexplained,
    Skipped,
    Failed,
}

/// Compares the rows that contain one of these words, or all; returns whether the bar holds.
pub(super) fn compare(
    words: &[String],
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
    peers: &PeerPrograms,
) -> bool {
    println!(
        "CPU {}; a figure of a program is one run, a ratio the median of {PAIRS} pairs, in ABBA\n",
        worker.cpu
    );
    let columns = ["ours", "peer's", "ratio", "95 % interval", "10 %"];
    println!("{}", line("cases, and program", columns));
    let has_word = |text: &str| words.iter().any(|word| text.contains(word.as_str()));
    let is_chosen = |row: &&Row| {
        words.is_empty()
            || has_word(row.name)
            || has_word(row.program)
            || row.parts.iter().any(|part| has_word(part.case()))
    };
    let mut outcomes = Vec::new();
    for row in TABLES.into_iter().flatten().filter(is_chosen) {
        print_parts(row.parts);
        let outcome = compare_row(row, catalog, worker, peers).unwrap_or_else(|error| {
            println!("  {}: failed: {error:#}", row.name);
            Outcome::Failed
        });
        outcomes.push(outcome);
    }
    let count = |of: Outcome| outcomes.iter().filter(|outcome| **outcome == of).count();
    println!(
        "\nwithin 10 %: {}, beyond it with a reason: {}, without: {}, skipped: {}, failed: {}",
        count(Outcome::Agrees),
        count(Outcome::Differs),
        count(Outcome::Unexplained),
        count(Outcome::Skipped),
        count(Outcome::Failed)
    );
    let holds = count(Outcome::Unexplained) + count(Outcome::Failed) == 0;
    println!("bar holds: {holds}");
    holds
}

/// Why rows cannot be compared: a case of theirs that is missing.
pub(super) fn unresolved(catalog: &Catalog) -> Vec<String> {
    let parts = TABLES.into_iter().flatten().flat_map(|row| row.parts);
    let missing = parts.filter_map(|part| find_case(part.case(), catalog).err());
    missing.map(|why| format!("{why:#}")).collect()
}

/// Prints the cases of ours.
fn print_parts(parts: &[Part]) {
    for (index, part) in parts.iter().enumerate() {
        let plus = if index == 0 { "" } else { "+ " };
        match part {
            Part::Once(case) => println!("{plus}{case}"),
            Part::Times(times, case) => println!("{plus}{times} x {case}"),
        }
    }
}

/// Compares one row, and prints its line.
fn compare_row(
    row: &Row,
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
    peers: &PeerPrograms,
) -> anyhow::Result<Outcome> {
    let skipped = |reason: &str| {
        println!("  {}: skipped: {reason}", row.name);
        Ok(Outcome::Skipped)
    };
    if let Some(reason) = peers.missing_reason(row.program) {
        return skipped(reason);
    }
    let Some(program) = find_program(row.program) else {
        return skipped(&format!(
            "{} is not installed\n    (apt-get install {})",
            row.program, row.package
        ));
    };
    if worker.other_cpu.is_none() && row.server.is_some_and(|end| end.cpu == PeerCpu::Other) {
        return skipped("there is no other CPU");
    }
    let program = program.to_string_lossy();
    // Not counted: it shows whether this version has the act, and warms the machine up.
    let printed = run(row, &program, peers)?;
    if let Err(error) = printed.nanoseconds(row.figure) {
        return match printed.refusal() {
            Some(line) => skipped(line),
            None => Err(error),
        };
    }
    let mut parts = Vec::new();
    for part in row.parts {
        let (case, definition) = find_case(part.case(), catalog)?;
        let plan = worker.plan(&case)?;
        parts.push(PlannedPart { times: part.times(), case, plan, switches: definition.switches });
    }
    let pairs = alternate_times(
        PAIRS,
        || sum_of_parts(worker, &parts),
        || run(row, &program, peers)?.nanoseconds(row.figure),
    )?;
    let comparison = Comparison::of(&pairs).context("the ratio has no interval")?;
    let agrees = comparison.low <= MAX_FACTOR && comparison.high >= 1.0 / MAX_FACTOR;
    let (outcome, verdict) = match (agrees, row.differs) {
        (true, _) => (Outcome::Agrees, "agrees"),
        (false, "") => (Outcome::Unexplained, "FAILS"),
        (false, _) => (Outcome::Differs, "differs"),
    };
    comparison.print(row.name, verdict);
    if outcome == Outcome::Differs {
        print_reason(row.differs);
    }
    Ok(outcome)
}

/// A part with what the worker needs for it.
struct PlannedPart {
    times: f64,
    case: Case,
    plan: BatchPlan,
    switches: bool,
}

/// Our figure: those of all parts together.
fn sum_of_parts(worker: &mut WorkerSession<'_>, parts: &[PlannedPart]) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for part in parts {
        sum += part.times * figure(|| worker.value(&part.case, &part.plan, part.switches))?;
    }
    Ok(sum)
}

/// Runs a program, and its other end if it has one.
fn run(row: &Row, program: &str, peers: &PeerPrograms) -> anyhow::Result<Printed> {
    let port = if row.server.is_some() { free_port()? } else { String::new() };
    let with_port = |words: &[&'static str]| -> Vec<String> {
        let word = |word: &&'static str| if *word == PORT { port.clone() } else { (*word).into() };
        words.iter().map(word).collect()
    };
    let _server = match row.server {
        Some(end) => {
            let words = with_port(end.words);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            Some(peers.server(end.cpu, program, &words)?)
        }
        None => None,
    };
    let words = with_port(&[row.words, row.common_words].concat());
    let mut all = vec![program];
    all.extend(words.iter().map(String::as_str));
    let output = peers.pinned(PeerCpu::Same, &all)?.output()?;
    let printed = Printed {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    if !output.status.success() && printed.refusal().is_none() {
        bail!("{}: {}", output.status, printed.last_line());
    }
    Ok(printed)
}

/// Where a program is.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(entries) = fs::read_dir(LMBENCH) {
        folders.extend(entries.flatten().map(|entry| entry.path()));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Prints a reason below its row.
fn print_reason(reason: &str) {
    let mut line = String::new();
    for word in reason.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > REASON_COLUMNS {
            println!("    {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    println!("    {line}");
}
