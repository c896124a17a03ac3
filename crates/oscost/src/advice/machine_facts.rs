//! The facts of a machine that its figures may depend on, and which of them tell machines apart.
//!
//! A fact that differs is a candidate for the reason of a difference, and no proof of it.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::facts::Bound;
use oscost_model::record::{Conditions, Machine};

use super::classes::{command_line, node_class};

/// The name of the fact how many NUMA nodes a machine has.
pub const NUMA_NODES: &str = "NUMA nodes";

/// How many facts of a class must be known, processor and kernel: some have no microcode.
const KNOWN_OF_CLASS: usize = 2;

/// A fact of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFact {
    /// Its name in sentences.
    pub name: &'static str,
    /// Whether the name is a plural.
    pub is_plural: bool,
    /// Whether machines that differ in it are of two classes: processor, kernel, microcode,
    /// mitigations.
    pub is_of_class: bool,
    /// Its value; `None` if it is not known.
    pub value: Option<String>,
    /// What separates the parts of a value that is a list.
    separator: Option<&'static str>,
}

/// A machine of a table, as it is described beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedMachine {
    /// What it is called.
    pub name: String,
    /// The name of the same machine with other settings, if it stands before.
    pub setting_of: Option<String>,
    /// Its facts, in an order that is the same for all machines.
    pub facts: Vec<MachineFact>,
    /// Its runs.
    pub runs: Vec<DescribedRun>,
}

/// A run of a described machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedRun {
    /// Its id.
    pub id: String,
    /// When it began: RFC 3339, UTC.
    pub started: String,
    /// Why nothing is concluded from it, as what it is or has; `None` if something may be.
    pub not_claimable: Option<&'static str>,
}

/// Which facts tell a machine from others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contrast<'a> {
    /// The facts of its class that are the same on all.
    pub same: Vec<&'a MachineFact>,
    /// The facts that none of the others shares.
    pub different: Vec<FactDifference<'a>>,
}

/// A fact that a machine has alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactDifference<'a> {
    /// The fact.
    pub fact: &'a MachineFact,
    /// Its value on this machine; of a list what only it has.
    pub own: String,
    /// The value on most of the others that it is known of; of a list what only they have.
    pub other: String,
}

