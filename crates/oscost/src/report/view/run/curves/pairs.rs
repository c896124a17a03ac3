//! Sentences on pairs of curves: up to which number one is cheaper, and from which on.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::crossing::Crossing;
use oscost_model::point::Point;

use super::columns::shown;
use super::{CurveGroup, at};
use crate::report::text::plain;

/// Up to this number of curves every pair is compared; with more, each with the cheapest.
const MAX_CURVES_FOR_ALL_PAIRS: usize = 3;
/// The maximum number of sentences about pairs; the record has all.
const MAX_PAIRS: usize = 12;

/// The maximum number of named pairs that cannot be distinguished; of more, the number is given.
const MAX_UNDISTINGUISHED: usize = 6;

impl CurveGroup<'_> {
    /// Comparisons of pairs, those that share everything else together.
    pub(super) fn of_pairs(&self) -> Vec<String> {
        let mut sets: Vec<Vec<&Crossing>> = Vec::new();
        let mut known: BTreeMap<(&str, &Point, String), usize> = BTreeMap::new();
        let target = |it: &Crossing| at(&it.target, it.peer.as_deref());
        for &pair in &self.pairs {
            let shared = (pair.differing_axis.as_str(), &pair.point, target(pair));
            let number = *known.entry(shared).or_insert(sets.len());
            match sets.get_mut(number) {
                Some(set) => set.push(pair),
                None => sets.push(vec![pair]),
            }
        }
        let compared = sets.iter().flat_map(|set| {
            let curves: BTreeSet<&str> =
                set.iter().flat_map(|it| [it.costlier.as_str(), &it.cheaper]).collect();
            let costlier: BTreeSet<&str> = set.iter().map(|it| it.costlier.as_str()).collect();
            // If curves end at different numbers, possibly none of them is the cheapest.
            let all = curves.len() <= MAX_CURVES_FOR_ALL_PAIRS || curves == costlier;
            set.iter().filter(move |it| all || !costlier.contains(it.cheaper.as_str()))
        });
        // Those that cannot be distinguished share one sentence.
        let (distinguished, undistinguished): (Vec<&&Crossing>, Vec<&&Crossing>) = compared
            .partition(|it| {
                let more =
                    it.added_cost.as_ref().is_some_and(|it| it.ci95[0] > 0.0 || it.ci95[1] < 0.0);
                it.costlier_wins_until.is_some() || it.cheaper_wins_from.is_some() || more
            });
        let shared =
            |pair: &Crossing| self.shared(&pair.point, &pair.differing_axis, &target(pair));
        let mut lines: Vec<String> = distinguished
            .into_iter()
            .map(|pair| match shared(pair) {
                shared if shared.is_empty() => pair.sentence.clone(),
                shared => format!("{shared}: {}", pair.sentence),
            })
            .collect();
        if lines.len() > MAX_PAIRS {
            let more = lines.len() - MAX_PAIRS;
            lines.truncate(MAX_PAIRS);
            lines.push(format!("and of {more} more pairs: `crossings` in the record (`--json`)"));
        }
        let names: Vec<String> = undistinguished
            .iter()
            .take(MAX_UNDISTINGUISHED)
            .map(|pair| match shared(pair) {
                shared if shared.is_empty() => format!("{} and {}", pair.costlier, pair.cheaper),
                shared => format!("{} and {} ({shared})", pair.costlier, pair.cheaper),
            })
            .collect();
        let more = match undistinguished.len().saturating_sub(MAX_UNDISTINGUISHED) {
            0 => String::new(),
            more => format!(", and {more} more pairs"),
        };
        if !names.is_empty() {
            lines.push(format!(
                "cannot be distinguished, either by which is cheaper or by the cost of a further {}: \
                 {}{more}",
                plain(&self.curves[0].item),
                names.join(", ")
            ));
        }
        lines
    }

    /// What two curves of the group share and others do not.
    fn shared(&self, point: &Point, between: &str, target: &str) -> String {
        let of = |axis: &String| match point.get(axis) {
            _ if axis == between => None,
            Some(value) => Some(format!("{}={}", plain(axis), shown(&value.to_string()))),
            None if axis == "at" => Some(format!("at {target}")),
            None => None,
        };
        self.differing_axes.iter().filter_map(of).collect::<Vec<_>>().join(",")
    }
}
