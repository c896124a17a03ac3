//! What the figures of a study say of its own claims.

use super::claim::{Claim, Criterion};
use super::quantity::Quantity;
use crate::studies::figures::unit::UnitKind;
use crate::studies::study::{Figure, Study};

/// What the study's own figures say of its claim.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishedResult {
    /// What was added on average, and the largest difference from that.
    EqualAdded {
        /// The mean over the cases.
        mean_ns: f64,
        /// The largest difference of a case from it, as a share of it.
        furthest: f64,
    },
    /// The smallest and the largest added cost.
    Added {
        /// The smallest, in nanoseconds.
        min_ns: f64,
        /// The largest, in nanoseconds.
        max_ns: f64,
    },
    /// The slowdown of the first case, and the largest of the others.
    LargestRatio {
        /// That of the first.
        first: f64,
        /// The largest of the others.
        next: f64,
    },
    /// The smallest and the largest ratio.
    Ratio {
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// The value of each quantity; `None` if the study gives no figures for it.
    Within(Vec<Option<f64>>),
}

/// What the study's own figures say.
pub(super) fn published_result(study: &Study, claim: &Claim) -> Option<PublishedResult> {
    if let Criterion::Within(quantities) = &claim.criterion {
        let value = |it: &Quantity| match it.measure.is_count() {
            true => it.measure.value(&|key| published_calls(study, key), study.clock_rates),
            false => it.measure.value(&|key| published(study, key), study.clock_rates),
        };
        let each: Vec<Option<f64>> = quantities.iter().map(value).collect();
        return each.iter().any(Option::is_some).then_some(PublishedResult::Within(each));
    }
    let figures: Option<Vec<[f64; 2]>> = claim
        .cases
        .iter()
        .map(|case| {
            let row = study.row(case)?;
            let [base, new] = &row.published[..] else { return None };
            // The unit of a rate cancels out in a ratio.
            let factor = row.unit.size(study.clock_rates).unwrap_or(1.0);
            Some([base.as_ref()?.single()? * factor, new.as_ref()?.single()? * factor])
        })
        .collect();
    let figures = figures.filter(|figures| !figures.is_empty())?;
    Some(match claim.criterion {
        Criterion::EqualAdded => {
            let added: Vec<f64> = figures.iter().map(|[base, new]| new - base).collect();
            let mean_ns = added.iter().sum::<f64>() / added.len() as f64;
            let differences = added.iter().map(|added| (added - mean_ns).abs() / mean_ns.abs());
            PublishedResult::EqualAdded { mean_ns, furthest: differences.fold(0.0, f64::max) }
        }
        Criterion::Added { .. } => {
            let added = figures.iter().map(|[base, new]| new - base);
            let min_ns = added.clone().fold(f64::INFINITY, f64::min);
            PublishedResult::Added { min_ns, max_ns: added.fold(f64::NEG_INFINITY, f64::max) }
        }
        Criterion::LargestRatio => {
            let is_rate = |case: &String| {
                let kind = study.row(case).map(|row| row.unit.kind());
                matches!(kind, Some(UnitKind::Rate | UnitKind::Frames))
            };
            let slowdowns: Vec<f64> = claim
                .cases
                .iter()
                .zip(&figures)
                .map(|(case, [base, new])| if is_rate(case) { base / new } else { new / base })
                .collect();
            let (first, others) = slowdowns.split_first()?;
            PublishedResult::LargestRatio {
                first: *first,
                next: others.iter().copied().fold(0.0, f64::max),
            }
        }
        Criterion::Ratio { .. } | Criterion::Within(_) => {
            let ratios = figures.iter().map(|[base, new]| new / base);
            let min = ratios.clone().fold(f64::INFINITY, f64::min);
            PublishedResult::Ratio { min, max: ratios.fold(0.0, f64::max) }
        }
    })
}

/// The published figure of a row, in the base unit of its kind; `None` if its column is computed
/// from other rows, and for ranges and bounds.
fn published(study: &Study, key: &str) -> Option<f64> {
    first_matching_column(study, key, |column, figure| {
        let own =
            column.formula.own_figure_factor().filter(|_| column.unit.kind() != UnitKind::Plain)?;
        Some(figure * column.unit.size(study.clock_rates)? / own)
    })
}

/// The calls of an op of a row, as published or computed from what was published.
fn published_calls(study: &Study, key: &str) -> Option<f64> {
    first_matching_column(study, key, |column, figure| column.formula.calls_of(figure))
}

/// The value that `of` has for the first column that it accepts. A case may be in several tables,
/// and the first with such a column decides.
fn first_matching_column(
    study: &Study,
    key: &str,
    of: impl Fn(&Figure, f64) -> Option<f64>,
) -> Option<f64> {
    study.tables.iter().find_map(|table| {
        let row = table.rows.iter().find(|row| row.case().is_some() && row.key() == key)?;
        let mut columns = table.figures.iter().zip(&row.published);
        columns.find_map(|(column, figure)| of(&column.in_row(row), figure.as_ref()?.single()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::built_in::find_built_in;

    #[test]
    fn the_figures_of_cse221_contradict_its_prediction_of_elapsed() {
        let study = find_built_in("cse221-2014").unwrap();
        let found = published_result(&study, &study.claims[0]);
        let Some(PublishedResult::Within(each)) = &found else { panic!("{found:?}") };
        let [Some(elapsed_over_getticks)] = each[..] else { panic!("{found:?}") };
        assert!((elapsed_over_getticks - 36.0 / 45.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn the_figures_of_ph_2000_confirm_its_claims() {
        let study = find_built_in("ph-2000").unwrap();
        let found: Vec<Option<PublishedResult>> =
            study.claims.iter().map(|claim| published_result(&study, claim)).collect();
        let Some(PublishedResult::EqualAdded { mean_ns, furthest }) = &found[0] else {
            panic!("{found:?}")
        };
        assert!((mean_ns - 4_724.2).abs() < 0.1, "{mean_ns}");
        assert!(*furthest < 0.006, "{furthest}");
        assert_eq!(found.len(), 9);
        for (claim, result) in study.claims.iter().zip(&found).skip(1) {
            let inside = match (&claim.criterion, result.as_ref().unwrap()) {
                (Criterion::Ratio { min, max }, PublishedResult::Ratio { min: low, max: high }) => {
                    min <= low && high <= max
                }
                (
                    Criterion::Added { min, max, unit },
                    PublishedResult::Added { min_ns, max_ns },
                ) => {
                    assert_eq!(unit.text(), "us");
                    1e3 * min <= *min_ns && *max_ns <= 1e3 * max
                }
                (Criterion::LargestRatio, PublishedResult::LargestRatio { first, next }) => {
                    assert!((first - 1.624).abs() < 1e-3 && (next - 1.193).abs() < 1e-3);
                    first > next
                }
                other => panic!("{other:?}"),
            };
            assert!(inside, "{}: {result:?}", claim.statement);
        }
    }
}
