//! Units of published tables, and how measured figures are converted to them.

use oscost_model::record::Record;
use oscost_model::unit::Unit;
use serde::Deserialize;

/// A unit of published tables, as study files write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TableUnit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Cycles of the core; here computed from an estimate of its frequency.
    #[serde(rename = "cycle")]
    Cycles,
    /// Ticks of the time stamp counter, which differ from cycles.
    #[serde(rename = "tick")]
    Ticks,
    /// Millions of bytes per second.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// Frames per second.
    #[serde(rename = "frame/s")]
    FramesPerSecond,
    /// Ops per second.
    #[serde(rename = "op/s")]
    OpsPerSecond,
    /// A ratio.
    #[serde(rename = "x")]
    Times,
    /// Per cent.
    #[serde(rename = "%")]
    PerCent,
    /// System calls.
    #[serde(rename = "calls")]
    Calls,
    /// Instructions per op, as an emulated machine counts them.
    #[serde(rename = "insn")]
    Instructions,
}

/// The kind of a figure: only figures of the same kind can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A time, in nanoseconds.
    Time,
    /// A rate, in bytes per second.
    Rate,
    /// Frames per second.
    Frames,
    /// Ops per second.
    Ops,
    /// Instructions per op.
    Instructions,
    /// A number without a unit.
    Plain,
}

/// The rates of a machine's clocks, if they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockRates {
    /// The frequency of the core: cycles per nanosecond.
    pub core_ghz: Option<f64>,
    /// Ticks of the counter per nanosecond.
    pub ticks_per_ns: Option<f64>,
}

impl ClockRates {
    /// The rates of the machine of a run: the frequency of the core to which its workers were
    /// pinned is an estimate by a chain of multiplications before the run.
    pub fn of(record: &Record) -> Self {
        let machine = record.machines.first();
        let cpu = record.results.iter().find_map(|row| row.target.cpu);
        let probes = record.conditions.first().map(|it| &it.probe[..]).unwrap_or_default();
        let chosen = probes.iter().find(|probe| Some(probe.cpu) == cpu);
        let clock = machine.and_then(|machine| machine.clock.as_ref());
        Self {
            core_ghz: chosen.and_then(|probe| probe.core_cycles_per_ns),
            ticks_per_ns: clock.filter(|clock| clock.source == "tsc").map(|it| it.ticks_per_ns),
        }
    }

    /// The same with the frequency of the core that the processor counted over the run, if it did.
    #[must_use]
    pub fn with_counted_core(self, record: &Record) -> Self {
        Self { core_ghz: counted_core_ghz(record).or(self.core_ghz), ..self }
    }
}

/// The frequency of the core over a run, by its processor's counters: the median over workers of the
/// reference cases. `None` if it was not counted.
pub fn counted_core_ghz(record: &Record) -> Option<f64> {
    let ghz = record.conditions.first()?.core.as_ref()?.ghz.as_ref()?.median;
    (ghz.is_finite() && ghz > 0.0).then_some(ghz)
}

impl TableUnit {
    /// Its name, as in files and tables.
    pub fn text(self) -> &'static str {
        match self {
            TableUnit::Nanoseconds => "ns",
            TableUnit::Microseconds => "us",
            TableUnit::Milliseconds => "ms",
            TableUnit::Seconds => "s",
            TableUnit::Cycles => "cycle",
            TableUnit::Ticks => "tick",
            TableUnit::MegabytesPerSecond => "MB/s",
            TableUnit::FramesPerSecond => "frame/s",
            TableUnit::OpsPerSecond => "op/s",
            TableUnit::Times => "x",
            TableUnit::PerCent => "%",
            TableUnit::Calls => "calls",
            TableUnit::Instructions => "insn",
        }
    }

    /// The unit as a heading names it.
    pub fn plural(self) -> &'static str {
        match self {
            TableUnit::Cycles => "cycles",
            TableUnit::Ticks => "ticks",
            other => other.text(),
        }
    }

    /// The kind of its figures.
    pub fn kind(self) -> UnitKind {
        match self {
            TableUnit::Nanoseconds
            | TableUnit::Microseconds
            | TableUnit::Milliseconds
            | TableUnit::Seconds
            | TableUnit::Cycles
            | TableUnit::Ticks => UnitKind::Time,
            TableUnit::MegabytesPerSecond => UnitKind::Rate,
            TableUnit::FramesPerSecond => UnitKind::Frames,
            TableUnit::OpsPerSecond => UnitKind::Ops,
            TableUnit::Times | TableUnit::PerCent | TableUnit::Calls => UnitKind::Plain,
            TableUnit::Instructions => UnitKind::Instructions,
        }
    }

    /// Its size in the base unit of its kind; `None` if it is a cycle or a tick of a machine with
    /// an unknown rate.
    pub fn size(self, rates: ClockRates) -> Option<f64> {
        match self {
            TableUnit::Nanoseconds => Some(1.0),
            TableUnit::Microseconds => Some(1e3),
            TableUnit::Milliseconds => Some(1e6),
            TableUnit::Seconds => Some(1e9),
            TableUnit::Cycles => Some(1.0 / rates.core_ghz?),
            TableUnit::Ticks => Some(1.0 / rates.ticks_per_ns?),
            TableUnit::MegabytesPerSecond => Some(1e6),
            TableUnit::FramesPerSecond
            | TableUnit::OpsPerSecond
            | TableUnit::Times
            | TableUnit::PerCent
            | TableUnit::Calls
            | TableUnit::Instructions => Some(1.0),
        }
    }

    /// The factor from a run's unit to this one; `None` if they are of different kinds.
    pub fn conversion_from(self, unit: Unit, rates: ClockRates) -> Option<f64> {
        let BaseUnit { kind, size } = base_unit(unit);
        (kind == self.kind()).then_some(())?;
        Some(size / self.size(rates)?)
    }
}

