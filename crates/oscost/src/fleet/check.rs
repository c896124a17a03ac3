//! The check of one node: is it as fast as its equals?
//!
//! A check that runs every day on every node must hardly ever be wrong, since what it finds takes the
//! node out of service. It is not to call more than one healthy node in a thousand a month: one check
//! in 30,000.

use std::f64::consts::{FRAC_PI_2, LN_2};
use std::sync::Arc;

use oscost_stats::bisquare::SPREAD_EFFICIENCY;
use oscost_stats::interval::Nominal;
use oscost_stats::student::Estimate;

use super::baseline::{Baseline, CaseBaseline, GroupBaseline};
use super::table::log_cost;

/// The accepted probability that a check of a healthy node finds something.
pub const MAX_FALSE_FINDINGS: f64 = 1.0 / 30_000.0;

/// The probability that a healthy node has a suspect, which is then measured again.
pub const MAX_FALSE_SUSPECTS: f64 = 0.01;

/// Smaller differences are no suspects, however sure they are: nothing on a machine depends on them.
const MIN_RATIO: f64 = 1.02;

/// A figure of the node.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedFigure {
    /// The case.
    pub case: String,
    /// The median, in the case's unit.
    pub median: f64,
    /// The standard error of its natural logarithm; `None` if it has none.
    pub log_error: Option<f64>,
}

/// A case of the node and its equals.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedCase {
    /// The case.
    pub case: String,
    /// The ratio of its cost to that of its equals.
    pub ratio: f64,
    /// Its interval of 95 %.
    pub ci95: [f64; 2],
    /// The probability of such a deviation of a healthy node.
    pub p: f64,
    /// The same for the largest of all cases that are judged (Bonferroni): it holds however the cases of
    /// one visit depend on each other.
    pub q: f64,
    /// Whether a cost twice that of its equals would be a finding.
    pub finds_doubled_cost: bool,
}

/// A case that is not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    /// The case.
    pub case: String,
    /// Why it is not judged.
    pub why: &'static str,
}

/// What a check of a node says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCheck {
    /// The class that it was compared with; `None` for the whole fleet.
    pub class: Option<Arc<str>>,
    /// The cases, by their first measurement.
    pub judged: Vec<CheckedCase>,
    /// Those that are to be measured again.
    pub suspects: Vec<CheckedCase>,
    /// Those that were found again, by the mean of both measurements.
    pub findings: Vec<CheckedCase>,
    /// Cases that could not be judged.
    pub not_judged: Vec<NotJudged>,
}

/// Checks a node by its first measurement and, if there is one, by the second of its suspects.
///
/// A finding is a suspect which the second measurement shows in the same direction, as surely as the
/// first among all cases, and whose mean of both a healthy node has in at most one check of 30,000.
/// The two are minutes apart, so what disturbs one may disturb the other: their mean is judged as if it
/// were one measurement, which holds even if the second repeats the first.
pub fn check_node(
    baseline: &Baseline,
    class: &str,
    first: &[CheckedFigure],
    again: Option<&[CheckedFigure]>,
) -> NodeCheck {
    let equals = baseline.equals_of(class);
    let mut check = NodeCheck { class: equals.class.clone(), ..NodeCheck::default() };
    let mut measured = Vec::new();
    for figure in first {
        match Measured::of(equals, figure) {
            Ok(it) => measured.push(it),
            Err(why) => check.not_judged.push(NotJudged { case: figure.case.clone(), why }),
        }
    }
    let count = measured.len();
    check.judged = measured.iter().map(|it| it.checked(count)).collect();
    let judged = measured.iter().zip(&check.judged);
    let (suspects, checked): (Vec<&Measured>, Vec<&CheckedCase>) =
        judged.filter(|(it, checked)| it.is_suspect(checked.q)).unzip();
    check.suspects = checked.into_iter().cloned().collect();
    for suspect in suspects.iter().filter(|_| again.is_some()) {
        let figure = again.into_iter().flatten().find(|it| it.case == suspect.case.case);
        let second = figure.map_or(Err("it was not measured again"), |it| Measured::of(equals, it));
        match second {
            Ok(second) => {
                check.findings.extend(suspect.found_again(&second, suspects.len(), count))
            }
            Err(why) => {
                check.not_judged.push(NotJudged { case: suspect.case.case.clone(), why });
            }
        }
    }
    check
}

/// The variance of the median of normal values over that of their mean.
const MEDIAN_VARIANCE_FACTOR: f64 = FRAC_PI_2;

/// An estimate of a variance.
#[derive(Clone, Copy)]
struct Variance {
    value: f64,
    degrees_of_freedom: f64,
}

/// A figure and what is ordinary for it.
struct Measured<'a> {
    case: &'a CaseBaseline,
    tail_degrees: f64,
    /// The logarithm of the ratio of its cost to that of its equals.
    log_ratio: f64,
    /// What the figure varies by within its visit beyond what those of the baseline do, as a variance.
    extra_variance: f64,
}

