//! Definitions: all that is said of a benchmark, as data.

use serde::{Deserialize, Serialize};

use crate::calls::CallRule;
use crate::case::Case;
use crate::point::{Point, Value};
use crate::resource::Resource;
use crate::unit::Unit;
use crate::worker::Mode;

/// What a benchmark asks, does, expects and needs. The part that does the work stays in the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// `family/kebab-name`.
    pub id: String,
    /// The question, ending in "?".
    pub asks: String,
    /// What is inside the clock; then what is not.
    pub op: String,
    /// The prediction, written before it was measured.
    pub expected: String,
    /// What the figure is counted in.
    pub unit: Unit,
    /// The mechanism: why it costs what it costs; empty where there is nothing to explain.
    #[serde(default)]
    pub explanation: String,
    /// The calls that an op must make.
    pub calls: Vec<CallRule>,
    /// The primitives below which an op cannot go.
    pub floor: Vec<FloorPart>,
    /// Cases of other benchmarks that [`Self::why`] compares it with: who explains it shows them too.
    #[serde(default)]
    pub compare_with: Vec<String>,
    /// Its axes, in the order in which a point names them.
    pub axes: Vec<Axis>,
    /// What a place must offer; unmet, the case is skipped with the reason.
    pub needs: Vec<Need>,
    /// Whether it belongs to the price list.
    pub in_price_list: bool,
    /// Whether the op itself sleeps or switches, so that switches are results and not disturbance.
    pub switches: bool,
    /// Whether the op itself waits for a disk in a fault, so that major faults are results and not
    /// disturbance.
    #[serde(default)]
    pub major_faults: bool,
    /// The axis whose number is the bytes that an op moves; empty where none is.
    #[serde(default)]
    pub bytes_axis: String,
    /// Whether its other end may stand on another machine.
    #[serde(default)]
    pub peer_may_be_remote: bool,
    /// What setting up takes, at the worst: axes, and microseconds for each unit of their numbers.
    #[serde(default)]
    pub setup_us: Point,
    /// Raised when the work changes; figures of two revisions are not compared without a word.
    pub rev: u32,
    /// Paper section, man page or kernel file.
    pub source: String,
}

impl Definition {
    /// The family: what stands before the slash.
    pub fn family(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(family, _)| family)
    }

    /// What `point` means: the values that it names, and those that it leaves unsaid.
    #[must_use]
    pub fn with_implied(&self, point: &Point) -> Point {
        self.axes.iter().fold(Point::none(), |whole, axis| {
            match point.get(&axis.name).or(axis.implied.as_ref()) {
                Some(value) => whole.with(axis.name.clone(), value.clone()),
                None => whole,
            }
        })
    }

    /// How a case names `point`: without the values that go unsaid.
    #[must_use]
    pub fn without_implied(&self, point: &Point) -> Point {
        let unsaid = |axis: &str, value| {
            self.axis(axis).is_some_and(|of| of.implied.as_ref() == Some(value))
        };
        point
            .iter()
            .filter(|&(axis, value)| !unsaid(axis, value))
            .fold(Point::none(), |said, (axis, value)| said.with(axis, value.clone()))
    }

    /// Whether `point` names each axis once, in order, at a value that the axis offers, and leaves
    /// out what goes unsaid.
    pub fn is_complete(&self, point: &Point) -> bool {
        let whole = self.with_implied(point);
        self.without_implied(&whole) == *point
            && self
                .axes
                .iter()
                .all(|axis| whole.get(&axis.name).is_some_and(|value| axis.has_point(value)))
    }

    /// How long setting up at `point` may take beyond what any case may, in milliseconds.
    pub fn setup_ms(&self, point: &Point) -> u64 {
        let each = self.setup_us.iter().map(|(axis, us)| match (point.get(axis), us) {
            (Some(Value::Number(number)), Value::Number(us)) => number.saturating_mul(*us),
            _ => 0,
        });
        each.sum::<u64>() / 1_000
    }

    /// How many of the ops of its work one call rule means: where rates of bytes are quoted the ops
    /// are bytes, and the calls are those of a message.
    pub fn ops_per_message(&self, point: &Point) -> u64 {
        match (self.unit, point.get(&self.bytes_axis)) {
            (Unit::BytesPerSecond, Some(&Value::Number(bytes))) => bytes.max(1),
            _ => 1,
        }
    }

    /// Whether its ops sleep by themselves when they are timed in `mode`: those that say so, and
    /// cold ones that wait for a disk.
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
    /// Every point that it offers.
    pub points: Vec<Value>,
    /// The points that are measured when none is asked for.
    pub default_points: Vec<Value>,
    /// The point that cases leave out: one without the axis means it. So an axis may come to a
    /// benchmark later, and what was measured before keeps its name.
    #[serde(default)]
    pub implied: Option<Value>,
    /// The points of the price list, where those are fewer than the usual ones.
    #[serde(default)]
    pub price_list_points: Vec<Value>,
    /// The points of a thorough run, where those are others than the usual ones.
    #[serde(default)]
    pub thorough_points: Vec<Value>,
    /// Between these, both included, any number is a point.
    #[serde(default)]
    pub range: Option<(u64, u64)>,
    /// What its numbers count, in a word for one of them: `descriptor`; empty where its name does.
    #[serde(default)]
    pub item: String,
}

