//! Which cases a short check measures: those that tell most in the least time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A case that a check could measure.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckCandidate {
    /// The case.
    pub case: String,
    /// The family of its benchmark.
    pub family: String,
    /// Whether a worker takes about the minimum time for it.
    pub is_quick: bool,
    /// By how much it varies between visits of one node, as the standard deviation of its logarithm.
    pub between_visits: f64,
}

/// The best cases, at most `max`: first the best of each family, then the best of all others. The best
/// are the quick ones that vary least between visits.
pub fn choose_cases(candidates: &[CheckCandidate], max: usize) -> Vec<String> {
    let mut ranked: Vec<&CheckCandidate> = candidates.iter().collect();
    ranked.sort_by(|one, other| order(one, other));
    let mut of_family: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen: Vec<(usize, &CheckCandidate)> = Vec::new();
    for candidate in ranked {
        let count = of_family.entry(&candidate.family).or_default();
        chosen.push(((*count).min(1), candidate));
        *count += 1;
    }
    // A stable sort: within both groups the order stays.
    chosen.sort_by_key(|(later, _)| *later);
    chosen.into_iter().take(max).map(|(_, candidate)| candidate.case.clone()).collect()
}

fn order(one: &CheckCandidate, other: &CheckCandidate) -> Ordering {
    other
        .is_quick
        .cmp(&one.is_quick)
        .then(one.between_visits.total_cmp(&other.between_visits))
        .then_with(|| one.case.cmp(&other.case))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(case: &str, is_quick: bool, between_visits: f64) -> CheckCandidate {
        let family = case.split('/').next().unwrap().to_owned();
        CheckCandidate { case: case.to_owned(), family, is_quick, between_visits }
    }

    #[test]
    fn each_family_has_its_best_case_before_any_has_two() {
        let all = [
            candidate("syscall/a", true, 0.03),
            candidate("syscall/b", true, 0.01),
            candidate("syscall/c", true, 0.02),
            candidate("pipe/a", true, 0.2),
            candidate("process/slow", false, 0.01),
            candidate("fault/wide", true, 0.4),
        ];
        let chosen = |max| choose_cases(&all, max);
        assert_eq!(chosen(4), ["syscall/b", "pipe/a", "fault/wide", "process/slow"]);
        assert_eq!(chosen(5)[4], "syscall/c");
        assert_eq!(chosen(100).len(), 6);
        assert_eq!(chosen(1), ["syscall/b"]);
        assert!(chosen(0).is_empty());
    }
}
