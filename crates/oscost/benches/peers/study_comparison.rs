//! `make bench`: do the figures by a study's method agree with programs that do what the study says?
//!
//! The programs (`studies/*.c`) are written after the studies' texts alone. Each act is performed
//! thrice, then oscost measures the study again, then each act is performed thrice once more: the
//! medians before and behind tell how much the machine itself moved. A row agrees if oscost's
//! figure is within 10 % of the two, taken together.
//!
//! Bar: at least 30 rows agree.

use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::study_programs::{Placement, PrintedFigure, StudyPrograms};
use super::study_rows::{Comparison, Reading, STUDIES, StudyActs};

/// Performances of an act before the run, and as many behind it: one alone may be interrupted, and a
/// study's mean keeps that.
const PERFORMANCES: usize = 3;
/// How far apart figures that agree may be.
const AGREEMENT: f64 = 0.10;
/// Rows that must agree.
const MIN_ROWS: usize = 30;

/// How many rows there were, and how many agreed.
#[derive(Default)]
struct Tally {
    rows: usize,
    agree: usize,
    /// The program's own two figures are as far apart as figures that disagree.
    unsteady: usize,
}

/// Compares all studies, or those whose names contain one of these words; returns whether the bar
/// holds.
pub(super) fn compare(words: &[String], cpu: u32, other_cpu: Option<u32>) -> anyhow::Result<bool> {
    let chosen =
        |it: &&StudyActs| words.is_empty() || words.iter().any(|word| it.study.contains(word));
    // All rows are found before anything is measured.
    let studies: Vec<(&StudyActs, Vec<Comparison>)> = STUDIES
        .iter()
        .filter(chosen)
        .map(|it| Ok((it, it.comparisons()?)))
        .collect::<anyhow::Result<_>>()?;
    let programs = StudyPrograms::compiled()?;
    let cpus = Cpus { cpu, other_cpu };
    println!(
        "CPU {cpu}, the other end where a row says so on another one; nanoseconds of an op, or of a \
         byte\nwhere a row is a rate; C: what a program that does as the study says printed before \
         oscost's run\nand behind it"
    );
    let mut all = Tally::default();
    for (study, comparisons) in &studies {
        println!("\n{}", study.study);
        println!("{}", line("row", ["C", "C again", "oscost", "ratio"], "C made"));
        match compare_study(study, comparisons, &programs, cpus) {
            Ok(tally) => {
                println!("{}: {} of {} rows agree", study.study, tally.agree, tally.rows);
                all.rows += tally.rows;
                all.agree += tally.agree;
                all.unsteady += tally.unsteady;
            }
            Err(error) => {
                println!("  failed: {error:#}");
                all.rows += comparisons.len();
            }
        }
    }
    let holds = all.agree >= MIN_ROWS;
    println!(
        "\n{} of {} rows agree within {:.0} %; of {} others the two figures of the C program \
         differ by more\nbar {MIN_ROWS} rows: {}",
        all.agree,
        all.rows,
        100.0 * AGREEMENT,
        all.unsteady,
        match (holds, words.is_empty()) {
            (true, _) => "holds",
            (false, true) => "FAILS",
            (false, false) => "not asked of some studies",
        }
    );
    Ok(holds || !words.is_empty())
}

/// The CPUs that both sides may use.
#[derive(Clone, Copy)]
struct Cpus {
    cpu: u32,
    other_cpu: Option<u32>,
}

impl Cpus {
    /// Where a case has its ends.
    fn placement(self, case: &str) -> anyhow::Result<Placement> {
        let peer_cpu = match case.contains("peer_cpu=other") {
            true => self.other_cpu.context("there is no other CPU")?,
            false => self.cpu,
        };
        Ok(Placement { cpu: self.cpu, peer_cpu })
    }
}

/// Compares the rows of a study.
fn compare_study(
    study: &StudyActs,
    comparisons: &[Comparison],
    programs: &StudyPrograms,
    cpus: Cpus,
) -> anyhow::Result<Tally> {
    let figures = || -> Vec<anyhow::Result<PrintedFigure>> {
        let perform =
            |it: &Comparison| programs.figure(study.program, &it.act, cpus.placement(&it.case)?);
        // Round by round, so that a disturbance does not meet all performances of one act.
        let rounds: Vec<Vec<_>> =
            (0..PERFORMANCES).map(|_| comparisons.iter().map(perform).collect()).collect();
        in_columns(rounds).into_iter().map(median_figure).collect()
    };
    let before = figures();
    let record = measure(study, comparisons, cpus)?;
    let after = figures();
    let mut tally = Tally { rows: comparisons.len(), ..Tally::default() };
    for ((it, before), after) in comparisons.iter().zip(before).zip(after) {
        let worker = study_figure(&record, &it.case, it.reading);
        match before.and_then(|before| Ok((before, after?, worker?))) {
            Ok((before, after, worker)) => print_row(it, before, after, worker, &mut tally),
            Err(error) => println!("{:<24} {error:#}", it.row),
        }
    }
    Ok(tally)
}