/// A unit in terms of the base unit of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaseUnit {
    /// The kind.
    pub kind: UnitKind,
    /// How many base units it is.
    pub size: f64,
}

/// A run's unit in terms of the base unit of its kind.
pub fn base_unit(unit: Unit) -> BaseUnit {
    let (kind, size) = match unit {
        Unit::NsPerOp => (UnitKind::Time, 1.0),
        Unit::Seconds => (UnitKind::Time, 1e9),
        Unit::BytesPerSecond => (UnitKind::Rate, 1.0),
        Unit::FramesPerSecond => (UnitKind::Frames, 1.0),
        Unit::OpsPerSecond => (UnitKind::Ops, 1.0),
        Unit::InstructionsPerOp => (UnitKind::Instructions, 1.0),
        Unit::Bytes
        | Unit::CyclesPerOp
        | Unit::CyclesPerInstruction
        | Unit::Gigahertz
        | Unit::TicksPerCycle
        | Unit::TimesPerOp
        | Unit::YesOrNo => (UnitKind::Plain, 1.0),
    };
    BaseUnit { kind, size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_converted_only_within_their_kind() {
        let rates = ClockRates { core_ghz: Some(4.0), ticks_per_ns: Some(2.5) };
        let factor = |unit: TableUnit, of| unit.conversion_from(of, rates);
        assert_eq!(factor(TableUnit::Microseconds, Unit::Seconds), Some(1e6));
        assert_eq!(factor(TableUnit::Cycles, Unit::NsPerOp), Some(4.0));
        assert_eq!(factor(TableUnit::Ticks, Unit::NsPerOp), Some(2.5));
        assert_eq!(factor(TableUnit::MegabytesPerSecond, Unit::BytesPerSecond), Some(1e-6));
        assert_eq!(factor(TableUnit::FramesPerSecond, Unit::FramesPerSecond), Some(1.0));
        assert_eq!(factor(TableUnit::OpsPerSecond, Unit::OpsPerSecond), Some(1.0));
        assert_eq!(factor(TableUnit::Times, Unit::TicksPerCycle), Some(1.0));
        assert_eq!(factor(TableUnit::Instructions, Unit::InstructionsPerOp), Some(1.0));
        for (unit, of) in [
            (TableUnit::Cycles, Unit::BytesPerSecond),
            (TableUnit::MegabytesPerSecond, Unit::NsPerOp),
            (TableUnit::Calls, Unit::NsPerOp),
            (TableUnit::Instructions, Unit::NsPerOp),
            (TableUnit::Times, Unit::InstructionsPerOp),
            (TableUnit::FramesPerSecond, Unit::OpsPerSecond),
        ] {
            assert_eq!(factor(unit, of), None);
        }
        assert_eq!(TableUnit::Cycles.conversion_from(Unit::NsPerOp, ClockRates::default()), None);
        assert_eq!(
            TableUnit::Seconds.conversion_from(Unit::NsPerOp, ClockRates::default()),
            Some(1e-9)
        );
    }
}
