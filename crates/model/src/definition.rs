//! Definitions of benchmarks, as data.

use serde::{Deserialize, Serialize};

use crate::calls::CallRule;
use crate::capability::Capability;
use crate::case::Case;
use crate::point::{Point, Value};
use crate::resource::Resource;
use crate::unit::Unit;
use crate::worker::Mode;

/// A benchmark without the code that does its work, which stays in the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// `family/kebab-name`.
    pub id: String,
    /// The question, ending in "?".
    pub asks: String,
    /// What is timed; then what is not.
    pub op: String,
    /// The expected result, written before it was measured.
    pub expected: String,
    /// The unit of its figure.
    pub unit: Unit,
    /// The mechanism behind the cost; empty if there is nothing to explain.
    #[serde(default)]
    pub explanation: String,
    /// The system calls that an op makes.
    pub calls: Vec<CallRule>,
    /// The primitives that an op contains, whose cost it cannot undercut.
    pub floor: Vec<FloorPart>,
    /// Cases of other benchmarks that [`Self::explanation`] refers to; they are shown with it.
    #[serde(default)]
    pub compare_with: Vec<String>,
    /// Its axes, in the order of a point's text form.
    pub axes: Vec<Axis>,
    /// Requirements on the target; a case with an unmet one is skipped with the reason.
    pub needs: Vec<Need>,
    /// Whether it belongs to the price list.
    pub in_price_list: bool,
    /// Whether the op itself sleeps or switches, so that context switches are no disturbance.
    pub switches: bool,
    /// Whether the op itself takes major faults, so that they are no disturbance.
    #[serde(default)]
    pub major_faults: bool,
    /// The axis that gives the bytes transferred by an op; empty if there is none.
    #[serde(default)]
    pub bytes_axis: String,
    /// Whether its peer may run on another machine.
    #[serde(default)]
    pub peer_may_be_remote: bool,
    /// The worst-case setup time: axes, and microseconds per unit of their value.
    #[serde(default)]
    pub setup_us: Point,
    /// The revision, raised when the work changes; comparisons across revisions carry a note.
    pub rev: u32,
    /// Paper section, man page or kernel file.
    pub source: String,
}

impl Definition {
    /// The family: the part before the slash.
    pub fn family(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(family, _)| family)
    }

    /// `point` with the implied values added.
    #[must_use]
    pub fn with_implied(&self, point: &Point) -> Point {
        self.axes.iter().fold(Point::none(), |whole, axis| {
            match point.get(&axis.name).or(axis.implied.as_ref()) {
                Some(value) => whole.with(axis.name.clone(), value.clone()),
                None => whole,
            }
        })
    }

    /// `point` without the implied values, as a case names it.
    #[must_use]
    pub fn without_implied(&self, point: &Point) -> Point {
        let is_implied = |axis: &str, value| {
            self.axis(axis).is_some_and(|of| of.implied.as_ref() == Some(value))
        };
        point
            .iter()
            .filter(|&(axis, value)| !is_implied(axis, value))
            .fold(Point::none(), |named, (axis, value)| named.with(axis, value.clone()))
    }

    /// Whether `point` names each axis once, in order, with a valid value, and omits implied
    /// values.
    pub fn is_complete(&self, point: &Point) -> bool {
        let whole = self.with_implied(point);
        self.without_implied(&whole) == *point
            && self
                .axes
                .iter()
                .all(|axis| whole.get(&axis.name).is_some_and(|value| axis.has_point(value)))
    }

    /// The additional setup time allowed at `point`, in milliseconds.
    pub fn setup_ms(&self, point: &Point) -> u64 {
        let each = self.setup_us.iter().map(|(axis, us)| match (point.get(axis), us) {
            (Some(Value::Number(number)), Value::Number(us)) => number.saturating_mul(*us),
            _ => 0,
        });
        each.sum::<u64>() / 1_000
    }

    /// The number of ops in a message: the ops of a benchmark with a byte rate are bytes, and its
    /// call rules are per message. 1 for all others.
    pub fn ops_per_message(&self, point: &Point) -> u64 {
        match (self.unit, point.get(&self.bytes_axis)) {
            (Unit::BytesPerSecond, Some(&Value::Number(bytes))) => bytes.max(1),
            _ => 1,
        }
    }

    /// Whether its ops sleep when they are timed in `mode`: declared so, or cold ops that wait for
    /// a disk.
    pub fn sleeps(&self, mode: Option<Mode>) -> bool {
        self.switches || self.major_faults && mode == Some(Mode::C)
    }

    /// The axis of that name.
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }
}

