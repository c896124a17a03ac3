//! The symbols of points.

use super::sheet::coordinate;
use crate::report::view::document::chart::Symbol;

/// A symbol around a point.
pub(in crate::report::render) fn symbol(kind: Symbol, [x, y]: [f64; 2]) -> String {
    let path = |fill: &str, corners: &[[f64; 2]]| {
        let corners: Vec<String> = corners
            .iter()
            .map(|[dx, dy]| format!("{} {}", coordinate(x + dx), coordinate(y + dy)))
            .collect();
        format!("<path fill=\"{fill}\" d=\"M{}Z\"/>\n", corners.join("L"))
    };
    let disc = |fill: &str| {
        format!(
            "<circle fill=\"{fill}\" cx=\"{}\" cy=\"{}\" r=\"3.8\"/>\n",
            coordinate(x),
            coordinate(y)
        )
    };
    const DIAMOND: [[f64; 2]; 4] = [[0.0, -5.0], [5.0, 0.0], [0.0, 5.0], [-5.0, 0.0]];
    const SQUARE: [[f64; 2]; 4] = [[-3.6, -3.6], [3.6, -3.6], [3.6, 3.6], [-3.6, 3.6]];
    const LEFT: [[f64; 2]; 3] = [[-4.6, 0.0], [3.6, -4.4], [3.6, 4.4]];
    const FULL: &str = "currentColor";
    match kind {
        Symbol::Circle => disc(FULL),
        Symbol::OpenCircle => disc("none"),
        Symbol::Diamond => path(FULL, &DIAMOND),
        Symbol::OpenDiamond => path("none", &DIAMOND),
        Symbol::Square => path(FULL, &SQUARE),
        Symbol::OpenSquare => path("none", &SQUARE),
        Symbol::TriangleLeft => path(FULL, &LEFT),
        Symbol::OpenTriangleLeft => path("none", &LEFT),
        Symbol::TriangleUp => path(FULL, &[[0.0, -4.6], [4.4, 3.6], [-4.4, 3.6]]),
        Symbol::TriangleDown => path(FULL, &[[0.0, 4.6], [4.4, -3.6], [-4.4, -3.6]]),
        Symbol::TriangleRight => path(FULL, &[[4.6, 0.0], [-3.6, -4.4], [-3.6, 4.4]]),
        Symbol::Cross => {
            let [left, right] = [x - 4.0, x + 4.0].map(coordinate);
            let [top, bottom] = [y - 4.0, y + 4.0].map(coordinate);
            format!(
                "<path stroke-width=\"2\" d=\"M{left} {top}L{right} {bottom}M{left} \
                 {bottom}L{right} {top}\"/>\n"
            )
        }
        Symbol::Stroke => {
            let [top, bottom] = [y - 6.0, y + 6.0].map(coordinate);
            format!("<path stroke-width=\"2\" d=\"M{x} {top}L{x} {bottom}\"/>\n", x = coordinate(x))
        }
    }
}
