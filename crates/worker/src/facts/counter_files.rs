//! The processor's counters, as files describe them. Which events can be counted is found by trying.

use oscost_model::counters::CounterFacts;
use oscost_model::hash;

use super::roots::Roots;
use super::{parse, reader};

/// Where the kernel lists its counters.
const DEVICES: &str = "sys/bus/event_source/devices";

/// Counters of a kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pmu {
    name: String,
    /// Its number for perf_event_open(2).
    number: u32,
    /// The CPUs that have it; `None` if all do.
    cpus: Option<Vec<u32>>,
}

/// What files show of the counters.
pub(super) fn gather(roots: &Roots) -> CounterFacts {
    let sysctl = roots.at("proc/sys/kernel");
    let pmus = pmus(roots);
    let first = pmus.first().map_or("cpu", |pmu| pmu.name.as_str());
    let rdpmc: Option<u32> = reader::number(&roots.at(DEVICES).join(first).join("rdpmc"));
    let boot = reader::value(&sysctl.join("random/boot_id"));
    CounterFacts {
        paranoid: reader::number(&sysctl.join("perf_event_paranoid")),
        rdpmc: rdpmc.map(|allowed| allowed != 0),
        boot: boot.map(|id| hash::content(id.as_bytes())),
        pmus: pmus.into_iter().map(|pmu| pmu.name).collect(),
        ..CounterFacts::default()
    }
}

/// The number of the counters of a CPU, where kinds of cores have counters of their own; otherwise
/// 0, the only ones.
pub fn pmu_of(roots: &Roots, cpu: Option<u32>) -> u32 {
    let pmus = pmus(roots);
    if pmus.len() < 2 {
        return 0;
    }
    let has = |pmu: &&Pmu| match (&pmu.cpus, cpu) {
        (Some(cpus), Some(cpu)) => cpus.contains(&cpu),
        _ => false,
    };
    pmus.iter().find(has).map_or(0, |pmu| pmu.number)
}

/// The counters of cores: those named `cpu`, or with a list of their CPUs. (Counters outside of the
/// cores have a `cpumask`.)
fn pmus(roots: &Roots) -> Vec<Pmu> {
    let devices = roots.at(DEVICES);
    let pmu = |name: String| {
        let folder = devices.join(&name);
        let cpus = reader::value(&folder.join("cpus"));
        if name != "cpu" && cpus.is_none() {
            return None;
        }
        let number = reader::number(&folder.join("type")).unwrap_or(0);
        Some(Pmu { name, number, cpus: cpus.as_deref().and_then(parse::list) })
    };
    reader::names(&devices).into_iter().filter_map(pmu).collect()
}
