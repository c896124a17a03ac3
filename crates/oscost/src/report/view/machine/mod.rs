//! The description of a machine: every fact is always listed, with its value or with the reason why it
//! has none.

mod counters;
mod description;
mod facts;
mod hardware;
mod software;

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::{Disk, Facts, NetworkCard};
use serde::Serialize;

use self::facts::{hidden_fact, missing_reason};
use crate::report::text::plain;
use crate::report::view::document::{Block, Fact, Section, View};

pub use self::description::{Description, Rates};

/// The maximum number of disks, and of kinds of network cards, that are described.
const MAX_DEVICES: usize = 16;

/// The machine, a section for each part.
pub fn view(machine: &Description<'_>) -> View {
    let facts = machine.facts;
    let section = |title: &str, facts: Vec<Fact>| Section::of(plain(title), [Block::Facts(facts)]);
    let mut sections = vec![
        section("Processor", hardware::processor(facts, machine.rates)),
        section("Counters", counters::counters(facts)),
        section("Caches", hardware::caches(facts)),
        section("Memory", hardware::memory(facts)),
    ];
    let disk = |disk: &Disk| section(&format!("Disk {}", disk.name), hardware::disk(facts, disk));
    sections.extend(facts.disks.iter().take(MAX_DEVICES).map(disk));
    if facts.disks.is_empty() {
        let none = missing_reason(facts, "/sys/block", "every block device has the capacity 0");
        sections.push(section("Disk", vec![hidden_fact("model", &none)]));
    }
    let cards: Vec<&NetworkCard> =
        facts.network.iter().filter(|card| card.kind != "loopback").take(MAX_DEVICES).collect();
    let card = |card: &&NetworkCard| {
        let title = match card.count {
            1 => format!("Network card ({})", card.kind),
            count => format!("Network cards ({}, {count} identical)", card.kind),
        };
        section(&title, hardware::network_card(facts, card))
    };
    sections.extend(cards.iter().map(card));
    if cards.is_empty() {
        let none = missing_reason(facts, "/sys/class/net", "no card except loopback");
        sections.push(section("Network card", vec![hidden_fact("model", &none)]));
    }
    sections.extend([
        section("System", software::system(machine)),
        section("Clocks and scheduling", software::scheduling(machine)),
        section("Limits", software::limits(facts)),
        section("Security and tracing", software::security(facts)),
        section("CPU vulnerabilities", software::flaws(facts)),
    ]);
    View::of(sections)
}

/// The facts of a machine's hardware by part: of its first disk, and of its first network card that
/// is not one of software.
pub(in crate::report::view) struct Hardware {
    pub(in crate::report::view) processor: Vec<Fact>,
    pub(in crate::report::view) caches: Vec<Fact>,
    pub(in crate::report::view) memory: Vec<Fact>,
    pub(in crate::report::view) disk: Vec<Fact>,
    pub(in crate::report::view) network_card: Vec<Fact>,
}

/// The hardware of a machine.
pub(in crate::report::view) fn hardware_of(facts: &Facts, rates: &Rates) -> Hardware {
    let is_hardware = |card: &&NetworkCard| matches!(card.kind.as_str(), "physical" | "wireless");
    let card = facts.network.iter().find(is_hardware);
    Hardware {
        processor: hardware::processor(facts, rates),
        caches: hardware::caches(facts),
        memory: hardware::memory(facts),
        disk: facts.disks.first().map(|disk| hardware::disk(facts, disk)).unwrap_or_default(),
        network_card: card.map(|card| hardware::network_card(facts, card)).unwrap_or_default(),
    }
}

/// The description as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Only where several nodes are described in turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(flatten)]
    facts: &'a Facts,
    clocks: &'a [ClockVerdict],
    program: Program<'a>,
    rates: RatesDocument<'a>,
}

#[derive(Serialize)]
struct Program<'a> {
    version: &'a str,
    link: &'a str,
    libc: &'a str,
}

#[derive(Serialize)]
struct RatesDocument<'a> {
    cpu: Option<u32>,
    core_cycles_per_ns: Option<f64>,
    clock: Option<&'static str>,
    ticks_per_ns: Option<f64>,
    not_measured: Option<&'a str>,
}

/// The facts as one JSON object, with the target of the node if there are several.
pub fn json(machine: &Description<'_>, at: Option<&str>) -> Result<String, serde_json::Error> {
    let rates = machine.rates;
    let document = Document {
        schema: "oscost.machine/1",
        at,
        facts: machine.facts,
        clocks: machine.clocks,
        program: Program {
            version: &machine.worker.version,
            link: &machine.worker.link,
            libc: &machine.worker.libc,
        },
        rates: RatesDocument {
            cpu: rates.probe.as_ref().map(|probe| probe.cpu),
            core_cycles_per_ns: rates.probe.as_ref().and_then(|it| it.core_cycles_per_ns),
            clock: rates.calibration.map(|clock| clock.kind.text()),
            ticks_per_ns: rates.calibration.map(|clock| clock.ticks_per_ns),
            not_measured: rates.not_measured.as_deref(),
        },
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
