//! Whether a curve bends where it does because of what the channel holds.
//!
//! Study cs736-2019 explains the knees of its curves by the 64 KiB that a pipe holds. If that is
//! so, they move when the pipe is made to hold less or more.

use oscost_model::curve::{Capacity, Curve};

use super::shape::{CAPACITY, Shape};
use oscost_model::point::Point;

/// What some curves of different capacities say of the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityVerdict {
    /// The break is at the capacity, whatever that is.
    Moves,
    /// The break is where it is, whatever the capacity.
    Stays,
    /// Neither, and why.
    Unclear(&'static str),
}

/// An interval of more than two octaves tells no place.
const MAX_INTERVAL_RATIO: u64 = 4;

/// What a curve does at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BendAt {
    /// It bends.
    There,
    /// It does not.
    None,
    /// An interval that holds the size is wide, or holds another capacity as well.
    Unsure,
}

/// A curve as the explanation sees it.
#[derive(Clone, Debug)]
pub(super) struct CurveBends {
    /// What the channel held.
    pub(super) capacity: u64,
    /// Where the curve bends.
    pub(super) bends: Option<Vec<[u64; 2]>>,
    /// The smallest and the largest size.
    pub(super) sizes: [u64; 2],
}

impl CurveBends {
    fn bends(&self) -> &[[u64; 2]] {
        self.bends.as_deref().unwrap_or_default()
    }

    /// Whether it bends at a size, where all of them are the capacities of `curves`.
    fn at(&self, size: u64, curves: &[CurveBends]) -> BendAt {
        let holds = |[first, last]: &[u64; 2], size: u64| (*first..=*last).contains(&size);
        let narrow = |bend: &[u64; 2]| {
            let others = curves.iter().any(|it| it.capacity != size && holds(bend, it.capacity));
            !others && bend[1] / bend[0].max(1) <= MAX_INTERVAL_RATIO
        };
        let there: Vec<&[u64; 2]> = self.bends().iter().filter(|it| holds(it, size)).collect();
        match () {
            () if there.is_empty() => BendAt::None,
            () if there.into_iter().any(narrow) => BendAt::There,
            () => BendAt::Unsure,
        }
    }

    /// Whether a bend at the capacity would show: sizes lie on both sides of it.
    fn covers_capacity(&self) -> bool {
        self.sizes[0] < self.capacity && self.capacity < self.sizes[1]
    }
}

/// The verdict of some curves; `None` where their capacities do not differ.
pub(super) fn verdict(curves: &[CurveBends]) -> Option<CapacityVerdict> {
    let differ = |one: &CurveBends, other: &CurveBends| one.capacity != other.capacity;
    if !curves.iter().any(|curve| differ(curve, &curves[0])) {
        return None;
    }
    if curves.iter().any(|curve| curve.bends.is_none()) {
        return Some(CapacityVerdict::Unclear("not every curve has enough points with intervals"));
    }
    if curves.iter().all(|curve| curve.bends().is_empty()) {
        return Some(CapacityVerdict::Unclear("there is none at any capacity"));
    }
    let own = |curve: &CurveBends| curve.at(curve.capacity, curves);
    let elsewhere = |curve: &CurveBends, bend: BendAt| {
        curves.iter().any(|other| differ(curve, other) && other.at(curve.capacity, curves) == bend)
    };
    let shown: Vec<&CurveBends> = curves
        .iter()
        .filter(|curve| curve.covers_capacity() && own(curve) != BendAt::Unsure)
        .collect();
    if shown.is_empty() && curves.iter().any(CurveBends::covers_capacity) {
        return Some(CapacityVerdict::Unclear("the intervals are too wide: name more sizes"));
    }
    // A bend at a curve's own capacity is the capacity's if another curve has none there.
    let bending: Vec<&&CurveBends> = shown.iter().filter(|it| own(it) == BendAt::There).collect();
    let alone = bending.iter().any(|curve| elsewhere(curve, BendAt::None));
    if !shown.is_empty() && bending.len() == shown.len() && alone {
        return Some(CapacityVerdict::Moves);
    }
    if alone {
        return Some(CapacityVerdict::Unclear(
            "some bend at their capacity, as no other does, and some not",
        ));
    }
    if bending.iter().any(|curve| !elsewhere(curve, BendAt::There)) {
        return Some(CapacityVerdict::Unclear("the intervals are too wide: name more sizes"));
    }
    let overlap = |one: &[u64; 2], other: &[u64; 2]| one[0] <= other[1] && other[0] <= one[1];
    // Bends in one place at two capacities, and one of the two has none at its own.
    let same = |one: &CurveBends, other: &CurveBends| {
        one.bends().iter().any(|bend| other.bends().iter().any(|it| overlap(bend, it)))
    };
    let stays = shown
        .iter()
        .filter(|curve| own(curve) == BendAt::None)
        .any(|curve| curves.iter().any(|other| differ(curve, other) && same(curve, other)));
    Some(match stays {
        true => CapacityVerdict::Stays,
        false => CapacityVerdict::Unclear("breaks and capacities do not go together"),
    })
}

impl CapacityVerdict {
    fn into_record(self) -> Capacity {
        let (verdict, words) = match self {
            CapacityVerdict::Moves => {
                ("moves", "the break moves with the capacity, and is explained by it".to_owned())
            }
            CapacityVerdict::Stays => {
                let words = "the break does not move with the capacity: the study's explanation is \
                             refuted here";
                ("stays", words.to_owned())
            }
            CapacityVerdict::Unclear(why) => {
                let words =
                    format!("whether a break moves with the capacity cannot be told: {why}");
                ("unclear", words)
            }
        };
        Capacity { verdict: verdict.to_owned(), sentence: words }
    }
}

/// Tells each curve what it and those that differ in their capacity alone say of it.
pub(super) fn judge(curves: &mut [Curve], shapes: &[Shape]) {
    let rest = |curve: &Curve| {
        let others = curve.point.iter().filter(|(axis, _)| *axis != CAPACITY);
        others.fold(Point::none(), |rest, (axis, value)| rest.with(axis, value.clone()))
    };
    let keys: Vec<_> = curves
        .iter()
        .map(|it| {
            (it.benchmark.clone(), it.axis.clone(), (it.target.clone(), it.peer.clone()), rest(it))
        })
        .collect();
    for at in 0..curves.len() {
        let set = (0..curves.len()).filter(|&other| keys[other] == keys[at]);
        let seen = set.filter_map(|other| {
            let points = &curves[other].points;
            Some(CurveBends {
                capacity: shapes[other].capacity?,
                bends: shapes[other].bends.clone(),
                sizes: [points.first()?.value, points.last()?.value],
            })
        });
        let seen: Vec<CurveBends> = seen.collect();
        if !seen.is_empty() {
            curves[at].capacity = verdict(&seen).map(CapacityVerdict::into_record);
        }
    }
}
