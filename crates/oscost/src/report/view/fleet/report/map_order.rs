//! The order of the heat map's rows and columns: what stands out comes first.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::content::FleetContent;
use crate::fleet::FindingScope;

/// The place of a row or a column: those with a finding by the surest one, then the others, the
/// farthest from 1 first.
#[derive(Clone, Copy)]
struct Place {
    /// The number of its first finding.
    finding: Option<usize>,
    /// The logarithm of its ratio, without a sign.
    distance: f64,
}

impl Place {
    const LAST: Self = Self { finding: None, distance: 0.0 };

    fn order(&self, other: &Self) -> Ordering {
        let number = |it: &Self| it.finding.unwrap_or(usize::MAX);
        number(self).cmp(&number(other)).then(other.distance.total_cmp(&self.distance))
    }

    /// The place of two things that stand together.
    fn of_both(self, other: Self) -> Self {
        let finding = [self.finding, other.finding].into_iter().flatten().min();
        Self { finding, distance: self.distance.max(other.distance) }
    }
}

/// How far a ratio is from 1; 0 if it is none.
fn distance(ratio: f64) -> f64 {
    if ratio.is_finite() && ratio > 0.0 { ratio.ln().abs() } else { 0.0 }
}

/// The number of the first finding of each key.
fn first_findings<K: Ord>(
    content: &FleetContent<'_>,
    key: impl Fn(usize, &FindingScope) -> Option<K>,
) -> BTreeMap<K, usize> {
    let mut first = BTreeMap::new();
    for (number, finding) in content.analysis.findings.iter().enumerate() {
        if let Some(key) = key(finding.node, &finding.scope) {
            first.entry(key).or_insert(number);
        }
    }
    first
}

/// These nodes in their order; equal ones in the order of the fleet.
pub(super) fn nodes(content: &FleetContent<'_>, mut nodes: Vec<usize>) -> Vec<usize> {
    let mut found = first_findings(content, |node, _| Some(node));
    let findings = content.analysis.findings.len();
    for (number, disturbed) in content.analysis.disturbed.iter().enumerate() {
        found.entry(disturbed.node).or_insert(findings + number);
    }
    let place = |node: &usize| {
        let ratio = content.analysis.nodes.get(*node).and_then(|it| it.ratio);
        let farthest = || content.not_judged(*node)?.farthest.map(|it| it.ratio);
        let ratio = ratio.or_else(farthest);
        Place { finding: found.get(node).copied(), distance: ratio.map_or(0.0, distance) }
    };
    nodes.sort_by(|one, other| place(one).order(&place(other)));
    nodes
}

/// These cases in their order, those of a family together.
pub(super) fn cases(content: &FleetContent<'_>, mut cases: Vec<usize>) -> Vec<usize> {
    let places = places_of_cases(content);
    let of_family = first_findings(content, |_, scope| match scope {
        FindingScope::Family(family) => Some(family.clone()),
        FindingScope::Node | FindingScope::Case(_) => None,
    });
    let mut families: BTreeMap<&str, Place> = BTreeMap::new();
    for (case, place) in content.fleet.cases.iter().zip(&places) {
        let found = of_family.get(&case.family).copied();
        let place = place.of_both(Place { finding: found, ..Place::LAST });
        let family = families.entry(&case.family).or_insert(Place::LAST);
        *family = family.of_both(place);
    }
    let place = |case: usize| places.get(case).copied().unwrap_or(Place::LAST);
    let family = |case: usize| {
        let name = content.fleet.cases.get(case).map_or("", |it| it.family.as_str());
        (families.get(name).copied().unwrap_or(Place::LAST), name)
    };
    let name = |case: usize| content.fleet.cases.get(case).map(|it| it.case.as_str());
    cases.sort_by(|&one, &other| {
        let ((place_of_one, family_of_one), (place_of_other, family_of_other)) =
            (family(one), family(other));
        place_of_one
            .order(&place_of_other)
            .then(family_of_one.cmp(family_of_other))
            .then(place(one).order(&place(other)))
            .then(name(one).cmp(&name(other)))
    });
    cases
}

/// The place of each case, by the ratio of a node that is farthest from 1.
fn places_of_cases(content: &FleetContent<'_>) -> Vec<Place> {
    let count = content.fleet.cases.len();
    let found = first_findings(content, |_, scope| match scope {
        FindingScope::Case(case) => Some(*case as usize),
        FindingScope::Node | FindingScope::Family(_) => None,
    });
    let place = |case: usize| Place { finding: found.get(&case).copied(), ..Place::LAST };
    let mut places: Vec<Place> = (0..count).map(place).collect();
    // An empty row has no length to divide by.
    for row in content.analysis.ratios.chunks_exact(count.max(1)) {
        for (place, ratio) in places.iter_mut().zip(row) {
            place.distance = place.distance.max(distance(f64::from(*ratio)));
        }
    }
    places
}

/// The order in a sentence.
pub(super) fn note(content: &FleetContent<'_>, is_whole: bool) -> String {
    let far = "by how far they are from 1, the farthest first";
    let analysis = content.analysis;
    let is_empty = analysis.findings.is_empty() && analysis.disturbed.is_empty();
    match (is_empty, is_whole) {
        (false, true) => {
            format!("Nodes and cases with a finding come first, then the others {far}.")
        }
        (false, false) => format!(
            "Nodes and cases with a finding come first, then classes of nodes, and the other cases \
             {far}."
        ),
        (true, true) => format!("Nodes and cases are ordered {far}."),
        (true, false) => format!("Cases are ordered {far}."),
    }
}
