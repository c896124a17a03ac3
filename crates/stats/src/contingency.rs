//! Tables of counts.

use statrs::function::factorial::ln_binomial;

/// How many of some things have a property, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// How many have it.
    pub having: usize,
    /// How many there are, at least as many.
    pub of: usize,
}

/// The probability that by chance at least as many things of the first group have the property, if as
/// many of both groups together have it: Fisher's exact test on one side. 1 without things.
pub fn fisher_exact(first: Count, second: Count) -> f64 {
    let having = first.having + second.having;
    let ln = |all: usize, chosen: usize| ln_binomial(all as u64, chosen as u64);
    let ways = ln(first.of + second.of, having);
    let most = having.min(first.of);
    let probability =
        |count: usize| (ln(first.of, count) + ln(second.of, having - count) - ways).exp();
    // Of more than the second group has, the first must have the rest.
    let least = first.having.max(having.saturating_sub(second.of));
    (least..=most).map(probability).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(first: [usize; 2], second: [usize; 2]) -> f64 {
        let count = |[having, of]: [usize; 2]| Count { having, of };
        fisher_exact(count(first), count(second))
    }

    #[test]
    fn the_lady_who_tastes_tea_has_the_p_of_the_book() {
        // Fisher (1935): three of four right, 17 of 70 ways; four of four, one of them.
        assert!((p([3, 4], [1, 4]) - 17.0 / 70.0).abs() < 1e-12);
        assert!((p([4, 4], [0, 4]) - 1.0 / 70.0).abs() < 1e-12);
        assert!((p([0, 4], [4, 4]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_thing_of_many_has_the_share_of_its_group() {
        assert!((p([1, 5], [0, 95]) - 0.05).abs() < 1e-9);
        assert!((p([2, 2], [0, 198]) - 1.0 / 19_900.0).abs() < 1e-9);
        assert_eq!(p([0, 0], [0, 0]), 1.0);
        let rare = p([60, 100], [40, 9_900]);
        assert!(rare > 0.0 && rare < 1e-60, "{rare}");
    }
}