/// The facts of a machine, those of its class first. `conditions` are those of one of its runs.
pub fn machine_facts(machine: &Machine, conditions: Option<&Conditions>) -> Vec<MachineFact> {
    let (cpu, os, memory) = (&machine.cpu, &machine.os, &machine.memory);
    let scheduling = &machine.scheduling;
    let mitigations = machine.mitigations.iter().map(|(flaw, what)| format!("{flaw}: {what}"));
    let mitigations: Vec<String> = mitigations.collect();
    let kernel = [&os.release, &os.version].into_iter().flatten();
    let kernel: Vec<&str> = kernel.map(String::as_str).collect();
    let quota = scheduling.cgroup_quota_milli_cpus.map(|quota| match quota {
        Bound::Max(milli) => format!("{} CPUs", milli as f64 / 1e3),
        Bound::Unlimited(_) => "none".to_owned(),
    });
    let weights = scheduling.unusual_cpu_weights().map(|weights| match &weights[..] {
        [] => "none".to_owned(),
        weights => weights.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    });
    let filters = machine.security.seccomp_filters.map(|count| count.to_string());
    let gib = memory.total_kib.map(|kib| format!("{:.0} GiB", kib as f64 / f64::from(1 << 20)));
    let caches = machine.caches.iter().filter_map(|cache| {
        let (level, kind) = (cache.level?, cache.kind.as_deref()?);
        Some(format!("L{level} {kind} {} KiB", cache.size_kib?))
    });
    let caches: Vec<String> = caches.collect();
    let isolated = scheduling.isolated_cpus.as_ref().map(|cpus| format!("{cpus:?}"));
    let tracers = conditions.map(|it| it.tracers.join("; "));
    vec![
        one("processor", non_empty(node_class(machine))).of_class().list(", "),
        one("kernel", non_empty(kernel.join(" "))).of_class(),
        one("microcode", cpu.microcode.clone()).of_class(),
        several("mitigations", non_empty(mitigations.join("; "))).of_class().list("; "),
        several("transparent huge pages", memory.transparent_huge_pages.clone()),
        one("defragmentation of huge pages", memory.transparent_huge_page_defrag.clone()),
        one("frequency governor", scheduling.governor.clone()),
        one("frequency boost", scheduling.boost.map(on_or_off)),
        one("SMT", scheduling.smt_active.map(on_or_off)),
        one("preemption", scheduling.preempt.clone()),
        one("clock source", scheduling.clocksource.clone()),
        one("tick rate", os.hz.map(|hz| format!("{hz} Hz"))),
        one("kernel image", os.build_id.clone()),
        one("kernel command line", os.cmdline.as_deref().map(command_line)).list(" "),
        several("build options", os.options.as_ref().map(|options| options.join(" "))).list(" "),
        several("security modules", os.lsm.as_ref().map(|modules| modules.join(" "))).list(" "),
        several("tracers", tracers).list("; "),
        several("seccomp filters of the worker", filters),
        several("isolated CPUs", isolated),
        one("CPU quota", quota),
        several("unusual CPU weights", weights),
        one("scheduling policy", scheduling.policy.clone()),
        one("nice value", scheduling.nice.map(|nice| nice.to_string())),
        one("idle driver", scheduling.idle_driver.clone()),
        one("idle governor", scheduling.idle_governor.clone()),
        several(NUMA_NODES, memory.numa_nodes.map(|nodes| nodes.to_string())),
        several("caches", non_empty(caches.join("; "))).list("; "),
        one("memory size", gib),
        one("firmware", os.firmware.clone()),
        one("distribution", os.distribution.clone()),
    ]
}

/// The facts of a class as one text: machines with the same text are equals. `None` if processor or
/// kernel is not known.
pub fn class_text(facts: &[MachineFact]) -> Option<String> {
    let of_class: Vec<&MachineFact> = facts.iter().filter(|fact| fact.is_of_class).collect();
    let known = of_class.iter().take(KNOWN_OF_CLASS).filter(|fact| fact.value.is_some()).count();
    (known == KNOWN_OF_CLASS).then(|| text(of_class.into_iter()))
}

/// All facts as one text: machines with the same text differ in nothing that is recorded.
pub fn facts_text(facts: &[MachineFact]) -> String {
    text(facts.iter())
}

/// A line for each fact; one that is not known is equal only to another one that is not.
fn text<'a>(facts: impl Iterator<Item = &'a MachineFact>) -> String {
    let line = |fact: &MachineFact| match &fact.value {
        Some(value) => format!("={value}\n"),
        None => "?\n".to_owned(),
    };
    facts.map(line).collect()
}

/// Whether a fact that is known of both differs.
pub fn differ(one: &[MachineFact], other: &[MachineFact]) -> bool {
    one.iter().zip(other).any(|(one, other)| are_different(one, other))
}

/// Whether the values of a fact are known and differ.
pub fn are_different(one: &MachineFact, other: &MachineFact) -> bool {
    one.value.is_some() && other.value.is_some() && one.value != other.value
}

/// The facts of several runs of a machine as those of one; of a fact that differs, all its values.
pub fn joined_facts(of_runs: &[&[MachineFact]]) -> Vec<MachineFact> {
    let Some(first) = of_runs.iter().find(|facts| !facts.is_empty()) else { return Vec::new() };
    let joined = |(at, fact): (usize, &MachineFact)| {
        let mut values: Vec<&str> = Vec::new();
        for value in of_runs.iter().filter_map(|facts| facts.get(at)?.value.as_deref()) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        MachineFact { value: non_empty(values.join(" or ")), ..fact.clone() }
    };
    first.iter().enumerate().map(joined).collect()
}

