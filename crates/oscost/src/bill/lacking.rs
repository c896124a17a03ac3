//! Which prices a bill lacks, which of them matter, and by which cases they are measured.

use oscost_model::bill::BillItem;
use oscost_model::case::Case;
use oscost_model::definition::{Axis, Catalog, Extent};
use oscost_model::point::Point;
use oscost_model::program_calls::ProgramCalls;

use super::additions::{groups_of_item, rule_of_item};
use super::charges::{DEPTH_AXIS, PATH_DEPTH, charge};
use super::fault_items::Faults;
use super::freed_pages::{FREED_PAGE, MEMORY_AXIS, UNMAPPED_PAGE};
use super::price_list::PriceList;
use super::ranges::{ItemRange, lacks_end};
use super::rules::{rule_of, selectors_of};

/// What each component of a path is expected to add to a walk (`directory/path-depth`).
const EXPECTED_COMPONENT_NS: f64 = 20.0;
/// Prices do not matter that are together of at most this share of the calls, and of the amount.
const SMALL_SHARE: f64 = 0.01;
/// A price of at least this share of the amount is large.
const LARGE_SHARE: f64 = 0.05;

/// Benchmarks that create, delete, change, fill or sync files, in their ops or around them: the
/// files of `directory/getdents` are linked and deleted, the folders of `directory/path-depth` made.
/// What they leave in the journal of a file system slows down the trials of a program, and what a
/// program leaves there slows them down.
const JOURNAL_WRITERS: [&str; 13] = [
    "file/chmod",
    "file/create-unlink",
    "file/write",
    "file/write-sync",
    "file/copy",
    "file/truncate",
    "directory/getdents",
    "directory/mkdir-rmdir",
    "directory/path-depth",
    "directory/link-unlink",
    "directory/symlink-unlink",
    "directory/rename",
    "directory/xattr",
];

/// A price that a bill lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct LackingPrice {
    /// The selector of its case.
    pub selector: String,
    /// The axis on which the sizes of the calls lie, if they have sizes.
    pub size_axis: Option<String>,
    /// How many calls and faults it is for.
    pub times: f64,
    /// What they take, in nanoseconds: by an older price, or by what the catalog expects of the op, and
    /// at least what the counter saw their calls take.
    pub amount_ns: Option<f64>,
    /// Whether it is that of an end of a range alone: without cool prices nobody pays it.
    pub is_of_range: bool,
}

/// All that a program did, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Total {
    times: f64,
    ns: f64,
}

/// All prices that are lacking.
struct AllLacking {
    prices: Vec<LackingPrice>,
    total: Total,
}

impl LackingPrice {
    /// Whether its ops write to the journal of a file system: it is not measured between trials.
    pub fn writes_journal(&self) -> bool {
        let benchmark = Case::parse(&self.selector).map(|case| case.benchmark);
        benchmark.is_some_and(|it| JOURNAL_WRITERS.contains(&it.as_str()))
    }

    /// Of the cases that its selector names those whose rows price it.
    pub fn usual_cases(&self, cases: Vec<Case>, catalog: &Catalog) -> Vec<Case> {
        usual_cases(&self.selector, self.size_axis.as_deref(), cases, catalog)
    }

    /// Its share of all: of the amount where its own is known, else of the calls.
    fn weight(&self, all: Total) -> f64 {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        match self.amount_ns {
            Some(ns) => share(ns, all.ns),
            None => share(self.times, all.times),
        }
    }
}

/// Of the cases that a selector names those whose rows price it: each axis that it does not name
/// has its most usual value, and that of sizes, if there is one, has all.
pub fn usual_cases(
    selector: &str,
    size_axis: Option<&str>,
    cases: Vec<Case>,
    catalog: &Catalog,
) -> Vec<Case> {
    let named = Case::parse(selector).map_or_else(Point::none, |case| case.point);
    let unusual_axes = |case: &Case| -> usize {
        let Some(definition) = catalog.get(&case.benchmark) else { return 0 };
        let point = definition.with_implied(&case.point);
        let is_unusual = |axis: &&Axis| {
            let is_size = size_axis == Some(axis.name.as_str());
            let usual = axis.default_points_for(Extent::PriceList).first();
            !is_size && named.get(&axis.name).is_none() && point.get(&axis.name) != usual
        };
        definition.axes.iter().filter(is_unusual).count()
    };
    let least = cases.iter().map(&unusual_axes).min();
    cases.into_iter().filter(|case| Some(unusual_axes(case)) == least).collect()
}