/// A parameter of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name, a word of the glossary.
    pub name: String,
    /// What it sets, in one line.
    pub sets: String,
    /// All its points.
    pub points: Vec<Value>,
    /// The points that are measured by default.
    pub default_points: Vec<Value>,
    /// The point that a case without this axis means. It allows an axis to be added to a benchmark
    /// later without renaming its existing cases.
    #[serde(default)]
    pub implied: Option<Value>,
    /// The points of the price list; empty if they are the default points.
    #[serde(default)]
    pub price_list_points: Vec<Value>,
    /// The points of a thorough run; empty if they are the default points.
    #[serde(default)]
    pub thorough_points: Vec<Value>,
    /// An inclusive range in which every number is a point.
    #[serde(default)]
    pub range: Option<(u64, u64)>,
    /// What its numbers count, in the singular: `descriptor`; empty if its name says so.
    #[serde(default)]
    pub item: String,
}

impl Axis {
    /// Whether the axis has that point.
    pub fn has_point(&self, value: &Value) -> bool {
        let within =
            |number: &u64| self.range.is_some_and(|(min, max)| (min..=max).contains(number));
        self.points.contains(value) || matches!(value, Value::Number(number) if within(number))
    }

    /// The points that are measured by default in a run of that extent.
    pub fn default_points_for(&self, extent: Extent) -> &[Value] {
        let own = match extent {
            Extent::PriceList => &self.price_list_points,
            Extent::Thorough => &self.thorough_points,
            Extent::Default => &self.default_points,
        };
        if own.is_empty() { &self.default_points } else { own }
    }
}

/// Which points a selection without explicit points includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Those of the price list.
    PriceList,
    /// The default points.
    Default,
    /// Those of a thorough run.
    Thorough,
}

/// A primitive, and how often an op contains it at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorPart {
    /// The primitive's case.
    pub case: String,
    /// How often an op contains it.
    pub times: u32,
    /// The axis values at which this part applies; empty for all points.
    pub when: Point,
}

/// A requirement of a case on its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed.
    pub requirement: Requirement,
    /// The axis values at which it is needed; empty for all points.
    pub when: Point,
}

/// A kind of requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// A readable file.
    Readable(String),
    /// A function in the vDSO.
    VdsoFunction(String),
    /// A cycle counter that is usable as a clock.
    Counter,
    /// Permission to create an io_uring.
    IoUring,
    /// Time that passes while the CPU is idle, unlike under instruction counting.
    WallTime,
    /// Memory, disks or CPUs.
    Resource(Resource),
    /// A capability that the worker of root keeps for the case. It is not asked for before: without
    /// it the case says what is missing.
    Capability(Capability),
    /// A requirement that no target meets: the point is not meaningful, for this reason.
    Undefined(String),
}

/// Everything that a worker can measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The families, in the order of the price list.
    pub families: Vec<Family>,
    /// The benchmarks, in the order of the price list.
    pub benchmarks: Vec<Definition>,
    /// The timers of the timer survey, in its order.
    #[serde(default)]
    pub timers: Vec<Timer>,
}

impl Catalog {
    /// The benchmark of that id.
    pub fn get(&self, id: &str) -> Option<&Definition> {
        self.benchmarks.iter().find(|definition| definition.id == id)
    }

    /// The cases of the timer survey, without duplicates.
    pub fn survey_cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for case in self.timers.iter().flat_map(Timer::cases) {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        cases
    }
}

/// A timer of the survey: its documented properties, and the cases that measure the others. Whether
/// it enters the kernel follows from the calls counted for the case of its cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timer {
    /// Its name.
    pub name: String,
    /// The cost of reading it.
    pub cost: SurveyEntry,
    /// The resolution stated by the system or a man page.
    pub resolution: SurveyEntry,
    /// The smallest step by which it advances.
    pub quantum: SurveyEntry,
    /// The smallest amount of work that it can distinguish.
    pub precision: SurveyEntry,
    /// Whether adjtimex(2) changes its rate.
    pub slewed: SurveyEntry,
    /// Whether it can be set back.
    pub steps_back: SurveyEntry,
}

impl Timer {
    /// The cases that measure it.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        [&self.cost, &self.resolution, &self.quantum, &self.precision]
            .into_iter()
            .filter_map(|entry| Case::parse(entry.case.as_ref()?))
    }
}

/// An entry of the survey: exactly one of the three fields is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SurveyEntry {
    /// The case whose figure is shown; null if there is none.
    pub case: Option<String>,
    /// A documented property; null if it is measured or not meaningful.
    pub text: Option<String>,
    /// Why the entry is empty; null if it is not.
    pub reason: Option<String>,
}

/// A family of benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// The part of an id before the slash.
    pub name: String,
    /// What it measures, in one line.
    pub about: String,
}

#[cfg(test)]
mod tests;