impl<'a> Measured<'a> {
    fn of(equals: &'a GroupBaseline, figure: &CheckedFigure) -> Result<Self, &'static str> {
        let at = equals.cases.binary_search_by(|case| case.case.as_str().cmp(&figure.case));
        let Some(case) = at.ok().map(|at| &equals.cases[at]) else {
            return Err("the baseline has too few nodes or visits of it");
        };
        let log = log_cost(case.better, figure.median).ok_or("it has no positive figure")?;
        let error = figure.log_error.ok_or("its figure has no interval")?;
        // A quick check has fewer repetitions than a visit of the baseline.
        let extra_variance = (error.powi(2) - case.within_visit.powi(2)).max(0.0);
        let tail_degrees = equals.tail_degrees;
        Ok(Self { case, tail_degrees, log_ratio: log - case.centre, extra_variance })
    }

    /// The judgement among so many cases.
    fn checked(&self, cases: usize) -> CheckedCase {
        let interval = self.estimate([self.of_visit(), self.of_centre()]).interval(Nominal::FIXED);
        let p = self.p();
        let doubled = Estimate { value: LN_2, ..self.among_equals() };
        CheckedCase {
            case: self.case.case.clone(),
            ratio: self.log_ratio.exp(),
            ci95: [interval.lo.exp(), interval.hi.exp()],
            p,
            q: adjusted(p, cases),
            finds_doubled_cost: adjusted(doubled.two_sided_p(), cases) <= MAX_FALSE_FINDINGS,
        }
    }

    /// The probability of such a deviation of a healthy node.
    fn p(&self) -> f64 {
        self.among_equals().two_sided_p()
    }

    /// The deviation, with the standard error of that of a healthy node.
    fn among_equals(&self) -> Estimate {
        // Those of the nodes alone: what equal nodes differ by before any was measured is a guess, and
        // a fleet that differs by more would have false findings.
        let of_node = Variance {
            value: self.case.between_nodes.powi(2),
            degrees_of_freedom: self.degrees_of_nodes(),
        };
        self.estimate([of_node, self.of_visit(), self.of_centre()])
    }

    /// The error of the figure.
    fn of_visit(&self) -> Variance {
        Variance {
            value: self.case.between_visits.powi(2) + self.extra_variance,
            degrees_of_freedom: self.case.degrees_of_freedom,
        }
    }

    /// The error of the median of its equals.
    fn of_centre(&self) -> Variance {
        let CaseBaseline { between_nodes, between_visits, nodes, visits, .. } = self.case;
        let (nodes, visits) = (*nodes as f64, *visits as f64);
        let of_mean = between_nodes.powi(2) + between_visits.powi(2) * nodes / visits;
        Variance {
            value: MEDIAN_VARIANCE_FACTOR * of_mean / nodes,
            degrees_of_freedom: self.degrees_of_nodes(),
        }
    }

    /// The degrees of freedom of the spread between nodes.
    fn degrees_of_nodes(&self) -> f64 {
        SPREAD_EFFICIENCY * (self.case.nodes as f64 - 1.0)
    }

    /// The deviation with an error of these parts (Satterthwaite 1946), and with the tails of visits.
    fn estimate<const PARTS: usize>(&self, parts: [Variance; PARTS]) -> Estimate {
        let variance: f64 = parts.iter().map(|it| it.value).sum();
        let squares: f64 = parts.iter().map(|it| it.value.powi(2) / it.degrees_of_freedom).sum();
        let of_tails = 1.0 / self.tail_degrees;
        Estimate {
            value: self.log_ratio,
            standard_error: variance.sqrt(),
            degrees_of_freedom: 1.0 / (squares / variance.powi(2) + of_tails),
        }
    }

    fn is_suspect(&self, q: f64) -> bool {
        q <= MAX_FALSE_SUSPECTS && self.log_ratio.abs() >= MIN_RATIO.ln()
    }

    /// The finding, if the second measurement shows it too.
    fn found_again(&self, second: &Self, suspects: usize, cases: usize) -> Option<CheckedCase> {
        let is_same = self.log_ratio * second.log_ratio > 0.0;
        let is_seen = second.is_suspect(adjusted(second.p(), suspects));
        let both = Measured {
            case: self.case,
            tail_degrees: self.tail_degrees,
            log_ratio: (self.log_ratio + second.log_ratio) / 2.0,
            extra_variance: self.extra_variance.max(second.extra_variance),
        };
        let checked = both.checked(cases);
        (is_same && is_seen && checked.q <= MAX_FALSE_FINDINGS).then_some(checked)
    }
}

/// A p value corrected for the number of cases (Bonferroni).
fn adjusted(p: f64, cases: usize) -> f64 {
    (p * cases as f64).min(1.0)
}

#[cfg(test)]
mod tests;
