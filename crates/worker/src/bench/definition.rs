//! A benchmark definition, and its conversion to plain data.

use oscost_model::definition;
use oscost_model::point::Point;
use oscost_model::unit::Unit;

use super::axis::Axis;
use super::expected_call::ExpectedCall;
use super::floor::Floor;
use super::need::Need;
use super::params::{Context, Params};
use super::point_filter::{PointFilter, partial_point};
use super::timer_survey::Timer;
use super::work::Work;
use crate::kernel::Errno;
use crate::kernel::net::token_listener::TokenListener;

/// A benchmark: one question about the system.
#[derive(Clone, Copy)]
pub struct Bench {
    /// `family/kebab-name`.
    pub id: &'static str,
    /// The question that it answers, ending in "?".
    pub asks: &'static str,
    /// What is inside the timed window; then what is not.
    pub op: &'static str,
    /// The prediction, written before measuring.
    pub expected: &'static str,
    /// The unit of the figure.
    pub unit: Unit,
    /// The mechanism behind the cost. Empty if there is nothing to explain.
    pub why: &'static str,
    /// The system calls that one op makes; a counted run verifies them.
    pub calls: &'static [ExpectedCall],
    /// The primitives that an op contains: it cannot cost less than their sum.
    pub floor: &'static [Floor],
    /// Cases of other benchmarks that [`Self::why`] compares it with; `oscost explain` shows them.
    pub compare_with: &'static [&'static str],
    /// The parameters.
    pub axes: &'static [Axis],
    /// What the machine must offer.
    pub needs: &'static [Need],
    /// Whether it is part of the price list.
    pub in_price_list: bool,
    /// Whether the op itself blocks, so that context switches are part of the result and not
    /// disturbance.
    pub switches: bool,
    /// Whether the op itself takes major faults, so that they are part of the result and not
    /// disturbance.
    pub major_faults: bool,
    /// The axis whose number is the bytes that an op moves; empty if there is none.
    pub bytes_axis: &'static str,
    /// Upper bound of the setup time: axes, and microseconds for each unit of their numbers.
    pub setup_us: PointFilter,
    /// Raised when the work changes.
    pub rev: u32,
    /// Paper section, man page or kernel file.
    pub source: &'static str,
    /// Makes the work for a point. Not timed.
    pub build: fn(Params<'_>) -> Result<Work, Errno>,
    /// Serves the peer's end for a worker on another machine until that worker ends; `None` if both
    /// ends must be on one machine.
    pub serve: Option<ServeFn>,
}

/// Serves the peer's end of a case. The listener counts unauthorised connections.
pub type ServeFn = fn(Params<'_>, &mut TokenListener) -> Result<(), Errno>;

impl Bench {
    /// Builds the work for a point; axes that have an implied point may be left out.
    pub fn work(&self, point: &Point, context: Context) -> Result<Work, Errno> {
        (self.build)(Params::new(&self.definition().with_implied(point), context))
    }

    /// Whether a point names each axis once, in order, at a value that the axis offers; axes with an
    /// implied point may be left out.
    pub fn is_complete(&self, point: &Point) -> bool {
        self.definition().is_complete(point)
    }

    /// The defaults of a definition: in the price list, revision 1, no axes, no calls.
    pub const DEFAULT: Bench = Bench {
        id: "",
        asks: "",
        op: "",
        expected: "",
        unit: Unit::NsPerOp,
        why: "",
        calls: &[],
        floor: &[],
        compare_with: &[],
        axes: &[],
        needs: &[],
        in_price_list: true,
        switches: false,
        major_faults: false,
        bytes_axis: "",
        setup_us: &[],
        rev: 1,
        source: "",
        build: |_| Err(Errno::EINVAL),
        serve: None,
    };

    /// The definition as plain data.
    pub fn definition(&self) -> definition::Definition {
        definition::Definition {
            id: self.id.to_owned(),
            asks: self.asks.to_owned(),
            op: self.op.to_owned(),
            expected: self.expected.to_owned(),
            unit: self.unit,
            explanation: self.why.to_owned(),
            calls: self.calls.iter().map(ExpectedCall::data).collect(),
            floor: self.floor.iter().map(Floor::data).collect(),
            compare_with: self.compare_with.iter().map(|&case| case.to_owned()).collect(),
            axes: self.axes.iter().map(Axis::data).collect(),
            needs: self.needs.iter().map(Need::data).collect(),
            in_price_list: self.in_price_list,
            switches: self.switches,
            major_faults: self.major_faults,
            bytes_axis: self.bytes_axis.to_owned(),
            peer_may_be_remote: self.serve.is_some(),
            setup_us: partial_point(self.setup_us),
            rev: self.rev,
            source: self.source.to_owned(),
        }
    }
}

/// A family of benchmarks: the part of an id before the slash.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    /// Its benchmarks, in the order of the price list.
    pub benches: &'static [Bench],
}

/// All definitions as plain data.
pub fn catalog(families: &[Family], timers: &[Timer]) -> definition::Catalog {
    let benches = families.iter().flat_map(|family| family.benches);
    let family_data = |family: &Family| definition::Family {
        name: family.name.to_owned(),
        about: family.about.to_owned(),
    };
    definition::Catalog {
        families: families.iter().map(family_data).collect(),
        benchmarks: benches.map(Bench::definition).collect(),
        timers: timers.iter().map(Timer::data).collect(),
    }
}
