//! The record as a pure function of the journal.

use oscost_model::clock::{Calibration, ClockSync};
use oscost_model::definition::Timer;
use oscost_model::journal::{Entry, Started};
use oscost_model::protocol::CpuProbe;
use oscost_model::record::{Clock, Machine, Record, Row, SCHEMA};

use super::conditions::{conditions, is_hostile, rate};
use super::lay;
use super::row::{CellEntry, RowState, Shared};
use crate::stats::interval::Nominal;

/// Reads a journal entry by entry; gives the record at any time.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: Option<Started>,
    machine: Option<Machine>,
    tracers: Vec<String>,
    probe: Vec<CpuProbe>,
    cpu: Option<u32>,
    calibrations: Vec<(Calibration, ClockSync)>,
    passed_over: Vec<String>,
    rows: Vec<RowState>,
    timers: Vec<Timer>,
    ended: Option<(String, bool)>,
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
            Entry::Met { machine, tracers } => {
                self.machine = Some((**machine).clone());
                self.tracers.clone_from(tracers);
            }
            Entry::Surveyed { probe, cpu, .. } => {
                self.probe.clone_from(probe);
                self.cpu = *cpu;
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
            Entry::Ended { at, complete } => self.ended = Some((at.clone(), *complete)),
            Entry::Piloted { row, .. }
            | Entry::Cell { row, .. }
            | Entry::Counted { row, .. }
            | Entry::NotCounted { row, .. }
            | Entry::GivenUp { row, .. }
            | Entry::Settled { row, .. } => {
                if let Some(state) = self.rows.get_mut(*row as usize) {
                    apply_to_row(state, entry);
                }
            }
        }
    }

    /// The record so far, with or without raw samples; `None` before the run has started.
    pub fn record(&self, samples: bool) -> Option<Record> {
        let started = self.started.as_ref()?;
        let rate = rate(&self.calibrations);
        let clock = rate.as_ref().map(|(clock, ..)| clock);
        let adaptive = started.settings.nominal > Nominal::FIXED.share();
        let nominal = if adaptive { Nominal::ADAPTIVE } else { Nominal::FIXED };
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
        let machines: Vec<Machine> = self
            .machine
            .iter()
            .cloned()
            .map(|machine| Machine { clock: self.clock(), ..machine })
            .collect();
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
            conditions: machines.iter().map(|_| conditions.clone()).collect(),
            machines,
            results: rows,
            comparisons: Vec::new(),
            timers: self.timers.clone(),
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
        Entry::Cell { phase, at_s, outcome, .. } => {
            let outcome = outcome.clone();
            state.cells.push(CellEntry { phase: *phase, at_s: *at_s, outcome });
        }
        Entry::Counted { count, .. } => state.count = Some(count.clone()),
        Entry::NotCounted { why, .. } => state.not_counted = Some(why.clone()),
        Entry::GivenUp { outcome, reason, .. } => {
            state.given_up = Some((*outcome, reason.clone()));
        }
        Entry::Settled { converged, .. } => state.converged = Some(*converged),
        _ => {}
    }
}
