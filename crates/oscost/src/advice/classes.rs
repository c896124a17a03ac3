//! Machine and kernel classes: figures of different days belong to one series of `oscost history`
//! if their classes agree.
//!
//! A class is a list of keys with values: `arch x86_64, cpus 2`. A fact that could not be read is
//! left out and matches anything: the readable facts depend on the user, and root reads more. The
//! class of a kernel does not contain its version, since a history shows the effect of a new version;
//! versions are marked on its time line.
//!
//! `oscost compare` requires more to agree (caches, memory), since it has only two runs.

use std::collections::BTreeMap;

use oscost_model::record::Machine;

/// The key of the clock source in the class of a machine.
const CLOCK_SOURCE: &str = "clocksource";

/// The class of a machine: architecture, CPU, number of CPUs, hypervisor, clocksource; for a
/// machine that was booted for its run, also the emulator and its configuration.
pub fn machine_class(machine: &Machine) -> String {
    class(&parts_of_machine(machine))
}

/// The class of a node of a fleet: that of its machine without the clock source. Nodes of equal
/// hardware are expected to be equally fast, and a kernel that has given up its counter is what
/// makes one of them slow.
pub fn node_class(machine: &Machine) -> String {
    let mut parts = parts_of_machine(machine);
    parts.retain(|(key, _)| *key != CLOCK_SOURCE);
    class(&parts)
}

/// The class of a node by that of its machine as a text, which data sets of earlier versions have.
pub fn without_clock_source(class: &str) -> String {
    let words = class.split(", ").filter(|word| word.split(' ').next() != Some(CLOCK_SOURCE));
    words.collect::<Vec<_>>().join(", ")
}

/// The keys of the class of a machine, with their values.
fn parts_of_machine(machine: &Machine) -> Vec<(&'static str, Option<String>)> {
    let cpu = &machine.cpu;
    let number = |it: Option<u32>| it.map_or("?".to_owned(), |it| it.to_string());
    // The numbers identify the CPU; some machines have only the name.
    let numbers = [cpu.family, cpu.model, cpu.stepping];
    let numbers = numbers.iter().any(Option::is_some).then(|| numbers.map(number).join("/"));
    let parts = [cpu.vendor.clone(), numbers, cpu.model_name.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    vec![
        ("arch", machine.os.arch.clone()),
        ("cpu", (!parts.is_empty()).then(|| parts.join(" "))),
        ("cpus", cpu.logical_online.map(|count| count.to_string())),
        ("hypervisor", machine.virtualization.clone()),
        (CLOCK_SOURCE, machine.scheduling.clocksource.clone()),
        ("emulator", machine.vm.as_ref().map(|vm| format!("{} {}", vm.emulator, vm.accel))),
        ("emulated", machine.vm.as_ref().map(|vm| format!("{} {} MiB", vm.cpu, vm.mem_mib))),
    ]
}

/// The class of a machine's kernel: flavour, architecture, tick rate, preemption model.
pub fn kernel_class(machine: &Machine) -> String {
    // These two describe how the kernel was built, not how it preempts now.
    let preempt = machine.scheduling.preempt.clone();
    let preempt = preempt.filter(|it| it != "full-or-lazy" && it != "dynamic");
    class(&[
        ("flavour", machine.os.release.as_deref().map(flavour)),
        ("arch", machine.os.arch.clone()),
        ("hz", machine.os.hz.map(|hz| hz.to_string())),
        ("preempt", preempt),
    ])
}

/// The kernel's command line without the names of the files that it was loaded from: they contain
/// its release, which is compared by itself.
pub fn command_line(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|it| !it.starts_with("BOOT_IMAGE=") && !it.starts_with("initrd="));
    words.collect::<Vec<_>>().join(" ")
}

fn class(words: &[(&str, Option<String>)]) -> String {
    let known = words.iter().filter_map(|(word, value)| {
        // A comma separates keys, so it is removed from text read from the machine.
        let value = value.as_ref()?.replace(',', " ");
        Some(format!("{word} {}", value.split_whitespace().collect::<Vec<_>>().join(" ")))
    });
    known.collect::<Vec<_>>().join(", ")
}

/// The processor of a machine class, without vendor and numbers where it has a name.
pub fn processor(class: &str) -> Option<String> {
    let cpu = class.split(", ").find_map(|word| word.strip_prefix("cpu "))?;
    let words: Vec<&str> = cpu.split(' ').collect();
    let numbers = words.iter().position(|word| word.split('/').count() == 3);
    let name = numbers.map_or(&words[..], |at| &words[at + 1..]);
    Some(if name.is_empty() { cpu.to_owned() } else { name.join(" ") })
}

/// The difference between two classes as text; `None` if no key that both contain differs.
pub fn difference(one: &str, other: &str) -> Option<String> {
    fn words(class: &str) -> BTreeMap<&str, &str> {
        class.split(", ").filter_map(|word| word.split_once(' ')).collect()
    }
    let others = words(other);
    let differing = words(one).into_iter().filter_map(|(word, value)| {
        let other = others.get(word).filter(|&&other| other != value)?;
        Some(format!("{word} {value}, not {other}"))
    });
    let differing: Vec<String> = differing.collect();
    (!differing.is_empty()).then(|| differing.join("; "))
}

