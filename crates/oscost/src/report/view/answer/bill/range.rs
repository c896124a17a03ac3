//! What a bill charges from warm to cool caches: a range that should hold the measured system time.

use std::cmp::Ordering;

use oscost_model::bill::{Amount, Bill};
use oscost_model::unit::Unit;

use super::higher_time;
use super::uncertainty::{MAX_HALF_WIDTH_PCT, may_be_nothing, verdict};
use super::unpriced::OpenPart;
use crate::report::figures::{per_cent, rough};
use crate::report::view::answer::quote::interval_text;

/// The range of a bill, beside what was measured.
#[derive(Clone, Copy)]
pub(super) struct ChargedRange<'a> {
    warm: &'a Amount,
    cool: &'a Amount,
    measured_ns: f64,
    /// By how much the measured time may be too low; `None` where nothing says so.
    higher_by_ns: Option<f64>,
    /// What has no price and is in no end, where that is much.
    unpriced: Option<OpenPart>,
    /// What is said outside of it if the interval of the difference to one of its ends contains zero:
    /// of several the smaller one.
    doubt: Option<&'static str>,
}

impl<'a> ChargedRange<'a> {
    /// The range of a bill; `None` without cool prices.
    pub(super) fn of(bill: &'a Bill) -> Option<Self> {
        let measured_ns = bill.trials.system_time.ns;
        let differences = [&bill.difference, &bill.difference_cool].into_iter().flatten();
        let uncertain = differences.filter(|it| may_be_nothing(it));
        let nearest = uncertain.min_by(|one, other| one.ns.abs().total_cmp(&other.ns.abs()));
        Some(Self {
            warm: bill.charged.as_ref()?,
            cool: bill.charged_cool.as_ref()?,
            measured_ns,
            higher_by_ns: higher_time::most_ns(&bill.trials),
            unpriced: OpenPart::of(bill),
            doubt: nearest.and_then(|difference| verdict(difference, measured_ns)),
        })
    }

    /// How far the measured time is above the range; negative below it, 0 within.
    pub(super) fn outside_ns(self) -> f64 {
        let [low, high] = self.ends_ns();
        if self.measured_ns > high {
            self.measured_ns - high
        } else if self.measured_ns < low {
            self.measured_ns - low
        } else {
            0.0
        }
    }

    /// Whether nothing is judged: the measured time may be elsewhere, on another side of the range or
    /// within it.
    pub(super) fn is_left_open(self) -> bool {
        self.may_be_higher_elsewhere() || self.is_elsewhere_without_unpriced()
    }

    /// Whether the measured time may be higher, and elsewhere then.
    fn may_be_higher_elsewhere(self) -> bool {
        let highest_ns = self.measured_ns + self.higher_by_ns.unwrap_or(0.0);
        self.place_of(highest_ns) != self.place_of(self.measured_ns)
    }

    /// Whether the intervals of its ends may hold the measured time, wherever the range is.
    pub(super) fn is_uncertain(self) -> bool {
        self.doubt.is_some()
    }

    /// Whether the measured time is elsewhere without what calls without a price took.
    fn is_elsewhere_without_unpriced(self) -> bool {
        let Some(OpenPart::Took(took_ns)) = self.unpriced else { return false };
        self.place_of(self.measured_ns - took_ns) != self.place_of(self.measured_ns)
    }

    /// Whether its high end is more than so many times its low one.
    pub(super) fn is_wider_than(self, ratio: f64) -> bool {
        let [low, high] = self.ends_ns();
        high > ratio * low
    }

    /// The range, and on which side of it the measured time lies; or, with the intervals of its ends,
    /// that these do not tell. Where the time may be higher, and elsewhere then, nothing is judged, nor
    /// where it would be elsewhere without the calls that have no price.
    pub(super) fn sentence(self) -> String {
        let times = [self.warm.ns, self.cool.ns, self.measured_ns];
        let [warm, cool, measured] = times.map(|ns| rough(ns, Unit::NsPerOp));
        let (side, ends) = match self.higher_by_ns {
            Some(more_ns) if self.may_be_higher_elsewhere() => {
                let up_to = higher_time::up_to(more_ns);
                (format!("not judged: the system time may be {up_to}"), Default::default())
            }
            _ if self.is_elsewhere_without_unpriced() => {
                ("not judged: a part of it has no price".to_owned(), Default::default())
            }
            None => self.verdict(),
            Some(more_ns) => {
                let (side, ends) = self.verdict();
                let link = match self.place_of(self.measured_ns) {
                    Ordering::Equal => ", also if the system time is",
                    Ordering::Less | Ordering::Greater => "; the system time may be",
                };
                (format!("{side}{link} {}", higher_time::up_to(more_ns)), ends)
            }
        };
        let [of_warm, of_cool] = ends;
        let without = match self.unpriced {
            Some(OpenPart::OfCounts(pct)) => {
                format!(", without the {} of what was counted that has no price", per_cent(pct))
            }
            Some(OpenPart::Took(_)) | None => String::new(),
        };
        format!(
            "{warm} (warm caches{of_warm}) to {cool} (cool{of_cool}) charged, {measured} measured: \
             {side}{without}"
        )
    }

