//! Whether a curve bends because of the capacity of the channel.
//!
//! Study cs736-2019 explains the bends of its curves by the 64 KiB capacity of a pipe. If that is
//! right, they move when the capacity is changed.

use oscost_model::curve::{Capacity, Curve};

use super::shape::{CAPACITY, Shape};
use oscost_model::point::Point;

/// What curves of different capacities show about the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CapacityVerdict {
    /// The break is at the capacity, whatever that is.
    Moves,
    /// The break does not depend on the capacity.
    Stays,
    /// Neither can be shown; the reason.
    Unclear(&'static str),
}

/// An interval of more than two octaves does not locate a bend.
const MAX_INTERVAL_RATIO: u64 = 4;

/// Whether a curve bends at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BendVerdict {
    /// It bends.
    Bends,
    /// It does not.
    Straight,
    /// An interval that contains the size is wide, or also contains another capacity.
    Uncertain,
}

/// The bends of a curve.
#[derive(Clone, Debug)]
pub(super) struct CurveBends {
    /// The channel's capacity.
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

    /// Whether it bends at a size, one of the capacities of `curves`.
    fn bend_at(&self, size: u64, curves: &[CurveBends]) -> BendVerdict {
        let contains = |[first, last]: &[u64; 2], size: u64| (*first..=*last).contains(&size);
        let narrow = |bend: &[u64; 2]| {
            let others = curves.iter().any(|it| it.capacity != size && contains(bend, it.capacity));
            !others && bend[1] / bend[0].max(1) <= MAX_INTERVAL_RATIO
        };
        let bends: Vec<&[u64; 2]> = self.bends().iter().filter(|it| contains(it, size)).collect();
        match () {
            () if bends.is_empty() => BendVerdict::Straight,
            () if bends.into_iter().any(narrow) => BendVerdict::Bends,
            () => BendVerdict::Uncertain,
        }
    }

    /// Whether a bend at the capacity would be visible: there are sizes on both sides of it.
    fn covers_capacity(&self) -> bool {
        self.sizes[0] < self.capacity && self.capacity < self.sizes[1]
    }
}

/// The verdict on some curves; `None` if their capacities do not differ.
pub(super) fn verdict(curves: &[CurveBends]) -> Option<CapacityVerdict> {
    let differ = |one: &CurveBends, other: &CurveBends| one.capacity != other.capacity;
    if !curves.iter().any(|curve| differ(curve, &curves[0])) {
        return None;
    }
    if curves.iter().any(|curve| curve.bends.is_none()) {
        return Some(CapacityVerdict::Unclear("not every curve has enough points with intervals"));
    }
    if curves.iter().all(|curve| curve.bends().is_empty()) {
        return Some(CapacityVerdict::Unclear("there is no break at any capacity"));
    }
    let own = |curve: &CurveBends| curve.bend_at(curve.capacity, curves);
    let elsewhere = |curve: &CurveBends, bend: BendVerdict| {
        curves
            .iter()
            .any(|other| differ(curve, other) && other.bend_at(curve.capacity, curves) == bend)
    };
    let shown: Vec<&CurveBends> = curves
        .iter()
        .filter(|curve| curve.covers_capacity() && own(curve) != BendVerdict::Uncertain)
        .collect();
    if shown.is_empty() && curves.iter().any(CurveBends::covers_capacity) {
        return Some(CapacityVerdict::Unclear("the intervals are too wide: measure more sizes"));
    }
    // A bend at a curve's own capacity is caused by it if another curve does not bend there.
    let bending: Vec<&&CurveBends> =
        shown.iter().filter(|it| own(it) == BendVerdict::Bends).collect();
    let alone = bending.iter().any(|curve| elsewhere(curve, BendVerdict::Straight));
    if !shown.is_empty() && bending.len() == shown.len() && alone {
        return Some(CapacityVerdict::Moves);
    }
    if alone {
        return Some(CapacityVerdict::Unclear(
            "some curves bend at their capacity alone, and some do not",
        ));
    }
    if bending.iter().any(|curve| !elsewhere(curve, BendVerdict::Bends)) {
        return Some(CapacityVerdict::Unclear("the intervals are too wide: measure more sizes"));
    }
    let overlap = |one: &[u64; 2], other: &[u64; 2]| one[0] <= other[1] && other[0] <= one[1];
    // Two capacities have a bend in common, and one of them has none at its own capacity.
    let same = |one: &CurveBends, other: &CurveBends| {
        one.bends().iter().any(|bend| other.bends().iter().any(|it| overlap(bend, it)))
    };
    let stays = shown
        .iter()
        .filter(|curve| own(curve) == BendVerdict::Straight)
        .any(|curve| curves.iter().any(|other| differ(curve, other) && same(curve, other)));
    Some(match stays {
        true => CapacityVerdict::Stays,
        false => CapacityVerdict::Unclear("breaks and capacities are unrelated"),
    })
}

impl CapacityVerdict {
    fn into_record(self) -> Capacity {
        let (verdict, sentence) = match self {
            CapacityVerdict::Moves => {
                ("moves", "the break moves with the capacity, and is explained by it".to_owned())
            }
            CapacityVerdict::Stays => {
                let sentence = "the break does not move with the capacity: the study's explanation is \
                             refuted here";
                ("stays", sentence.to_owned())
            }
            CapacityVerdict::Unclear(why) => {
                let sentence =
                    format!("whether a break moves with the capacity cannot be determined: {why}");
                ("unclear", sentence)
            }
        };
        Capacity { verdict: verdict.to_owned(), sentence }
    }
}

/// Gives each curve the verdict on it and on the curves that differ from it in the capacity alone.
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
        let bends_of_set = set.filter_map(|other| {
            let points = &curves[other].points;
            Some(CurveBends {
                capacity: shapes[other].capacity?,
                bends: shapes[other].bends.clone(),
                sizes: [points.first()?.value, points.last()?.value],
            })
        });
        let bends_of_set: Vec<CurveBends> = bends_of_set.collect();
        if !bends_of_set.is_empty() {
            curves[at].capacity = verdict(&bends_of_set).map(CapacityVerdict::into_record);
        }
    }
}
