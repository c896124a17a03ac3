//! Numbers in the sentences of curves.

/// Bytes as they are typed on the command line, in three digits if not whole.
pub(super) fn bytes(value: f64) -> String {
    let scaled = |factor: f64, unit: &str| {
        let shown = value / factor;
        match shown {
            _ if shown.fract() == 0.0 => format!("{shown:.0}{unit}"),
            _ if shown >= 99.95 => format!("{shown:.0}{unit}"),
            _ if shown >= 9.995 => format!("{shown:.1}{unit}"),
            _ => format!("{shown:.2}{unit}"),
        }
    };
    match value {
        _ if value >= f64::from(1 << 30) => scaled(f64::from(1 << 30), "Gi"),
        _ if value >= f64::from(1 << 20) => scaled(f64::from(1 << 20), "Mi"),
        _ if value >= 1_024.0 => scaled(1_024.0, "Ki"),
        _ => format!("{value:.0}"),
    }
}

/// A number of other things.
pub(super) fn count(value: f64) -> String {
    format!("{value:.0}")
}

/// A time in three digits with a fitting unit; if no unit fits, with an exponent.
pub(crate) fn time(ns: f64) -> String {
    if ns < 1e-4 {
        return format!("{ns:.1e} ns");
    }
    let TimeScale { ns: scale_ns, name } = time_scale(ns);
    format!("{} {name}", three_digits(ns / scale_ns))
}

/// A unit of time.
pub(super) struct TimeScale {
    /// Its length.
    pub(super) ns: f64,
    /// Its name.
    pub(super) name: &'static str,
}

/// The unit that fits a time.
pub(super) fn time_scale(ns: f64) -> TimeScale {
    let (ns, name) = match ns {
        _ if ns >= 1e9 => (1e9, "s"),
        _ if ns >= 1e6 => (1e6, "ms"),
        _ if ns >= 1e3 => (1e3, "us"),
        _ if ns >= 0.1 => (1.0, "ns"),
        _ => (1e-3, "ps"),
    };
    TimeScale { ns, name }
}

/// A number in three digits.
pub(super) fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        large if large >= 99.95 => 0,
        middling if middling >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_three_digits() {
        let texts = [4.0, 1_024.0, 77_935.0, 102_400.0, 3e6, 2_147_483_648.0].map(bytes);
        assert_eq!(texts, ["4", "1Ki", "76.1Ki", "100Ki", "2.86Mi", "2Gi"]);
        let texts = [0.000_002_9, 0.021_8, 0.2, 4_476.0, 3.2e7, 1e9].map(time);
        assert_eq!(texts, ["2.9e-6 ns", "21.8 ps", "0.20 ns", "4.48 us", "32.0 ms", "1.00 s"]);
    }
}