    /// On which side of the range the time that was measured lies, or that the intervals of its ends do
    /// not tell, or say little, and these.
    fn verdict(self) -> (String, [String; 2]) {
        let is_outside = self.outside_ns() != 0.0;
        let of_ends = || [self.warm, self.cool].map(interval_of);
        match self.doubt.filter(|_| is_outside) {
            Some(doubt) => (doubt.to_owned(), of_ends()),
            None if !is_outside && self.is_end_known_badly() => (
                format!("{}, whose ends are known too badly for that to say much", self.side()),
                of_ends(),
            ),
            None if is_outside && self.nearest_end().ci95.is_none() => (
                format!("{}, whose end is known without an interval", self.side()),
                Default::default(),
            ),
            None => (self.side(), Default::default()),
        }
    }

    /// Whether half of the interval of an end is so much of the measured time that a range which holds
    /// it is no evidence that the prices explain it.
    fn is_end_known_badly(self) -> bool {
        let half_pct = |[low, high]: [f64; 2]| 50.0 * (high - low) / self.measured_ns;
        let intervals = [self.warm, self.cool].into_iter().filter_map(|end| end.ci95);
        intervals.map(half_pct).any(|pct| pct > MAX_HALF_WIDTH_PCT)
    }

    /// Whether a time is below the range, within it or above it.
    fn place_of(self, ns: f64) -> Ordering {
        let [low, high] = self.ends_ns();
        if ns > high {
            Ordering::Greater
        } else if ns < low {
            Ordering::Less
        } else {
            Ordering::Equal
        }
    }

    /// Where the measured time lies, with its distance in per cent of the end that is nearer.
    fn side(self) -> String {
        let outside_ns = self.outside_ns();
        if outside_ns == 0.0 {
            return "within the range".to_owned();
        }
        let side = if outside_ns > 0.0 { "above" } else { "below" };
        let end_ns = self.nearest_end().ns;
        // Of nothing there are no per cent.
        if end_ns <= 0.0 {
            return format!("{side} the range");
        }
        format!("{} {side} the range", per_cent(100.0 * outside_ns.abs() / end_ns))
    }

    /// The end that is nearer to the measured time.
    fn nearest_end(self) -> &'a Amount {
        let distance = |end: &Amount| (self.measured_ns - end.ns).abs();
        if distance(self.warm) <= distance(self.cool) { self.warm } else { self.cool }
    }

    /// What a walk adds may be below zero by its error.
    fn ends_ns(self) -> [f64; 2] {
        let (warm_ns, cool_ns) = (self.warm.ns, self.cool.ns);
        [warm_ns.min(cool_ns), warm_ns.max(cool_ns)]
    }
}

