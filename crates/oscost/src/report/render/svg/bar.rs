//! Bars of a chart of rows.

use super::axis::Scale;
use super::sheet::coordinate;
use crate::report::view::document::chart::{Point, Shape};

/// Half of the height of a bar.
const HALF: f64 = 6.0;

/// A bar from its start to its value, and a thin line over the interval of the value; empty if the
/// scale cannot show the bar.
pub(super) fn bar(shape: Shape, point: &Point, x: &Scale, row: f64) -> String {
    let Some((from, to)) = x.position(point.start).zip(x.position(point.x)) else {
        return String::new();
    };
    let fill = if shape == Shape::Bars { "currentColor" } else { "none" };
    let [top, bottom] = [row - HALF, row + HALF].map(coordinate);
    let [from, to] = [from, to].map(coordinate);
    let mut out = format!("<path fill=\"{fill}\" d=\"M{from} {top}H{to}V{bottom}H{from}Z\"/>\n");
    let ends = point.interval.and_then(|[low, high]| x.position(low).zip(x.position(high)));
    if let Some((low, high)) = ends.filter(|(low, high)| low != high) {
        let [low, high, row] = [low, high, row].map(coordinate);
        out += &format!("<path class=\"m\" d=\"M{low} {row}H{high}\"/>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::document::chart::Axis;

    /// A scale on which 0 is at 100, and 10 at 200.
    fn scale() -> Scale {
        let axis = Axis { ends: Some([0.0, 10.0]), ..Axis::linear("ms") };
        Scale::of(&axis, Vec::new(), [100.0, 200.0])
    }

    fn at(start: f64, x: f64) -> Point {
        Point { start, x, ..Point::default() }
    }

    #[test]
    fn a_bar_reaches_from_its_start_to_its_value_on_either_side() {
        let path = |point: &Point| bar(Shape::Bars, point, &scale(), 50.0);
        assert_eq!(
            path(&at(0.0, 5.0)),
            "<path fill=\"currentColor\" d=\"M100 44H150V56H100Z\"/>\n"
        );
        assert!(path(&at(5.0, 2.0)).contains("d=\"M150 44H120V56H150Z\""));
        assert!(path(&at(0.0, -1.0)).contains("d=\"M100 44H90V56H100Z\""));
        assert!(path(&at(3.0, 3.0)).contains("d=\"M130 44H130V56H130Z\""), "nothing is a line");
        assert_eq!(path(&at(0.0, f64::NAN)) + &path(&at(f64::INFINITY, 1.0)), "");
    }

    #[test]
    fn an_open_bar_has_no_fill_and_an_interval_is_a_line_over_its_end() {
        let point = Point { interval: Some([4.0, 6.0]), ..at(0.0, 5.0) };
        let drawn = bar(Shape::OpenBars, &point, &scale(), 50.0);
        assert!(drawn.starts_with("<path fill=\"none\" d=\"M100 44H150V56H100Z\"/>"), "{drawn}");
        assert!(drawn.ends_with("<path class=\"m\" d=\"M140 50H160\"/>\n"), "{drawn}");
        let exact = Point { interval: Some([5.0; 2]), ..at(0.0, 5.0) };
        assert_eq!(bar(Shape::Bars, &exact, &scale(), 50.0).lines().count(), 1);
    }
}
