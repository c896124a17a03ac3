//! Variation between runs of which some share a boot: where the kernel lies, and what it allocates
//! first, changes with each boot, and runs of one boot do not show by how much that moves a case
//! (docs/explanation/METHOD.md, section 4).

use super::between_runs::{Prior, RunMedian, RunVariation};
use super::moments;

/// The variation of a case with these earlier runs of one system; each item has the runs of one boot.
///
/// Of B boots it is known B - 1 times how far a run lies from the long-run figure, however many runs
/// they have; of one boot it is not known, and the prior stands. The variation of runs around the mean
/// of their boot is a part of that, so where it is larger, it widens the result.
pub fn variation_over_boots(boots: &[&[RunMedian]], prior: Prior) -> RunVariation {
    let boots: Vec<&[RunMedian]> = boots.iter().copied().filter(|runs| !runs.is_empty()).collect();
    let known = over_boots(&boots, prior);
    let within = RunVariation::without_prior(&boots);
    within.map_or(known, |within| widened(known, within))
}

/// What the boots show, shrunk towards the prior.
fn over_boots(boots: &[&[RunMedian]], prior: Prior) -> RunVariation {
    let of_prior = prior.degrees_of_freedom * prior.deviation * prior.deviation;
    let independent = boots.len().saturating_sub(1) as f64;
    let of_boots = independent * variance_of_a_run(boots).unwrap_or(0.0);
    let degrees_of_freedom = prior.degrees_of_freedom + independent;
    let variance = (of_prior + of_boots) / degrees_of_freedom;
    RunVariation { deviation: variance.sqrt(), degrees_of_freedom }
}

/// The variance of a run around the long-run figure, without what its repetitions explain; `None`
/// below two boots.
///
/// The mean of a boot has the variance of boots, and that of its runs over their number: the rest of
/// the latter is added for a run that stands alone.
fn variance_of_a_run(boots: &[&[RunMedian]]) -> Option<f64> {
    let values = |runs: &[RunMedian]| runs.iter().map(|run| run.value).collect::<Vec<f64>>();
    let means: Vec<f64> = boots.iter().filter_map(|runs| moments::mean(&values(runs))).collect();
    let of_means = moments::standard_deviation(&means)?.powi(2);
    let (mut squares, mut shares, mut errors, mut runs) = (0.0, 0.0, 0.0, 0.0);
    for boot in boots {
        let count = boot.len() as f64;
        let deviation = moments::standard_deviation(&values(boot)).unwrap_or(0.0);
        squares += (count - 1.0) * deviation * deviation;
        shares += 1.0 / count;
        errors += boot.iter().map(|run| run.standard_error.powi(2)).sum::<f64>();
        runs += count;
    }
    let number = boots.len() as f64;
    let freedom = runs - number;
    let within = if freedom > 0.0 { squares / freedom } else { 0.0 };
    // A variance is not negative: the method of moments has none below zero.
    Some((of_means + (1.0 - shares / number) * within - errors / runs).max(0.0))
}

/// A variation that is at least what this part of it shows, with the degrees of freedom of both.
fn widened(known: RunVariation, part: RunVariation) -> RunVariation {
    let [variance, of_part] = [known, part].map(|it| it.deviation * it.deviation);
    if of_part <= variance {
        return known;
    }
    let [freedom, freedom_of_part] = [known, part].map(|it| it.degrees_of_freedom);
    let both = freedom + freedom_of_part;
    let total = (freedom * variance + freedom_of_part * of_part) / both;
    // Satterthwaite (1946): what was known, and what is beyond it.
    let squares = variance.powi(2) / freedom + (total - variance).powi(2) / both;
    let degrees_of_freedom = (total * total / squares).min(both);
    RunVariation { deviation: total.sqrt(), degrees_of_freedom }
}

#[cfg(test)]
mod tests;
