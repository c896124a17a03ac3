//! A job: the process that carries out one order, fresh for each repetition.

use std::time::Duration;

use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Subject, Task};

use super::attach;
use super::measurement::calibrate::calibrate_clock;
use super::measurement::measure::measure;
use super::measurement::probe::probe_cpus;
use super::measurement::serve::serve;
use super::measurement::system_activity;
use super::processes::{program_run, program_turns};
use super::protocol::failure::failure;
use super::protocol::wire::{Wire, parse_order};
use super::trace::process_watch::ProcessWatch;
use super::trace::tracer;
use crate::kernel::memory::relocated_pages;
use crate::kernel::process::signal;
use crate::kernel::{Errno, process};
use crate::treatments::system::AntagonistCpus;

/// Reads an order from standard input and carries it out; the answer goes to standard output.
pub fn run() -> Result<(), Errno> {
    // The supervisor was our parent at the start; if it has exited, this process must exit, too.
    process::die_with_parent(process::parent_argument())?;
    signal::reset_all();
    process::disable_core_files();
    let mut wire = Wire::stdio()?;
    let line = wire.next_line()?;
    let Some(order) = parse_order(&line)? else { return Ok(()) };
    let id = order.id();
    let answer = match order {
        Order::Measure { spec, .. } | Order::Count { spec, .. }
            if matches!(spec.subject, Subject::Program(_)) =>
        {
            return program_run::run_program(id, &spec, &line).send(&mut wire);
        }
        Order::Measure { spec, .. } if matches!(spec.subject, Subject::Programs(_)) => {
            let (Subject::Programs(programs), Task::TakeTurns { order, .. }) =
                (&spec.subject, &spec.task)
            else {
                return wire.send(&failure(id, "programs can only take turns"));
            };
            program_turns::take_turns(id, &spec, &line, programs, order)
        }
        Order::Measure { spec, .. } => {
            // Where that cannot be done, forks cost what they cost any program at a random address.
            let _ = relocated_pages::share();
            return measure(id, &spec, &mut wire).send(&mut wire);
        }
        Order::Count { spec, .. } => return tracer::count(id, &spec, &line).send(&mut wire),
        Order::CountProcess { pid, for_ms, children, .. } => {
            let watch = ProcessWatch { id, pid, duration: Duration::from_millis(for_ms), children };
            watch.count(&mut wire)
        }
        Order::Probe { cpus, spin_ms, clock, .. } => {
            Event::Probed { id, cpus: probe_cpus(&cpus, spin_ms, clock) }
        }
        Order::Serve { spec, .. } => serve(id, &spec, &mut wire).unwrap_or_else(|answer| answer),
        Order::Watch { excluded_pids: except, .. } => {
            system_activity::record_activity(id, &except, &mut wire)
        }
        Order::Calibrate { cpu, clock, .. } => calibrate_clock(id, cpu, clock),
        Order::Go { .. } | Order::Stop { .. } => failure(id, "this order needs a running job"),
        Order::Attach { treatments, cpu, other_cpu, .. } => {
            let cpus = AntagonistCpus { measured: cpu, other: other_cpu };
            attach::attach(id, &treatments, cpus, &mut wire)
        }
        Order::Lock { .. } => failure(id, "keeping the machine is the supervisor's"),
    };
    wire.send(&answer)
}
