//! The page faults of a program by kind, and the cases that price them.

use oscost_model::bill::BilledTrials;
use oscost_model::program_calls::{FaultCounts, ProgramCalls};

use super::faults_in_prices::FaultsInPrices;
use super::rules::{PriceRange, PriceRule};

/// Page faults of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Without a disk.
    pub minor: f64,
    /// With a disk.
    pub major: f64,
}

impl Faults {
    /// Those of a program in its trials.
    pub fn of(trials: &BilledTrials) -> Self {
        Self { minor: trials.minor_faults, major: trials.major_faults }
    }
}

/// Faults of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FaultItem {
    pub(super) name: &'static str,
    pub(super) rule: PriceRule,
    /// Below zero if prices contain more of them than there were.
    pub(super) times: f64,
    /// Why they are below zero; `None` if they are not.
    pub(super) below_zero: Option<&'static str>,
}

/// A kind of minor faults, and what prices one of them.
struct Kind {
    name: &'static str,
    case: &'static str,
    /// The ops of the case that one fault makes.
    ops: f64,
    of: fn(&FaultCounts) -> u64,
}

/// First touches of anonymous pages.
const ZERO_FILL: &str = "zero-fill page fault";
/// Their case: a batch of them in a mapping of 8 MiB.
const FIRST_TOUCH: &str = "fault/zero-fill:access=write,pages=4k,mapping_mib=usual,between=nothing";
/// The same timed one by one, so that what the clock adds is at both ends of the range.
const FIRST_TOUCH_ALONE: &str =
    "fault/zero-fill:access=write,pages=4k,mapping_mib=usual,between=clock";
/// The other end: in a mapping of which the caches hold a part or nothing, after a walk that leaves
/// neither the lines nor the translations that the kernel needs.
const FIRST_TOUCH_AFTER_WALK: &str =
    "fault/zero-fill:access=write,pages=4k,mapping_mib=64,between=walk";
/// All cases in such a mapping.
pub(super) const FIRST_TOUCHES_OF_MUCH: &str = "fault/zero-fill:mapping_mib=64";
/// The pages of a mapping of 8 MiB. A process that touches no more finds each as cheap.
pub(super) const FEW_PAGES: f64 = 2_048.0;

/// The kind that also the prices of forks contain.
const COPY_ON_WRITE: &str = "copy-on-write page fault";

/// The kinds that the kernel tells.
const KINDS: [Kind; 5] = [
    Kind { name: ZERO_FILL, case: FIRST_TOUCH, ops: 1.0, of: |faults| faults.zero_fill },
    Kind {
        name: "huge zero-fill page fault",
        case: "fault/zero-fill:access=write,pages=thp",
        // An op of the case is one of the 4 KiB in a page of 2 MiB.
        ops: 512.0,
        of: |faults| faults.huge_zero_fill,
    },
    Kind { name: "file page fault", case: "fault/file-minor", ops: 1.0, of: |it| it.file_minor },
    Kind {
        name: COPY_ON_WRITE,
        case: "fault/copy-on-write:child=lives",
        ops: 1.0,
        of: |faults| faults.copy_on_write,
    },
    Kind {
        name: "reuse page fault",
        case: "fault/copy-on-write:child=exited",
        ops: 1.0,
        of: |faults| faults.page_reuse,
    },
];

/// What no kind is known of: priced as first touches, of which most programs have most.
const MINOR_FAULT: (&str, &str) = ("minor page fault", FIRST_TOUCH);
const MAJOR_FAULT: (&str, &str) = ("major page fault", "fault/file-major");

/// The range of first touches: pages that a process has freed lately are in the caches when they are
/// given again, others are not; a process that touches one page after the other finds the kernel's
/// data in the caches, one that works on its own data between two touches does not. No counter
/// tells which of them a fault is.
fn first_touch_range() -> PriceRange {
    PriceRange {
        from: FIRST_TOUCH_ALONE.to_owned(),
        to: FIRST_TOUCH_AFTER_WALK.to_owned(),
        axis: None,
        part: 1.0,
        across_cpus: false,
        of_idle: false,
        few_per_process: Some(FEW_PAGES),
        expected_ns: 1_700.0,
    }
}

