//! Amounts in a chart: their scale, their bars, and the colours of families.

use oscost_model::bill::{Amount, FAMILIES, OTHER_FAMILY};
use oscost_model::unit::Unit;

use crate::report::figures::Style;
use crate::report::view::document::chart::{Axis, Colour, Point};

/// What is on the right of the largest bar, in parts of the length of all bars: its figure.
const ROOM: f64 = 0.42;
/// The colour of the palette that is the muted one.
const MUTED: usize = 6;

/// The colour of a family, by its name in the record.
pub(super) fn colour(family: &str) -> Colour {
    match FAMILIES.iter().position(|name| *name == family) {
        Some(_) if family == OTHER_FAMILY => Colour::Muted,
        Some(number) if number < MUTED => Colour::Palette(number),
        Some(number) => Colour::Palette(number + 1),
        None => Colour::Muted,
    }
}

/// The scale of the amounts of a chart: from nothing, or the smallest of them, to the largest one.
#[derive(Clone, Copy)]
pub(super) struct AmountScale {
    style: Style,
    ends_ns: [f64; 2],
}

impl AmountScale {
    /// The scale over these ends of bars, in nanoseconds.
    pub(super) fn over(ends: impl Iterator<Item = f64>) -> Self {
        let finite = ends.filter(|end| end.is_finite());
        let (low, high) =
            finite.fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
        let style = Style::of(high.max(-low), Unit::NsPerOp);
        Self { style, ends_ns: [low, high] }
    }

    /// The horizontal axis, with room for figures.
    pub(super) fn axis(self) -> Axis {
        let [low, high] = self.ends_ns.map(|end| self.style.scale(end));
        let length = high - low;
        let below = if low < 0.0 { 0.04 * length } else { 0.0 };
        let ends = match length > 0.0 {
            true => [low - below, high + ROOM * length],
            false => [0.0, 1.0],
        };
        let ends = ends.map(|end| end.clamp(f64::MIN, f64::MAX));
        let title = format!("amount, in {}", self.style.unit());
        Axis { ends: Some(ends), ..Axis::linear(title) }
    }

    /// Where a time is on the axis.
    pub(super) fn at(self, ns: f64) -> f64 {
        self.style.scale(ns)
    }

    /// The bar of an amount in a row, from where others have ended.
    pub(super) fn bar(self, row: usize, start_ns: f64, amount: &Amount) -> Point {
        let at = |ns: f64| self.at(start_ns + ns);
        Point {
            start: at(0.0),
            x: at(amount.ns),
            y: row as f64,
            interval: amount.ci95.map(|ends| ends.map(at)),
            ..Point::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_a_colour_of_its_own() {
        let colours: Vec<Colour> = FAMILIES.iter().map(|name| colour(name)).collect();
        for (at, one) in colours.iter().enumerate() {
            assert!(!colours[..at].contains(one), "{}", FAMILIES[at]);
        }
        assert!(!colours.contains(&Colour::Palette(MUTED)), "it is the muted one");
        assert_eq!(colour("of another version"), Colour::Muted);
    }

    #[test]
    fn a_scale_has_one_unit_and_room_for_figures() {
        let scale = AmountScale::over([2e6, 1e3, f64::NAN].into_iter());
        let axis = scale.axis();
        let ends = axis.ends.map(|ends| ends.map(|end| (1e3 * end).round()));
        assert_eq!((axis.title.as_str(), ends), ("amount, in ms", Some([0.0, 2_840.0])));
        let amount = Amount { ns: 1e6, ci95: Some([0.5e6, 1.5e6]) };
        let bar = scale.bar(3, 1e6, &amount);
        assert_eq!((bar.start, bar.x, bar.y, bar.interval), (1.0, 2.0, 3.0, Some([1.5, 2.5])));
    }

    #[test]
    fn amounts_below_nothing_and_no_amounts_have_a_scale() {
        let [low, high] = AmountScale::over([-1e6, 1e6].into_iter()).axis().ends.unwrap();
        assert!(low < -1.0 && high > 1.0, "{low} {high}");
        for ends in [vec![], vec![0.0, -0.0], vec![f64::INFINITY]] {
            assert_eq!(AmountScale::over(ends.into_iter()).axis().ends, Some([0.0, 1.0]));
        }
        let [low, high] = AmountScale::over([f64::MIN, f64::MAX].into_iter()).axis().ends.unwrap();
        assert!(low.is_finite() && high.is_finite());
    }
}
