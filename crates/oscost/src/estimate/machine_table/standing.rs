//! Which machine stands out, in which family of cases.
//!
//! A machine is compared with its equals: machines of the same class. The difference in a family is
//! the median over its cases, which one run shifts together, so their number does not reduce its
//! error. It is judged by two tests of one hypothesis, each at half of the level: by the intervals
//! of the figures, and, from six equals on, by how far these vary among themselves.

use std::collections::BTreeMap;

use oscost_model::unit::Better;
use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::order;
use oscost_stats::outlier::{Equals, two_sided_p};

use super::content::{Finding, TableColumn, TableMachine};
use super::figures::{MachineFigure, Z_95, pooled};
use super::lines::MachineLine;

/// The accepted share of false discoveries, on average.
const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// A smaller difference between machines is not worth a sentence: within this factor figures of one
/// machine are called equivalent.
const MIN_FACTOR: f64 = 1.03;

/// The variance of the mean of normal values over that of their median.
const MEDIAN_EFFICIENCY: f64 = 0.637;

/// What was judged, and what stands out of it.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) findings: Vec<Finding>,
    pub(super) count: usize,
}

/// Machines that may stand out among others.
struct Candidate {
    machines: Vec<usize>,
    others: Vec<usize>,
    are_equals: bool,
}

/// The machines that stand out among their equals.
pub(super) fn among_equals(lines: &[MachineLine<'_>], machines: &[TableMachine<'_>]) -> Judged {
    let candidate = |at: usize| {
        let class = machines[at].class.as_ref()?;
        let is_equal = |&it: &usize| it != at && machines[it].class.as_ref() == Some(class);
        let others: Vec<usize> = (0..machines.len()).filter(is_equal).collect();
        let machines = vec![at];
        (!others.is_empty()).then_some(Candidate { machines, others, are_equals: true })
    };
    let candidates: Vec<Candidate> = (0..machines.len()).filter_map(candidate).collect();
    judge(lines, &candidates)
}

/// The columns that stand out against the first one, without those of its class.
pub(super) fn against_first(
    lines: &[MachineLine<'_>],
    machines: &[TableMachine<'_>],
    columns: &[TableColumn],
) -> Judged {
    let [first, others @ ..] = columns else { return Judged::default() };
    let class = |column: &TableColumn| machines[column.machines[0]].class.as_ref();
    let is_other = |it: &&TableColumn| class(it).is_none() || class(it) != class(first);
    let candidate = |it: &TableColumn| Candidate {
        machines: it.machines.clone(),
        others: first.machines.clone(),
        are_equals: false,
    };
    let candidates: Vec<Candidate> = others.iter().filter(is_other).map(candidate).collect();
    judge(lines, &candidates)
}

fn judge(lines: &[MachineLine<'_>], candidates: &[Candidate]) -> Judged {
    let mut families: BTreeMap<&str, Vec<&MachineLine<'_>>> = BTreeMap::new();
    for line in lines {
        families.entry(line.family()).or_default().push(line);
    }
    let mut effects = Vec::new();
    for candidate in candidates {
        for (family, lines) in &families {
            effects.extend(FamilyEffect::of(candidate, family, lines));
        }
    }
    let p: Vec<f64> = effects.iter().map(|it| it.p).collect();
    let found = effects
        .iter()
        .zip(benjamini_hochberg(&p))
        .filter(|(it, q)| *q <= MAX_FALSE_DISCOVERY_RATE && it.slowness.abs() > MIN_FACTOR.ln());
    let findings = found.map(|(it, q)| it.finding(q)).collect();
    Judged { findings, count: effects.len() }
}

/// The difference of a candidate in a family.
struct FamilyEffect<'a> {
    candidate: &'a Candidate,
    family: &'a str,
    cases: usize,
    /// A logarithm, above 0 where the candidate is slower.
    slowness: f64,
    /// Its standard error by the intervals of the figures.
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
            let direction = match line.reference.row.better {
                Better::Lower => 1.0,
                Better::Higher => -1.0,
            };
            let Some(own) = pooled(&claimable(line, &candidate.machines)) else { continue };
            let others = candidate.others.iter().filter_map(|&at| {
                let figure = *claimable(line, &[at]).first()?;
                Some(OtherFigure { machine: at, figure })
            });
            let others: Vec<OtherFigure> = others.collect();
            let Some(centre) = median(others.iter().map(|it| it.figure.log)) else { continue };
            differences.push(direction * (own.log - centre));
            own_errors.push(own.error);
            for OtherFigure { machine, figure } in others {
                of_others.entry(machine).or_default().push(direction * (figure.log - centre));
                errors.push(pooled(&[figure]).and_then(|it| it.error));
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

    fn finding(&self, q: f64) -> Finding {
        let Candidate { machines, others, are_equals } = self.candidate;
        let ends = |error: f64| [-1.0, 1.0].map(|sign| (self.slowness + sign * Z_95 * error).exp());
        Finding {
            machines: machines.clone(),
            others: others.clone(),
            are_equals: *are_equals,
            family: self.family.to_owned(),
            cases: self.cases,
            slowness: self.slowness.exp(),
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
