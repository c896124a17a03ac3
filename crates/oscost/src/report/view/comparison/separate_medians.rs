//! That what is added to a command is not the product of the columns beside it.

use oscost_model::program::REAL;

use crate::report::text::plain;
use crate::report::view::comparison::pair::Pair;
use crate::report::view::run::programs::is_program;

/// A smaller part of the base is not seen in the columns ...
const LEAST_PART_OF_BASE: f64 = 0.005;
/// ... nor is a smaller part of what is added.
const LEAST_PART_OF_ADDED: f64 = 1.0 / 3.0;

/// The metrics of compared commands of which `added` is far from the median times the ratio less one;
/// `None` without any.
pub(super) fn note(pairs: &[Pair<'_>]) -> Option<String> {
    let of_commands = pairs.iter().filter(|pair| is_program(&pair.base) && is_apart(pair));
    let names: Vec<String> = of_commands.map(metric_name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: `added` is not the median times (`ratio` - 1): each column is estimated from the pairs \
             by itself, and their figures vary widely",
            names.join(", ")
        )
    })
}

fn metric_name(pair: &Pair<'_>) -> String {
    plain(match pair.it.metric.as_str() {
        "primary" => pair.new.primary_metric.as_deref().unwrap_or(REAL),
        name => name,
    })
}

fn is_apart(pair: &Pair<'_>) -> bool {
    let median = pair.base.estimate.as_ref().map(|it| it.median);
    median.is_some_and(|median| are_apart(median, pair.it.ratio.value, pair.it.added.value))
}

fn are_apart(median: f64, ratio: f64, added: f64) -> bool {
    let product = median * (ratio - 1.0);
    let gap = (product - added).abs();
    gap > LEAST_PART_OF_BASE * median.abs()
        && gap > LEAST_PART_OF_ADDED * product.abs().max(added.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_agree_but_for_their_rounding_are_not_told() {
        assert!(are_apart(3.491e-3, 0.975, -44.49e-6), "half of the product");
        assert!(are_apart(3.491e-3, 1.01, -35e-6), "another sign");
        assert!(!are_apart(3.491e-3, 0.975, -85e-6));
        assert!(!are_apart(3.491e-3, 1.001, 7e-6), "twice as much, of very little");
        assert!(!are_apart(f64::NAN, 1.0, 1.0));
    }
}
