//! The record as a pure function of the journal.

use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::definition::{Definition, Timer};
use oscost_model::journal::{Entry, Pairing, Phase, PlannedRow, RunHeader};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Clock, Conditions, Machine, Record, Row, SCHEMA};

use super::clock_rate::rate;
use super::comparison::interleaved::{Control, Interleaved};
use super::conditions::{conditions, is_very_noisy, peer_conditions};
use super::curve::{Curves, curves};
use super::half_round_trip::half_round_trips;
use super::relations;
use super::row_state::{RowState, RunContext, WorkerEntry};
use super::steps::wait_steps;
use oscost_stats::interval::Nominal;

/// Reads a journal entry by entry; gives the record at any time.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: Option<RunHeader>,
    own: MachineState,
    others: Vec<MachineState>,
    rows: Vec<RowState>,
    timers: Vec<Timer>,
    pairings: Vec<Pairing>,
    controls: Vec<Control>,
    ended: Option<(String, bool)>,
}

/// What was seen of a machine. The first one measures; another is that of a peer, on which nothing
/// is timed, or of another boot.
#[derive(Clone, Debug, Default)]
struct MachineState {
    machine: Option<Machine>,
    tracers: Vec<String>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
    calibrations: Vec<(Calibration, ClockSync)>,
    rejected_clocks: Vec<String>,
}

impl MachineState {
    fn has_id(&self, id: &str) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.id == id)
    }

    /// The machine, with the line of its clock.
    fn machine(&self) -> Option<Machine> {
        Some(Machine { clock: self.clock(), ..self.machine.clone()? })
    }

    /// The clock's line of the machine.
    fn clock(&self) -> Option<Clock> {
        let (clock, rate_error_ppm, _) = rate(&self.calibrations)?;
        Some(Clock {
            source: clock.kind.text().to_owned(),
            ticks_per_ns: clock.ticks_per_ns,
            rate_error_ppm,
            q_ns: clock.ns(clock.quantum_ticks),
            c_in_ns: clock.ns(clock.inside_ticks),
            c_tot_ns: clock.ns(clock.pair_ticks),
            rejected_clocks: self.rejected_clocks.clone(),
        })
    }

    /// How quiet it was while these rows, which are all of it, were measured.
    fn conditions(&self, rows: &[&RowState]) -> Conditions {
        let id = self.machine.as_ref().map_or("m0", |machine| &machine.id);
        let rate = rate(&self.calibrations);
        let clock = rate.as_ref().map(|(clock, ..)| clock);
        let mut known = conditions(id, rows, clock, &self.probe, self.cpu, &self.tracers);
        if rate.as_ref().is_some_and(|(_, _, moved)| *moved) {
            known.flags.push("CLOCK_DRIFTED".to_owned());
        }
        known
    }
}

impl Assembler {
    /// A journal from its first entry to its last.
    pub fn read(entries: &[Entry]) -> Self {
        let mut assembler = Self::default();
        for entry in entries {
            assembler.apply(entry);
        }
        assembler
    }

    /// Takes in the next entry. An entry about a row that was never planned changes nothing.
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
                let seen = self.machine_state_mut(machine);
                seen.probe.clone_from(probe);
                seen.cpu = *cpu;
            }
            Entry::Calibrated { machine, calibration, sync, rejected_clocks } => {
                let seen = self.machine_state_mut(machine);
                seen.calibrations.push((*calibration, *sync));
                if seen.calibrations.len() == 1 {
                    seen.rejected_clocks.clone_from(rejected_clocks);
                }
            }
            Entry::Planned { rows, timers } => {
                self.timers.clone_from(timers);
                self.rows = rows.iter().cloned().map(RowState::new).collect();
            }
            Entry::RowsAdded { rows } => {
                self.rows.extend(rows.iter().cloned().map(RowState::new));
            }
            Entry::Paired { pairs } => {
                let known = |it: &&Pairing| (it.base.max(it.new) as usize) < self.rows.len();
                self.pairings = pairs.iter().filter(known).copied().collect();
            }
            Entry::Control { row, design, phase: Phase::Round(_), at_s, samples } => {
                let (row, design, at_s, samples) = (*row, *design, *at_s, samples.clone());
                self.controls.push(Control { row, design, at_s, samples });
            }
            Entry::Control { .. } => {}
            Entry::Ended { at, complete } => self.ended = Some((at.clone(), *complete)),
            Entry::Piloted { row, .. }
            | Entry::Worker { row, .. }
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

    /// The rows that were planned so far.
    pub fn planned(&self) -> Vec<PlannedRow> {
        self.rows.iter().map(|row| row.planned.clone()).collect()
    }

    /// The record so far, with or without raw samples; `None` before the run has started.
    pub fn record(&self, samples: bool) -> Option<Record> {
        let started = self.started.as_ref()?;
        let nominal = Nominal::from_run_level(started.settings.nominal);
        let mut conditions = Vec::new();
        let mut rows: Vec<Option<Row>> = vec![None; self.rows.len()];
        for seen in std::iter::once(&self.own).chain(&self.others) {
            let is_own = std::ptr::eq(seen, &self.own);
            let at: Vec<usize> = (0..self.rows.len())
                .filter(|&at| {
                    std::ptr::eq(self.machine_state(&self.rows[at].planned.target.machine), seen)
                })
                .collect();
            let states: Vec<&RowState> = at.iter().map(|&at| &self.rows[at]).collect();
            let known = match &seen.machine {
                Some(machine) if !is_own && states.is_empty() => {
                    peer_conditions(&machine.id, &seen.probe, seen.cpu, &seen.tracers)
                }
                _ => seen.conditions(&states),
            };
            let rate = rate(&seen.calibrations);
            let clock = rate.as_ref().map(|(clock, ..)| clock);
            let shared = RunContext {
                clock,
                nominal,
                keep_samples: samples,
                very_noisy: is_very_noisy(&known),
            };
            for (at, state) in at.into_iter().zip(states) {
                let mut row = state.row(shared);
                row.target.cpu = seen.cpu;
                rows[at] = Some(row);
            }
            conditions.extend(seen.machine.is_some().then_some(known));
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
        let defined: Vec<(&Definition, &Row)> =
            self.rows.iter().map(|state| &state.planned.definition).zip(&rows).collect();
        let Curves { curves, crossings } = curves(&defined, machine, started.settings.seed);
        let halves = half_round_trips(&rows);
        let steps = wait_steps(&rows, started.settings.seed);
        let comparisons = rate(&self.own.calibrations).map(|(clock, ..)| {
            let (versus, controls) = (&self.pairings[..], &self.controls[..]);
            let states = &self.rows[..];
            Interleaved { states, rows: &rows, pairings: versus, controls, clock: &clock }
                .comparisons()
        });
        let seen = std::iter::once(&self.own).chain(&self.others);
        let machines = seen.filter_map(MachineState::machine).collect();
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
            comparisons: comparisons.unwrap_or_default(),
            timers: self.timers.clone(),
            curves,
            half_round_trips: halves,
            crossings,
            steps,
        })
    }

    /// What was seen of a machine; of one that nobody met, of the first.
    fn machine_state(&self, id: &str) -> &MachineState {
        self.others.iter().find(|it| it.has_id(id)).unwrap_or(&self.own)
    }

    fn machine_state_mut(&mut self, id: &str) -> &mut MachineState {
        match self.others.iter().position(|it| it.has_id(id)) {
            Some(at) => &mut self.others[at],
            None => &mut self.own,
        }
    }
}

