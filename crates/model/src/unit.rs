//! Units, and which direction is better.

use serde::{Deserialize, Serialize};

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Nanoseconds per op.
    #[serde(rename = "ns/op")]
    NsPerOp,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Ops per second.
    #[serde(rename = "op/s")]
    OpsPerSecond,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Frames per second.
    #[serde(rename = "frame/s")]
    FramesPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Instructions per op.
    #[serde(rename = "insn/op")]
    InstructionsPerOp,
    /// Core cycles per op.
    #[serde(rename = "cycle/op")]
    CyclesPerOp,
    /// Core cycles per instruction.
    #[serde(rename = "cycle/insn")]
    CyclesPerInstruction,
    /// Core cycles per nanosecond.
    #[serde(rename = "GHz")]
    Gigahertz,
    /// Ticks of the processor's time stamp counter per core cycle.
    #[serde(rename = "tick/cycle")]
    TicksPerCycle,
    /// Events per op: faults, switches.
    #[serde(rename = "1/op")]
    TimesPerOp,
    /// 1 if an observed property holds, 0 if it does not.
    #[serde(rename = "yes/no")]
    YesOrNo,
}

impl Unit {
    /// The unit as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            Unit::NsPerOp => "ns/op",
            Unit::BytesPerSecond => "B/s",
            Unit::OpsPerSecond => "op/s",
            Unit::Seconds => "s",
            Unit::FramesPerSecond => "frame/s",
            Unit::Bytes => "B",
            Unit::InstructionsPerOp => "insn/op",
            Unit::CyclesPerOp => "cycle/op",
            Unit::CyclesPerInstruction => "cycle/insn",
            Unit::Gigahertz => "GHz",
            Unit::TicksPerCycle => "tick/cycle",
            Unit::TimesPerOp => "1/op",
            Unit::YesOrNo => "yes/no",
        }
    }

    /// Whether a smaller or a larger figure is better.
    pub fn better(self) -> Better {
        match self {
            // The counter's rate is fixed: fewer ticks per cycle mean a faster core.
            Unit::TicksPerCycle => Better::Lower,
            Unit::NsPerOp
            | Unit::Seconds
            | Unit::Bytes
            | Unit::InstructionsPerOp
            | Unit::CyclesPerOp
            | Unit::CyclesPerInstruction
            | Unit::TimesPerOp => Better::Lower,
            // These benchmarks check whether a reported problem exists.
            Unit::YesOrNo => Better::Lower,
            Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond | Unit::Gigahertz => {
                Better::Higher
            }
        }
    }
}

/// The direction in which a figure gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// A smaller figure is better.
    Lower,
    /// A larger figure is better.
    Higher,
}
