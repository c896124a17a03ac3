//! Figures as people read them.

use oscost_model::unit::Unit;

/// A unit and its multiples: factor and name, ascending.
fn scale(unit: Unit) -> &'static [(f64, &'static str)] {
    match unit {
        Unit::NsPerOp => &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")],
        Unit::Seconds => &[(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")],
        Unit::BytesPerSecond => &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
        Unit::OpsPerSecond => &[(1.0, "op/s"), (1e3, "kop/s"), (1e6, "Mop/s")],
        Unit::FramesPerSecond => &[(1.0, "frame/s")],
        Unit::Bytes => &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")],
        Unit::InstructionsPerOp => &[(1.0, "insn")],
        Unit::CyclesPerOp => &[(1.0, "cycle")],
        Unit::CyclesPerInstruction => &[(1.0, "cycle/insn")],
        Unit::Gigahertz => &[(1.0, "GHz")],
        Unit::TicksPerCycle => &[(1.0, "tick")],
        Unit::TimesPerOp => &[(1.0, "times")],
        Unit::YesOrNo => &[(1.0, "")],
    }
}

/// How the figures of a row are written: in one unit, and with the same number of decimals.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    factor: f64,
    name: &'static str,
    decimals: usize,
    /// Whether 1 and 0 are written as words.
    words: bool,
    /// Whether every digit is significant.
    is_count: bool,
}

impl Style {
    /// The style in which `value` has four significant digits.
    pub fn of(value: f64, unit: Unit) -> Self {
        let scale = match unit {
            // A figure below a tenth of a nanosecond is a bound; picoseconds are easier to read.
            Unit::NsPerOp if value != 0.0 && value.abs() < 0.1 => &[(1e-3, "ps")],
            unit => scale(unit),
        };
        let fits = |&&(factor, _): &&(f64, &str)| value.abs() >= factor;
        let (factor, name) = scale.iter().rev().find(fits).copied().unwrap_or(scale[0]);
        let decimals = match value.abs() / factor {
            shown if shown >= 1_000.0 => 0,
            shown if shown >= 100.0 => 1,
            shown if shown >= 10.0 => 2,
            shown if shown >= 0.1 || shown == 0.0 => 3,
            // Below a tenth one digit is significant: such figures are bounds.
            tiny => (-tiny.log10().floor() as i32).clamp(3, 9) as usize,
        };
        let (words, is_count) = (unit == Unit::YesOrNo, unit == Unit::InstructionsPerOp);
        Self { factor, name, decimals, words, is_count }
    }

    /// A figure in the style's unit.
    pub fn scale(&self, value: f64) -> f64 {
        value / self.factor
    }

    /// The style's unit.
    pub fn unit(&self) -> &'static str {
        self.name
    }

    /// A figure without its unit.
    pub fn number(&self, value: f64) -> String {
        match value {
            1.0 if self.words => return "yes".to_owned(),
            0.0 if self.words => return "no".to_owned(),
            _ if self.is_count => return all_digits(value),
            _ => {}
        }
        let text = format!("{:.*}", self.decimals, value / self.factor);
        without_sign_of_zero(text)
    }

    /// A figure without its unit in three digits: for context next to other figures.
    pub fn rough_number(&self, value: f64) -> String {
        if self.words || self.is_count {
            return self.number(value);
        }
        // Zero has no sign.
        let shown = value / self.factor + 0.0;
        let decimals = match shown.abs() {
            0.0 => 0,
            large if large >= 99.95 => 0,
            medium if medium >= 9.995 => 1,
            _ => 2,
        };
        format!("{shown:.decimals$}")
    }

    /// A figure with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        format!("{} {}", self.number(value), self.name).trim_end().to_owned()
    }
}