/// What tells a machine from others: the facts that all of them share, and those that none of them
/// shares. What is not known on either side is neither.
pub fn contrast<'a>(own: &'a [MachineFact], others: &[&[MachineFact]]) -> Contrast<'a> {
    let mut found = Contrast::default();
    for (at, fact) in own.iter().enumerate() {
        let Some(value) = fact.value.as_deref() else { continue };
        let of_others = others.iter().map(|facts| facts.get(at)?.value.as_deref());
        let of_others: Vec<Option<&str>> = of_others.collect();
        let known: Vec<&str> = of_others.iter().copied().flatten().collect();
        let Some(other) = most_common(&known) else { continue };
        let is_shared = known.contains(&value);
        if !is_shared {
            let [own, other] = match fact.separator {
                Some(separator) => parts_apart(value, other, separator),
                None => [value, other].map(str::to_owned),
            };
            found.different.push(FactDifference { fact, own, other });
        } else if fact.is_of_class && of_others.iter().all(|it| *it == Some(value)) {
            found.same.push(fact);
        }
    }
    found
}

/// The most frequent of some values; of equally frequent ones the first in their order.
fn most_common<'a>(values: &[&'a str]) -> Option<&'a str> {
    let mut counts: BTreeMap<&'a str, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(*value).or_default() += 1;
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

/// What only one of two lists has; the lists themselves where only their order differs.
fn parts_apart(one: &str, other: &str, separator: &str) -> [String; 2] {
    let parts = |text: &str| -> BTreeSet<String> {
        text.split(separator).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (of_one, of_other) = (parts(one), parts(other));
    if of_one == of_other {
        return [one, other].map(str::to_owned);
    }
    [of_one.difference(&of_other), of_other.difference(&of_one)].map(|parts| {
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(separator) }
    })
}

fn one(name: &'static str, value: Option<String>) -> MachineFact {
    MachineFact { name, is_plural: false, is_of_class: false, value, separator: None }
}

fn several(name: &'static str, value: Option<String>) -> MachineFact {
    MachineFact { is_plural: true, ..one(name, value) }
}

impl MachineFact {
    fn of_class(self) -> Self {
        Self { is_of_class: true, ..self }
    }

    fn list(self, separator: &'static str) -> Self {
        Self { separator: Some(separator), ..self }
    }
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn on_or_off(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use oscost_model::facts::{CgroupVersion, Facts};

    use super::*;

    fn facts(change: impl Fn(&mut Facts)) -> Vec<MachineFact> {
        let mut facts = Facts::default();
        facts.cpu.model_name = Some("Some CPU".to_owned());
        facts.cpu.microcode = Some("0x1".to_owned());
        facts.os.release = Some("6.1.0".to_owned());
        facts.memory.transparent_huge_pages = Some("always".to_owned());
        facts.mitigations.insert("mds".to_owned(), "Not affected".to_owned());
        change(&mut facts);
        machine_facts(&Machine::new("m0", facts, Vec::new()), None)
    }

    fn names(of: &[&MachineFact]) -> Vec<&'static str> {
        of.iter().map(|fact| fact.name).collect()
    }

    #[test]
    fn a_setting_of_one_machine_is_told_beside_what_all_share() {
        let own = facts(|facts| facts.memory.transparent_huge_pages = Some("never".to_owned()));
        let equal = facts(|_| {});
        let found = contrast(&own, &[&equal, &equal, &equal]);
        assert_eq!(names(&found.same), ["processor", "kernel", "microcode", "mitigations"]);
        let [only] = &found.different[..] else { panic!("{found:?}") };
        assert_eq!(only.fact.name, "transparent huge pages");
        assert_eq!((&*only.own, &*only.other), ("never", "always"));
        assert!(only.fact.is_plural && class_text(&own) == class_text(&equal));
        assert_ne!(facts_text(&own), facts_text(&equal));
        assert!(contrast(&equal, &[&equal]).different.is_empty());
    }

