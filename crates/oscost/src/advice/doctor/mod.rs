//! The doctor: turns facts and a CPU probe into findings.
//!
//! A finding states a condition with this machine's figure, its effect on measurements, and how to
//! fix it. A rule is one function: it sees all observations and gives one result on one subject, so
//! that no two results contradict each other. A figure without the words "here" or "now" was
//! measured on another machine (docs/explanation/METHOD.md, section 5).

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

/// The input of the rules.
#[derive(Clone, Copy, Debug)]
pub struct Observations<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// The clocks that are usable there.
    pub clocks: &'a [ClockVerdict],
    /// The probe of each CPU.
    pub probe: &'a [CpuProbe],
    /// The CPU that a run would use; `None` if a process cannot be pinned.
    pub cpu: Option<u32>,
    /// The activity of other processes during the probe, or why it is unknown.
    pub activity: Result<&'a SystemActivity, &'a str>,
    /// Why system calls cannot be counted; `None` if they can.
    pub uncountable_reason: Option<&'a str>,
}

/// The severity of a finding, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// Figures cannot be trusted.
    Invalidates,
    /// All figures of a kind are larger than on a machine without it.
    Biases,
    /// Intervals are wider, or figures change from minute to minute.
    Noise,
    /// Something cannot be measured or observed.
    Limitation,
    /// Worth knowing when comparing figures.
    Note,
}

/// A condition, its effect and its fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that found it; the name is stable.
    pub rule: &'static str,
    /// Its severity.
    pub weight: Weight,
    /// The condition, with this machine's figure.
    pub what: String,
    /// Its effect on figures.
    pub effect: String,
    /// How to fix it; `null` if `command` suffices.
    pub fix: Option<String>,
    /// The command that fixes it; `null` if there is none.
    pub command: Option<String>,
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleResult {
    /// The condition makes figures noisy or biased.
    Found(Finding),
    /// The condition is absent.
    Fine(String),
    /// The condition cannot be observed here.
    Unknown(String),
    /// The rule does not apply here.
    NotApplicable,
}

impl RuleResult {
    /// A finding without a fix.
    fn found(weight: Weight, what: impl Into<String>, effect: impl Into<String>) -> RuleResult {
        let (what, effect) = (what.into(), effect.into());
        RuleResult::Found(Finding { rule: "", weight, what, effect, fix: None, command: None })
    }

    fn fine(what: impl Into<String>) -> RuleResult {
        RuleResult::Fine(what.into())
    }

    fn unknown(what: impl Into<String>) -> RuleResult {
        RuleResult::Unknown(what.into())
    }

    /// Adds a fix as text.
    fn with_fix(mut self, words: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.fix = Some(words.into());
        }
        self
    }

    /// Adds the command that fixes it.
    fn with_command(mut self, command: impl Into<String>) -> RuleResult {
        if let RuleResult::Found(finding) = &mut self {
            finding.command = Some(command.into());
        }
        self
    }
}

/// A rule: its name and its function.
type Rule = (&'static str, fn(&Observations<'_>) -> RuleResult);

/// All rules. Findings of equal weight are listed in this order.
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

/// The results of all rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The noise class of the CPU that a run would use; `None` if no CPU was probed.
    pub class: Option<NoiseClass>,
    /// The findings, worst first.
    pub findings: Vec<Finding>,
    /// Conditions that are absent, a few words each.
    pub fine: Vec<String>,
    /// What cannot be observed here, and why.
    pub unknown: Vec<String>,
}

/// Applies all rules.
pub fn examine(observations: &Observations<'_>) -> Diagnosis {
    let class = observations.chosen_probe().map(|probe| NoiseClass::of_lost_pct(probe.lost_pct()));
    let mut diagnosis = Diagnosis { class, findings: vec![], fine: vec![], unknown: vec![] };
    for (name, rule) in RULES {
        match rule(observations) {
            RuleResult::Found(mut finding) => {
                finding.rule = name;
                if observations.facts.security.is_root == Some(true) {
                    // Root does not need sudo(8), which may not be installed.
                    finding.command = finding.command.map(|it| it.replace("sudo ", ""));
                }
                diagnosis.findings.push(finding);
            }
            RuleResult::Fine(what) => diagnosis.fine.push(what),
            RuleResult::Unknown(what) => diagnosis.unknown.push(what),
            RuleResult::NotApplicable => {}
        }
    }
    diagnosis.findings.sort_by_key(|finding| finding.weight);
    diagnosis
}

impl<'a> Observations<'a> {
    /// The probe of the CPU that a run would use, or of the CPU that the spin ran on.
    fn chosen_probe(&self) -> Option<&'a CpuProbe> {
        match self.cpu {
            Some(cpu) => self.probe.iter().find(|probe| probe.cpu == cpu),
            None => self.probe.last(),
        }
    }

    /// The name of that CPU in a sentence.
    fn cpu_name(&self) -> String {
        match self.chosen_probe() {
            Some(probe) => format!("CPU {}", probe.cpu),
            None => "the measuring CPU".to_owned(),
        }
    }

    fn system_activity(&self) -> Option<&'a SystemActivity> {
        self.activity.ok()
    }

    /// The activity on the chosen CPU, and its index in the list of CPUs.
    fn chosen_activity(&self) -> Option<(usize, &'a CpuActivity)> {
        let cpu = self.chosen_probe()?.cpu;
        self.system_activity()?.cpus.iter().enumerate().find(|(_, it)| it.cpu == cpu)
    }

    /// The value of the last argument on the kernel command line that begins with `start`.
    fn boot(&self, start: &str) -> Option<&'a str> {
        let words = self.facts.os.cmdline.as_deref()?.split_whitespace();
        words.rev().find_map(|word| word.strip_prefix(start))
    }

    /// Whether the kernel is built with this option; `None` if its configuration is unknown.
    fn built_with(&self, option: &str) -> Option<bool> {
        Some(self.facts.os.options.as_ref()?.iter().any(|it| it == option))
    }

    /// The command that stops a service with this machine's init system.
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

/// A share in per cent, with two significant digits.
fn pct(value: f64) -> String {
    if value.abs() < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// A duration with a fitting unit.
fn time(ns: u64) -> String {
    match ns as f64 {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.0} us", ns / 1e3),
    }
}

/// Names joined with commas and "and"; at most `most` of them.
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
