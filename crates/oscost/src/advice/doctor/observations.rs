//! The input of the rules, and what several of them read from it.

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::Facts;
use oscost_model::protocol::CpuProbe;
use oscost_model::record::CoreConditions;
use oscost_model::watch::{CpuActivity, SystemActivity};

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
    /// The core by the processor's counters; `None` if they are not visible.
    pub core: Option<&'a CoreConditions>,
}

impl<'a> Observations<'a> {
    /// The probe of the CPU that a run would use, or of the CPU that the spin ran on.
    pub(super) fn chosen_probe(&self) -> Option<&'a CpuProbe> {
        match self.cpu {
            Some(cpu) => self.probe.iter().find(|probe| probe.cpu == cpu),
            None => self.probe.last(),
        }
    }

    /// The name of that CPU in a sentence.
    pub(super) fn cpu_name(&self) -> String {
        match self.chosen_probe() {
            Some(probe) => format!("CPU {}", probe.cpu),
            None => "the measuring CPU".to_owned(),
        }
    }

    pub(super) fn system_activity(&self) -> Option<&'a SystemActivity> {
        self.activity.ok()
    }

    /// The activity on the chosen CPU, and its index in the list of CPUs.
    pub(super) fn chosen_activity(&self) -> Option<(usize, &'a CpuActivity)> {
        let cpu = self.chosen_probe()?.cpu;
        self.system_activity()?.cpus.iter().enumerate().find(|(_, it)| it.cpu == cpu)
    }

    /// The value of the last argument on the kernel command line that begins with `start`.
    pub(super) fn boot(&self, start: &str) -> Option<&'a str> {
        let words = self.facts.os.cmdline.as_deref()?.split_whitespace();
        words.rev().find_map(|word| word.strip_prefix(start))
    }

    /// Whether the kernel is built with this option; `None` if its configuration is unknown.
    pub(super) fn built_with(&self, option: &str) -> Option<bool> {
        Some(self.facts.os.options.as_ref()?.iter().any(|it| it == option))
    }

    /// The command that stops a service with this machine's init system.
    pub(super) fn stop(&self, services: &[&str]) -> String {
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
