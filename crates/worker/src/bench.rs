//! The words a definition is written in.
//!
//! A benchmark is one plain `const` [`Bench`] in its family's file. All of it is data but `build`,
//! which makes the [`Work`]; a definition never sees a clock.

use oscost_model::calls::{ANY_OTHER_CALL, CallRule, CallTimes, Caller, Parts};
use oscost_model::definition as data;
use oscost_model::point::{Point, Value};
use oscost_model::resource::Resource;
use oscost_model::unit::Unit;

use crate::kernel::Errno;
use crate::kernel::net::token_listener::{Door, Far};
use crate::kernel::time::stopwatch::Stopwatch;

mod raw;
mod work;

pub use work::{AtOp, Run, Shape, Work};

/// A benchmark: one question about the system.
#[derive(Clone, Copy)]
pub struct Bench {
    /// `family/kebab-name`.
    pub id: &'static str,
    /// The question, ending in "?".
    pub asks: &'static str,
    /// What is inside the clock; then what is not.
    pub op: &'static str,
    /// The prediction, written before measuring.
    pub expected: &'static str,
    /// What the figure is counted in.
    pub unit: Unit,
    /// The mechanism: why it costs what it costs. Empty where there is nothing to explain.
    pub why: &'static str,
    /// The calls that an op must make.
    pub calls: &'static [Calls],
    /// The primitives below which an op cannot go.
    pub floor: &'static [Floor],
    /// Cases of other benchmarks that [`Self::why`] compares it with, shown where it is explained.
    pub beside: &'static [&'static str],
    /// The parameters.
    pub axes: &'static [Axis],
    /// What a place must offer.
    pub needs: &'static [Need],
    /// Whether it belongs to the price list.
    pub in_price_list: bool,
    /// Whether the op itself sleeps or switches, so that switches are results, not disturbance.
    pub switches: bool,
    /// Whether the op itself waits for a disk in a fault, so that major faults are results, not
    /// disturbance.
    pub major_faults: bool,
    /// The axis whose number is the bytes that an op moves; empty where none is.
    pub moves: &'static str,
    /// What setting up takes, at the worst: axes, and microseconds for each unit of their numbers.
    pub setup_us: When,
    /// Raised when the work changes.
    pub rev: u32,
    /// Paper section, man page or kernel file.
    pub source: &'static str,
    /// Makes the work at a point. Nothing of this is timed.
    pub build: fn(At<'_>) -> Result<Work, Errno>,
    /// Is the other end behind a door, for a worker on another machine, until that one ends; none
    /// where both ends are on one machine by their nature.
    pub serve: Option<Serve>,
}

/// Is the other end of a case, behind this door. How many strangers knocked stays in the door.
pub type Serve = fn(At<'_>, &mut Door) -> Result<(), Errno>;

impl Bench {
    /// The work at a point, which may leave out what goes unsaid.
    pub fn work(&self, point: &Point, site: Site) -> Result<Work, Errno> {
        (self.build)(At::new(&self.definition().with_implied(point), site))
    }

    /// What a benchmark is unless it says otherwise: in the price list, first revision, no axes, no calls.
    pub const PLAIN: Bench = Bench {
        id: "",
        asks: "",
        op: "",
        expected: "",
        unit: Unit::NsPerOp,
        why: "",
        calls: &[],
        floor: &[],
        beside: &[],
        axes: &[],
        needs: &[],
        in_price_list: true,
        switches: false,
        major_faults: false,
        moves: "",
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
            calls: self.calls.iter().map(Calls::data).collect(),
            floor: self.floor.iter().map(Floor::data).collect(),
            compare_with: self.beside.iter().map(|&case| case.to_owned()).collect(),
            axes: self.axes.iter().map(Axis::data).collect(),
            needs: self.needs.iter().map(Need::data).collect(),
            in_price_list: self.in_price_list,
            switches: self.switches,
            major_faults: self.major_faults,
            bytes_axis: self.moves.to_owned(),
            peer_may_be_remote: self.serve.is_some(),
            setup_us: partial_point(self.setup_us),
            rev: self.rev,
            source: self.source.to_owned(),
        }
    }
}

/// A family of benchmarks: what stands before the slash.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in one line.
    pub about: &'static str,
    /// Its benchmarks, in the order of the price list.
    pub benches: &'static [Bench],
}

/// A timer of the survey: what is known of it, and which cases measure the rest.
#[derive(Clone, Copy)]
pub struct Timer {
    /// What it is called.
    pub name: &'static str,
    /// What it costs to ask it; whether that enters the kernel is counted on the same case.
    pub cost: Told,
    /// The resolution that the system or a man page promises.
    pub resolution: Told,
    /// The step in which it moves on.
    pub quantum: Told,
    /// The smallest difference in work that it shows.
    pub precision: Told,
    /// Whether adjtimex(2) changes its rate.
    pub slewed: Told,
    /// Whether it can be set back.
    pub steps_back: Told,
}