/// The axis on which the sizes of an item's calls lie, if they have sizes.
pub fn size_axis_of(item: &BillItem, calls: &ProgramCalls) -> Option<&'static str> {
    if [FREED_PAGE, UNMAPPED_PAGE].contains(&item.name.as_str()) {
        return Some(MEMORY_AXIS); // Two sizes tell what a page takes.
    }
    let rule = rule_of(&item.name).filter(|_| has_sizes(item, calls));
    rule.map(|rule| rule.axis.as_str())
}

/// The prices that `current` lacks of a program that did this, the weightiest first, without those
/// that do not matter. `known` has older prices, too.
pub fn lacking_prices(
    calls: &ProgramCalls,
    faults: Faults,
    current: &PriceList<'_>,
    known: &PriceList<'_>,
    catalog: &Catalog,
) -> Vec<LackingPrice> {
    let AllLacking { prices, total } = all_lacking(calls, faults, current, known, catalog);
    those_that_matter(prices, total)
}

/// The large prices of a program that did this which `fresh` lacks, the weightiest first: each is at least a
/// twentieth of what it is expected to be charged, by `known` prices and by what its calls took.
pub fn large_prices(
    calls: &ProgramCalls,
    faults: Faults,
    fresh: &PriceList<'_>,
    known: &PriceList<'_>,
    catalog: &Catalog,
) -> Vec<LackingPrice> {
    // Without what is fresh, so that what is large stays so.
    let nothing = PriceList::new([], catalog);
    let AllLacking { mut prices, total } = all_lacking(calls, faults, &nothing, known, catalog);
    let is_large = |it: &LackingPrice| it.amount_ns.is_some_and(|ns| ns >= LARGE_SHARE * total.ns);
    prices.retain(|it| is_large(it) && !fresh.has(&it.selector));
    those_that_matter(prices, total)
}

/// The prices that `current` lacks of a program that did this. `known` has older prices, too.
fn all_lacking(
    calls: &ProgramCalls,
    faults: Faults,
    current: &PriceList<'_>,
    known: &PriceList<'_>,
    catalog: &Catalog,
) -> AllLacking {
    let charges = charge(calls, faults, current, 0.0);
    let mut all = Total::default();
    let mut lacking: Vec<LackingPrice> = Vec::new();
    // An item that pays no part of an op needs no price.
    for item in charges.items.iter().filter(|item| item.part > 0.0) {
        // What is below zero matters as much.
        let times = item.times.abs();
        let guess = |selector: &str| {
            let op_ns = known.op_ns(selector).or_else(|| expected_ns(selector, catalog));
            op_ns.map(|ns| times * item.part * ns)
        };
        let of_item = item.amount.as_ref().map(|amount| amount.ns.abs());
        let amount_ns = of_item.or_else(|| {
            // The catalog expects one figure of an op, whatever its axes: a write to a new file takes
            // ten times that of a write to an old one. What the calls took tells them apart.
            let took_ns = item.in_kernel.map(|it| it.on_cpu_ns as f64);
            let guessed_ns = guess(item.case.as_deref()?);
            took_ns.into_iter().chain(guessed_ns).reduce(f64::max)
        });
        all.times += times;
        all.ns += amount_ns.unwrap_or(0.0);
        for selector in selectors_of(item) {
            let is_case = item.case.as_deref() == Some(selector);
            // A row of another size is no price of its calls, or a doubtful one.
            let lacks_sizes = item.amount.is_none() && size_axis_of(item, calls).is_some();
            let is_doubtful = is_case && (item.doubt.is_some() || lacks_sizes);
            if current.has(selector) && !is_doubtful {
                continue;
            }
            let size_axis = size_axis_of(item, calls).filter(|_| is_case);
            let price = LackingPrice {
                selector: selector.to_owned(),
                size_axis: size_axis.map(str::to_owned),
                times,
                amount_ns: if is_case { amount_ns } else { guess(selector) },
                is_of_range: false,
            };
            add(&mut lacking, price);
        }
        let lines = [lacking_depth(item, calls, current), lacking_slope(item, calls, current)];
        for price in lines.into_iter().flatten().chain(lacking_range(item, calls, current)) {
            add(&mut lacking, price);
        }
    }
    AllLacking { prices: lacking, total: all }
}

