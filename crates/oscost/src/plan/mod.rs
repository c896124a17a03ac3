//! From a selection to rows: which cases are measured, on which target, and in what order.
//!
//! Purpose: resolving selectors against the worker's catalog, adding the reference cases, and the
//! seeded order of each round. It must not know how a worker is reached or run.

mod comparison;
mod name_sets;
mod near_names;
mod refinement;
mod remote_peer;
mod selector;
mod skipped_row;

pub use comparison::{
    ComparedTarget, ComparisonRows, ComparisonSet, comparison_rows, design, has_monitor,
    program_rows,
};
pub use near_names::{nearest_hint, nearest_names};
pub use refinement::refinement_rows;
pub use remote_peer::{
    RemotePeerCases, local_only_reason, mark_remote_peer, remote_peer_rows, with_remote_peer,
};
pub use selector::{AmbiguousName, SelectorError, named_cases, parse_size, select};
pub use skipped_row::SkippedRow;

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Definition, Timer};
use oscost_model::journal::PlannedRow;
use oscost_model::parameter::{ParameterValues, SampledParameter};
use oscost_model::record::TargetInfo;
use oscost_model::unit::Unit;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The cases that every round of every run measures, requested or not: the empty loop, a clock read
/// and the null system call.
pub const REFERENCE_CASES: [&str; 3] =
    ["timer/nothing", "timer/clock-gettime:clock=monotonic,via=libc", "syscall/getppid:via=raw"];

/// The rows of a run: the requested cases in the catalog's order, then the reference cases that are
/// not among them, and the primitives of their floors.
pub fn rows(catalog: &Catalog, requested: Vec<Case>, target: &TargetInfo) -> Vec<PlannedRow> {
    let reference_cases = REFERENCE_CASES.iter().filter_map(|text| Case::parse(text));
    let floors = requested.iter().flat_map(|case| primitives(catalog, case));
    let mut unrequested: Vec<Case> = Vec::new();
    for case in reference_cases.chain(floors) {
        if !requested.contains(&case) && !unrequested.contains(&case) {
            unrequested.push(case);
        }
    }
    let row = |case: Case, requested: bool| {
        let definition = catalog.get(&case.benchmark)?.clone();
        let is_reference = REFERENCE_CASES.contains(&case.to_string().as_str());
        Some(PlannedRow {
            case,
            definition,
            target: target.clone(),
            requested,
            is_reference,
            is_refinement: false,
            monitored: false,
            workload: None,
            study_method: None,
        })
    };
    requested
        .into_iter()
        .map(|case| (case, true))
        .chain(unrequested.into_iter().map(|case| (case, false)))
        .filter_map(|(case, requested)| row(case, requested))
        .collect()
}

/// A row in a run that counts instructions, whose unit is instructions per op instead of a time or
/// a rate.
pub fn in_instructions(row: PlannedRow) -> PlannedRow {
    let unit = match row.definition.unit {
        Unit::NsPerOp | Unit::BytesPerSecond | Unit::OpsPerSecond => Unit::InstructionsPerOp,
        other => other,
    };
    let definition = Definition { unit, ..row.definition };
    PlannedRow { definition, ..row }
}

/// The primitives below which a case cannot go.
fn primitives(catalog: &Catalog, case: &Case) -> Vec<Case> {
    let floor = catalog.get(&case.benchmark).map(|definition| &definition.floor[..]);
    let parts = floor.unwrap_or_default().iter().filter(|part| case.point.includes(&part.when));
    parts.filter_map(|part| Case::parse(&part.case)).collect()
}

/// The timers of the timer survey, if all of its cases were requested; a part of it is not a
/// survey.
pub fn survey_timers(catalog: &Catalog, requested: &[Case]) -> Vec<Timer> {
    let survey = catalog.survey_cases();
    if survey.iter().all(|case| requested.contains(case)) { catalog.timers.clone() } else { vec![] }
}

/// Random orders, from the run's seed.
///
/// The algorithm is fixed (xoshiro256++), so that the seed in a record reproduces the order.
pub struct RandomOrder(Xoshiro256PlusPlus);

impl RandomOrder {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Shuffles the rows of a round (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = ((u128::from(self.0.next_u64()) * (last as u128 + 1)) >> 64) as usize;
            items.swap(last, other);
        }
    }

    /// The values of sampled parameters in the next round.
    pub fn values(&mut self, parameters: &[SampledParameter]) -> ParameterValues {
        let value = |it: &SampledParameter| (it.name.clone(), it.value(self.0.next_u64()));
        parameters.iter().map(value).collect()
    }

    /// The seed of the next worker.
    pub fn worker_seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primitives_of_floors_are_measured_once() {
        let catalog = oscost_worker::benchmarks::data();
        let requested: Vec<Case> = ["syscall/stat:via=raw", "syscall/open-close:via=raw"]
            .iter()
            .filter_map(|text| Case::parse(text))
            .collect();
        let target = TargetInfo {
            text: "local".into(),
            host: "local".into(),
            treatments: vec![],
            machine: "m0".into(),
            cpu: None,
            peer: None,
        };
        let rows = rows(&catalog, requested, &target);
        let keys: Vec<(String, bool, bool)> = rows
            .iter()
            .map(|row| (row.case.to_string(), row.requested, row.is_reference))
            .collect();
        let rows_of = |name: &str| keys.iter().filter(|row| row.0 == name).collect::<Vec<_>>();
        assert_eq!(keys[0], ("syscall/stat:via=raw".to_owned(), true, false));
        assert_eq!(rows_of("syscall/invalid"), [&("syscall/invalid".to_owned(), false, false)]);
        assert_eq!(keys.len(), 2 + REFERENCE_CASES.len() + 1);
    }

    #[test]
    fn a_part_of_the_survey_is_not_a_survey() {
        let catalog = oscost_worker::benchmarks::data();
        let mut requested = catalog.survey_cases();
        assert_eq!(survey_timers(&catalog, &requested), catalog.timers);
        requested.pop();
        assert_eq!(survey_timers(&catalog, &requested), []);
        assert_eq!(survey_timers(&catalog, &[]), []);
    }

    #[test]
    fn a_seed_reproduces_the_order() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..20).collect();
            RandomOrder::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_reproduces_the_values_of_parameters() {
        let range = |name: &str, high| SampledParameter { name: name.into(), low: 1, high };
        let parameters = [range("n", 1_000_000), range("m", 3)];
        let values = |seed| {
            let mut order = RandomOrder::new(seed);
            (0..20).map(|_| order.values(&parameters)).collect::<Vec<_>>()
        };
        assert_eq!(values(1), values(1));
        assert_ne!(values(1), values(2));
        let all = values(1);
        assert!(all.iter().all(|it| (1..=1_000_000).contains(&it["n"])), "{all:?}");
        assert!(all.iter().all(|it| (1..=3).contains(&it["m"]) && it.len() == 2), "{all:?}");
        assert!(all.windows(2).any(|two| two[0]["n"] != two[1]["n"]), "{all:?}");
    }
}