/// What the survey says in one place.
#[derive(Clone, Copy)]
pub enum Told {
    /// The figure of a case.
    Case(&'static str),
    /// What is known without measuring.
    Words(&'static str),
    /// Nothing, for this reason.
    Because(&'static str),
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

impl Told {
    fn data(self) -> data::SurveyEntry {
        let nothing = data::SurveyEntry::default();
        match self {
            Told::Case(case) => data::SurveyEntry { case: Some(case.to_owned()), ..nothing },
            Told::Words(words) => data::SurveyEntry { text: Some(words.to_owned()), ..nothing },
            Told::Because(why) => data::SurveyEntry { reason: Some(why.to_owned()), ..nothing },
        }
    }
}

/// Axis values at which something holds; everywhere when empty.
pub type When = &'static [(&'static str, &'static str)];

fn partial_point(when: When) -> Point {
    when.iter().fold(Point::none(), |point, &(axis, value)| point.with(axis, Value::parse(value)))
}

/// A call that an op makes.
#[derive(Clone, Copy)]
pub struct Calls {
    call: &'static str,
    times: CallTimes,
    when: When,
    by: Caller,
    parts: Option<(&'static str, u64)>,
}

/// An op makes the call so many times.
pub const fn exactly(call: &'static str, times: u32) -> Calls {
    Calls { call, times: CallTimes::Exactly(times), when: &[], by: Caller::Own, parts: None }
}

/// An op makes the call at most so many times.
pub const fn up_to(call: &'static str, times: u32) -> Calls {
    Calls { call, times: CallTimes::UpTo(times), when: &[], by: Caller::Own, parts: None }
}

/// Each side of a round trip makes the call so many times: the op and its peer, wherever `peer_cpu`
/// says that there is one, and the op for both with `peer_cpu=none`.
pub const fn each_side(call: &'static str, times: u32) -> Calls {
    Calls { by: Caller::BothEnds, ..exactly(call, times) }
}

/// So many ops make the call once between them.
pub const fn once_in(ops: u32, call: &'static str) -> Calls {
    Calls { call, times: CallTimes::Per { calls: 1, ops }, when: &[], by: Caller::Own, parts: None }
}

/// An op makes at most so many calls that no other rule names: those of a program of the system's.
pub const fn others(times: u32) -> Calls {
    up_to(ANY_OTHER_CALL, times)
}

impl Calls {
    /// Only at these axis values.
    #[must_use]
    pub const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    /// Where the number of this axis is greater, as often again at most for each `bytes` of it: a
    /// large message may come in parts, and how many there are hangs on who is faster.
    #[must_use]
    pub const fn in_parts(self, axis: &'static str, bytes: u64) -> Self {
        Self { parts: Some((axis, bytes)), ..self }
    }

    /// Made by the peer, for each op.
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
    when: When,
}

/// An op contains the primitive at least so many times.
pub const fn at_least(times: u32, case: &'static str) -> Floor {
    Floor { case, times, when: &[] }
}

impl Floor {
    /// Only at these axis values.
    #[must_use]
    pub const fn when(self, when: When) -> Self {
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
    /// Its name, a word of the glossary.
    pub name: &'static str,
    /// What it sets, in one line.
    pub sets: &'static str,
    /// Every point that it offers.
    pub points: Points,
    /// The points that are measured when none is asked for.
    pub usual: Points,
}

impl Axis {
    fn data(&self) -> data::Axis {
        data::Axis {
            name: self.name.to_owned(),
            sets: self.sets.to_owned(),
            points: match self.usual {
                // A number may go unsaid too; the word for that is a point like the others.
                Points::Unsaid(_) if !matches!(self.points, Points::Words(_)) => {
                    [self.usual.data(), self.points.data()].concat()
                }
                _ => self.points.data(),
            },
            default_points: self.usual.data(),
            implied: match self.usual {
                Points::Unsaid(word) => Some(Value::from(word)),
                _ => None,
            },
            price_list_points: match self.usual {
                Points::Usual { in_price_list, .. } => in_price_list.data(),
                _ => Vec::new(),
            },
            thorough_points: match self.usual {
                Points::Thorough { thorough, .. } => thorough.data(),
                _ => Vec::new(),
            },
            range: match self.points {
                Points::Within { least, most, .. }
                | Points::Counting(_, &Points::Within { least, most, .. }) => Some((least, most)),
                _ => None,
            },
            item: match self.points {
                Points::Counting(one, _) => one.to_owned(),
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
    /// Numbers, ascending, in the axis's unit.
    Numbers(&'static [u64]),
    /// As an axis's usual points: this word alone, and the names of cases leave it out. For an axis
    /// that comes to a benchmark later: what was measured before keeps its name.
    Unsaid(&'static str),
    /// As an axis's usual points: these, of which fewer are in the price list.
    Usual {
        /// All of them.
        points: &'static Points,
        /// Those of the price list.
        in_price_list: &'static Points,
    },
    /// As an axis's usual points: these, and others in a thorough run.
    Thorough {
        /// Those of every other run.
        points: &'static Points,
        /// Those of a thorough one.
        thorough: &'static Points,
    },
    /// As all of an axis's points: any number that its user names, within bounds.
    Within {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
        /// Those that stand for all.
        points: &'static [u64],
    },
    /// As all of an axis's points: these, and what their numbers count, in a word for one of them.
    /// Sentences about a further one need it; without it they say the axis's name.
    Counting(&'static str, &'static Points),
}

impl Points {
    fn data(self) -> Vec<Value> {
        match self {
            Points::Words(words) => words.iter().map(|&word| Value::from(word)).collect(),
            Points::Numbers(numbers) => numbers.iter().map(|&number| Value::from(number)).collect(),
            Points::Unsaid(word) => vec![Value::from(word)],
            Points::Usual { points, .. } | Points::Thorough { points, .. } => points.data(),
            Points::Within { points, .. } => Points::Numbers(points).data(),
            Points::Counting(_, points) => points.data(),
        }
    }
}

/// Something that a place must offer.
#[derive(Clone, Copy)]
pub struct Need {
    what: Requirement,
    when: When,
}

#[derive(Clone, Copy)]
enum Requirement {
    Readable(&'static str),
    VdsoFunction(&'static str),
    Counter,
    IoUring,
    Time,
    Offer(Resource),
    Meaning(&'static str),
}

impl Need {
    /// A file that can be opened for reading.
    pub const fn readable(path: &'static str) -> Self {
        Self { what: Requirement::Readable(path), when: &[] }
    }

    /// A function in the vDSO, by its C name.
    pub const fn vdso(function: &'static str) -> Self {
        Self { what: Requirement::VdsoFunction(function), when: &[] }
    }

    /// The processor's counter, as something that programs can tell the time by.
    pub const fn counter() -> Self {
        Self { what: Requirement::Counter, when: &[] }
    }

    /// An io_uring of one's own.
    pub const fn io_uring() -> Self {
        Self { what: Requirement::IoUring, when: &[] }
    }

    /// Time that goes by while nobody computes: for an op that sleeps, or that finds a time.
    pub const fn time() -> Self {
        Self { what: Requirement::Time, when: &[] }
    }

    /// Something of memory, disks or CPUs.
    pub const fn offer(what: Resource) -> Self {
        Self { what: Requirement::Offer(what), when: &[] }
    }

    /// A meaning: the points that [`Self::when`] names have none, because `why`.
    pub const fn meaning(why: &'static str) -> Self {
        Self { what: Requirement::Meaning(why), when: &[] }
    }

    /// Only at these axis values.
    #[must_use]
    pub const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    fn data(&self) -> data::Need {
        let what = match self.what {
            Requirement::Readable(path) => data::Requirement::Readable(path.to_owned()),
            Requirement::VdsoFunction(name) => data::Requirement::VdsoFunction(name.to_owned()),
            Requirement::Counter => data::Requirement::Counter,
            Requirement::IoUring => data::Requirement::IoUring,
            Requirement::Time => data::Requirement::WallTime,
            Requirement::Offer(what) => data::Requirement::Resource(what),
            Requirement::Meaning(why) => data::Requirement::Undefined(why.to_owned()),
        };
        data::Need { requirement: what, when: partial_point(self.when) }
    }
}

/// Where a worker stands when it builds its work. Its current folder is private to it and empties
/// itself when the run ends.
#[derive(Clone, Copy)]
pub struct Site {
    /// The CPU that it is pinned to.
    pub cpu: Option<u32>,
    /// Another CPU that a second process of its may be pinned to; none on a machine with one.
    pub other_cpu: Option<u32>,
    /// Its clock, for work whose two ends lie in two processes.
    pub watch: Stopwatch,
    /// The other end on another machine, where it stands there.
    pub far: Option<Far>,
}

impl Site {
    /// Anywhere, with a clock that every machine has.
    pub const ANYWHERE: Site =
        Site { cpu: None, other_cpu: None, watch: Stopwatch::Syscall, far: None };
}

/// The point at which a benchmark is built, and where.
#[derive(Clone, Copy)]
pub struct At<'a> {
    point: &'a Point,
    /// Where.
    pub site: Site,
}

impl<'a> At<'a> {
    /// This point at this site.
    pub fn new(point: &'a Point, site: Site) -> Self {
        Self { point, site }
    }

    /// The word of an axis.
    ///
    /// # Panics
    /// On an axis that the definition does not name: a slip of the definition's author, which the
    /// test that builds every benchmark finds.
    pub fn word(&self, axis: &str) -> &str {
        match self.point.get(axis) {
            Some(Value::Word(word)) => word,
            other => panic!("axis `{axis}` has no word at `{}`: {other:?}", self.point),
        }
    }

    /// The value of an axis, where it may be a number or go unsaid.
    pub fn value(&self, axis: &str) -> Option<&Value> {
        self.point.get(axis)
    }

    /// The number of an axis.
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
