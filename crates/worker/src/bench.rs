//! The types that benchmark definitions are written in.
//!
//! A benchmark is one `const` [`Bench`] in the file of its family. Everything in it is data except
//! `build`, which makes the [`Work`], and `serve`. A definition never sees a clock.

use oscost_model::calls::{ANY_OTHER_CALL, CallRule, CallTimes, Caller, Parts};
use oscost_model::definition as data;
use oscost_model::point::{Point, Value};
use oscost_model::resource::Resource;
use oscost_model::unit::Unit;

use crate::kernel::Errno;
use crate::kernel::net::token_listener::{RemoteEndpoint, TokenListener};
use crate::kernel::time::stopwatch::Stopwatch;

mod raw;
mod work;

pub use work::{OpError, Shape, Work, WorkBody};

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
    pub fn definition(&self) -> data::Definition {
        data::Definition {
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

/// A row of the survey of timers: what is documented, and which cases measure the rest.
#[derive(Clone, Copy)]
pub struct Timer {
    /// Its name.
    pub name: &'static str,
    /// The cost of one read; the same case shows whether a read enters the kernel.
    pub cost: SurveyEntry,
    /// The resolution that the system or a man page states.
    pub resolution: SurveyEntry,
    /// The step by which its value advances.
    pub quantum: SurveyEntry,
    /// The smallest difference in work that it can resolve.
    pub precision: SurveyEntry,
    /// Whether adjtimex(2) changes its rate.
    pub slewed: SurveyEntry,
    /// Whether it can be set back.
    pub steps_back: SurveyEntry,
}

/// An entry in a row of the survey of timers.
#[derive(Clone, Copy)]
pub enum SurveyEntry {
    /// The figure of a case.
    Case(&'static str),
    /// A documented fact.
    Text(&'static str),
    /// Not applicable, for this reason.
    Reason(&'static str),
}

impl Timer {
    /// The timer as plain data.
    pub fn data(&self) -> data::Timer {
        data::Timer {
            name: self.name.to_owned(),
            cost: self.cost.data(),
            resolution: self.resolution.data(),
            quantum: self.quantum.data(),
            precision: self.precision.data(),
            slewed: self.slewed.data(),
            steps_back: self.steps_back.data(),
        }
    }
}

impl SurveyEntry {
    fn data(self) -> data::SurveyEntry {
        let empty = data::SurveyEntry::default();
        match self {
            SurveyEntry::Case(case) => data::SurveyEntry { case: Some(case.to_owned()), ..empty },
            SurveyEntry::Text(text) => data::SurveyEntry { text: Some(text.to_owned()), ..empty },
            SurveyEntry::Reason(reason) => {
                data::SurveyEntry { reason: Some(reason.to_owned()), ..empty }
            }
        }
    }
}

/// Axis values at which a rule applies; at every point if empty.
pub type PointFilter = &'static [(&'static str, &'static str)];

fn partial_point(when: PointFilter) -> Point {
    when.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, Value::parse(value)))
}

/// A system call that an op is expected to make.
#[derive(Clone, Copy)]
pub struct ExpectedCall {
    call: &'static str,
    times: CallTimes,
    when: PointFilter,
    by: Caller,
    parts: Option<(&'static str, u64)>,
}

/// One op makes the call exactly `times` times.
pub const fn exactly(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall { call, times: CallTimes::Exactly(times), when: &[], by: Caller::Own, parts: None }
}

/// One op makes the call at most `times` times.
pub const fn up_to(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall { call, times: CallTimes::UpTo(times), when: &[], by: Caller::Own, parts: None }
}

/// Each end of a round trip makes the call `times` times: the measured process and its peer, or,
/// with `peer_cpu=none`, the measured process for both.
pub const fn each_end(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall { by: Caller::BothEnds, ..exactly(call, times) }
}

/// Every `ops` ops make the call once.
pub const fn once_per(ops: u32, call: &'static str) -> ExpectedCall {
    ExpectedCall {
        call,
        times: CallTimes::Per { calls: 1, ops },
        when: &[],
        by: Caller::Own,
        parts: None,
    }
}

/// One op makes at most `times` calls that no other rule names, such as those of a system program.
pub const fn other_calls(times: u32) -> ExpectedCall {
    up_to(ANY_OTHER_CALL, times)
}

impl ExpectedCall {
    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    /// Allows the call up to `times` more times for each `bytes` of this axis: a large message may
    /// arrive in parts, and how many depends on which end is faster.
    #[must_use]
    pub const fn in_parts(self, axis: &'static str, bytes: u64) -> Self {
        Self { parts: Some((axis, bytes)), ..self }
    }

    /// Made by the peer, once per op.
    #[must_use]
    pub const fn by_peer(self) -> Self {
        Self { by: Caller::Peer, ..self }
    }

    fn data(&self) -> CallRule {
        CallRule {
            call: self.call.to_owned(),
            times: self.times,
            when: partial_point(self.when),
            caller: self.by,
            parts: self.parts.map(|(axis, bytes)| Parts { axis: axis.to_owned(), bytes }),
        }
    }
}

/// A primitive that an op contains.
#[derive(Clone, Copy)]
pub struct Floor {
    case: &'static str,
    times: u32,
    when: PointFilter,
}

/// One op contains the primitive at least `times` times.
pub const fn at_least(times: u32, case: &'static str) -> Floor {
    Floor { case, times, when: &[] }
}

impl Floor {
    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    fn data(&self) -> data::FloorPart {
        let when = partial_point(self.when);
        data::FloorPart { case: self.case.to_owned(), times: self.times, when }
    }
}

/// A parameter of a benchmark.
#[derive(Clone, Copy)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// What it sets, in one line.
    pub sets: &'static str,
    /// All its points.
    pub points: Points,
    /// The points that are measured if none is selected.
    pub default_points: Points,
}

impl Axis {
    fn data(&self) -> data::Axis {
        data::Axis {
            name: self.name.to_owned(),
            sets: self.sets.to_owned(),
            points: match self.default_points {
                // The implied point of a numeric axis is a word before its numbers.
                Points::Implied(_) if !matches!(self.points, Points::Words(_)) => {
                    [self.default_points.data(), self.points.data()].concat()
                }
                _ => self.points.data(),
            },
            default_points: self.default_points.data(),
            implied: match self.default_points {
                Points::Implied(word) => Some(Value::from(word)),
                _ => None,
            },
            price_list_points: match self.default_points {
                Points::WithPriceList { price_list, .. } => price_list.data(),
                _ => Vec::new(),
            },
            thorough_points: match self.default_points {
                Points::WithThorough { thorough, .. } => thorough.data(),
                _ => Vec::new(),
            },
            range: match self.points {
                Points::Range { min, max, .. }
                | Points::Items(_, &Points::Range { min, max, .. }) => Some((min, max)),
                _ => None,
            },
            item: match self.points {
                Points::Items(one, _) => one.to_owned(),
                _ => String::new(),
            },
        }
    }
}

/// Values of an axis.
#[derive(Clone, Copy)]
pub enum Points {
    /// Words.
    Words(&'static [&'static str]),
    /// Numbers, ascending, in the unit of the axis.
    Numbers(&'static [u64]),
    /// As default points: this word alone, which names of cases leave out. For an axis that is
    /// added to an existing benchmark: cases that were measured before keep their names.
    Implied(&'static str),
    /// As default points: these, of which only some are in the price list.
    WithPriceList {
        /// All default points.
        points: &'static Points,
        /// Those in the price list.
        price_list: &'static Points,
    },
    /// As default points: these, and others with `--thorough`.
    WithThorough {
        /// Those of a normal run.
        points: &'static Points,
        /// Those of a thorough run.
        thorough: &'static Points,
    },
    /// As the points of an axis: any number within a range.
    Range {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
        /// The points that represent the range.
        points: &'static [u64],
    },
    /// As the points of an axis: these, and the noun for one of what the numbers count. Sentences
    /// such as "per further descriptor" use it instead of the name of the axis.
    Items(&'static str, &'static Points),
}

impl Points {
    fn data(self) -> Vec<Value> {
        match self {
            Points::Words(words) => words.iter().map(|&word| Value::from(word)).collect(),
            Points::Numbers(numbers) => numbers.iter().map(|&number| Value::from(number)).collect(),
            Points::Implied(word) => vec![Value::from(word)],
            Points::WithPriceList { points, .. } | Points::WithThorough { points, .. } => {
                points.data()
            }
            Points::Range { points, .. } => Points::Numbers(points).data(),
            Points::Items(_, points) => points.data(),
        }
    }
}

/// Something that the machine must offer.
#[derive(Clone, Copy)]
pub struct Need {
    requirement: Requirement,
    when: PointFilter,
}

#[derive(Clone, Copy)]
enum Requirement {
    Readable(&'static str),
    VdsoFunction(&'static str),
    Counter,
    IoUring,
    Time,
    Resource(Resource),
    NotApplicable(&'static str),
}

impl Need {
    /// A file that can be opened for reading.
    pub const fn readable(path: &'static str) -> Self {
        Self { requirement: Requirement::Readable(path), when: &[] }
    }

    /// A function in the vDSO, by its C name.
    pub const fn vdso(function: &'static str) -> Self {
        Self { requirement: Requirement::VdsoFunction(function), when: &[] }
    }

    /// A cycle counter that programs can read and that the kernel keeps time by.
    pub const fn counter() -> Self {
        Self { requirement: Requirement::Counter, when: &[] }
    }

    /// io_uring_setup(2) is allowed.
    pub const fn io_uring() -> Self {
        Self { requirement: Requirement::IoUring, when: &[] }
    }

    /// Time that passes while the CPU is idle: for an op that sleeps or that measures a time
    /// itself.
    pub const fn time() -> Self {
        Self { requirement: Requirement::Time, when: &[] }
    }

    /// A resource: memory, a disk, a second CPU.
    pub const fn resource(resource: Resource) -> Self {
        Self { requirement: Requirement::Resource(resource), when: &[] }
    }

    /// The points that [`Self::when`] names do not apply, for this reason.
    pub const fn not_applicable(reason: &'static str) -> Self {
        Self { requirement: Requirement::NotApplicable(reason), when: &[] }
    }

    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    fn data(&self) -> data::Need {
        let requirement = match self.requirement {
            Requirement::Readable(path) => data::Requirement::Readable(path.to_owned()),
            Requirement::VdsoFunction(name) => data::Requirement::VdsoFunction(name.to_owned()),
            Requirement::Counter => data::Requirement::Counter,
            Requirement::IoUring => data::Requirement::IoUring,
            Requirement::Time => data::Requirement::WallTime,
            Requirement::Resource(resource) => data::Requirement::Resource(resource),
            Requirement::NotApplicable(reason) => data::Requirement::Undefined(reason.to_owned()),
        };
        data::Need { requirement, when: partial_point(self.when) }
    }
}

/// What a worker gives its work: CPUs, a clock, a remote peer. Its current directory is private and
/// is removed at the end of the run.
#[derive(Clone, Copy)]
pub struct Context {
    /// The CPU that the worker is pinned to.
    pub cpu: Option<u32>,
    /// Another CPU, for a second process of the work; `None` on a machine with one CPU.
    pub other_cpu: Option<u32>,
    /// The clock of the worker, for work that starts timing in one process and stops in another.
    pub clock: Stopwatch,
    /// The peer on another machine, if the peer is remote.
    pub remote_peer: Option<RemoteEndpoint>,
}

impl Context {
    /// Not pinned, with a clock that every machine has.
    pub const DEFAULT: Context =
        Context { cpu: None, other_cpu: None, clock: Stopwatch::Syscall, remote_peer: None };
}

/// The parameters of a build: the point and the context.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    point: &'a Point,
    /// CPUs, clock and remote peer.
    pub context: Context,
}

impl<'a> Params<'a> {
    /// The parameters for a point in a context.
    pub fn new(point: &'a Point, context: Context) -> Self {
        Self { point, context }
    }

    /// The value of an axis that has words.
    ///
    /// # Panics
    /// If the definition does not have the axis. The test that builds every benchmark finds this.
    pub fn word(&self, axis: &str) -> &str {
        match self.point.get(axis) {
            Some(Value::Word(word)) => word,
            other => panic!("axis `{axis}` has no word at `{}`: {other:?}", self.point),
        }
    }

    /// The value of an axis that may be a number or a word; `None` if the point leaves it out.
    pub fn value(&self, axis: &str) -> Option<&Value> {
        self.point.get(axis)
    }

    /// The value of an axis that has numbers.
    ///
    /// # Panics
    /// As [`Self::word`].
    pub fn number(&self, axis: &str) -> u64 {
        match self.point.get(axis) {
            Some(&Value::Number(number)) => number,
            other => panic!("axis `{axis}` has no number at `{}`: {other:?}", self.point),
        }
    }
}