/// A count: an integer without decimals, any other with up to four of them or two significant
/// digits; its thousands apart.
fn all_digits(count: f64) -> String {
    let decimals = match count.abs() {
        tiny if tiny > 0.0 && tiny < 0.001 => (1.0 - tiny.log10().floor()).min(300.0) as usize,
        _ => 4,
    };
    let text = format!("{count:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { thousands_apart(text) }
}

/// A figure with its unit in three digits, a count in all digits: for context next to other figures.
pub fn rough(value: f64, unit: Unit) -> String {
    let style = Style::of(value, unit);
    format!("{} {}", style.rough_number(value), style.name).trim_end().to_owned()
}

/// The same with its sign, of a difference.
pub fn rough_added(value: f64, unit: Unit) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", rough(value, unit))
}

/// An interval in three digits, as the rough figure beside it, and in its unit. Where that figure
/// is zero, or an end has more than four digits in its unit, it is in the unit of its larger end,
/// which stands with it.
pub fn interval(value: f64, [low, high]: [f64; 2], unit: Unit) -> String {
    let own = Style::of(value, unit);
    let largest = low.abs().max(high.abs());
    let has_other_unit = value == 0.0 || own.scale(largest) >= 1e4;
    let style = if has_other_unit && largest.is_finite() { Style::of(largest, unit) } else { own };
    let end = |end: f64| thousands_apart(&without_sign_of_zero(style.rough_number(end)));
    let [low, high] = [low, high].map(end);
    match style.name == own.name {
        true => format!("[{low} .. {high}]"),
        false => format!("[{low} .. {high} {}]", style.name),
    }
}

