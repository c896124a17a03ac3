//! Clocks: their kinds, their calibration, and the conversion of ticks to nanoseconds.

use serde::{Deserialize, Serialize};

/// The source of ticks. It determines the unit: instructions are never converted to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// The processor's counter, read between fences (x86-64: TSC, aarch64: CNTVCT_EL0).
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC_RAW)` through the vDSO; a tick is a nanosecond.
    Vdso,
    /// The same clock by a forced system call; a tick is a nanosecond.
    Syscall,
    /// Instructions that an emulator counts; a tick is an instruction.
    Instructions,
}

impl ClockKind {
    /// The kind as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            ClockKind::Tsc => "tsc",
            ClockKind::Vdso => "vdso",
            ClockKind::Syscall => "syscall",
            ClockKind::Instructions => "instructions",
        }
    }
}

/// Whether a clock can be used on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockVerdict {
    /// The clock.
    pub kind: ClockKind,
    /// Why it cannot be used; null when it can.
    pub unusable_reason: Option<String>,
}

/// One moment read on two clocks: ticks, and CLOCK_MONOTONIC_RAW in nanoseconds.
///
/// The best of 50 readings: the one whose two tick reads are closest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSync {
    /// Middle of the two tick reads, in ticks.
    pub ticks: u64,
    /// CLOCK_MONOTONIC_RAW between them, in nanoseconds.
    pub raw_ns: u64,
    /// Distance of the two tick reads, in ticks; the error of the moment is at most half of this.
    pub width_ticks: u64,
}

impl ClockSync {
    /// The clock's rate from `self` to `later` in ticks per nanosecond; `None` unless both clocks
    /// advanced.
    pub fn ticks_per_ns(&self, later: &ClockSync) -> Option<f64> {
        let ns = later.raw_ns.checked_sub(self.raw_ns).filter(|&ns| ns > 0)?;
        let ticks = later.ticks.checked_sub(self.ticks).filter(|&ticks| ticks > 0)?;
        Some(ticks as f64 / ns as f64)
    }

    /// The bound on the relative error of [`Self::ticks_per_ns`].
    pub fn rate_error(&self, later: &ClockSync) -> f64 {
        let widths = (self.width_ticks + later.width_ticks) as f64 / 2.0;
        widths / (later.ticks.saturating_sub(self.ticks).max(1)) as f64
    }
}

/// The calibration of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// The clock.
    pub kind: ClockKind,
    /// Its rate, in ticks per nanosecond of CLOCK_MONOTONIC_RAW.
    pub ticks_per_ns: f64,
    /// q: the step of the clock, in ticks.
    pub quantum_ticks: f64,
    /// c_in: the ticks that an empty timed interval shows (a mean, the only unbiased estimate).
    pub inside_ticks: f64,
    /// c_tot: the cost of a START and STOP pair, in ticks.
    pub pair_ticks: f64,
}

/// A calibration, and a moment of it on both clocks: two of them give the rate between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncedCalibration {
    /// The calibration.
    pub calibration: Calibration,
    /// The moment.
    pub sync: ClockSync,
}

impl Calibration {
    /// Converts ticks to nanoseconds.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks / self.ticks_per_ns
    }
}
