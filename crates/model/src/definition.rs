//! Definitions: all that is said of a benchmark, as data.

use serde::{Deserialize, Serialize};

use crate::calls::CallRule;
use crate::case::Case;
use crate::point::{Point, Value};
use crate::unit::Unit;

/// What a benchmark asks, does, expects and needs. The part that does the work stays in the cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// `family/kebab-name`.
    pub id: String,
    /// The question, ending in "?".
    pub asks: String,
    /// What is inside the clock; then what is not.
    pub op: String,
    /// The prediction, written before it was measured.
    pub guess: String,
    /// What the figure is counted in.
    pub unit: Unit,
    /// The mechanism: why it costs what it costs; empty where there is nothing to explain.
    #[serde(default)]
    pub why: String,
    /// The calls that an op must make.
    pub calls: Vec<CallRule>,
    /// The primitives below which an op cannot go.
    pub floor: Vec<FloorPart>,
    /// Its axes, in the order in which a point names them.
    pub axes: Vec<Axis>,
    /// What a place must offer; unmet, the case is skipped with the reason.
    pub needs: Vec<Need>,
    /// Whether it belongs to the bill.
    pub in_bill: bool,
    /// Whether the op itself sleeps or switches, so that switches are results and not disturbance.
    pub switches: bool,
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
    pub usual: Vec<Value>,
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
    pub what: Requirement,
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
    /// A point that has no meaning; the text says why.
    Meaning(String),
}

/// All that a cell can measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// The families, in the order of the bill.
    pub families: Vec<Family>,
    /// The benchmarks, in the order of the bill.
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
    pub fn survey(&self) -> Vec<Case> {
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
    pub cost: Told,
    /// The resolution that the system or a man page promises.
    pub resolution: Told,
    /// The step in which it moves on.
    pub quantum: Told,
    /// The smallest difference in work that it shows.
    pub precision: Told,
    /// Whether adjtimex(2) changes its rate, as time daemons do.
    pub slewed: Told,
    /// Whether it can be set back.
    pub steps_back: Told,
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
pub struct Told {
    /// The case whose figure stands there; null where there is none.
    pub case: Option<String>,
    /// What is known without measuring; null where it is measured, or has no meaning.
    pub words: Option<String>,
    /// Why nothing can stand there; null where something does.
    pub because: Option<String>,
}

/// A family of benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// What stands before the slash.
    pub name: String,
    /// What it measures, in one line.
    pub about: String,
}
