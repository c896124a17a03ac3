//! Units, and which direction is better.

use serde::{Deserialize, Serialize};

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Nanoseconds for one op.
    #[serde(rename = "ns/op")]
    NsPerOp,
    /// Bytes in a second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Ops in a second.
    #[serde(rename = "op/s")]
    OpsPerSecond,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Frames in a second.
    #[serde(rename = "frame/s")]
    FramesPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Instructions for one op.
    #[serde(rename = "insn/op")]
    InstructionsPerOp,
    /// Ticks of the processor's counter for one cycle of its core.
    #[serde(rename = "tick/cycle")]
    TicksPerCycle,
    /// Times for one op: faults, switches.
    #[serde(rename = "1/op")]
    TimesPerOp,
    /// 1 where something was seen to be so, 0 where it was seen not to be.
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
            Unit::TicksPerCycle => "tick/cycle",
            Unit::TimesPerOp => "1/op",
            Unit::YesOrNo => "yes/no",
        }
    }

    /// Whether a smaller or a larger figure is the better one.
    pub fn better(self) -> Better {
        match self {
            // The counter's rate is fixed: fewer ticks for a cycle are a faster core.
            Unit::TicksPerCycle => Better::Lower,
            Unit::NsPerOp
            | Unit::Seconds
            | Unit::Bytes
            | Unit::InstructionsPerOp
            | Unit::TimesPerOp => Better::Lower,
            // What is asked is whether a complaint holds.
            Unit::YesOrNo => Better::Lower,
            Unit::BytesPerSecond | Unit::OpsPerSecond | Unit::FramesPerSecond => Better::Higher,
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