/// A round figure with its unit, without trailing zeros.
pub fn short(value: f64, unit: Unit) -> String {
    let Style { factor, name, .. } = Style::of(value * 1.000_001, unit);
    let digits = format!("{:.3}", value / factor);
    format!("{} {name}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Half of an interval in the unit of its value, with at least one significant digit.
pub fn half(half: f64, value: f64, unit: Unit) -> String {
    let style = Style::of(value, unit);
    if style.is_count {
        return style.with_unit(half);
    }
    let Style { factor, name, decimals, .. } = style;
    let shown = half / factor;
    let first = -shown.abs().log10().floor();
    let needed = if first.is_finite() { first.clamp(0.0, 9.0) as usize } else { 0 };
    format!("{shown:.*} {name}", needed.max(decimals.saturating_sub(1)))
}

/// A ratio in two significant digits, or in three before the decimal point; from a million on in
/// millions, from a billion on in billions.
pub fn times(ratio: f64) -> String {
    match ratio.abs() {
        huge if huge >= 999.5e9 => format!("{ratio:.0e}"),
        billions if billions >= 999.5e6 => format!("{} billion", times(ratio / 1e9)),
        millions if millions >= 999.5e3 => format!("{} million", times(ratio / 1e6)),
        thousands if thousands >= 999.5 => {
            let step = 10f64.powi(thousands.log10().floor() as i32 - 2);
            format!("{:.0}", (ratio / step).round() * step)
        }
        large if large >= 9.95 => format!("{ratio:.0}"),
        medium if medium >= 0.995 => format!("{ratio:.1}"),
        small if small >= 0.0995 || small == 0.0 => format!("{ratio:.2}"),
        tiny if tiny >= 0.000_95 => format!("{ratio:.3}"),
        _ => format!("{ratio:.0e}"),
    }
}

/// A number, in units of 1,024 where it is a multiple of that.
pub fn binary(value: u64) -> String {
    match value {
        large if large >= 1 << 20 && large.is_multiple_of(1 << 20) => format!("{}Mi", large >> 20),
        medium if medium >= 1 << 10 && medium.is_multiple_of(1 << 10) => {
            format!("{}Ki", medium >> 10)
        }
        small => small.to_string(),
    }
}

/// A count per op: integers without decimals.
pub fn per_op(number: f64) -> String {
    if (number - number.round()).abs() < 0.005 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    }
}

/// A number of things, with its thousands apart.
pub fn with_thousands(number: f64) -> String {
    thousands_apart(&per_op(number))
}

/// How often something happened, in whole numbers from ten on: what is not whole is a share of them.
pub fn occurrences(times: f64) -> String {
    with_thousands(if times.abs() >= 10.0 { times.round() } else { times })
}

/// A formatted number with its thousands apart; a sign stays before it.
pub fn thousands_apart(text: &str) -> String {
    let digits = text.trim_start_matches(['-', '+']);
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = text[..text.len() - digits.len()].to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// A share in per cent, with its significant digits. Above tenfold the whole is too small for the
/// digits of the share to mean anything.
pub fn per_cent(pct: f64) -> String {
    if pct >= 999.5 {
        ">999 %".to_owned()
    } else if pct.abs() < 9.95 {
        format!("{pct:.1} %")
    } else {
        format!("{pct:.0} %")
    }
}

/// A probability in three decimals, or that it is smaller.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// A count as a sentence quotes it: a large one in four digits, a small one in three.
pub fn rough_count(count: f64) -> String {
    rounded_count(count, f64::round)
}

/// The ends of a range of counts in as many digits, rounded outwards.
pub fn rough_range([low, high]: [f64; 2]) -> [String; 2] {
    [rounded_count(low, f64::floor), rounded_count(high, f64::ceil)]
}

fn rounded_count(count: f64, to_integer: fn(f64) -> f64) -> String {
    // Zero has no sign.
    let count = count + 0.0;
    let power = count.abs().log10().floor();
    if !power.is_finite() {
        return with_thousands(count);
    }
    match power as i32 {
        large @ 4.. => {
            let step = 10f64.powi(large - 3);
            with_thousands(to_integer(count / step) * step)
        }
        2..=3 => with_thousands(to_integer(count)),
        small => {
            let decimals = (2 - small).clamp(0, 9);
            let steps = 10f64.powi(decimals);
            let text = format!("{:.*}", decimals as usize, to_integer(count * steps) / steps);
            let text = without_sign_of_zero(text);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// The quantity that a unit measures.
pub fn quantity(unit: Unit) -> &'static str {
    match unit {
        Unit::NsPerOp => "time per op",
        Unit::Seconds => "time",
        Unit::BytesPerSecond => "bytes per second",
        Unit::OpsPerSecond => "ops per second",
        Unit::FramesPerSecond => "frames per second",
        Unit::Bytes => "bytes",
        Unit::InstructionsPerOp => "instructions per op",
        Unit::CyclesPerOp => "cycles per op",
        Unit::CyclesPerInstruction => "cycles per instruction",
        Unit::Gigahertz => "cycles per nanosecond",
        Unit::TicksPerCycle => "ticks per cycle",
        Unit::TimesPerOp => "times per op",
        Unit::YesOrNo => "yes (1) or no (0)",
    }
}

/// Significant digits of a figure where none was published.
pub const DIGITS: i32 = 4;
/// The minimum number of significant digits of a figure.
pub const MIN_DIGITS: i32 = 2;

/// A number with this many decimals, or more where two significant digits need more: a cost that fell
/// to a hundredth is not shown as zero.
pub fn at_least(value: f64, decimals: usize) -> String {
    format!("{value:.*}", decimals.max(decimals_for(value, MIN_DIGITS)))
}

/// How many decimals give a number this many significant digits.
pub fn decimals_for(value: f64, digits: i32) -> usize {
    const MAX_DECIMALS: f64 = 9.0;
    let size = value.abs().log10().floor();
    if size.is_finite() {
        (f64::from(digits - 1) - size).clamp(0.0, MAX_DECIMALS) as usize
    } else {
        0
    }
}

/// A difference; zero has no sign.
pub fn signed(value: f64, decimals: usize) -> String {
    without_sign_of_zero(format!("{value:.decimals$}"))
}

/// A formatted number; what is rounded to zero has no sign.
fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// A difference with its unit and its sign.
pub fn added(value: f64, unit: Unit) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", Style::of(value, unit).with_unit(value))
}

#[cfg(test)]
mod tests;
