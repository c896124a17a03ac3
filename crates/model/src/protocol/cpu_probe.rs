//! How busy a CPU is, as a spin on it shows.

use serde::{Deserialize, Serialize};

/// The result of spinning on one CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuProbe {
    /// The CPU.
    pub cpu: u32,
    /// How long the spin took, in nanoseconds.
    pub spin_ns: u64,
    /// Gaps over 1 us.
    pub gaps_over_1us: u64,
    /// Gaps over 5 us: interruptions.
    pub gaps_over_5us: u64,
    /// Time in gaps over 1 us, in nanoseconds.
    pub lost_ns: u64,
    /// The longest gap, in nanoseconds.
    pub max_gap_ns: u64,
    /// Time ready but not running, in nanoseconds.
    pub run_delay_ns: Option<u64>,
    /// Estimated rate of the core in cycles per nanosecond, from a chain of multiplications.
    pub core_cycles_per_ns: Option<f64>,
}

impl CpuProbe {
    /// Interruptions in a second.
    pub fn interruptions_per_s(&self) -> f64 {
        self.gaps_over_5us as f64 / (self.spin_ns.max(1) as f64 / 1e9)
    }

    /// The share of the spin that was lost in gaps, in per cent.
    pub fn lost_pct(&self) -> f64 {
        100.0 * self.lost_ns as f64 / self.spin_ns.max(1) as f64
    }
}
