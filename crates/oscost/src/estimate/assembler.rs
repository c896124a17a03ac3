//! The record as a pure function of the journal.

use oscost_model::clock::{Calibration, SyncedCalibration};
use oscost_model::definition::Timer;
use oscost_model::journal::{CaseVariation, Entry, Pairing, Phase, PlannedRow, RunHeader};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Clock, Conditions, Machine, Record, Row, SCHEMA};

use super::between_runs;
use super::clock_rate::{ClockRate, clock_rate};
use super::comparison::effects_drift;
use super::comparison::interleaved_run::{Control, InterleavedRun};
use super::conditions::{conditions, is_very_noisy, peer_conditions};
use super::core_rate::set_core_rates;
use super::curve::{Curves, DefinedRow, curves};
use super::half_round_trip::half_round_trips;
use super::rows::relations;
use super::rows::row_state::{
    Abandonment, CountingEntry, ExperimentEntry, RowState, RunContext, WarmUp, WorkerEntry,
};
use super::steps::wait_steps;
use oscost_stats::interval::Nominal;

/// Assembles a record from the entries of a journal; the record is available at any time.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: Option<RunHeader>,
    own: MachineState,
    others: Vec<MachineState>,
    rows: Vec<RowState>,
    timers: Vec<Timer>,
    pairings: Vec<Pairing>,
    controls: Vec<Control>,
    variations: Vec<CaseVariation>,
    ended: Option<(String, bool)>,
    pruned: Option<PrunedRun>,
}

/// What is left of a run whose raw batches were removed.
#[derive(Clone, Debug)]
struct PrunedRun {
    /// When they were removed.
    at: String,
    record: Record,
}

/// What the journal contains about a machine. The first one measures; another is that of a peer, on
/// which nothing is timed, or another boot.
#[derive(Clone, Debug, Default)]
struct MachineState {
    machine: Option<Machine>,
    tracers: Vec<String>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
    calibrations: Vec<SyncedCalibration>,
    rejected_clocks: Vec<String>,
}

impl MachineState {
    fn has_id(&self, id: &str) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.id == id)
    }

    /// The machine, with its clock.
    fn machine(&self) -> Option<Machine> {
        Some(Machine { clock: self.clock(), ..self.machine.clone()? })
    }

    fn clock(&self) -> Option<Clock> {
        let ClockRate { clock, error_ppm, .. } = clock_rate(&self.calibrations)?;
        Some(Clock {
            source: clock.kind.text().to_owned(),
            ticks_per_ns: clock.ticks_per_ns,
            rate_error_ppm: error_ppm,
            q_ns: clock.ns(clock.quantum_ticks),
            c_in_ns: clock.ns(clock.inside_ticks),
            c_tot_ns: clock.ns(clock.pair_ticks),
            rejected_clocks: self.rejected_clocks.clone(),
        })
    }

    /// Its conditions while its rows, which are these, were measured.
    fn conditions(&self, rows: &[&RowState]) -> Conditions {
        let id = self.machine.as_ref().map_or("m0", |machine| &machine.id);
        let rate = clock_rate(&self.calibrations);
        let clock = rate.as_ref().map(|rate| &rate.clock);
        let mut conditions = conditions(id, rows, clock, &self.probe, self.cpu, &self.tracers);
        if rate.as_ref().is_some_and(|rate| rate.has_drifted) {
            conditions.flags.push("CLOCK_DRIFTED".to_owned());
        }
        conditions
    }
}

impl Assembler {
    /// Assembles a whole journal.
    pub fn read(entries: &[Entry]) -> Self {
        let mut assembler = Self::default();
        for entry in entries {
            assembler.apply(entry);
        }
        assembler
    }

