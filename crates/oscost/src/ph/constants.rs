//! The constants of pH's rules, with the values that were published.

use std::ops::RangeInclusive;

/// The constants of pH's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The number of calls in the window: a call, and those before it that it is paired with.
    pub window: u32,
    /// A profile freezes after this many times the calls up to its last new pair, divided by
    /// [`Constants::normal_factor_den`].
    pub normal_factor: u32,
    /// The divisor of [`Constants::normal_factor`].
    pub normal_factor_den: u32,
    /// The minimum number of calls without a new pair before a profile freezes.
    pub mod_min: u32,
    /// The minimum number of calls up to the last new pair before a profile freezes.
    pub normal_min: u32,
    /// The time from freezing to normal, in seconds.
    pub normal_wait_s: u32,
    /// The number of anomalies of an executable above which it is trained again.
    pub anomaly_limit: u32,
    /// The number of anomalies in a task's locality frame above which what was learned since the
    /// profile became normal is forgotten.
    pub tolerise_limit: u32,
    /// The size of the locality frame: a task's last calls.
    pub locality_frame: u32,
    /// The delay of a process with anomalies, in hundredths of a second (a jiffy of the study's
    /// kernel): this times two to the power of the anomalies in its locality frame. 0: no delay.
    pub delay_factor: u32,
}

impl Default for Constants {
    /// The published values.
    fn default() -> Self {
        Self {
            window: 9,
            normal_factor: 128,
            normal_factor_den: 32,
            mod_min: 500,
            normal_min: 5,
            normal_wait_s: 7 * 24 * 60 * 60,
            anomaly_limit: 30,
            tolerise_limit: 12,
            locality_frame: 128,
            delay_factor: 0,
        }
    }
}

/// A constant, as an option and in files.
#[derive(Clone)]
pub struct Constant {
    /// Its name, which is also that of its option.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// What it means, in one line.
    pub description: &'static str,
    /// Its valid values.
    pub range: RangeInclusive<u32>,
    /// Returns its value.
    pub get: fn(&Constants) -> u32,
    /// Sets its value.
    pub set: fn(&mut Constants, u32),
}

impl Constant {
    /// A value as it is typed on the command line: a time with its unit.
    pub fn text(&self, value: u32) -> String {
        if self.unit == SECONDS { format!("{value}{SECONDS}") } else { value.to_string() }
    }
}

/// The unit of times.
pub const SECONDS: &str = "s";

/// Larger than any useful value; the sum of two still fits.
const MAX_COUNT: u32 = 1_000_000_000;

/// All constants, in the order in which they are written. The bits of a byte limit the window, and
/// those of `struct task` of the BPF programs the locality frame.
pub const ALL: [Constant; 10] = [
    Constant {
        name: "window",
        unit: "calls",
        description: "calls examined together: a call and those before it",
        range: 2..=9,
        get: |constants| constants.window,
        set: |constants, value| constants.window = value,
    },
    Constant {
        name: "normal-factor",
        unit: "",
        description: "freeze after this / normal-factor-den x the calls up to the last new pair",
        range: 1..=1_000_000,
        get: |constants| constants.normal_factor,
        set: |constants, value| constants.normal_factor = value,
    },
    Constant {
        name: "normal-factor-den",
        unit: "",
        description: "the divisor of the normal factor",
        range: 1..=1_000_000,
        get: |constants| constants.normal_factor_den,
        set: |constants, value| constants.normal_factor_den = value,
    },
    Constant {
        name: "mod-min",
        unit: "calls",
        description: "calls without a new pair before a profile freezes",
        range: 0..=MAX_COUNT,
        get: |constants| constants.mod_min,
        set: |constants, value| constants.mod_min = value,
    },
    Constant {
        name: "normal-min",
        unit: "calls",
        description: "calls up to the last new pair before a profile freezes",
        range: 0..=MAX_COUNT,
        get: |constants| constants.normal_min,
        set: |constants, value| constants.normal_min = value,
    },
    Constant {
        name: "normal-wait",
        unit: SECONDS,
        description: "time from freezing to normal, such as 7d, 10m or 0s",
        range: 0..=MAX_COUNT,
        get: |constants| constants.normal_wait_s,
        set: |constants, value| constants.normal_wait_s = value,
    },
    Constant {
        name: "anomaly-limit",
        unit: "anomalies",
        description: "anomalies of an executable above which it is trained again",
        range: 0..=MAX_COUNT,
        get: |constants| constants.anomaly_limit,
        set: |constants, value| constants.anomaly_limit = value,
    },
    Constant {
        name: "tolerise-limit",
        unit: "anomalies",
        description: "anomalies in a locality frame above which nothing is learned",
        range: 0..=MAX_COUNT,
        get: |constants| constants.tolerise_limit,
        set: |constants, value| constants.tolerise_limit = value,
    },
    Constant {
        name: "locality-frame",
        unit: "calls",
        description: "the last calls of a task whose anomalies are counted",
        range: 1..=128,
        get: |constants| constants.locality_frame,
        set: |constants, value| constants.locality_frame = value,
    },
    Constant {
        name: "delay-factor",
        unit: "1/100 s",
        description: "delay a process by this x 10 ms x 2^(anomalies in its frame); 0: no delay",
        range: 0..=1_000,
        get: |constants| constants.delay_factor,
        set: |constants, value| constants.delay_factor = value,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_read_and_written_without_the_others() {
        let published = Constants::default();
        for constant in &ALL {
            assert!(constant.range.contains(&(constant.get)(&published)), "{}", constant.name);
            let mut changed = published;
            (constant.set)(&mut changed, 77_777);
            assert_eq!((constant.get)(&changed), 77_777);
            for other in ALL.iter().filter(|other| other.name != constant.name) {
                let (before, after) = ((other.get)(&published), (other.get)(&changed));
                assert_eq!(before, after, "{} {}", constant.name, other.name);
            }
        }
    }
}
