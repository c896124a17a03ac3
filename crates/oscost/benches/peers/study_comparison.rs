//! `make bench`: do the figures by a study's method agree with programs that do what the study says?
//!
//! The programs (`studies/*.c`) are written after the studies' texts alone. A row is compared in
//! turns: in each its act is performed in C, and measured by oscost, within seconds and on the same
//! CPUs; which of the two begins alternates. A turn has a ratio, and a row agrees if the median of
//! its turns' ratios is within 10 % of 1.
//!
//! Bar: at least 30 rows agree.

use anyhow::Context;
use oscost_stats::order;

use super::study_figures::{Cpus, StudyFigures};
use super::study_programs::{PrintedFigure, StudyPrograms};
use super::study_rows::{Comparison, STUDIES};

/// Turns of a row: an odd number, so that one of them is the median.
const TURNS: usize = 3;
/// How far apart figures that agree may be.
const AGREEMENT: f64 = 0.10;
/// Rows that must agree.
const MIN_ROWS: usize = 30;

/// What the turns of a row show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The median of the ratios is within a tenth of 1.
    Agrees,
    /// All turns are further away, on one side.
    Differs,
    /// Neither: the machine moved by more than the tenth from turn to turn.
    Unsteady,
}

impl Verdict {
    /// The verdict on the ratios of all turns, ascending.
    fn of(ratios: &[f64]) -> Option<Self> {
        let near = |ratio: f64| ratio.ln().abs() <= AGREEMENT.ln_1p();
        let (low, high) = (*ratios.first()?, *ratios.last()?);
        Some(match order::median(ratios)? {
            median if near(median) => Self::Agrees,
            _ if !near(low) && !near(high) && (low > 1.0) == (high > 1.0) => Self::Differs,
            _ => Self::Unsteady,
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Unsteady => "unsteady",
        }
    }
}

/// How many rows there were, and with which verdicts.
#[derive(Default)]
struct Tally {
    rows: usize,
    agree: usize,
    differ: usize,
    unsteady: usize,
}

impl Tally {
    /// Counts a row; one that failed has no verdict.
    fn count(&mut self, verdict: Option<Verdict>) {
        self.rows += 1;
        match verdict {
            Some(Verdict::Agrees) => self.agree += 1,
            Some(Verdict::Differs) => self.differ += 1,
            Some(Verdict::Unsteady) => self.unsteady += 1,
            None => {}
        }
    }
}

/// Compares all rows, or those whose `STUDY/ROW` contains one of these words; returns whether the
/// bar holds.
pub(super) fn compare(words: &[String], cpus: Cpus) -> anyhow::Result<bool> {
    // All rows are found before anything is measured.
    let mut rows = Vec::new();
    for study in STUDIES {
        rows.extend(study.comparisons()?);
    }
    let name = |it: &Comparison| format!("{}/{}", it.study, it.row);
    rows.retain(|it| words.is_empty() || words.iter().any(|word| name(it).contains(word)));
    let programs = StudyPrograms::compiled()?;
    let figures = StudyFigures::new(cpus)?;
    println!(
        "CPU {}, the other end where a row says so on another one; nanoseconds of an op, or of a \
         byte\nwhere a row is a rate; C: a program that does as the study says; medians of {TURNS} \
         turns of both\n",
        cpus.cpu
    );
    println!("{}", line("study, row", ["C", "oscost", "ratio", "of turns"], "", "C made"));
    let mut tally = Tally::default();
    let mut study = "";
    for it in &rows {
        if it.study != study {
            study = it.study;
            println!("{study}");
        }
        match compare_row(it, &programs, &figures, cpus) {
            Ok(verdict) => tally.count(Some(verdict)),
            Err(error) => {
                println!("  {:<28} failed: {error:#}", it.row);
                tally.count(None);
            }
        }
    }
    let Tally { rows, agree, differ, unsteady } = tally;
    println!("\n{agree} of {rows} agree within {:.0} %", 100.0 * AGREEMENT);
    println!(
        "{differ} differ in all turns, {unsteady} are unsteady, {} failed",
        rows - agree - differ - unsteady
    );
    let holds = agree >= MIN_ROWS;
    println!(
        "bar {MIN_ROWS} rows: {}",
        match (holds, words.is_empty()) {
            (true, _) => "holds",
            (false, true) => "FAILS",
            (false, false) => "not asked of some rows",
        }
    );
    Ok(holds || !words.is_empty())
}

/// Takes the turns of a row, and prints it.
fn compare_row(
    it: &Comparison,
    programs: &StudyPrograms,
    figures: &StudyFigures,
    cpus: Cpus,
) -> anyhow::Result<Verdict> {
    let mut made: Option<PrintedFigure> = None;
    let (mut in_c, mut in_oscost, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let mut perform = || -> anyhow::Result<f64> {
            let figure = programs.figure(it.program, &it.act, cpus.placement(&it.case)?)?;
            made = Some(figure);
            Ok(figure.ns)
        };
        let (c, oscost) = if turn.is_multiple_of(2) {
            let c = perform()?;
            (c, figures.measure(it)?)
        } else {
            let oscost = figures.measure(it)?;
            (perform()?, oscost)
        };
        in_c.push(c);
        in_oscost.push(oscost);
        ratios.push(oscost / c);
    }
    let made = made.context("no turn")?;
    let [in_c, in_oscost, ratios] = [in_c, in_oscost, ratios].map(|it| order::sorted(&it));
    let median = |figures: &[f64]| order::median(figures).unwrap_or(f64::NAN);
    let verdict = Verdict::of(&ratios).context("no turn")?;
    let [low, high] = [ratios.first(), ratios.last()].map(|it| it.copied().unwrap_or(f64::NAN));
    let columns = [
        format_ns(median(&in_c)),
        format_ns(median(&in_oscost)),
        format!("{:.3}", median(&ratios)),
        format!("{low:.2}-{high:.2}"),
    ];
    let made = format!("{} x {}", made.experiments, made.ops);
    let name = format!("  {}", it.row);
    println!("{}", line(&name, columns.each_ref().map(String::as_str), verdict.text(), &made));
    if let (Some(why), Verdict::Differs) = (it.difference, verdict) {
        println!("    a possible reason: {why}");
    }
    Ok(verdict)
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
fn line(name: &str, figures: [&str; 4], verdict: &str, end: &str) -> String {
    let [c, oscost, ratio, of_turns] = figures;
    format!("{name:<30}{c:>9}{oscost:>9}{ratio:>7}{of_turns:>11}  {verdict:<10}{end}")
}