    /// Adds the next entry. An entry about a row that was never planned is ignored.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Started(started) => self.started = Some((**started).clone()),
            Entry::MachineDescribed { machine, tracers } => {
                let machine = Some((**machine).clone());
                let tracers = tracers.clone();
                match self.own.machine.is_some() {
                    true => self.others.push(MachineState {
                        machine,
                        tracers,
                        ..MachineState::default()
                    }),
                    false => (self.own.machine, self.own.tracers) = (machine, tracers),
                }
            }
            Entry::CpuChosen { machine, probe, cpu } => {
                let state = self.machine_state_mut(machine);
                state.probe.clone_from(probe);
                state.cpu = *cpu;
            }
            Entry::Calibrated { machine, calibration, sync, rejected_clocks } => {
                let state = self.machine_state_mut(machine);
                let (calibration, sync) = (*calibration, *sync);
                state.calibrations.push(SyncedCalibration { calibration, sync });
                if state.calibrations.len() == 1 {
                    state.rejected_clocks.clone_from(rejected_clocks);
                }
            }
            Entry::Planned { rows, timers } => {
                self.timers.clone_from(timers);
                self.rows = rows.iter().cloned().map(RowState::new).collect();
            }
            Entry::RowsAdded { rows } => {
                self.rows.extend(rows.iter().cloned().map(RowState::new));
            }
            Entry::VariationKnown { cases } => self.variations.clone_from(cases),
            Entry::Paired { pairs } => {
                let is_planned = |it: &&Pairing| (it.base.max(it.new) as usize) < self.rows.len();
                self.pairings = pairs.iter().filter(is_planned).copied().collect();
            }
            Entry::Control { row, design, phase: Phase::Round(_), at_s, samples } => {
                let (row, design, at_s, samples) = (*row, *design, *at_s, samples.clone());
                self.controls.push(Control { row, design, at_s, samples });
            }
            // Only for those who watch the run.
            Entry::Control { .. } | Entry::StudyMethodsPlanned { .. } => {}
            Entry::Ended { at, complete } => self.ended = Some((at.clone(), *complete)),
            Entry::Pruned { at, record } => {
                self.pruned = record
                    .as_deref()
                    .map(|record| PrunedRun { at: at.clone(), record: record.clone() });
            }
            Entry::Piloted { row, .. }
            | Entry::WarmedUp { row, .. }
            | Entry::Worker { row, .. }
            | Entry::EventsCounted { row, .. }
            | Entry::Counted { row, .. }
            | Entry::NotCounted { row, .. }
            | Entry::MonitorReported { row, .. }
            | Entry::Abandoned { row, .. }
            | Entry::RowFinished { row, .. } => {
                if let Some(state) = self.rows.get_mut(*row as usize) {
                    apply_to_row(state, entry);
                }
            }
        }
    }

    /// The rows planned so far.
    pub fn planned_rows(&self) -> Vec<PlannedRow> {
        self.rows.iter().map(|row| row.planned.clone()).collect()
    }

    /// When the raw samples of the run were removed, if they were: its record has none then.
    pub fn pruned_at(&self) -> Option<&str> {
        self.pruned.as_ref().map(|pruned| pruned.at.as_str())
    }

    /// The record so far, with or without raw samples; `None` before the run has started.
    pub fn record(&self, samples: bool) -> Option<Record> {
        let estimates = self.estimates(samples)?;
        if self.pruned.is_some() {
            return Some(estimates);
        }
        let (rows, seed) = (&estimates.results[..], estimates.settings.seed);
        let definitions = self.rows.iter().map(|state| &state.planned.definition);
        let defined: Vec<DefinedRow<'_>> =
            definitions.zip(rows).map(|(definition, row)| DefinedRow { definition, row }).collect();
        let Curves { curves, crossings } = curves(&defined, self.own.machine.as_ref(), seed);
        let halves = half_round_trips(rows);
        let steps = wait_steps(rows, seed);
        let rate = clock_rate(&self.own.calibrations);
        let comparisons = rate.map(|rate| self.interleaved(rows, &rate.clock).comparisons());
        let comparisons = comparisons.unwrap_or_default();
        let mut conditions = estimates.conditions.clone();
        if let Some(own) = conditions.first_mut().filter(|_| effects_drift(&comparisons, rows)) {
            own.flags.push("EFFECT_DRIFTS".to_owned());
        }
        Some(Record {
            conditions,
            comparisons,
            curves,
            half_round_trips: halves,
            crossings,
            steps,
            ..estimates
        })
    }

    /// The same without what is computed of several rows: curves, crossings, steps, half round
    /// trips and comparisons. A pruned run has them: its record is kept as a whole.
    pub fn estimates(&self, samples: bool) -> Option<Record> {
        let started = self.started.as_ref()?;
        if let Some(pruned) = &self.pruned {
            return Some(pruned.record.clone());
        }
        let nominal = Nominal::from_run_level(started.settings.nominal);
        let mut conditions = Vec::new();
        let mut rows: Vec<Option<Row>> = vec![None; self.rows.len()];
        for of_machine in std::iter::once(&self.own).chain(&self.others) {
            let is_own = std::ptr::eq(of_machine, &self.own);
            let is_measured_there = |row: &usize| {
                let machine = &self.rows[*row].planned.target.machine;
                std::ptr::eq(self.machine_state(machine), of_machine)
            };
            let indices: Vec<usize> = (0..self.rows.len()).filter(is_measured_there).collect();
            let states: Vec<&RowState> = indices.iter().map(|&row| &self.rows[row]).collect();
            let MachineState { probe, cpu, tracers, .. } = of_machine;
            let conditions_there = match &of_machine.machine {
                Some(machine) if !is_own && states.is_empty() => {
                    peer_conditions(&machine.id, probe, *cpu, tracers)
                }
                _ => of_machine.conditions(&states),
            };
            let rate = clock_rate(&of_machine.calibrations);
            let clock = rate.as_ref().map(|rate| &rate.clock);
            let shared = RunContext {
                clock,
                nominal,
                keep_samples: samples,
                very_noisy: is_very_noisy(&conditions_there),
            };
            for (index, state) in indices.into_iter().zip(states) {
                let mut row = state.row(shared);
                let workload = state.planned.workload.as_ref();
                row.target.cpu = cpu.filter(|_| workload.is_none_or(|it| it.one_cpu));
                rows[index] = Some(row);
            }
            conditions.extend(of_machine.machine.is_some().then_some(conditions_there));
        }
        let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
        let machine = self.own.machine.as_ref();
        relations::set_floors(&self.rows, &mut rows);
        relations::set_classes(&self.rows, &mut rows, machine.and_then(|it| it.memory.page_bytes));
        relations::set_multiples(&mut rows);
        relations::set_file_flags(
            &mut rows,
            machine.and_then(|machine| machine.virtualization.as_deref()),
        );
        set_core_rates(&mut rows, &self.variations, nominal);
        between_runs::set_intervals(&mut rows, &self.variations, &conditions);
        between_runs::flag_drift(&mut conditions, &rows, &self.variations);
        if let Some(own) = conditions.first_mut().filter(|_| self.has_wide_control(&rows)) {
            own.flags.push("CONTROL_WIDE".to_owned());
        }
        let machines = std::iter::once(&self.own).chain(&self.others);
        let machines = machines.filter_map(MachineState::machine).collect();
        Some(Record {
            schema: SCHEMA.to_owned(),
            id: started.id.clone(),
            started: started.started_at.clone(),
            ended: self.ended.as_ref().map(|(at, _)| at.clone()),
            complete: self.ended.as_ref().is_some_and(|(_, complete)| *complete),
            label: started.label.clone(),
            command: started.command.clone(),
            tool: started.tool.clone(),
            settings: started.settings.clone(),
            conditions,
            machines,
            results: rows,
            comparisons: Vec::new(),
            timers: self.timers.clone(),
            curves: Vec::new(),
            half_round_trips: Vec::new(),
            crossings: Vec::new(),
            steps: Vec::new(),
            fleet: None,
        })
    }

    /// What was measured side by side, with these rows.
    fn interleaved<'a>(&'a self, rows: &'a [Row], clock: &'a Calibration) -> InterleavedRun<'a> {
        InterleavedRun {
            states: &self.rows,
            rows,
            pairings: &self.pairings,
            controls: &self.controls,
            clock,
            variations: &self.variations,
        }
    }

    /// Whether a control shows an effect, by the estimates of the run: its comparisons are void then,
    /// and take longer to compute.
    pub fn has_violated_control(&self, estimates: &Record) -> bool {
        let rate = clock_rate(&self.own.calibrations);
        rate.is_some_and(|rate| {
            self.interleaved(&estimates.results, &rate.clock).has_violated_control()
        })
    }

    fn has_wide_control(&self, rows: &[Row]) -> bool {
        let rate = clock_rate(&self.own.calibrations);
        rate.is_some_and(|rate| self.interleaved(rows, &rate.clock).has_wide_control())
    }

    /// The state of a machine; of the first one if the id is unknown.
    fn machine_state(&self, id: &str) -> &MachineState {
        self.others.iter().find(|it| it.has_id(id)).unwrap_or(&self.own)
    }

    fn machine_state_mut(&mut self, id: &str) -> &mut MachineState {
        match self.others.iter().position(|it| it.has_id(id)) {
            Some(index) => &mut self.others[index],
            None => &mut self.own,
        }
    }
}

