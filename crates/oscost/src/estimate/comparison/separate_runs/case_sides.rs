//! The rows of a case on the two sides of a comparison.

use oscost_model::record::{AddedCost, Decomposition, Record};
use oscost_stats::boots::boot_shares;
use oscost_stats::moments;

use crate::estimate::between_runs::run_median;
use crate::estimate::comparison::comparability::{incomparable_reason, other_machine};
use crate::estimate::comparison::counted_work::StoredRows;
use crate::estimate::comparison::rows::{PRIMARY, RowKey, RowsByKey, RunRow, is_count, median};
use crate::estimate::comparison::run_comparison::{JudgedPair, Timing};
use crate::estimate::comparison::start_time::{distance_s, start_time};
use crate::estimate::comparison::verdict::{EffectEstimate, Side, neighbours};

/// The comparable rows of a case on a target, at least one on each side.
pub(super) struct CaseSides<'a> {
    pub(super) base: Vec<RunRow<'a>>,
    pub(super) new: Vec<RunRow<'a>>,
    /// How many pairs of neighbours in time they form, at least 1.
    pub(super) alternations: usize,
}

/// The rows with this key, or why they cannot be compared. Of several runs a side, those that are
/// not comparable with the first usable one of the base, or have too few repetitions, are left out
/// if others are not; and those without a neighbour on the other side, if at least two pairs have one.
pub(super) fn comparable_sides<'a>(
    found: &RowsByKey<'a>,
    key: RowKey<'a>,
    base: &[&Record],
    new: &[&Record],
) -> Result<CaseSides<'a>, String> {
    let of_side = |runs: &[&Record]| -> Vec<RunRow<'a>> {
        let row_of = |run: &&Record| found[&key].iter().copied().find(|it| it.run.id == run.id);
        runs.iter().filter_map(row_of).collect()
    };
    let (base, new) = (of_side(base), of_side(new));
    let is_usable = |it: &&RunRow<'_>| incomparable_reason(**it, **it).is_none();
    let first_of = |rows: &[RunRow<'a>]| rows.iter().find(is_usable).or(rows.first()).copied();
    let (Some(first), Some(other)) = (first_of(&base), first_of(&new)) else {
        let missing = if base.is_empty() { Side::Base } else { Side::New };
        return Err(missing_reason(found, key, missing));
    };
    let several = base.len() > 1 || new.len() > 1;
    // All runs of a side are of one machine, that of its first usable run.
    let is_comparable = |it: &RunRow<'a>, first_of_side: RunRow<'a>| {
        let has_value = !several || is_count(it.row) || run_median(it.row).is_some();
        let is_of_side = is_count(it.row) || other_machine(first_of_side, *it).is_none();
        has_value && is_of_side && incomparable_reason(first, *it).is_none()
    };
    let comparable = |rows: Vec<RunRow<'a>>, first_of_side: RunRow<'a>| -> Vec<RunRow<'a>> {
        rows.into_iter().filter(|it| is_comparable(it, first_of_side)).collect()
    };
    let (base, new) = (comparable(base, first), comparable(new, other));
    match base.is_empty() || new.is_empty() {
        true => Err(incomparable_reason(first, other)
            .or_else(|| incomparable_reason(first, first))
            .unwrap_or_else(|| "no run of a side is comparable".to_owned())),
        false => Ok(CaseSides::of(base, new)),
    }
}

/// The boots of the runs of a side, in their order; `None` where that is not known.
pub(super) struct SideBoots<'a>(Vec<Option<&'a str>>);

impl<'a> SideBoots<'a> {
    fn of(rows: &[RunRow<'a>]) -> Self {
        Self(rows.iter().map(|it| it.boot()).collect())
    }

    /// The figures of the runs by boots. Runs of unknown boots may be of the same one, and of a known
    /// one: they count as no further boot.
    pub(super) fn grouped<T: Copy>(&self, figures: &[T]) -> Vec<Vec<T>> {
        let mut known: Vec<Option<&str>> = self.0.iter().copied().filter(Option::is_some).collect();
        known.sort_unstable();
        known.dedup();
        let first = known.first().copied().flatten();
        let of_boot = |boot: Option<&str>| {
            let all = self.0.iter().zip(figures).filter(|(it, _)| it.or(first) == boot);
            all.map(|(_, figure)| *figure).collect::<Vec<T>>()
        };
        match known[..] {
            [] => vec![of_boot(None)],
            _ => known.iter().map(|boot| of_boot(*boot)).collect(),
        }
    }
}

impl<'a> CaseSides<'a> {
    fn of(base: Vec<RunRow<'a>>, new: Vec<RunRow<'a>>) -> Self {
        let of_side = |side: Side, rows: &[RunRow<'a>]| -> Vec<(Side, RunRow<'a>)> {
            rows.iter().map(|&row| (side, row)).collect()
        };
        let mut all = of_side(Side::Base, &base);
        all.extend(of_side(Side::New, &new));
        all.sort_by_key(|(_, it)| start_time(it.run));
        let sides: Vec<Side> = all.iter().map(|(side, _)| *side).collect();
        let pairs = neighbours(&sides);
        // Runs of another day would move the mean of their side alone.
        if pairs.len() < 2 || is_count(all[0].1.row) {
            return Self { base, new, alternations: 1 };
        }
        let base = pairs.iter().map(|&[at, _]| all[at].1).collect();
        let new = pairs.iter().map(|&[_, at]| all[at].1).collect();
        Self { base, new, alternations: pairs.len() }
    }