fn apply_to_row(state: &mut RowState, entry: &Entry) {
    match entry {
        Entry::Piloted { plan, .. } => state.plan = Some(plan.clone()),
        Entry::Worker { phase: Phase::StudyMethod(experiment), outcome, .. } => {
            state.experiments.push((*experiment, outcome.clone()));
        }
        Entry::Worker { phase, at_s, set, outcome, .. } => {
            let outcome = outcome.clone();
            state.workers.push(WorkerEntry { phase: *phase, at_s: *at_s, set: *set, outcome });
        }
        Entry::Counted { count, .. } => state.count = Some(count.clone()),
        Entry::NotCounted { reason: why, .. } => state.not_counted = Some(why.clone()),
        Entry::MonitorReported {
            observed_calls: copy, profile_state: profile, anomalies, ..
        } => {
            state.add_monitor_report(*copy, profile.as_deref(), *anomalies);
        }
        Entry::Abandoned { outcome, reason, .. } => {
            state.given_up = Some((*outcome, reason.clone()));
        }
        Entry::RowFinished { converged, .. } => state.converged = Some(*converged),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::facts::Facts;
    use oscost_model::record::Settings;

    use super::*;

    #[test]
    fn a_peer_s_machine_stands_beside_the_measured_one_with_what_its_probe_saw() {
        let met = |id: &str| Entry::MachineDescribed {
            machine: Box::new(Machine::new(id, Facts::default(), vec![])),
            tracers: vec![],
        };
        let surveyed = |machine: &str, lost_ns| Entry::CpuChosen {
            machine: machine.to_owned(),
            probe: vec![CpuProbe {
                cpu: 3,
                spin_ns: 1_000_000,
                gaps_over_1us: 1,
                gaps_over_5us: 0,
                lost_ns,
                max_gap_ns: lost_ns,
                run_delay_ns: None,
                core_cycles_per_ns: None,
            }],
            cpu: Some(3),
        };
        let mut assembler = Assembler { started: Some(started()), ..Assembler::default() };
        for entry in [met("m0"), met("m1"), surveyed("m0", 0), surveyed("m1", 500_000)] {
            assembler.apply(&entry);
        }
        let record = assembler.record(false).unwrap();
        let ids: Vec<&str> = record.machines.iter().map(|machine| &*machine.id).collect();
        assert_eq!(ids, ["m0", "m1"]);
        let classes: Vec<Option<&str>> =
            record.conditions.iter().map(|conditions| conditions.class.as_deref()).collect();
        assert_eq!(classes, [None, Some("very-noisy")], "nothing was measured on either");
        assert_eq!(record.conditions[1].machine, "m1");
        assert_eq!(record.conditions[1].probe[0].lost_ns, 500_000);
    }

    fn started() -> RunHeader {
        let worker = oscost_model::record::WorkerProgram {
            hash: String::new(),
            link: String::new(),
            libc: String::new(),
            catalog: String::new(),
        };
        RunHeader {
            id: String::new(),
            started_at: String::new(),
            label: None,
            command: vec![],
            tool: oscost_model::record::Tool {
                version: String::new(),
                commit: None,
                rustc: None,
                worker,
            },
            settings: Settings {
                seed: 1,
                profile: String::new(),
                precision_pct: None,
                nominal: 0.95,
                budget_s: None,
                study: None,
                predictions: Vec::new(),
            },
        }
    }
}
