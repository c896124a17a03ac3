//! Figures as people read them.

use oscost_model::unit::Unit;

/// A unit's larger and smaller kin: factor and name, ascending.
fn scale(unit: Unit) -> &'static [(f64, &'static str)] {
    match unit {
        Unit::NsPerOp => &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")],
        Unit::Seconds => &[(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")],
        Unit::BytesPerSecond => &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
        Unit::OpsPerSecond => &[(1.0, "op/s"), (1e3, "kop/s"), (1e6, "Mop/s")],
        Unit::FramesPerSecond => &[(1.0, "frame/s")],
        Unit::InstructionsPerOp => &[(1.0, "insn")],
        Unit::TicksPerCycle => &[(1.0, "tick")],
    }
}

/// How a row's figures are written: all in one unit, with as many decimals as its size wants.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    factor: f64,
    name: &'static str,
    decimals: usize,
}

impl Style {
    /// The style in which `value` has four digits that count.
    pub fn of(value: f64, unit: Unit) -> Self {
        let scale = scale(unit);
        let fits = |&&(factor, _): &&(f64, &str)| value.abs() >= factor;
        let (factor, name) = scale.iter().rev().find(fits).copied().unwrap_or(scale[0]);
        let decimals = match value.abs() / factor {
            shown if shown >= 1_000.0 => 0,
            shown if shown >= 100.0 => 1,
            shown if shown >= 10.0 => 2,
            shown if shown >= 0.1 || shown == 0.0 => 3,
            // Below a tenth there is one digit that counts: such figures are bounds.
            tiny => (-tiny.log10().floor() as i32).clamp(3, 9) as usize,
        };
        Self { factor, name, decimals }
    }

    /// A figure without its unit.
    pub fn number(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.factor)
    }

    /// A figure with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.name)
    }
}

/// A share in per cent, with the digits that count.
pub fn per_cent(pct: f64) -> String {
    if pct.abs() < 9.95 { format!("{pct:.1} %") } else { format!("{pct:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_four_digits_and_a_unit_that_fits() {
        let shown = |value: f64| Style::of(value, Unit::NsPerOp).with_unit(value);
        assert_eq!(shown(127.5104), "127.5 ns");
        assert_eq!(shown(2_105.77), "2.106 us");
        assert_eq!(shown(0.000_061_4), "0.00006 ns");
        assert_eq!(shown(0.0), "0.000 ns");
        assert_eq!(shown(-0.25), "-0.250 ns");
        assert_eq!(shown(23.1658), "23.17 ns");
        assert_eq!(shown(3.2e9), "3.200 s");
        assert_eq!(Style::of(2.5e9, Unit::BytesPerSecond).with_unit(2.5e9), "2.500 GB/s");
    }

    #[test]
    fn bounds_are_written_like_the_figure_that_they_belong_to() {
        let style = Style::of(998.0, Unit::NsPerOp);
        assert_eq!(style.number(1_002.4), "1002.4");
    }
}