    pub(super) fn base_boots(&self) -> SideBoots<'a> {
        SideBoots::of(&self.base)
    }

    pub(super) fn new_boots(&self) -> SideBoots<'a> {
        SideBoots::of(&self.new)
    }

    /// What the difference of the sides has of the variance of boots; `None` if the boot of a run is
    /// not known.
    pub(super) fn boot_shares(&self) -> Option<f64> {
        let boots = |side: SideBoots<'a>| side.0.into_iter().collect::<Option<Vec<&str>>>();
        Some(boot_shares(&boots(self.base_boots())?, &boots(self.new_boots())?))
    }

    /// Whether the sides were measured on two machines.
    pub(super) fn are_of_two_machines(&self) -> bool {
        other_machine(self.base[0], self.new[0]).is_some()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &RunRow<'a>> {
        self.base.iter().chain(&self.new)
    }

    /// The rows, for a comparison of their work.
    pub(super) fn stored_rows(&self) -> StoredRows<'a> {
        let (base, new) = (self.base.clone(), self.new.clone());
        StoredRows { base, new, design: "stored", span_s: self.span_s() }
    }

    /// The time from the first run to the last.
    pub(super) fn span_s(&self) -> f64 {
        let mut starts: Vec<_> = self.all().filter_map(|it| start_time(it.run)).collect();
        starts.sort_unstable();
        distance_s(starts.first().copied(), starts.last().copied())
    }

    pub(super) fn judged(
        self,
        effect: EffectEstimate,
        is_hypothesis: bool,
        decomposition: Option<Decomposition>,
    ) -> JudgedPair<'a> {
        let [from, to] = [&self.base, &self.new].map(|rows| median_of_side(rows));
        // Its interval follows from that of the ratio, which is corrected for the number of rows.
        let added = AddedCost { value: to - from, ci95: None, unit: self.base[0].row.unit };
        let pairs = self.alternations as u32;
        let timing = Timing { design: "stored", pairs, span_s: self.span_s() };
        let (base, new) = (self.base[0], self.new[0]);
        JudgedPair {
            base,
            new,
            timing,
            effect,
            metric: PRIMARY,
            is_hypothesis,
            base_figure: from,
            added,
            decomposition,
        }
    }
}

/// The figure of a side: as the effect, a mean of logarithms.
fn median_of_side(rows: &[RunRow<'_>]) -> f64 {
    match rows {
        [only] => median(only.row),
        rows => {
            let logs: Vec<f64> = rows.iter().map(|it| median(it.row).ln()).collect();
            moments::mean(&logs).map_or(0.0, f64::exp)
        }
    }
}

/// Why one of the two sides has no row with this key. A row of either side without its counterpart has
/// the same reason.
fn missing_reason(found: &RowsByKey<'_>, key: RowKey<'_>, missing: Side) -> String {
    let sides = |own: String, other: String| {
        let (base, new) = if missing == Side::New { (own, other) } else { (other, own) };
        format!("{base} in the base, {new} in the new run")
    };
    let mut of_case = found.keys().filter(|it| it.case == key.case);
    if of_case.clone().any(|it| it.target == key.target && it.peer != key.peer) {
        let location = |remote: bool| if remote { "on two machines" } else { "on one machine" };
        let (own, other) = (location(key.peer.is_some()), location(key.peer.is_none()));
        return format!("another peer: its ends are {}", sides(own.to_owned(), other.to_owned()));
    }
    let text = |key: &RowKey<'_>| format!("`{}`", found[key][0].row.target.text);
    match of_case.find(|it| it.target != key.target) {
        Some(other) => format!("another target: {}", sides(text(&key), text(other))),
        None if missing == Side::New => "not measured in the new run".to_owned(),
        None => "not measured in the base".to_owned(),
    }
}
