//! A job: the process that carries out one order, fresh for each repetition.

use oscost_model::protocol::{Event, Order};
use oscost_model::worker::Subject;

use super::calibrate::calibrated;
use super::failure::failed;
use super::measure::measure;
use super::probe::probe_all;
use super::serve::served;
use super::wire::{Wire, order_of};
use super::{attach, program_run, system_activity, tracer};
use crate::kernel::process::signal;
use crate::kernel::{Errno, process};
use crate::treatments::system::Cpus;

/// Reads the job from standard input and does it; the answer goes to standard output.
pub fn run() -> Result<(), Errno> {
    // The supervisor was our parent when this began; if it has ended, so do we.
    process::die_with(process::named_parent())?;
    signal::unblock_all();
    process::forbid_core_files();
    let mut wire = Wire::open()?;
    let line = wire.line()?;
    let Some(order) = order_of(&line)? else { return Ok(()) };
    let id = order.id();
    let answer = match order {
        Order::Measure { spec, .. } | Order::Count { spec, .. }
            if matches!(spec.subject, Subject::Program(_)) =>
        {
            return program_run::trial(id, &spec, &line).say(&mut wire);
        }
        Order::Measure { spec, .. } => return measure(id, &spec, &mut wire).say(&mut wire),
        Order::Count { spec, .. } => return tracer::count(id, &spec, &line).say(&mut wire),
        Order::Probe { cpus, spin_ms, clock, .. } => {
            Event::Probed { id, cpus: probe_all(&cpus, spin_ms, clock) }
        }
        Order::Serve { spec, .. } => served(id, &spec, &mut wire).unwrap_or_else(|answer| answer),
        Order::Watch { excluded_pids: except, .. } => {
            system_activity::watch(id, &except, &mut wire)
        }
        Order::Calibrate { cpu, clock, .. } => calibrated(id, cpu, clock),
        Order::Go { .. } | Order::Stop { .. } => failed(id, "an order came before its job"),
        Order::Attach { treatments, cpu, other_cpu, .. } => {
            let cpus = Cpus { measured: cpu, other: other_cpu };
            attach::attach(id, &treatments, cpus, &mut wire)
        }
        Order::Lock { .. } => failed(id, "keeping the machine is the supervisor's"),
    };
    wire.say(&answer)
}
