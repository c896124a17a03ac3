//! Variation between runs of which some share a boot: where the kernel lies, and what it allocates
//! first, changes with each boot, and runs of one boot do not show by how much that moves a case
//! (docs/explanation/METHOD.md, sections 4 and 11).

use super::between_runs::{Prior, RunMedian, RunVariation};
use super::moments;

/// The runs of a group by their boots; those of one group have one long-run figure.
pub type RunsByBoot<'a> = Vec<&'a [RunMedian]>;

/// The variation of a case with these earlier runs of one system; each item has the runs of one boot.
///
/// Of B boots it is known B - 1 times how far a run lies from the long-run figure, however many runs
/// they have; of one boot it is not known, and the prior stands. The variation of runs around the mean
/// of their boot is a part of that, so where it is larger, it widens the result.
pub fn variation_over_boots(boots: &[&[RunMedian]], prior: Prior) -> RunVariation {
    BootVariation::of(&[boots.to_vec()], prior).total
}

/// How far the runs of a case vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootVariation {
    /// A run of any boot, around the long-run figure.
    pub total: RunVariation,
    /// A run around the mean of its boot.
    pub within: RunVariation,
}

impl BootVariation {
    /// The variation of a case whose runs are of several groups, each with a long-run figure of its own:
    /// earlier runs, and the sides of a comparison. Both parts are shrunk towards the prior, which is
    /// that of a run of any boot; see [`variation_over_boots`].
    pub fn of<'a>(groups: &[RunsByBoot<'a>], prior: Prior) -> Self {
        let with_runs = |boots: &RunsByBoot<'a>| -> RunsByBoot<'a> {
            boots.iter().copied().filter(|runs| !runs.is_empty()).collect()
        };
        let groups: Vec<RunsByBoot<'a>> = groups.iter().map(with_runs).collect();
        let boots: RunsByBoot<'a> = groups.iter().flatten().copied().collect();
        let known = over_boots(&groups, prior);
        let of_runs = RunVariation::without_prior(&boots);
        Self {
            total: of_runs.map_or(known, |of_runs| widened(known, of_runs)),
            within: RunVariation::pooled(&boots, prior),
        }
    }

    /// The variation of the runs of two sides that form so many pairs of neighbours in time, as
    /// [`run_difference`](super::between_runs::run_difference) takes it; `boot_shares` is theirs.
    ///
    /// Where each boot has the same part in both sides, what boots differ by cancels. Otherwise each run
    /// is one of any boot, and neither the number of boots nor that of alternations counts for more than
    /// the smaller one.
    pub fn of_sides(&self, boot_shares: f64, alternations: usize) -> RunVariation {
        if boot_shares == 0.0 {
            return self.within;
        }
        let alternations = alternations.max(1) as f64;
        let factor = (boot_shares * alternations / 2.0).max(1.0);
        RunVariation { deviation: self.total.deviation * factor.sqrt(), ..self.total }
    }
}

/// What the difference of the means of two sides has of the variance of boots; each item is the boot of
/// a run. 0 if each boot has the same part in both sides, 2 if each side is of one boot, and 2/n if each
/// of n runs a side has a boot of its own.
pub fn boot_shares<B: PartialEq>(base: &[B], new: &[B]) -> f64 {
    let all: Vec<&B> = base.iter().chain(new).collect();
    let is_first = |at: &usize| !all[..*at].contains(&all[*at]);
    let share = |side: &[B], boot: &B| {
        side.iter().filter(|it| *it == boot).count() as f64 / side.len().max(1) as f64
    };
    let of_boot = |at: usize| (share(new, all[at]) - share(base, all[at])).powi(2);
    (0..all.len()).filter(is_first).map(of_boot).sum()
}