/// A release without its version: `cloud-amd64` of `6.12.41+deb13-cloud-amd64`, `generic` of
/// `6.8.0-45-generic`; `plain` if there is no other part.
///
/// The release is split at `-`, `.`, `+` and `~`. Words that begin with a digit are versions, and
/// so are `rc3`, `deb13` and a commit hash; so is a number at the end of another word (`fc39`,
/// `arch1`), unless the word is an architecture.
fn flavour(release: &str) -> String {
    let words = release.split(['-', '.', '+', '~']).filter_map(|word| {
        let commit = word.strip_prefix('g').is_some_and(|rest| {
            rest.len() >= 7 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        let numbered = word.ends_with(|c: char| c.is_ascii_digit());
        let is_arch = ["64", "32", "86"].iter().any(|bits| word.ends_with(bits));
        let first = word.find(|c: char| c.is_ascii_digit());
        let name = match first {
            Some(first) if first == 0 || (numbered && !is_arch) => &word[..first],
            _ => word,
        };
        let version = commit || matches!(name, "" | "rc" | "deb" | "bpo");
        (!version).then_some(name)
    });
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "plain".to_owned() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use oscost_model::facts::Facts;

    use super::*;

    #[test]
    fn the_flavour_is_the_release_without_its_version() {
        for (release, expected) in [
            ("6.12.41+deb13-cloud-amd64", "cloud-amd64"),
            ("6.1.0-22-amd64", "amd64"),
            ("6.8.0-45-generic", "generic"),
            ("5.15.0-1064-azure", "azure"),
            ("6.18.0", "plain"),
            ("6.9.0-rc3-00123-gabcdef123456", "plain"),
            ("6.5.6-300.fc39.x86_64", "fc-x86_64"),
            ("5.14.0-427.13.1.el9_4.x86_64", "el-x86_64"),
            ("6.9.1-arch1-1", "arch"),
            ("5.15.153.1-microsoft-standard-WSL2", "microsoft-standard-WSL"),
            ("6.6.31-v8+", "v"),
            ("6.1.102-rt37-rt-amd64", "rt-rt-amd64"),
            ("6.1.0-armmp-lpae", "armmp-lpae"),
            ("", "plain"),
        ] {
            assert_eq!(flavour(release), expected, "{release}");
        }
    }

    #[test]
    fn an_update_keeps_the_kernel_class_and_another_flavour_changes_it() {
        let machine = |release: &str, preempt: &str, hz| {
            let mut facts = Facts::default();
            facts.os.release = Some(release.to_owned());
            facts.os.arch = Some("x86_64".to_owned());
            facts.os.hz = hz;
            facts.scheduling.preempt = Some(preempt.to_owned());
            kernel_class(&Machine::new("m0", facts, vec![]))
        };
        let one = machine("6.1.0-22-amd64", "voluntary", Some(250));
        assert_eq!(one, "flavour amd64, arch x86_64, hz 250, preempt voluntary");
        let not = |other: &str| difference(&one, other);
        assert_eq!(not(&machine("6.1.0-23-amd64", "voluntary", Some(250))), None);
        assert_eq!(not(&machine("6.12.1-amd64", "dynamic", None)), None, "what is not known");
        let cloud = not(&machine("6.1.0-22-cloud-amd64", "voluntary", Some(250)));
        assert_eq!(cloud.as_deref(), Some("flavour amd64, not cloud-amd64"));
        let other = not(&machine("6.1.0-22-amd64", "full", Some(1_000)));
        assert_eq!(other.as_deref(), Some("hz 250, not 1000; preempt voluntary, not full"));
    }

    #[test]
    fn the_machine_class_depends_on_hardware_and_not_on_state() {
        let machine = |change: &dyn Fn(&mut Facts)| {
            let mut facts = Facts::default();
            facts.cpu.vendor = Some("GenuineIntel".to_owned());
            facts.cpu.model_name = Some("Some, CPU".to_owned());
            (facts.cpu.family, facts.cpu.model) = (Some(6), Some(85));
            facts.cpu.logical_online = Some(4);
            facts.cpu.microcode = Some("0x1".to_owned());
            facts.virtualization = Some("kvm".to_owned());
            facts.scheduling.clocksource = Some("tsc".to_owned());
            change(&mut facts);
            machine_class(&Machine::new("m0", facts, vec![]))
        };
        let one = machine(&|_| {});
        let words = "cpu GenuineIntel 6/85/? Some CPU, cpus 4, hypervisor kvm, clocksource tsc";
        assert_eq!(one, words);
        assert_eq!(processor(&one).as_deref(), Some("Some CPU"));
        assert_eq!(
            processor("arch x, cpu Vendor 6/85/7, cpus 2").as_deref(),
            Some("Vendor 6/85/7")
        );
        assert_eq!(processor("arch x86_64, cpus 2"), None);
        let not = |change: &dyn Fn(&mut Facts)| difference(&one, &machine(change)).is_some();
        assert!(!not(&|facts| facts.cpu.microcode = Some("0x2".to_owned())));
        assert!(!not(&|facts| facts.virtualization = None));
        assert!(not(&|facts| facts.virtualization = Some("none".to_owned())));
        assert!(not(&|facts| facts.cpu.stepping = Some(7)));
        assert!(not(&|facts| facts.cpu.logical_online = Some(2)));
        assert!(not(&|facts| facts.scheduling.clocksource = Some("hpet".to_owned())));
        assert_eq!(difference("", &one), None);
    }

    #[test]
    fn the_class_of_a_node_does_not_have_its_clock_source() {
        let node = |source: Option<&str>| {
            let mut facts = Facts::default();
            facts.os.arch = Some("x86_64".to_owned());
            facts.virtualization = Some("kvm".to_owned());
            facts.scheduling.clocksource = source.map(str::to_owned);
            node_class(&Machine::new("m0", facts, vec![]))
        };
        let expected = "arch x86_64, hypervisor kvm";
        assert_eq!([Some("tsc"), Some("hpet"), None].map(node), [expected; 3]);
        let of_machine = "arch x86_64, hypervisor kvm, clocksource tsc";
        assert_eq!([of_machine, expected].map(without_clock_source), [expected; 2]);
        assert_eq!(without_clock_source(""), "");
    }
}
