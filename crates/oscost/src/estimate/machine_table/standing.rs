//! Which machine stands out, in which family of cases.
//!
//! A machine is compared with its equals: machines of the same class. The difference in a family is
//! the median over its cases, which one run shifts together, so their number does not reduce its
//! error. It is judged by two tests of one hypothesis, each at half of the level: by the intervals
//! between runs of the figures, and, from six equals on, by how far these vary among themselves.

use std::collections::BTreeMap;

use oscost_model::unit::Better;
use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::order;
use oscost_stats::outlier::{Equals, two_sided_p};

use super::columns::{Apart, columns};
use super::content::{Finding, TableColumn, TableMachine};
use super::figures::{MachineFigure, Z_95, exact_count, pooled};
use super::lines::MachineLine;

/// The accepted share of false discoveries, on average.
const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// A smaller difference between machines is not worth a sentence: within this factor figures of one
/// machine are called equivalent.
const MIN_FACTOR: f64 = 1.03;

/// The variance of the mean of normal values over that of their median.
const MEDIAN_EFFICIENCY: f64 = 0.637;

/// What stands out, and the columns that show it.
pub(super) struct Standing {
    pub(super) columns: Vec<TableColumn>,
    pub(super) findings: Vec<Finding>,
    /// How many differences were judged.
    pub(super) judged: usize,
}

/// Machines that may stand out among others.
struct Candidate {
    machines: Vec<usize>,
    others: Vec<usize>,
    are_equals: bool,
}

/// The lines of each family.
type Families<'a> = BTreeMap<&'a str, Vec<&'a MachineLine<'a>>>;

