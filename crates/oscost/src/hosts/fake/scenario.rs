//! The scenario of a fake host: a JSON file with its answers.

use std::collections::BTreeMap;

use oscost_model::channel::ChannelObservation;
use oscost_model::clock::ClockVerdict;
use oscost_model::protocol::CpuProbe;
use oscost_model::treatment::AttachedTreatment;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::counters::FakeCounters;

/// The answers of a fake host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Costs by case, in ns/op; 100 for other cases.
    pub costs_ns: BTreeMap<String, f64>,
    /// Log standard deviation between workers.
    pub between_sd: f64,
    /// Skipped cases, with the reason.
    pub skipped: BTreeMap<String, String>,
    /// Failing cases, with the reason.
    pub failed: BTreeMap<String, String>,
    /// Cases that time out.
    pub timed_out: Vec<String>,
    /// Cases of which every batch is preempted.
    pub preempted: Vec<String>,
    /// Cases that make twice the system calls that their definition names.
    pub wrong_calls: Vec<String>,
    /// Cases whose system calls cannot be counted.
    pub uncountable: Vec<String>,
    /// Cases whose ops execute code of the vDSO.
    pub vdso: Vec<String>,
    /// Cases of which every op sleeps.
    pub blocking: Vec<String>,
    /// System calls per op by case, where they differ from the definition: times by name.
    pub calls: BTreeMap<String, BTreeMap<String, u64>>,
    /// Unusable clocks (`tsc`, `vdso`), with the reason.
    pub unusable_clocks: BTreeMap<String, String>,
    /// The number of workers after which the user presses Ctrl-C.
    pub interrupted_after_workers: Option<u32>,
    /// Run delay (ready but not running), in per cent of each worker's time.
    pub lost_pct: f64,
    /// Facts of the machine, merged into facts that contain only its CPUs.
    pub facts: Value,
    /// The usable clocks; if empty, all but [`Self::unusable_clocks`].
    pub clocks: Vec<ClockVerdict>,
    /// Probe results by CPU; other CPUs have no interruptions.
    pub probe: Vec<CpuProbe>,
    /// Result of a watch, merged into that of an idle system.
    pub watch: Value,
    /// Channel observations, by case.
    pub channels: BTreeMap<String, ChannelObservation>,
    /// Why no system calls can be counted.
    pub counting_error: Option<String>,
    /// Nanoseconds that treatments add to each op, by their protocol names.
    pub added_ns: BTreeMap<String, f64>,
    /// Unsupported treatments by their protocol names, with the reason.
    pub refused_treatments: BTreeMap<String, String>,
    /// A factor on the costs of the second arm, as a fault of the measurement.
    pub second_arm_factor: Option<f64>,
    /// Why no treatment can be attached to its system.
    pub attach_error: Option<String>,
    /// The number of workers after which attached treatments are detached.
    pub detached_after_workers: Option<u32>,
    /// The state of the monitor's profile of the worker; `training` by default.
    pub monitor_profile: Option<String>,
    /// The number of system calls of counted ops that the monitor misses, by case.
    pub missed_calls: BTreeMap<String, u64>,
    /// The processor's counters; without them, the facts say nothing about any.
    pub counters: Option<FakeCounters>,
    /// Output of programs, by command. Their costs are in [`Self::costs_ns`], with a default of 100
    /// ms.
    pub outputs: BTreeMap<String, String>,
}

impl Scenario {
    /// Why one of these treatments is unsupported.
    pub(super) fn refusal<T: Serialize>(&self, treatments: &[T]) -> Option<String> {
        treatments.iter().find_map(|it| self.refused_treatments.get(&treatment_name(it)).cloned())
    }

    /// Why these treatments cannot be attached.
    pub(super) fn attach_refusal(&self, treatments: &[AttachedTreatment]) -> Option<String> {
        self.attach_error.clone().or_else(|| self.refusal(treatments))
    }

    /// The nanoseconds that these treatments add to an op.
    pub(super) fn added_ns<T: Serialize>(&self, treatments: &[T]) -> f64 {
        treatments.iter().filter_map(|it| self.added_ns.get(&treatment_name(it))).sum()
    }

    /// The instructions that these treatments add to an op.
    pub(super) fn added_insn<T: Serialize>(&self, treatments: &[T]) -> f64 {
        let Some(counters) = &self.counters else { return 0.0 };
        treatments.iter().filter_map(|it| counters.added_insn.get(&treatment_name(it))).sum()
    }
}

/// The protocol name of a treatment: a string, or the key of an object.
fn treatment_name<T: Serialize>(treatment: &T) -> String {
    match serde_json::to_value(treatment) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(object)) => {
            object.into_iter().map(|(name, _)| name).next().unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// `base` with the values of `over` merged into it, to any depth.
pub(super) fn merged_with_defaults<T: Serialize + DeserializeOwned>(
    base: &T,
    over: &Value,
) -> Result<T, serde_json::Error> {
    fn merge(base: &mut Value, over: &Value) {
        match (base, over) {
            (_, Value::Null) => {}
            (Value::Object(base), Value::Object(over)) => {
                for (key, value) in over {
                    merge(base.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (base, over) => *base = over.clone(),
        }
    }
    let mut value = serde_json::to_value(base)?;
    merge(&mut value, over);
    serde_json::from_value(value)
}
