//! The doctor: facts and a probe in, findings out.
//!
//! A finding is what it is, with this machine's figure; what it does to figures; what mends it. A
//! rule is one function; it sees all that is known and says one thing about one subject, so that no
//! two things that are said can contradict each other. Where a size stands without the words "here"
//! or "now", it was measured elsewhere: docs/METHOD.md, section 5, says where.

mod clock;
mod cpu;
mod kernel;
mod noise;
#[cfg(test)]
mod tests;

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::Facts;
use oscost_model::noise_class::NoiseClass;
use oscost_model::protocol::CpuProbe;
use oscost_model::watch::{CpuActivity, SystemActivity};
use serde::Serialize;

/// All that a rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct Observations<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// Which clocks can be used there.
    pub clocks: &'a [ClockVerdict],
    /// What the probe saw on each CPU.
    pub probe: &'a [CpuProbe],
    /// The CPU that a run would take; `None` where a process cannot be pinned.
    pub cpu: Option<u32>,
    /// Who used the machine meanwhile, or why that is not known.
    pub activity: Result<&'a SystemActivity, &'a str>,
    /// Why system calls cannot be counted; `None` when they can.
    pub uncountable_reason: Option<&'a str>,
}

/// How bad a finding is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Figures are not to be trusted.
    Invalidates,
    /// Figures of a kind are larger, all of them, than on a machine without it.
    Biases,
    /// Intervals are wider, or another minute is another machine.
    Noise,
    /// Something cannot be measured or seen.
    Limitation,
    /// Worth knowing when figures are compared.
    Note,
}

/// What is wrong, what it does, what mends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that found it: its name stays the same.
    pub rule: &'static str,
    /// How bad it is.
    pub weight: Weight,
    /// What it is, with this machine's figure.
    pub what: String,
    /// What it does to figures.
    pub effect: String,
    /// What mends it, in words; `null` when `command` says it all.
    pub fix: Option<String>,
    /// The command that mends it; `null` when none does.
    pub command: Option<String>,
}

/// What a rule says of its subject: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleResult {
    /// It makes figures noisy or different.
    Found(Finding),
    /// It does not.
    Fine(String),
    /// It cannot be seen here.
    Unknown(String),
    /// There is no such thing here.
    NotApplicable,
}

impl RuleResult {
    /// A finding that nothing mends yet.
    fn found(weight: Weight, what: impl Into<String>, does: impl Into<String>) -> RuleResult {
        let (what, does) = (what.into(), does.into());
        RuleResult::Found(Finding {
            rule: "",
            weight,
            what,
            effect: does,
            fix: None,
            command: None,
        })
    }

    fn fine(what: impl Into<String>) -> RuleResult {
        RuleResult::Fine(what.into())
    }

    fn unknown(what: impl Into<String>) -> RuleResult {
        RuleResult::Unknown(what.into())
    }

    /// Adds what mends it, in words.
    fn mend(mut self, words: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.fix = Some(words.into());
        }
        self
    }

    /// Adds the command that mends it.
    fn with_command(mut self, command: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.command = Some(command.into());
        }
        self
    }
}

/// A rule: what it is called, and what it says.
type Rule = (&'static str, fn(&Observations<'_>) -> RuleResult);

/// Every rule. Findings of equal weight stand in this order.
const RULES: &[Rule] = &[
    ("lost-time", noise::lost_time),
    ("steal", noise::steal),
    ("hidden-time", noise::hidden_time),
    ("quota", noise::quota),
    ("counter", clock::counter),
    ("clocksource", clock::clocksource),
    ("tracers", kernel::tracers),
    ("monitors", kernel::monitors),
    ("seccomp", kernel::seccomp),
    ("audit", kernel::audit),
    ("debug-options", kernel::debug_options),
    ("address-randomization", kernel::address_randomization),
    ("processes", noise::processes),
    ("pressure", noise::pressure),
    ("interruptions", noise::interruptions),
    ("smt", cpu::smt),
    ("governor", cpu::governor),
    ("core-rates", cpu::core_rates),
    ("swap", noise::swap),
    ("device-interrupts", noise::device_interrupts),
    ("counting", kernel::counting),
    ("one-cpu", cpu::one_cpu),
    ("open-files", kernel::open_files),
    ("tick", cpu::tick),
    ("isolation", cpu::isolation),
    ("virtual-machine", cpu::virtual_machine),
    ("page-reporting", kernel::page_reporting),
    ("turbo", cpu::turbo),
    ("time-daemon", clock::time_daemon),
    ("work-daemons", noise::work_daemons),
    ("run-level", kernel::run_level),
    ("huge-pages", kernel::huge_pages),
    ("hardening", kernel::hardening),
    ("perf-events", kernel::perf_events),
];