fn apply_to_row(state: &mut RowState, entry: &Entry) {
    match entry {
        Entry::Piloted { plan, .. } => state.plan = Some(plan.clone()),
        Entry::WarmedUp { trial, output, .. } => {
            state.warm_up = Some(WarmUp { trial: (**trial).clone(), output: *output });
        }
        Entry::Worker { phase: Phase::StudyMethod { round, experiment }, outcome, .. } => {
            let (round, number, outcome) = (*round, *experiment, outcome.clone());
            state.experiments.push(ExperimentEntry { round, number, outcome });
        }
        Entry::Worker { phase, at_s, set, outcome, .. } => {
            let outcome = outcome.clone();
            state.workers.push(WorkerEntry { phase: *phase, at_s: *at_s, set: *set, outcome });
        }
        Entry::EventsCounted { round, at_s, set, outcome, .. } => {
            let (round, at_s, set, outcome) = (*round, *at_s, *set, outcome.clone());
            state.countings.push(CountingEntry { round, at_s, set, outcome });
        }
        Entry::Counted { count, .. } => state.count = Some(count.clone()),
        Entry::NotCounted { reason, .. } => state.not_counted = Some(reason.clone()),
        Entry::MonitorReported { observed_calls, profile_state, anomalies, .. } => {
            state.add_monitor_report(*observed_calls, profile_state.as_deref(), *anomalies);
        }
        Entry::Abandoned { outcome, reason, .. } => {
            let (outcome, reason) = (*outcome, reason.clone());
            state.given_up = Some(Abandonment { outcome, reason });
        }
        Entry::RowFinished { converged, .. } => state.converged = Some(*converged),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