impl Axis {
    /// Whether it has that point.
    pub fn has_point(&self, value: &Value) -> bool {
        let within =
            |number: &u64| self.range.is_some_and(|(least, most)| (least..=most).contains(number));
        self.points.contains(value) || matches!(value, Value::Number(number) if within(number))
    }

    /// The points that are measured when none is asked for, in a run of that extent.
    pub fn default_points_for(&self, extent: Extent) -> &[Value] {
        let own = match extent {
            Extent::PriceList => &self.price_list_points,
            Extent::Thorough => &self.thorough_points,
            Extent::Default => &self.default_points,
        };
        if own.is_empty() { &self.default_points } else { own }
    }
}

/// How far a selection goes where it names no points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As in the price list.
    PriceList,
    /// The usual points.
    Default,
    /// As in a thorough run.
    Thorough,
}

/// A primitive and how often an op contains it at least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorPart {
    /// The primitive's case.
    pub case: String,
    /// How often an op contains it.
    pub times: u32,
    /// The axis values at which this part counts; everywhere when empty.
    pub when: Point,
}

/// Something that a place must offer before a case can be measured there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// What is needed.
    pub requirement: Requirement,
    /// The axis values at which it is needed; everywhere when empty.
    pub when: Point,
}

/// The things that can be needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// A file that can be opened for reading.
    Readable(String),
    /// A function in the vDSO.
    VdsoFunction(String),
    /// The processor's counter, as something that programs can tell the time by.
    Counter,
    /// An io_uring of one's own.
    IoUring,
    /// Time that goes by while nobody computes: where instructions are counted, none does.
    WallTime,
    /// Something of memory, disks or CPUs.
    Resource(Resource),
    /// A point that has no meaning; the text says why.
    Undefined(String),
}

/// All that a worker can measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The families, in the order of the price list.
    pub families: Vec<Family>,
    /// The benchmarks, in the order of the price list.
    pub benchmarks: Vec<Definition>,
    /// The timers of the survey, in its order.
    #[serde(default)]
    pub timers: Vec<Timer>,
}

impl Catalog {
    /// The benchmark of that id.
    pub fn get(&self, id: &str) -> Option<&Definition> {
        self.benchmarks.iter().find(|definition| definition.id == id)
    }