/// Judges machines among their equals and columns against the first one, all at once. A machine
/// that stands out has a column of its own, and what the columns are changes what is judged: it is
/// judged again until no further machine stands out.
pub(super) fn standing(
    lines: &[MachineLine<'_>],
    machines: &[TableMachine<'_>],
    base: usize,
) -> Standing {
    let families = families(lines);
    let equals = among_equals(machines);
    let of_equals = effects(&equals, &families);
    let has_figure = |at: usize| lines.iter().any(|line| !line.figures_of(&[at]).is_empty());
    let without_figures = (0..machines.len()).filter(|&at| !has_figure(at)).collect();
    let mut apart = Apart { without_figures, ..Apart::default() };
    loop {
        let columns = columns(machines, &apart, base);
        let others = against_first(machines, &columns);
        let of_others = effects(&others, &families);
        let all: Vec<&FamilyEffect<'_>> = of_equals.iter().chain(&of_others).collect();
        let findings = significant(&all);
        let before = apart.alone.len();
        let standing_out = findings.iter().filter(|it| it.are_equals);
        apart.alone.extend(standing_out.flat_map(|it| it.machines.iter().copied()));
        if apart.alone.len() == before {
            return Standing { judged: all.len(), columns, findings };
        }
    }
}

/// Each machine that has equals. Two equals differ from each other by the same: it is judged once.
fn among_equals(machines: &[TableMachine<'_>]) -> Vec<Candidate> {
    let candidate = |at: usize| {
        let class = machines[at].class.as_ref()?;
        let is_equal = |&it: &usize| it != at && machines[it].class.as_ref() == Some(class);
        let others: Vec<usize> = (0..machines.len()).filter(is_equal).collect();
        let is_judged = match others[..] {
            [] => false,
            [only] => at < only,
            _ => true,
        };
        is_judged.then(|| Candidate { machines: vec![at], others, are_equals: true })
    };
    (0..machines.len()).filter_map(candidate).collect()
}

/// Each column beside the first one, without those of its class.
fn against_first(machines: &[TableMachine<'_>], columns: &[TableColumn]) -> Vec<Candidate> {
    let [first, others @ ..] = columns else { return Vec::new() };
    let class = |column: &TableColumn| machines[column.machines[0]].class.as_ref();
    let is_other = |it: &&TableColumn| class(it).is_none() || class(it) != class(first);
    let candidate = |it: &TableColumn| Candidate {
        machines: it.machines.clone(),
        others: first.machines.clone(),
        are_equals: false,
    };
    others.iter().filter(is_other).map(candidate).collect()
}

fn families<'a>(lines: &'a [MachineLine<'_>]) -> Families<'a> {
    let mut families: Families<'a> = BTreeMap::new();
    for line in lines {
        families.entry(line.family()).or_default().push(line);
    }
    families
}

/// The differences of these candidates in each family.
fn effects<'a>(candidates: &'a [Candidate], families: &Families<'a>) -> Vec<FamilyEffect<'a>> {
    let mut effects = Vec::new();
    for candidate in candidates {
        for (&family, lines) in families {
            effects.extend(FamilyEffect::of(candidate, family, lines));
        }
    }
    effects
}

/// The differences that stand out of all that were judged.
fn significant(effects: &[&FamilyEffect<'_>]) -> Vec<Finding> {
    let p: Vec<f64> = effects.iter().map(|it| it.p).collect();
    let found = effects
        .iter()
        .zip(benjamini_hochberg(&p))
        .filter(|(it, q)| *q <= MAX_FALSE_DISCOVERY_RATE && it.slowness.abs() > MIN_FACTOR.ln());
    found.map(|(it, q)| it.finding(q)).collect()
}

/// The difference of a candidate in a family.
struct FamilyEffect<'a> {
    candidate: &'a Candidate,
    family: &'a str,
    cases: usize,
    /// A logarithm, above 0 where the candidate is slower.
    slowness: f64,
    /// Its standard error by the intervals between runs of the figures.
    error: Option<f64>,
    p: f64,
}

impl<'a> FamilyEffect<'a> {
    /// The difference; `None` if no case was measured on both sides, or if nothing says how far it
    /// may be chance.
    fn of(candidate: &'a Candidate, family: &'a str, lines: &[&MachineLine<'_>]) -> Option<Self> {
        let (mut differences, mut own_errors, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        let mut of_others: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for line in lines {
            let direction = match line.better {
                Better::Lower => 1.0,
                Better::Higher => -1.0,
            };
            let own_figures = claimable(line, &candidate.machines);
            let Some(own) = pooled(&own_figures) else { continue };
            let others = candidate.others.iter().filter_map(|&at| {
                let figure = *claimable(line, &[at]).first()?;
                Some(OtherFigure { machine: at, figure })
            });
            let others: Vec<OtherFigure> = others.collect();
            // A difference between exact counts is no sample of anything: it is told as it is.
            let are_counts = others.iter().all(|it| it.figure.exact_count.is_some());
            if are_counts && exact_count(&own_figures).is_some() {
                continue;
            }
            let Some(centre) = median(others.iter().map(|it| it.figure.log)) else { continue };
            differences.push(direction * (own.log - centre));
            own_errors.push(own.error);
            for OtherFigure { machine, figure } in others {
                of_others.entry(machine).or_default().push(direction * (figure.log - centre));
                errors.push(figure.standard_error());
            }
        }
        let slowness = median(differences.iter().copied())?;
        let error = known_median(&own_errors).zip(known_median(&errors)).map(|(own, others)| {
            let count = of_others.len() as f64;
            let of_centre = if count > 1.0 { 1.0 / (MEDIAN_EFFICIENCY * count) } else { 1.0 };
            own.hypot(others * of_centre.min(1.0).sqrt())
        });
        let by_error = error.map(|error| two_sided_p(slowness, error));
        let values = of_others.values().filter_map(|it| median(it.iter().copied()));
        let equals = Equals::of(&values.collect::<Vec<f64>>()).filter(|_| candidate.are_equals);
        let by_equals = equals.map(|it| it.p(slowness));
        let p = match (by_error, by_equals) {
            (Some(one), Some(other)) => (2.0 * one.min(other)).min(1.0),
            (one, other) => one.or(other)?,
        };
        let cases = differences.len();
        Some(Self { candidate, family, cases, slowness, error, p })
    }

    /// What is told of it: of two equals the slower one.
    fn finding(&self, q: f64) -> Finding {
        let Candidate { machines, others, are_equals } = self.candidate;
        let is_turned = *are_equals && others.len() == 1 && self.slowness < 0.0;
        let (machines, others, slowness) = match is_turned {
            true => (others, machines, -self.slowness),
            false => (machines, others, self.slowness),
        };
        let ends = |error: f64| [-1.0, 1.0].map(|sign| (slowness + sign * Z_95 * error).exp());
        Finding {
            machines: machines.clone(),
            others: others.clone(),
            are_equals: *are_equals,
            family: self.family.to_owned(),
            cases: self.cases,
            slowness: slowness.exp(),
            ci95: self.error.map(ends),
            q,
        }
    }
}

/// The figure of a case on one of the others.
struct OtherFigure {
    machine: usize,
    figure: MachineFigure,
}

/// The figures of some machines that something may be concluded from.
fn claimable(line: &MachineLine<'_>, machines: &[usize]) -> Vec<MachineFigure> {
    let mut figures = line.figures_of(machines);
    figures.retain(|it| it.is_claimable);
    figures
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    order::median(&order::sorted(&values.collect::<Vec<f64>>()))
}

/// The median of errors that are all known.
fn known_median(errors: &[Option<f64>]) -> Option<f64> {
    median(errors.iter().copied().collect::<Option<Vec<f64>>>()?.into_iter())
}
