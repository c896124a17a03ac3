//! The doctor: turns facts and a CPU probe into findings.
//!
//! A finding states a condition with this machine's figure, its effect on measurements, and how to
//! fix it. A rule is one function: it sees all observations and gives one result on one subject, so
//! that no two results contradict each other. A figure without the words "here" or "now" was
//! measured on another machine (docs/explanation/METHOD.md, section 5).

mod clock;
mod core;
mod cpu;
mod finding;
mod kernel;
mod noise;
mod observations;
mod priority;
mod processes;
#[cfg(test)]
mod tests;
mod wording;

pub use finding::{Finding, Weight};
pub use observations::Observations;

use finding::RuleResult;
use oscost_model::noise_class::NoiseClass;

/// A rule: its name and its function.
type Rule = (&'static str, fn(&Observations<'_>) -> RuleResult);

/// All rules. Findings of equal weight are listed in this order.
const RULES: &[Rule] = &[
    ("lost-time", noise::lost_time),
    ("steal", noise::steal),
    ("hidden-time", noise::hidden_time),
    ("quota", noise::quota),
    ("priority", priority::priority),
    ("counter", clock::counter),
    ("clocksource", clock::clocksource),
    ("tracers", kernel::tracers),
    ("monitors", kernel::monitors),
    ("seccomp", kernel::seccomp),
    ("audit", kernel::audit),
    ("debug-options", kernel::debug_options),
    ("address-randomization", kernel::address_randomization),
    ("processes", processes::processes),
    ("pressure", noise::pressure),
    ("interruptions", noise::interruptions),
    ("neighbours", core::neighbours),
    ("frequency", core::frequency),
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
    ("work-daemons", processes::work_daemons),
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
    /// The checks that passed, a few words each.
    pub passed: Vec<String>,
    /// What cannot be observed here, and why.
    pub unknown: Vec<String>,
}

/// Applies all rules.
pub fn examine(observations: &Observations<'_>) -> Diagnosis {
    let class = observations.chosen_probe().map(|probe| NoiseClass::of_lost_pct(probe.lost_pct()));
    let mut diagnosis = Diagnosis { class, findings: vec![], passed: vec![], unknown: vec![] };
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
            RuleResult::Passed(what) => diagnosis.passed.push(what),
            RuleResult::Unknown(what) => diagnosis.unknown.push(what),
            RuleResult::NotApplicable => {}
        }
    }
    diagnosis.findings.sort_by_key(|finding| finding.weight);
    diagnosis
}