/// The interval of an amount after a word; empty if it is not known.
fn interval_of(amount: &Amount) -> String {
    let ends = amount.ci95.map(|ends| format!(", {}", interval_text(ends, Unit::NsPerOp)));
    ends.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A range beside a time of which nothing is doubted.
    fn range<'a>(warm: &'a Amount, cool: &'a Amount, measured_ns: f64) -> ChargedRange<'a> {
        ChargedRange { warm, cool, measured_ns, higher_by_ns: None, unpriced: None, doubt: None }
    }

    #[test]
    fn a_measured_time_lies_within_the_range_or_on_one_side_of_it() {
        let side = |measured_ns: f64, warm_ns: f64, cool_ns: f64| {
            let (warm, cool) = (&Amount::exact(warm_ns), &Amount::exact(cool_ns));
            range(warm, cool, measured_ns).side()
        };
        for inside in [61.0, 65.8, 98.0] {
            assert_eq!(side(inside, 61.0, 98.0), "within the range");
            assert_eq!(side(inside, 98.0, 61.0), "within the range", "the walk adds an error");
        }
        // 102 above 98, and 11 below 61.
        assert_eq!(side(200.0, 61.0, 98.0), "104 % above the range");
        assert_eq!(side(50.0, 61.0, 98.0), "18 % below the range");
        assert_eq!(side(40.2, 52.9, 60.0), "24 % below the range");
        assert_eq!(side(10.0, 0.0, -1.0), "above the range", "of nothing there are no per cent");
    }

    #[test]
    fn intervals_stand_beside_a_range_that_may_hold_a_time_outside_of_it() {
        let warm = Amount { ns: 55e6, ci95: Some([33e6, 90e6]) };
        let (cool, doubt) = (Amount::exact(62e6), Some("too uncertain"));
        let said = |measured_ns: f64| {
            ChargedRange { doubt, ..range(&warm, &cool, measured_ns) }.sentence()
        };
        assert_eq!(
            said(67.6e6),
            "55.0 ms (warm caches, 33.0 to 90.0 ms) to 62.0 ms (cool) charged, 67.6 ms measured: \
             too uncertain"
        );
        assert!(said(60e6).contains(" ms measured: within the range"), "{}", said(60e6));
    }

    #[test]
    fn a_range_that_holds_a_time_by_ends_that_are_hardly_known_says_so() {
        let said = |warm: [f64; 2], cool: Option<[f64; 2]>| {
            let warm = Amount { ns: 167e6, ci95: Some(warm) };
            let cool = Amount { ns: 279e6, ci95: cool };
            range(&warm, &cool, 273e6).sentence()
        };
        assert_eq!(
            said([-6.43e6, 471e6], None),
            "167 ms (warm caches, -6.43 to 471 ms) to 279 ms (cool) charged, 273 ms measured: within \
             the range, whose ends are known too badly for that to say much"
        );
        // A quarter of 273 ms is 68.25 ms.
        let near = [167e6 - 68e6, 167e6 + 68e6];
        let known =
            "167 ms (warm caches) to 279 ms (cool) charged, 273 ms measured: within the range";
        assert_eq!(said(near, Some([270e6, 290e6])), known);
        let of_cool = said(near, Some([200e6, 340e6]));
        assert!(of_cool.ends_with("too badly for that to say much"), "{of_cool}");
    }

    #[test]
    fn a_time_beyond_an_end_without_an_interval_is_said_to_be_so() {
        let known = Amount { ns: 55e6, ci95: Some([50e6, 60e6]) };
        let unknown = Amount::exact(62e6);
        let said = |measured_ns: f64| range(&known, &unknown, measured_ns).sentence();
        let above = said(124e6);
        assert!(above.ends_with(": 100 % above the range, whose end is known without an interval"));
        assert!(said(44e6).ends_with("20 % below the range"), "that end has one");
        assert!(said(60e6).ends_with("within the range"));
    }

    #[test]
    fn a_time_that_may_be_higher_is_judged_only_where_that_changes_nothing() {
        let (warm, cool) = (Amount::exact(233e6), Amount::exact(408e6));
        let said = |measured_ns: f64, more_ns: f64| {
            let higher_by_ns = Some(more_ns);
            ChargedRange { higher_by_ns, ..range(&warm, &cool, measured_ns) }.sentence()
        };
        let open = "233 ms (warm caches) to 408 ms (cool) charged, 380 ms measured: not judged: the \
                    system time may be up to 735 ms higher";
        assert_eq!(said(380e6, 735.145e6), open);
        let within = said(380e6, 10e6);
        let end = ": within the range, also if the system time is up to 10.0 ms higher";
        assert!(within.ends_with(end), "{within}");
        let below = said(200e6, 100e6);
        let end = ": not judged: the system time may be up to 100 ms higher";
        assert!(below.ends_with(end), "{below}");
        let above = said(816e6, 20e6);
        let end = ": 100 % above the range, whose end is known without an interval; the system time \
                   may be up to 20.0 ms higher";
        assert!(above.ends_with(end), "{above}");
    }

    #[test]
    fn a_range_without_what_has_no_price_is_judged_only_where_that_changes_nothing() {
        let (warm, cool) = (Amount::exact(40e6), Amount::exact(60e6));
        let said = |measured_ns: f64, unpriced: OpenPart| {
            let unpriced = Some(unpriced);
            ChargedRange { unpriced, ..range(&warm, &cool, measured_ns) }.sentence()
        };
        let open = ": not judged: a part of it has no price";
        for (measured_ns, took_ns) in [(50e6, 15e6), (70e6, 15e6), (90e6, 60e6)] {
            let text = said(measured_ns, OpenPart::Took(took_ns));
            assert!(text.ends_with(open), "{text}");
        }
        assert!(said(50e6, OpenPart::Took(5e6)).ends_with(": within the range"));
        assert!(said(20e6, OpenPart::Took(5e6)).contains(" below the range"));
        assert!(said(90e6, OpenPart::Took(5e6)).contains(" above the range"));
        let of_counts = said(50e6, OpenPart::OfCounts(40.0));
        let end = ": within the range, without the 40 % of what was counted that has no price";
        assert!(of_counts.ends_with(end), "{of_counts}");
    }

    #[test]
    fn a_range_is_as_wide_as_its_ends_are_apart() {
        let is_wide = |warm_ns: f64, cool_ns: f64| {
            let (warm, cool) = (&Amount::exact(warm_ns), &Amount::exact(cool_ns));
            range(warm, cool, 1.0).is_wider_than(2.0)
        };
        assert!(is_wide(10.0, 21.0) && !is_wide(10.0, 20.0));
        assert!(is_wide(21.0, 10.0) && !is_wide(0.0, 0.0));
    }
}