/// The price of the components of paths, if an item has calls whose paths are not as deep as that of
/// its case. These calls have a price without it.
fn lacking_depth(
    item: &BillItem,
    calls: &ProgramCalls,
    current: &PriceList<'_>,
) -> Option<LackingPrice> {
    let of_case = rule_of(&item.name)?.depth?;
    if current.has(PATH_DEPTH) {
        return None;
    }
    let of_item = calls.forms.iter().filter(|count| count.form == item.name);
    let components = of_item
        .filter_map(|count| Some(count.calls as f64 * (f64::from(count.depth?) - of_case).abs()));
    let amount_ns = components.sum::<f64>() * EXPECTED_COMPONENT_NS;
    (amount_ns > 0.0).then(|| LackingPrice {
        selector: PATH_DEPTH.to_owned(),
        size_axis: Some(DEPTH_AXIS.to_owned()),
        times: 0.0,
        amount_ns: Some(amount_ns),
        is_of_range: false,
    })
}

/// The line of another case on which the sizes of an item's calls lie, if they are not all of the size
/// of its case. These calls have a price without it.
fn lacking_slope(
    item: &BillItem,
    calls: &ProgramCalls,
    current: &PriceList<'_>,
) -> Option<LackingPrice> {
    let slope = rule_of(&item.name)?.slope.as_ref()?;
    if current.has(&slope.case) {
        return None;
    }
    let of_item = calls.forms.iter().filter(|count| count.form == item.name);
    let sizes = of_item
        .filter_map(|count| Some(count.calls as f64 * (count.mean_size()? - slope.at).abs()));
    let amount_ns = sizes.sum::<f64>() * slope.expected_ns;
    (amount_ns > 0.0).then(|| LackingPrice {
        selector: slope.case.clone(),
        size_axis: Some(slope.axis.clone()),
        times: 0.0,
        amount_ns: Some(amount_ns),
        is_of_range: false,
    })
}

/// The ends of the range of an item's price, each for half of what lies between them. These calls have a
/// price without them.
fn lacking_range(
    item: &BillItem,
    calls: &ProgramCalls,
    current: &PriceList<'_>,
) -> Vec<LackingPrice> {
    let groups = groups_of_item(item, calls);
    // What is below zero has no range.
    let is_paid = item.times > 0.0;
    let rule = rule_of_item(item).filter(|_| is_paid);
    let found = rule.as_ref().and_then(|rule| ItemRange::of(item, rule, calls));
    let Some(ItemRange { range, share }) = found else { return Vec::new() };
    let ends = [&range.from, &range.to].into_iter();
    let lacking = ends.filter(|selector| lacks_end(range, selector, &groups, current));
    let price = lacking.map(|selector| LackingPrice {
        selector: selector.clone(),
        size_axis: range.axis.clone(),
        times: 0.0,
        amount_ns: Some(share * item.times * range.part * range.expected_ns / 2.0),
        is_of_range: true,
    });
    price.collect()
}

/// Whether the calls of an item have sizes.
fn has_sizes(item: &BillItem, calls: &ProgramCalls) -> bool {
    calls.forms.iter().any(|count| count.form == item.name && count.mean_size().is_some())
}

/// Adds a price to a list that has each selector once.
fn add(lacking: &mut Vec<LackingPrice>, price: LackingPrice) {
    let Some(known) = lacking.iter_mut().find(|it| it.selector == price.selector) else {
        lacking.push(price);
        return;
    };
    known.times += price.times;
    known.is_of_range &= price.is_of_range;
    known.amount_ns = match (known.amount_ns, price.amount_ns) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    known.size_axis = known.size_axis.take().or(price.size_axis);
}

/// The weightiest ones, until the rest is small.
fn those_that_matter(mut lacking: Vec<LackingPrice>, all: Total) -> Vec<LackingPrice> {
    lacking.sort_by(|one, other| other.weight(all).total_cmp(&one.weight(all)));
    let is_small = |rest: &[LackingPrice]| {
        let times: f64 = rest.iter().map(|it| it.times).sum();
        let ns: f64 = rest.iter().filter_map(|it| it.amount_ns).sum();
        times <= SMALL_SHARE * all.times && ns <= SMALL_SHARE * all.ns
    };
    let small_from = (0..=lacking.len()).find(|&from| is_small(&lacking[from..]));
    lacking.truncate(small_from.unwrap_or(lacking.len()));
    lacking
}

