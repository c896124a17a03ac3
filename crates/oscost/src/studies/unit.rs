//! Units of printed tables, and how a measured figure becomes one of them.

use oscost_model::record::Record;
use oscost_model::unit::Unit;

/// A unit that tables are printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Cycles of the core; here by an estimate of its frequency.
    Cycles,
    /// Ticks of the time stamp counter, which are no cycles.
    Ticks,
    /// Millions of bytes in a second.
    MegabytesPerSecond,
    /// Frames in a second.
    FramesPerSecond,
    /// How many times as much.
    Times,
    /// Of a hundred.
    PerCent,
    /// System calls.
    Calls,
}

/// What a figure is one of: only figures of one kind become each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    /// A time; all of them in nanoseconds.
    Time,
    /// A rate of bytes; all of them in bytes per second.
    Rate,
    /// Frames in a second.
    Frames,
    /// A number without a unit.
    Plain,
}

/// How long a cycle and a tick are on some machine, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockRates {
    /// Cycles of the core in a nanosecond.
    pub core_ghz: Option<f64>,
    /// Ticks of the counter in a nanosecond.
    pub ticks_per_ns: Option<f64>,
}

impl ClockRates {
    /// Those of the machine that a run was measured on: the frequency of the core that its workers
    /// were pinned to, as a chain of multiplications showed it before the run.
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
}

impl TableUnit {
    /// Its name, as files and tables have it.
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
            TableUnit::Times => "x",
            TableUnit::PerCent => "%",
            TableUnit::Calls => "calls",
        }
    }

    /// What its figures are.
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
            TableUnit::Times | TableUnit::PerCent | TableUnit::Calls => UnitKind::Plain,
        }
    }

    /// How much one of it is in the plainest unit of its kind; `None` where the machine's beat that
    /// it is told in is not known.
    pub fn size(self, beats: ClockRates) -> Option<f64> {
        match self {
            TableUnit::Nanoseconds => Some(1.0),
            TableUnit::Microseconds => Some(1e3),
            TableUnit::Milliseconds => Some(1e6),
            TableUnit::Seconds => Some(1e9),
            TableUnit::Cycles => Some(1.0 / beats.core_ghz?),
            TableUnit::Ticks => Some(1.0 / beats.ticks_per_ns?),
            TableUnit::MegabytesPerSecond => Some(1e6),
            TableUnit::FramesPerSecond
            | TableUnit::Times
            | TableUnit::PerCent
            | TableUnit::Calls => Some(1.0),
        }
    }

    /// How many of it a figure of one in a run's unit is; `None` where they count other things.
    pub fn conversion_from(self, unit: Unit, beats: ClockRates) -> Option<f64> {
        let (kind, size) = base_unit(unit);
        (kind == self.kind()).then_some(())?;
        Some(size / self.size(beats)?)
    }
}

/// What a run's unit counts, and how much one of it is in the plainest unit of that kind.
pub fn base_unit(unit: Unit) -> (UnitKind, f64) {
    match unit {
        Unit::NsPerOp => (UnitKind::Time, 1.0),
        Unit::Seconds => (UnitKind::Time, 1e9),
        Unit::BytesPerSecond => (UnitKind::Rate, 1.0),
        Unit::FramesPerSecond => (UnitKind::Frames, 1.0),
        Unit::OpsPerSecond
        | Unit::Bytes
        | Unit::InstructionsPerOp
        | Unit::TicksPerCycle
        | Unit::TimesPerOp
        | Unit::YesOrNo => (UnitKind::Plain, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_becomes_one_of_its_own_kind_alone() {
        let beats = ClockRates { core_ghz: Some(4.0), ticks_per_ns: Some(2.5) };
        let one = |unit: TableUnit, of| unit.conversion_from(of, beats);
        assert_eq!(one(TableUnit::Microseconds, Unit::Seconds), Some(1e6));
        assert_eq!(one(TableUnit::Cycles, Unit::NsPerOp), Some(4.0));
        assert_eq!(one(TableUnit::Ticks, Unit::NsPerOp), Some(2.5));
        assert_eq!(one(TableUnit::MegabytesPerSecond, Unit::BytesPerSecond), Some(1e-6));
        assert_eq!(one(TableUnit::FramesPerSecond, Unit::FramesPerSecond), Some(1.0));
        assert_eq!(one(TableUnit::Times, Unit::TicksPerCycle), Some(1.0));
        for (unit, of) in [
            (TableUnit::Cycles, Unit::BytesPerSecond),
            (TableUnit::MegabytesPerSecond, Unit::NsPerOp),
            (TableUnit::Calls, Unit::NsPerOp),
        ] {
            assert_eq!(one(unit, of), None);
        }
        assert_eq!(TableUnit::Cycles.conversion_from(Unit::NsPerOp, ClockRates::default()), None);
        assert_eq!(
            TableUnit::Seconds.conversion_from(Unit::NsPerOp, ClockRates::default()),
            Some(1e-9)
        );
    }
}