/// The range of an item; `None` of all but those that are charged as first touches.
pub(super) fn range_of_faults(name: &str) -> Option<PriceRange> {
    [ZERO_FILL, MINOR_FAULT.0].contains(&name).then(first_touch_range)
}

/// Why faults are below zero.
const MORE_IN_PRICES: &str =
    "the prices of its forks and execs contain more page faults than it had";
const MORE_COPIES_IN_PRICES: &str = "the prices of its forks contain more copies than it made";
const FEWER_IN_TRIALS: &str =
    "the counted runs had more page faults of known kinds than the trials had in all";

/// The faults of a program by kind. A fault inside a call is one of these: prices of calls are those
/// of memory that is there. Kinds are those of a counted run; what the untouched trials have beyond
/// these, such as faults before the program is executed, is of no known kind. What the prices of its
/// calls contain is not charged again: what they contain too much is less than none, and is taken off.
pub(super) fn fault_items(
    calls: &ProgramCalls,
    faults: Faults,
    in_prices: FaultsInPrices,
) -> Vec<FaultItem> {
    let mut items = minor_fault_items(calls, faults, in_prices);
    let share = share_beyond_prices(&items, in_prices);
    match share {
        Some(share) => items.iter_mut().for_each(|item| item.times *= share),
        None => {
            if let Some(of_no_kind) = items.last_mut() {
                of_no_kind.times -= in_prices.of_children;
            }
        }
    }
    let is_all_in_prices = share.is_none_or(|share| share < 0.0);
    for item in items.iter_mut().filter(|item| item.times < 0.0) {
        item.below_zero = Some(match item.name {
            _ if is_all_in_prices => MORE_IN_PRICES,
            COPY_ON_WRITE => MORE_COPIES_IN_PRICES,
            _ => FEWER_IN_TRIALS,
        });
    }
    let (name, case) = MAJOR_FAULT;
    let rule = PriceRule::new(&[name], case);
    items.push(FaultItem { name, rule, times: faults.major, below_zero: None });
    items.retain(|item| item.times != 0.0);
    items
}

/// The share of the minor faults that is in no price of a fork or an exec. Those of children are of any
/// kind: each is charged that much less. `None` where there are none that could be shared.
fn share_beyond_prices(items: &[FaultItem], in_prices: FaultsInPrices) -> Option<f64> {
    let all: f64 = items.iter().map(|item| item.times).sum();
    (all > 0.0).then(|| 1.0 - in_prices.of_children / all)
}

/// The pages that these faults gave a process of its own, but for huge ones, and those of files that
/// they mapped: as far as no price of a fork or an exec contains the faults.
pub(super) fn pages_of_faults(
    calls: &ProgramCalls,
    faults: Faults,
    in_prices: FaultsInPrices,
) -> FaultPages {
    let items = minor_fault_items(calls, faults, in_prices);
    let share = share_beyond_prices(&items, in_prices).unwrap_or(1.0);
    let events = calls.events.unwrap_or_default();
    let own = events.faults.zero_fill as f64 + copies_to_charge(calls, in_prices);
    let of_files = events.mapped_file_pages.unwrap_or(0) as f64;
    FaultPages { own: share * own, of_files: share * of_files }
}

/// Pages that a program has got by its faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FaultPages {
    /// Private ones.
    pub(super) own: f64,
    /// Those of files.
    pub(super) of_files: f64,
}

/// The minor faults by kind, without copies in the prices of forks; those of no known kind come last.
fn minor_fault_items(
    calls: &ProgramCalls,
    faults: Faults,
    in_prices: FaultsInPrices,
) -> Vec<FaultItem> {
    let counted = calls.events.map(|it| it.faults).unwrap_or_default();
    let mut items = Vec::new();
    let mut of_no_kind = faults.minor;
    for Kind { name, case, ops, of } in KINDS {
        let of_kind = of(&counted) as f64;
        of_no_kind -= of_kind;
        let is_copy = name == COPY_ON_WRITE;
        let times = if is_copy { copies_to_charge(calls, in_prices) } else { of_kind };
        let rule = PriceRule { part: ops, ..PriceRule::new(&[name], case) };
        items.push(FaultItem { name, rule, times, below_zero: None });
    }
    if counted.of_known_kind() == 0 {
        of_no_kind -= in_prices.copies;
    }
    let (name, case) = MINOR_FAULT;
    let rule = PriceRule::new(&[name], case);
    items.push(FaultItem { name, rule, times: of_no_kind, below_zero: None });
    items
}

