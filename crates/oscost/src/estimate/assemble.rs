//! The record as a pure function of the journal.

use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::definition::{Definition, Timer};
use oscost_model::journal::{Entry, Phase, PlannedRow, Started, Versus};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Clock, Machine, Record, Row, SCHEMA};

use super::comparison::interleaved::{Control, Interleaved};
use super::conditions::{conditions, conditions_of_peer, is_hostile, rate};
use super::curve::{Curves, curves};
use super::halves::halves;
use super::lay;
use super::row::{CellEntry, RowState, Shared};
use super::steps::steps;
use crate::stats::interval::Nominal;

/// Reads a journal entry by entry; gives the record at any time.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: Option<Started>,
    machine: Option<Machine>,
    tracers: Vec<String>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
    peers: Vec<Peer>,
    calibrations: Vec<(Calibration, ClockSync)>,
    passed_over: Vec<String>,
    rows: Vec<RowState>,
    timers: Vec<Timer>,
    versus: Vec<Versus>,
    controls: Vec<Control>,
    ended: Option<(String, bool)>,
}

/// The machine of a peer: nothing is timed on it.
#[derive(Clone, Debug)]
struct Peer {
    machine: Machine,
    tracers: Vec<String>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
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
            Entry::Met { machine, tracers } if self.machine.is_some() => self.peers.push(Peer {
                machine: (**machine).clone(),
                tracers: tracers.clone(),
                probe: Vec::new(),
                cpu: None,
            }),
            Entry::Met { machine, tracers } => {
                self.machine = Some((**machine).clone());
                self.tracers.clone_from(tracers);
            }
            Entry::Surveyed { machine, probe, cpu } => {
                let peer = self.peers.iter_mut().find(|peer| peer.machine.id == *machine);
                let (its_probe, its_cpu) = match peer {
                    Some(peer) => (&mut peer.probe, &mut peer.cpu),
                    None => (&mut self.probe, &mut self.cpu),
                };
                its_probe.clone_from(probe);
                *its_cpu = *cpu;
            }
            Entry::Calibrated { calibration, sync, passed_over, .. } => {
                self.calibrations.push((*calibration, *sync));
                if self.calibrations.len() == 1 {
                    self.passed_over.clone_from(passed_over);
                }
            }
            Entry::Planned { rows, timers } => {
                self.timers.clone_from(timers);
                self.rows = rows.iter().cloned().map(RowState::new).collect();
            }
            Entry::Added { rows } => {
                self.rows.extend(rows.iter().cloned().map(RowState::new));
            }
            Entry::Versus { pairs } => {
                let known = |it: &&Versus| (it.base.max(it.new) as usize) < self.rows.len();
                self.versus = pairs.iter().filter(known).copied().collect();
            }
            Entry::Control { row, design, phase: Phase::Round(_), at_s, samples } => {
                let (row, design, at_s, samples) = (*row, *design, *at_s, samples.clone());
                self.controls.push(Control { row, design, at_s, samples });
            }
            Entry::Control { .. } => {}
            Entry::Ended { at, complete } => self.ended = Some((at.clone(), *complete)),
            Entry::Piloted { row, .. }
            | Entry::Cell { row, .. }
            | Entry::Counted { row, .. }
            | Entry::NotCounted { row, .. }
            | Entry::Witnessed { row, .. }
            | Entry::GivenUp { row, .. }
            | Entry::Settled { row, .. } => {
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
        let rate = rate(&self.calibrations);
        let clock = rate.as_ref().map(|(clock, ..)| clock);
        let nominal = Nominal::of_run(started.settings.nominal);
        let mut conditions = conditions(
            self.machine.as_ref().map_or("m0", |machine| &machine.id),
            &self.rows,
            clock,
            &self.probe,
            self.cpu,
            &self.tracers,
        );
        if rate.as_ref().is_some_and(|(_, _, moved)| *moved) {
            conditions.flags.push("CLOCK_DRIFTED".to_owned());
        }
        let shared = Shared { clock, nominal, samples, hostile: is_hostile(&conditions) };
        let mut rows: Vec<Row> = self.rows.iter().map(|state| state.row(shared)).collect();
        lay::floors(&self.rows, &mut rows);
        let page_bytes = self.machine.as_ref().and_then(|machine| machine.memory.page_bytes);
        lay::classes(&self.rows, &mut rows, page_bytes);
        lay::multiples(&mut rows);
        let machine = self.machine.as_ref();
        lay::files(&mut rows, machine.and_then(|machine| machine.virtualization.as_deref()));
        for row in &mut rows {
            row.place.cpu = self.cpu;
        }
        let defined: Vec<(&Definition, &Row)> =
            self.rows.iter().map(|state| &state.planned.definition).zip(&rows).collect();
        let Curves { curves, crossings } = curves(&defined, machine, started.settings.seed);
        let halves = halves(&rows);
        let steps = steps(&rows, started.settings.seed);
        let comparisons = clock.map(|clock| {
            let (versus, controls) = (&self.versus[..], &self.controls[..]);
            let states = &self.rows[..];
            Interleaved { states, rows: &rows, versus, controls, clock }.comparisons()
        });
        let machines: Vec<Machine> = self
            .machine
            .iter()
            .cloned()
            .map(|machine| Machine { clock: self.clock(), ..machine })
            .chain(self.peers.iter().map(|peer| peer.machine.clone()))
            .collect();
        let of_peers = self.peers.iter().map(|peer| {
            let Peer { machine, tracers, probe, cpu } = peer;
            conditions_of_peer(&machine.id, probe, *cpu, tracers)
        });
        let met = self.machine.iter().map(|_| conditions.clone());
        let conditions = met.chain(of_peers).collect();
        Some(Record {
            schema: SCHEMA.to_owned(),
            id: started.id.clone(),
            started: started.at.clone(),
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
            halves,
            crossings,
            steps,
        })
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
            passed_over: self.passed_over.clone(),
        })
    }
}