/// What the boots of these groups show, shrunk towards the prior.
fn over_boots(groups: &[RunsByBoot<'_>], prior: Prior) -> RunVariation {
    let of_prior = prior.degrees_of_freedom * prior.deviation * prior.deviation;
    let (mut of_boots, mut independent) = (0.0, 0.0);
    for boots in groups {
        let parts = VarianceParts::of(boots);
        let Some(variance) = parts.of_a_run() else { continue };
        let share = prior.share_of_freedom(variance, parts.mean_share * parts.error);
        let differences = share * (boots.len() - 1) as f64;
        of_boots += differences * variance;
        independent += differences;
    }
    let degrees_of_freedom = prior.degrees_of_freedom + independent;
    // A variance is not negative: the method of moments has none below zero.
    let variance = (of_prior + f64::max(of_boots, 0.0)) / degrees_of_freedom;
    RunVariation { deviation: variance.sqrt(), degrees_of_freedom }
}

/// The variances that runs of several boots show.
struct VarianceParts {
    /// Of the means of boots; `None` below two.
    of_means: Option<f64>,
    /// Of runs around the mean of their boot; 0 if each boot has one.
    within: f64,
    /// The degrees of freedom of the latter.
    freedom_within: f64,
    /// The mean over boots of the share that a run has of the mean of its boot.
    mean_share: f64,
    /// What the repetitions of a run explain.
    error: f64,
}

impl VarianceParts {
    /// Of these boots, each with at least one run.
    fn of(boots: &[&[RunMedian]]) -> Self {
        let values = |runs: &[RunMedian]| runs.iter().map(|run| run.value).collect::<Vec<f64>>();
        let means: Vec<f64> =
            boots.iter().filter_map(|runs| moments::mean(&values(runs))).collect();
        let of_means = moments::standard_deviation(&means).map(|it| it.powi(2));
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
        let freedom_within = runs - number;
        let within = if freedom_within > 0.0 { squares / freedom_within } else { 0.0 };
        Self { of_means, within, freedom_within, mean_share: shares / number, error: errors / runs }
    }

    /// The variance of a run around the long-run figure, without what its repetitions explain, which may
    /// be more; `None` below two boots.
    ///
    /// The mean of a boot has the variance of boots, and that of its runs over their number: the rest of
    /// the latter is added for a run that stands alone.
    fn of_a_run(&self) -> Option<f64> {
        Some(self.of_means? + (1.0 - self.mean_share) * self.within - self.error)
    }
}

/// The variation of a case of which nothing was known beforehand, by its earlier runs of one system
/// alone; each item has the runs of one boot. `None` below three runs.
///
/// What the repetitions of these runs explain stays in it: of a few runs the rest is often none by
/// chance. Of one boot it is the variation of the runs of that boot. Two or three boots agree too often
/// by chance for the degrees of freedom of Satterthwaite (1946), which are those from four boots on.
pub fn variation_by_runs_alone(boots: &[&[RunMedian]]) -> Option<RunVariation> {
    const MIN_RUNS: usize = 3;
    const MIN_BOOTS: usize = 4;
    let boots: RunsByBoot<'_> = boots.iter().copied().filter(|runs| !runs.is_empty()).collect();
    if boots.iter().map(|runs| runs.len()).sum::<usize>() < MIN_RUNS {
        return None;
    }
    let parts = VarianceParts::of(&boots);
    let Some(of_means) = parts.of_means else {
        let (deviation, degrees_of_freedom) = (parts.within.sqrt(), parts.freedom_within);
        return Some(RunVariation { deviation, degrees_of_freedom });
    };
    let of_runs = (1.0 - parts.mean_share) * parts.within;
    let variance = of_means + of_runs;
    let independent = (boots.len() - 1) as f64;
    let squares_of_runs =
        if parts.freedom_within > 0.0 { of_runs * of_runs / parts.freedom_within } else { 0.0 };
    let squares = of_means * of_means / independent + squares_of_runs;
    let is_open = boots.len() < MIN_BOOTS || squares == 0.0;
    let degrees_of_freedom = if is_open { independent } else { variance * variance / squares };
    Some(RunVariation { deviation: variance.sqrt(), degrees_of_freedom })
}

/// The variation of the runs of a case around the mean of their boot, of which nothing was known
/// beforehand; each item has the runs of one boot. `None` below two degrees of freedom.
///
/// As in [`variation_by_runs_alone`], what their repetitions explain stays in it.
pub fn variation_within_boots_alone(boots: &[&[RunMedian]]) -> Option<RunVariation> {
    const MIN_FREEDOM: f64 = 2.0;
    let boots: RunsByBoot<'_> = boots.iter().copied().filter(|runs| !runs.is_empty()).collect();
    let VarianceParts { within, freedom_within, .. } = VarianceParts::of(&boots);
    (freedom_within >= MIN_FREEDOM)
        .then(|| RunVariation { deviation: within.sqrt(), degrees_of_freedom: freedom_within })
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
