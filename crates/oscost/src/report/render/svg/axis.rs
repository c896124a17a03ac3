//! Scales of the axes of a picture: where a value is, and which values have names.

use crate::report::view::document::chart::Axis;

/// The names on a linear axis at most.
const MAX_TICKS: f64 = 8.0;

/// A scale: from values to positions.
pub(in crate::report::render) struct Scale {
    is_logarithmic: bool,
    /// The values at both ends; on a logarithmic scale their powers of ten.
    ends: [f64; 2],
    /// The positions of both ends.
    positions: [f64; 2],
}

/// A name on an axis, and its position.
pub(in crate::report::render) struct TickText {
    pub(in crate::report::render) at: f64,
    pub(in crate::report::render) text: String,
}

impl Scale {
    /// The scale of an axis, over its ends or over all values.
    pub(in crate::report::render) fn of(
        axis: &Axis,
        values: Vec<f64>,
        positions: [f64; 2],
    ) -> Self {
        let is_logarithmic = axis.is_logarithmic;
        let usable = values.into_iter().filter(|it| it.is_finite());
        let usable = usable.filter(|it| !is_logarithmic || *it > 0.0);
        let scaled = usable.map(|it| if is_logarithmic { it.log10() } else { it });
        let found = scaled.fold(None, |ends: Option<[f64; 2]>, it| match ends {
            None => Some([it, it]),
            Some([low, high]) => Some([low.min(it), high.max(it)]),
        });
        let [low, high] = axis.ends.or_else(|| found.map(with_room)).unwrap_or([0.0, 1.0]);
        let ends = if high > low { [low, high] } else { [low - 0.5, low + 0.5] };
        Self { is_logarithmic, ends, positions }
    }

    /// The scale of rows, which are counted from above.
    pub(in crate::report::render) fn of_rows(top: f64, height: f64) -> Self {
        let first = top + height / 2.0;
        Self { is_logarithmic: false, ends: [0.0, 1.0], positions: [first, first + height] }
    }

    /// The position of a value; `None` if the scale cannot show it.
    pub(in crate::report::render) fn position(&self, value: f64) -> Option<f64> {
        let scaled = if self.is_logarithmic { value.log10() } else { value };
        let [low, high] = self.ends;
        let [from, to] = self.positions;
        let position = from + (to - from) * (scaled - low) / (high - low);
        position.is_finite().then_some(position)
    }

    /// The names on the axis: its own, or round numbers.
    pub(in crate::report::render) fn ticks(&self, axis: &Axis) -> Vec<TickText> {
        let chosen: Vec<(f64, String)> = match &axis.ticks[..] {
            [] => self.round().into_iter().map(|it| (it, format!("{it}{}", axis.suffix))).collect(),
            own => own.iter().map(|it| (it.value, it.name.clone())).collect(),
        };
        let [from, to] = self.positions;
        let inside = from.min(to) - 0.5..=from.max(to) + 0.5;
        let ticks = chosen.into_iter().filter_map(|(value, text)| {
            let at = self.position(value).filter(|at| inside.contains(at))?;
            Some(TickText { at, text })
        });
        ticks.collect()
    }

    /// Round numbers: powers of ten, or steps of 1, 2 or 5 times one.
    fn round(&self) -> Vec<f64> {
        let [low, high] = self.ends;
        if self.is_logarithmic {
            let powers = low.ceil() as i32..=high.floor() as i32;
            return powers.map(|power| 10f64.powi(power)).collect();
        }
        let raw = (high - low) / MAX_TICKS;
        let power = 10f64.powf(raw.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|it| it * power >= raw);
        let step = factor.unwrap_or(10.0) * power;
        let numbers = (low / step).ceil() as i64..=(high / step).floor() as i64;
        // Of a step such as 0.1 the product has digits that no reader wants.
        numbers.map(|it| format!("{:.9}", it as f64 * step).parse().unwrap_or(0.0)).collect()
    }
}

/// Room for a symbol at either end.
fn with_room([low, high]: [f64; 2]) -> [f64; 2] {
    let room = if high > low { 0.04 * (high - low) } else { 0.5 };
    [low - room, high + room]
}