/// What the catalog expects of an op, in nanoseconds, if it says that in a time.
fn expected_ns(selector: &str, catalog: &Catalog) -> Option<f64> {
    let case = Case::parse(selector)?;
    first_time_ns(&catalog.get(&case.benchmark)?.expected)
}

/// The first time that a text names, in nanoseconds.
fn first_time_ns(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let [number, unit] = pair else { return None };
        let unit_ns = match unit.trim_end_matches(|c: char| !c.is_ascii_alphabetic()) {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(number * unit_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(selector: &str, times: f64, amount_ns: Option<f64>) -> LackingPrice {
        let (selector, size_axis) = (selector.to_owned(), None);
        LackingPrice { selector, size_axis, times, amount_ns, is_of_range: false }
    }

    fn matter(lacking: Vec<LackingPrice>, times: f64, ns: f64) -> Vec<String> {
        let found = those_that_matter(lacking, Total { times, ns });
        found.into_iter().map(|it| it.selector).collect()
    }

    #[test]
    fn what_is_left_out_is_one_per_cent_of_the_calls_and_of_the_amount() {
        let lacking = || {
            vec![
                price("frequent", 900.0, Some(10.0)),
                price("rare", 6.0, Some(3.0)),
                price("expensive", 1.0, Some(980.0)),
                price("rarer", 4.0, Some(7.0)),
            ]
        };
        // The last two are 10 of 1,000 calls, and 10 of 1,000 ns.
        assert_eq!(matter(lacking(), 1_000.0, 1_000.0), ["expensive", "frequent"]);
        assert_eq!(matter(lacking(), 900.0, 1_000.0), ["expensive", "frequent", "rarer"]);
        assert_eq!(matter(lacking(), 1_000.0, 900.0), ["expensive", "frequent", "rarer"]);
        assert_eq!(matter(lacking(), 1e6, 1e6), Vec::<String>::new());
        assert_eq!(matter(Vec::new(), 0.0, 0.0), Vec::<String>::new());
        // Without any amount the number of calls decides.
        let unknown = vec![price("few", 20.0, None), price("many", 30.0, None)];
        assert_eq!(matter(unknown, 1_000.0, 0.0), ["many", "few"]);
    }

    #[test]
    fn a_price_that_two_items_need_is_weighed_once_by_both() {
        let mut lacking = vec![price("a/b", 2.0, None)];
        let sized = LackingPrice { size_axis: Some("size".to_owned()), ..price("a/b", 3.0, None) };
        add(&mut lacking, sized);
        add(&mut lacking, price("a/b", 1.0, Some(7.0)));
        add(&mut lacking, price("a/c", 1.0, Some(1.0)));
        assert_eq!(lacking.len(), 2);
        assert_eq!((lacking[0].times, lacking[0].amount_ns), (6.0, Some(7.0)));
        let end = |selector: &str| LackingPrice { is_of_range: true, ..price(selector, 0.0, None) };
        add(&mut lacking, end("a/b"));
        add(&mut lacking, end("a/d"));
        let is_of_range: Vec<bool> = lacking.iter().map(|it| it.is_of_range).collect();
        assert_eq!(is_of_range, [false, false, true], "the first one is a price, too");
        lacking.pop();
        assert_eq!(lacking[0].size_axis.as_deref(), Some("size"));
    }

    #[test]
    fn the_first_time_of_a_prediction_is_what_the_catalog_expects() {
        for (text, ns) in [
            ("800 ns by each of them; openat2 20 ns more", Some(800.0)),
            ("some 40 us with none and 25 us with vm", Some(40_000.0)),
            ("about 2.5 ms, or 3 s", Some(2_500_000.0)),
            ("within ns of that, 60 to 90 ns; more", Some(90.0)),
            ("10 GB/s by all of them", None),
            ("-5 ns", None),
            ("", None),
        ] {
            assert_eq!(first_time_ns(text), ns, "{text}");
        }
    }

    #[test]
    fn the_benchmarks_that_write_to_the_journal_exist() {
        let catalog = oscost_worker::benchmarks::data();
        for id in JOURNAL_WRITERS {
            assert!(catalog.get(id).is_some(), "{id}");
            assert!(price(id, 1.0, None).writes_journal());
        }
        assert!(!price("syscall/getppid:via=raw", 1.0, None).writes_journal());
        for form in ["fchmod file", "setxattr", "fsetxattr file", "getdents64 directory"] {
            let rule = rule_of(form).unwrap();
            assert!(price(&rule.case, 1.0, None).writes_journal(), "{form}");
        }
    }
}