/// The copies of pages that the price of no fork contains; none where kinds are not known.
fn copies_to_charge(calls: &ProgramCalls, in_prices: FaultsInPrices) -> f64 {
    let counted = calls.events.map(|events| events.faults).unwrap_or_default();
    match counted.of_known_kind() {
        0 => 0.0,
        _ => counted.copy_on_write as f64 - in_prices.copies,
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;
    use oscost_model::point::Value;
    use oscost_model::program_calls::KernelEvents;

    use super::*;

    fn named(calls: &ProgramCalls, faults: Faults) -> Vec<(&'static str, f64, f64)> {
        let items = fault_items(calls, faults, FaultsInPrices::default()).into_iter();
        items.map(|it| (it.name, it.rule.part, it.times)).collect()
    }

    #[test]
    fn first_touches_have_a_range_between_two_points_that_the_catalog_offers() {
        let catalog = oscost_worker::benchmarks::data();
        let range = range_of_faults(ZERO_FILL).unwrap();
        for selector in [&range.from, &range.to] {
            let case = Case::parse(selector).unwrap();
            let definition = catalog.get(&case.benchmark).unwrap();
            let is_offered = |(axis, value): (&str, &Value)| {
                definition.axis(axis).is_some_and(|axis| axis.points.contains(value))
            };
            assert!(case.point.iter().all(is_offered), "{selector}");
            // What timing an op alone adds cancels.
            assert_ne!(case.point.get("between"), Some(&Value::from("nothing")), "{selector}");
        }
        let price = Case::parse(FIRST_TOUCH).unwrap();
        assert_eq!(price.point.get("between"), Some(&Value::from("nothing")));
        let with_range: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let others = with_range.iter().filter(|name| range_of_faults(name).is_none()).count();
        assert_eq!((others, range_of_faults(MINOR_FAULT.0)), (4, Some(range)));
    }

    /// Names and numbers, where prices contain some.
    fn beyond(
        counted: FaultCounts,
        minor: f64,
        in_prices: FaultsInPrices,
    ) -> Vec<(&'static str, f64)> {
        let events = Some(KernelEvents { faults: counted, ..KernelEvents::default() });
        let calls = ProgramCalls { events, ..ProgramCalls::default() };
        let items = fault_items(&calls, Faults { minor, major: 0.0 }, in_prices).into_iter();
        items.map(|it| (it.name, it.times)).collect()
    }

    #[test]
    fn without_kinds_faults_are_minor_or_major() {
        let faults = Faults { minor: 10.0, major: 2.0 };
        let expected = [("minor page fault", 1.0, 10.0), ("major page fault", 1.0, 2.0)];
        assert_eq!(named(&ProgramCalls::default(), faults), expected);
        assert!(named(&ProgramCalls::default(), Faults::default()).is_empty());
    }

    #[test]
    fn each_fault_is_in_one_item() {
        let faults = FaultCounts {
            zero_fill: 100,
            huge_zero_fill: 2,
            file_minor: 30,
            copy_on_write: 40,
            page_reuse: 20,
            major: 1,
            unknown: 5,
        };
        let events = Some(KernelEvents { faults, ..KernelEvents::default() });
        let calls = ProgramCalls { events, ..ProgramCalls::default() };
        // Eight faults more than those of a known kind.
        let found = named(&calls, Faults { minor: 200.0, major: 0.0 });
        let expected = [
            ("zero-fill page fault", 1.0, 100.0),
            ("huge zero-fill page fault", 512.0, 2.0),
            ("file page fault", 1.0, 30.0),
            ("copy-on-write page fault", 1.0, 40.0),
            ("reuse page fault", 1.0, 20.0),
            ("minor page fault", 1.0, 8.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(found.iter().map(|&(_, _, times)| times).sum::<f64>(), 200.0);
    }

    #[test]
    fn a_copy_in_the_price_of_a_fork_is_not_charged_again() {
        let in_prices = FaultsInPrices { copies: 30.0, of_children: 0.0 };
        let found = |copy_on_write, zero_fill| {
            let counted = FaultCounts { copy_on_write, zero_fill, ..FaultCounts::default() };
            beyond(counted, 200.0, in_prices)
        };
        let copies = ("copy-on-write page fault", 70.0);
        assert_eq!(found(100, 0), [copies, ("minor page fault", 100.0)]);
        // What the prices contain too much is taken off; faults of other kinds stay.
        let zero_fill = ("zero-fill page fault", 99.0);
        let copies = ("copy-on-write page fault", -29.0);
        assert_eq!(found(1, 99), [zero_fill, copies, ("minor page fault", 100.0)]);
        // Without kinds they are among the others.
        assert_eq!(found(0, 0), [("minor page fault", 170.0)]);
    }

    #[test]
    fn the_faults_of_children_in_prices_are_of_all_kinds() {
        let counted = FaultCounts {
            zero_fill: 40,
            file_minor: 80,
            copy_on_write: 60,
            ..FaultCounts::default()
        };
        // A quarter of the 200 that are left without the copies.
        let in_prices = FaultsInPrices { copies: 20.0, of_children: 50.0 };
        let expected = [
            ("zero-fill page fault", 30.0),
            ("file page fault", 60.0),
            ("copy-on-write page fault", 30.0),
            ("minor page fault", 30.0),
        ];
        assert_eq!(beyond(counted, 220.0, in_prices), expected);
        // 800 more than there are.
        let more = FaultsInPrices { of_children: 1_000.0, ..in_prices };
        let found = beyond(counted, 220.0, more);
        assert_eq!(found[0], ("zero-fill page fault", -160.0));
        assert_eq!(found.iter().map(|&(_, times)| times).sum::<f64>(), -800.0);
        let none = beyond(FaultCounts::default(), 0.0, in_prices);
        assert_eq!(none, [("minor page fault", -70.0)]);
    }

    #[test]
    fn what_a_counted_run_has_more_than_the_trials_is_less_than_none_of_no_kind() {
        let faults = FaultCounts { zero_fill: 100, ..FaultCounts::default() };
        let events = Some(KernelEvents { faults, ..KernelEvents::default() });
        let calls = ProgramCalls { events, ..ProgramCalls::default() };
        let found = named(&calls, Faults { minor: 97.0, major: 0.0 });
        assert_eq!(found, [("zero-fill page fault", 1.0, 100.0), ("minor page fault", 1.0, -3.0)]);
    }

    #[test]
    fn faults_below_zero_have_a_reason() {
        let reasons = |copy_on_write, minor, in_prices| {
            let faults = FaultCounts { copy_on_write, ..FaultCounts::default() };
            let events = Some(KernelEvents { faults, ..KernelEvents::default() });
            let calls = ProgramCalls { events, ..ProgramCalls::default() };
            let items = fault_items(&calls, Faults { minor, major: 1.0 }, in_prices).into_iter();
            items.map(|it| (it.times, it.below_zero)).collect::<Vec<_>>()
        };
        let major = (1.0, None);
        let none = FaultsInPrices::default();
        assert_eq!(reasons(10, 9.0, none), [(10.0, None), (-1.0, Some(FEWER_IN_TRIALS)), major]);
        let copies = FaultsInPrices { copies: 12.0, ..none };
        let expected = [(-2.0, Some(MORE_COPIES_IN_PRICES)), (30.0, None), major];
        assert_eq!(reasons(10, 40.0, copies), expected);
        let children = FaultsInPrices { of_children: 15.0, ..none };
        assert_eq!(reasons(10, 10.0, children), [(-5.0, Some(MORE_IN_PRICES)), major]);
    }
}