fn apply_to_row(state: &mut RowState, entry: &Entry) {
    match entry {
        Entry::Piloted { plan, .. } => state.plan = Some(plan.clone()),
        Entry::Cell { phase: Phase::Manner(experiment), outcome, .. } => {
            state.experiments.push((*experiment, outcome.clone()));
        }
        Entry::Cell { phase, at_s, set, outcome, .. } => {
            let outcome = outcome.clone();
            state.cells.push(CellEntry { phase: *phase, at_s: *at_s, set: *set, outcome });
        }
        Entry::Counted { count, .. } => state.count = Some(count.clone()),
        Entry::NotCounted { why, .. } => state.not_counted = Some(why.clone()),
        Entry::Witnessed { copy, profile, anomalies, .. } => {
            state.witnessed(*copy, profile.as_deref(), *anomalies);
        }
        Entry::GivenUp { outcome, reason, .. } => {
            state.given_up = Some((*outcome, reason.clone()));
        }
        Entry::Settled { converged, .. } => state.converged = Some(*converged),
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
        let met = |id: &str| Entry::Met {
            machine: Box::new(Machine::new(id, Facts::default(), vec![])),
            tracers: vec![],
        };
        let surveyed = |machine: &str, lost_ns| Entry::Surveyed {
            machine: machine.to_owned(),
            probe: vec![CpuProbe {
                cpu: 3,
                spin_ns: 1_000_000,
                gaps_over_1us: 1,
                gaps_over_5us: 0,
                lost_ns,
                longest_ns: lost_ns,
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
        assert_eq!(classes, [None, Some("hostile")], "nothing was measured on either");
        assert_eq!(record.conditions[1].machine, "m1");
        assert_eq!(record.conditions[1].probe[0].lost_ns, 500_000);
    }

    fn started() -> Started {
        let cell = oscost_model::record::CellProgram {
            hash: String::new(),
            link: String::new(),
            libc: String::new(),
            catalog: String::new(),
        };
        Started {
            id: String::new(),
            at: String::new(),
            label: None,
            command: vec![],
            tool: oscost_model::record::Tool {
                version: String::new(),
                commit: None,
                rustc: None,
                cell,
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