/// The figures of each act, of rounds of all acts.
fn in_columns<T>(rounds: Vec<Vec<T>>) -> Vec<Vec<T>> {
    let mut columns: Vec<Vec<T>> = Vec::new();
    for round in rounds {
        columns.resize_with(round.len(), Vec::new);
        columns.iter_mut().zip(round).for_each(|(column, figure)| column.push(figure));
    }
    columns
}

/// The performance with the median figure, if none failed.
fn median_figure(figures: Vec<anyhow::Result<PrintedFigure>>) -> anyhow::Result<PrintedFigure> {
    let mut figures = figures.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    figures.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    figures.get(figures.len() / 2).copied().context("there is no figure")
}

/// Prints a row and counts it.
fn print_row(
    it: &Comparison,
    before: PrintedFigure,
    after: PrintedFigure,
    worker: f64,
    tally: &mut Tally,
) {
    let ratio = worker / (before.ns * after.ns).sqrt();
    let agrees = ratio.ln().abs() <= AGREEMENT.ln_1p();
    let steady = (after.ns / before.ns).ln().abs() <= AGREEMENT.ln_1p();
    tally.agree += usize::from(agrees);
    tally.unsteady += usize::from(!agrees && !steady);
    let verdict = match (agrees, steady) {
        (true, _) => "",
        (false, true) => "  differs",
        (false, false) => "  C moved",
    };
    let figures = [before.ns, after.ns, worker].map(format_ns);
    let [before_ns, after_ns, worker_ns] = figures.each_ref().map(String::as_str);
    let ratio = format!("{ratio:.3}");
    let made = format!("{} x {}{verdict}", after.experiments, after.ops);
    println!("{}", line(&it.row, [before_ns, after_ns, worker_ns, &ratio], &made));
}

/// Measures the study again, and returns the record. A study that compares two targets needs a
/// monitor for its second: of that the cases alone are measured, on the first.
fn measure(study: &StudyActs, comparisons: &[Comparison], cpus: Cpus) -> anyhow::Result<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oscost"));
    command.args(["run", "--no-store", "--json", "-", "--cpu", &cpus.cpu.to_string()]);
    if let Some(other) = cpus.other_cpu {
        command.args(["--peer-cpu", &other.to_string()]);
    }
    if comparisons.iter().any(|it| it.reading == Reading::MeanOfRuns) {
        command.args(comparisons.iter().map(|it| &it.case));
    } else {
        command.args(["--study", study.study]);
    }
    let output = command.output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "oscost run: {}: {}", output.status, error.trim());
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The figure of a row by the study's method: nanoseconds of an op, or of a byte.
fn study_figure(record: &Value, case: &str, reading: Reading) -> anyhow::Result<f64> {
    let rows = record["results"].as_array().context("a record without results")?;
    let row = rows.iter().find(|row| row["case"] == case && row["target"]["peer"].is_null());
    let row = row.with_context(|| format!("not measured: {case}"))?;
    let figure = match reading {
        // A program of the study times its ops as the study did, in each of its runs.
        Reading::StudyMethod if !row["primary_metric"].is_null() => &row["estimate"]["median"],
        Reading::StudyMethod => &row["study_method"]["value"],
        Reading::Own => &row["estimate"]["median"],
        Reading::MeanOfRuns => &row["estimate"]["mean"],
    };
    let reasons = || format!("{} {} {}", row["outcome"], row["reason"], row["study_method"]);
    let figure = figure.as_f64().with_context(reasons)?;
    Ok(if row["unit"] == "B/s" { 1e9 / figure } else { figure })
}

/// A figure with four digits.
fn format_ns(ns: f64) -> String {
    match ns {
        ns if ns < 10.0 => format!("{ns:.3}"),
        ns if ns < 100.0 => format!("{ns:.2}"),
        ns if ns < 1_000.0 => format!("{ns:.1}"),
        ns => format!("{ns:.0}"),
    }
}

/// A line of the table.
fn line(name: &str, figures: [&str; 4], end: &str) -> String {
    let [before, after, worker, ratio] = figures;
    format!("{name:<24}{before:>10}{after:>10}{worker:>10}{ratio:>8}  {end}")
}