/// What the doctor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The class of the probe on the CPU that a run would take; `None` if none was probed.
    pub class: Option<NoiseClass>,
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// What is not, a few words each.
    pub fine: Vec<String>,
    /// What cannot be seen here, and why.
    pub unseen: Vec<String>,
}

/// Asks every rule.
pub fn examine(seen: &Observations<'_>) -> Diagnosis {
    let class = seen.chosen_probe().map(|probe| NoiseClass::of_lost_pct(probe.lost_pct()));
    let mut said = Diagnosis { class, findings: vec![], fine: vec![], unseen: vec![] };
    for (name, rule) in RULES {
        match rule(seen) {
            RuleResult::Found(mut finding) => {
                finding.rule = name;
                if seen.facts.security.is_root == Some(true) {
                    // Root needs no sudo(8), and may have none.
                    finding.command = finding.command.map(|it| it.replace("sudo ", ""));
                }
                said.findings.push(finding);
            }
            RuleResult::Fine(what) => said.fine.push(what),
            RuleResult::Unknown(what) => said.unseen.push(what),
            RuleResult::NotApplicable => {}
        }
    }
    said.findings.sort_by_key(|finding| finding.weight);
    said
}

impl<'a> Observations<'a> {
    /// The probe of the CPU that a run would take, or of wherever the spin was put.
    fn chosen_probe(&self) -> Option<&'a CpuProbe> {
        match self.cpu {
            Some(cpu) => self.probe.iter().find(|probe| probe.cpu == cpu),
            None => self.probe.last(),
        }
    }

    /// That CPU's name in a sentence.
    fn cpu_name(&self) -> String {
        match self.chosen_probe() {
            Some(probe) => format!("CPU {}", probe.cpu),
            None => "the measuring CPU".to_owned(),
        }
    }

    fn system_activity(&self) -> Option<&'a SystemActivity> {
        self.activity.ok()
    }

    /// The watch's account of the chosen CPU, and its place among the watch's CPUs.
    fn chosen_activity(&self) -> Option<(usize, &'a CpuActivity)> {
        let cpu = self.chosen_probe()?.cpu;
        self.system_activity()?.cpus.iter().enumerate().find(|(_, it)| it.cpu == cpu)
    }

    /// The word of the kernel's command line that begins so: what follows, of the last one.
    fn boot(&self, start: &str) -> Option<&'a str> {
        let words = self.facts.os.cmdline.as_deref()?.split_whitespace();
        words.rev().find_map(|word| word.strip_prefix(start))
    }

    /// Whether the kernel is built with this option; `None` where its configuration is not known.
    fn built_with(&self, option: &str) -> Option<bool> {
        Some(self.facts.os.options.as_ref()?.iter().any(|it| it == option))
    }

    /// The command that stops a service, as this machine's first process understands it.
    fn stop(&self, services: &[&str]) -> String {
        let names = services.join(" ");
        match self.facts.os.init.as_deref() {
            Some("systemd") => format!("sudo systemctl stop {names}"),
            _ => {
                let stops = services.iter().map(|name| format!("sudo service {name} stop"));
                stops.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

/// A share in per cent, with the digits that count.
fn pct(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A time as people read it.
fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.0} us", ns / 1e3),
    }
}

/// Names in a row, the last with an "and"; of many the first ones.
fn join_names(names: &[String], most: usize) -> String {
    let shown = &names[..names.len().min(most)];
    let more = names.len() - shown.len();
    match (shown, more) {
        (_, 1..) => format!("{} and {more} more", shown.join(", ")),
        ([one], 0) => one.clone(),
        ([before @ .., last], 0) => format!("{} and {last}", before.join(", ")),
        ([], 0) => String::new(),
    }
}
