//! The constants of pH's rules, with the values that were published.

use std::ops::RangeInclusive;

/// The constants of pH's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// How many calls are looked at together: the last one, and those before it.
    pub window: u32,
    /// A profile freezes when it was trained with this many times the calls that it had been
    /// trained with at its last new pair, over [`Constants::normal_factor_den`].
    pub normal_factor: u32,
    /// See [`Constants::normal_factor`].
    pub normal_factor_den: u32,
    /// Calls without a new pair before a profile may freeze.
    pub mod_min: u32,
    /// Calls up to its last new pair before a profile may freeze.
    pub normal_min: u32,
    /// How long a profile must have been frozen before it is taken for normal, in seconds.
    pub normal_wait_s: u32,
    /// Anomalies of an executable after which it is trained again.
    pub anomaly_limit: u32,
    /// Anomalies among a process's last calls above which what it did is not learnt.
    pub tolerise_limit: u32,
    /// How many last calls of a process those are.
    pub locality_frame: u32,
    /// How long a process with anomalies is delayed: this, times two to the power of the anomalies
    /// among its last calls, in hundredths of a second (a jiffy of the study's kernel). 0: never.
    pub delay_factor: u32,
}

impl Default for Constants {
    /// As published.
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

/// One of the constants, as it is told, written and read.
#[derive(Clone)]
pub struct Constant {
    /// Its name: that of its option.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// What it means, in some words.
    pub means: &'static str,
    /// What it may be.
    pub within: RangeInclusive<u32>,
    /// Reads it.
    pub get: fn(&Constants) -> u32,
    /// Writes it.
    pub set: fn(&mut Constants, u32),
}

impl Constant {
    /// The value as it is typed: a time has its unit.
    pub fn text(&self, value: u32) -> String {
        if self.unit == SECONDS { format!("{value}{SECONDS}") } else { value.to_string() }
    }
}

/// The unit of times.
pub const SECONDS: &str = "s";

/// Far above what means anything, and a sum of two still fits.
const MANY: u32 = 1_000_000_000;

/// All constants, in the order in which they are written. The bits of a byte bound the window, and
/// the ring of the monitor the locality frame.
pub const ALL: [Constant; 10] = [
    Constant {
        name: "window",
        unit: "calls",
        means: "calls looked at together: a call and those before it",
        within: 2..=9,
        get: |it| it.window,
        set: |it, to| it.window = to,
    },
    Constant {
        name: "normal-factor",
        unit: "",
        means: "freeze when trained with this, over the next, x the calls up to the last new pair",
        within: 1..=1_000_000,
        get: |it| it.normal_factor,
        set: |it, to| it.normal_factor = to,
    },
    Constant {
        name: "normal-factor-den",
        unit: "",
        means: "what the normal factor is divided by",
        within: 1..=1_000_000,
        get: |it| it.normal_factor_den,
        set: |it, to| it.normal_factor_den = to,
    },
    Constant {
        name: "mod-min",
        unit: "calls",
        means: "calls without a new pair before a profile freezes",
        within: 0..=MANY,
        get: |it| it.mod_min,
        set: |it, to| it.mod_min = to,
    },
    Constant {
        name: "normal-min",
        unit: "calls",
        means: "calls up to the last new pair before a profile freezes",
        within: 0..=MANY,
        get: |it| it.normal_min,
        set: |it, to| it.normal_min = to,
    },
    Constant {
        name: "normal-wait",
        unit: SECONDS,
        means: "time from freezing to normal, as 7d, 10m or 0s",
        within: 0..=MANY,
        get: |it| it.normal_wait_s,
        set: |it, to| it.normal_wait_s = to,
    },
    Constant {
        name: "anomaly-limit",
        unit: "anomalies",
        means: "anomalies of an executable, after which it is trained again",
        within: 0..=MANY,
        get: |it| it.anomaly_limit,
        set: |it, to| it.anomaly_limit = to,
    },
    Constant {
        name: "tolerise-limit",
        unit: "anomalies",
        means: "anomalies among a process's last calls, above which nothing is learnt",
        within: 0..=MANY,
        get: |it| it.tolerise_limit,
        set: |it, to| it.tolerise_limit = to,
    },
    Constant {
        name: "locality-frame",
        unit: "calls",
        means: "how many calls of a process those last ones are",
        within: 1..=128,
        get: |it| it.locality_frame,
        set: |it, to| it.locality_frame = to,
    },
    Constant {
        name: "delay-factor",
        unit: "1/100 s",
        means: "delay a process by this x 10 ms x 2^(anomalies among its last calls); 0: never",
        within: 0..=1_000,
        get: |it| it.delay_factor,
        set: |it, to| it.delay_factor = to,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_row_that_reads_and_writes_it_alone() {
        let published = Constants::default();
        for (at, row) in ALL.iter().enumerate() {
            assert!(row.within.contains(&(row.get)(&published)), "{}", row.name);
            let mut changed = published;
            (row.set)(&mut changed, 77_777);
            assert_eq!((row.get)(&changed), 77_777);
            for (other, its) in ALL.iter().enumerate().filter(|(other, _)| *other != at) {
                assert_eq!((its.get)(&changed), (its.get)(&published), "{at} {other}");
            }
        }
    }
}