    /// The cases that the survey of timers is made of, each once.
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

/// A timer of the survey: what is known of it without measuring it, and which cases measure the
/// rest. Whether it enters the kernel is what was counted on the case of its cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timer {
    /// What it is called.
    pub name: String,
    /// What it costs to ask it.
    pub cost: SurveyEntry,
    /// The resolution that the system or a man page promises.
    pub resolution: SurveyEntry,
    /// The step in which it moves on.
    pub quantum: SurveyEntry,
    /// The smallest difference in work that it shows.
    pub precision: SurveyEntry,
    /// Whether adjtimex(2) changes its rate, as time daemons do.
    pub slewed: SurveyEntry,
    /// Whether it can be set back.
    pub steps_back: SurveyEntry,
}

impl Timer {
    /// The cases that measure it.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        [&self.cost, &self.resolution, &self.quantum, &self.precision]
            .into_iter()
            .filter_map(|told| Case::parse(told.case.as_ref()?))
    }
}

/// What the survey says in one place: exactly one of the three is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SurveyEntry {
    /// The case whose figure stands there; null where there is none.
    pub case: Option<String>,
    /// What is known without measuring; null where it is measured, or has no meaning.
    pub text: Option<String>,
    /// Why nothing can stand there; null where something does.
    pub reason: Option<String>,
}

/// A family of benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// What stands before the slash.
    pub name: String,
    /// What it measures, in one line.
    pub about: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Definition {
        let axis = |name: &str, points: [&str; 2], unsaid: Option<&str>| Axis {
            name: name.into(),
            sets: "something".into(),
            points: points.map(Value::from).to_vec(),
            default_points: vec![Value::from(points[0])],
            implied: unsaid.map(Value::from),
            price_list_points: vec![],
            thorough_points: vec![],
            range: None,
            item: String::new(),
        };
        Definition {
            id: "syscall/getppid".into(),
            asks: String::new(),
            op: String::new(),
            expected: String::new(),
            unit: Unit::NsPerOp,
            explanation: String::new(),
            calls: vec![],
            floor: vec![],
            compare_with: vec![],
            axes: vec![
                axis("via", ["raw", "libc"], None),
                axis("state", ["warm", "cold"], Some("warm")),
            ],
            needs: vec![],
            in_price_list: true,
            switches: false,
            major_faults: false,
            bytes_axis: String::new(),
            peer_may_be_remote: false,
            setup_us: Point::none(),
            rev: 1,
            source: String::new(),
        }
    }

    #[test]
    fn what_is_large_may_take_longer_to_set_up() {
        let point = Point::none().with("files", 3_000u64).with("via", "raw");
        let mut definition = definition();
        assert_eq!(definition.setup_ms(&point), 0);
        definition.setup_us =
            Point::none().with("files", 1_000u64).with("via", 7u64).with("mib", 7u64);
        assert_eq!(definition.setup_ms(&point), 3_000);
    }

    #[test]
    fn what_goes_unsaid_is_meant_and_is_not_named() {
        let definition = definition();
        let raw = Point::none().with("via", "raw");
        let warm = raw.clone().with("state", "warm");
        let cold = raw.clone().with("state", "cold");
        assert_eq!(definition.with_implied(&raw), warm);
        assert_eq!(definition.without_implied(&warm), raw);
        assert_eq!(
            (definition.with_implied(&cold), definition.without_implied(&cold)),
            (cold.clone(), cold)
        );
    }

    #[test]
    fn a_point_has_one_name() {
        let definition = definition();
        let complete = |text: &str| {
            let case = crate::case::Case::parse(&format!("syscall/getppid{text}")).unwrap();
            definition.is_complete(&case.point)
        };
        assert!(complete(":via=raw") && complete(":via=raw,state=cold"));
        for text in [
            "",
            ":state=cold",
            ":via=raw,state=warm",
            ":state=cold,via=raw",
            ":via=raw,state=hot",
            ":via=magic",
            ":via=raw,size=1",
        ] {
            assert!(!complete(text), "{text}");
        }
    }
}