    #[test]
    fn what_one_of_the_others_shares_or_nobody_knows_tells_nothing_apart() {
        let own = facts(|facts| facts.scheduling.governor = Some("powersave".to_owned()));
        let equal = facts(|_| {});
        assert!(contrast(&own, &[&equal]).different.is_empty(), "it is not known there");
        let fast = facts(|facts| facts.scheduling.governor = Some("performance".to_owned()));
        assert!(contrast(&own, &[&fast, &own]).different.is_empty());
        assert_eq!(contrast(&own, &[&fast, &equal]).different.len(), 1);
        assert_eq!(contrast(&own, &[]), Contrast::default());
        let without_microcode = class_text(&facts(|facts| facts.cpu.microcode = None));
        assert!(without_microcode.is_some() && without_microcode != class_text(&equal));
        // Without a known kernel there are no equals.
        assert_eq!(class_text(&facts(|facts| facts.os.release = None)), None);
    }

    #[test]
    fn runs_differ_by_what_is_known_of_both_and_as_one_machine_have_all_values() {
        let always = facts(|_| {});
        let never = facts(|facts| facts.memory.transparent_huge_pages = Some("never".to_owned()));
        let unknown = facts(|facts| facts.memory.transparent_huge_pages = None);
        assert!(differ(&always, &never) && !differ(&always, &unknown) && !differ(&[], &never));
        let joined = joined_facts(&[&[], &never, &unknown, &always, &never]);
        let value = |name: &str| joined.iter().find(|fact| fact.name == name)?.value.as_deref();
        assert_eq!(value("transparent huge pages"), Some("never or always"));
        assert_eq!((value("microcode"), value("SMT")), (Some("0x1"), None));
        assert!(joined_facts(&[&[]]).is_empty());
    }

    #[test]
    fn how_a_worker_is_scheduled_tells_machines_apart() {
        let scheduled = |nice: i32, policy: &str, weight: u64| {
            facts(|facts| {
                let scheduling = &mut facts.scheduling;
                scheduling.nice = Some(nice);
                scheduling.policy = Some(policy.to_owned());
                scheduling.cgroup_version = Some(CgroupVersion::V2);
                scheduling.cgroup_cpu_weights = Some(vec![weight, 100]);
            })
        };
        let own = scheduled(10, "idle", 20);
        let other = scheduled(0, "other", 100);
        let found = contrast(&own, &[&other, &other]);
        let told: Vec<(&str, &str, &str)> =
            found.different.iter().map(|it| (it.fact.name, &*it.own, &*it.other)).collect();
        let expected = [
            ("unusual CPU weights", "20", "none"),
            ("scheduling policy", "idle", "other"),
            ("nice value", "10", "0"),
        ];
        assert_eq!(told, expected);
        assert!(class_text(&own) == class_text(&other) && differ(&own, &other));
    }

    #[test]
    fn of_lists_only_what_differs_is_told() {
        let own = facts(|facts| {
            facts.os.cmdline = Some("BOOT_IMAGE=/a ro mitigations=off quiet".to_owned());
        });
        let other = facts(|facts| facts.os.cmdline = Some("BOOT_IMAGE=/b ro quiet".to_owned()));
        let found = contrast(&own, &[&other]);
        let [only] = &found.different[..] else { panic!("{found:?}") };
        assert_eq!((&*only.own, &*only.other), ("mitigations=off", "nothing"));
        let turned = facts(|facts| facts.os.cmdline = Some("quiet ro".to_owned()));
        let found = contrast(&turned, &[&other]);
        let only = &found.different[0];
        assert_eq!((&*only.own, &*only.other), ("quiet ro", "ro quiet"));
    }
}
