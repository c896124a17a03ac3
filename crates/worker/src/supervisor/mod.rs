//! The supervisor: orders in, events out.
//!
//! It starts a fresh process for each job (`/proc/self/exe job`), passes lines between the job and
//! the tool, and makes sure that nothing is left behind: at the end of input, on a signal, after a
//! job's timeout. It does not know how anything is measured (the jobs do) or what the figures mean
//! (the tool does).

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::signalfd::SignalFd;
use oscost_model::protocol::{Event, Order};

use crate::kernel::Errno;
use crate::kernel::event::poll;
use crate::kernel::process;
use crate::kernel::process::limits::stack_limit;
use crate::kernel::process::signal::{self, SignalEvent};

mod attach;
mod core_counters;
mod init;
mod job;
mod lock;
mod measurement;
mod processes;
mod protocol;
mod trace;
mod treat;

pub use init::{INIT_PATH, die_with_parent, run_init};
pub use job::run as run_job;
pub use protocol::hello::{catalog_json, own_hash};
pub use trace::tracer::run_traced_job;
pub use treat::run_treat;

use lock::MachineClaim;
use processes::child::{JobProcess, Step};
use processes::command;
use processes::undo::Undo;
use protocol::failure::failure;
use protocol::hello::hello;
use protocol::line_reader::LineReader;

/// Orders and events are read 64 KiB at once, on the stack.
const MIN_STACK_BYTES: u64 = 256 << 10;

/// The tool never runs more jobs at once.
const MAX_JOBS: usize = 64;

/// Serves one session on standard input and output, until the input ends. Returns the exit status:
/// after a signal that of a shell, 128 and the signal's number, so that the tool can tell why.
pub fn supervise() -> Result<u8, Errno> {
    if let Some(limit) = stack_limit().filter(|&limit| limit < MIN_STACK_BYTES) {
        return Err(Errno::unavailable(format!(
            "its stack is limited to {} KiB, and it needs {}: `ulimit -s 8192` in the shell that \
             starts oscost",
            limit >> 10,
            MIN_STACK_BYTES >> 10
        )));
    }
    signal::outlive_file_size_limit();
    process::become_subreaper()?;
    let signals = signal::block_and_open()?;
    let mut undo = Undo::with_scratch();
    let mut output = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let mut input = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    send(&mut output, &Event::Hello(Box::new(hello(undo.scratch()))))?;
    let mut children = Vec::new();
    let served = serve(&signals, &mut input, &mut output, &mut children, &mut undo);
    // However it ended: jobs first detach what they have attached and end their programs; then
    // `undo` kills every process group and removes every file.
    children.iter_mut().for_each(JobProcess::close_input);
    children.iter_mut().for_each(JobProcess::wait_for_cleanup);
    Ok(served?.map_or(0, |signal| (128 + signal) as u8))
}

/// Handles orders until the input ends, a signal requests the end, which is returned, or the output
/// is closed.
fn serve(
    signals: &SignalFd,
    input: &mut File,
    output: &mut File,
    children: &mut Vec<JobProcess>,
    undo: &mut Undo,
) -> Result<Option<i32>, Errno> {
    let mut orders = LineReader::default();
    let mut claim = MachineClaim::default();
    loop {
        let timeout = children.iter().map(JobProcess::time_left).chain(claim.time_left()).min();
        let ready = {
            let mut fds = vec![input.as_fd(), signals.as_fd()];
            for child in &*children {
                fds.extend(child.fds());
            }
            fds.extend(claim.holder_fd());
            poll::readable(&fds, timeout)?
        };
        if ready[1]
            && let Some(signal) = end_request(signals)
        {
            return Ok(Some(signal));
        }
        let is_released = claim.holder_fd().is_some() && ready.last() == Some(&true);
        if (is_released || claim.time_left() == Some(Duration::ZERO))
            && let Some(event) = claim.retry()
        {
            send(output, &event)?;
        }
        let mut flags = ready[2..].chunks(2);
        let mut done = Vec::new();
        for child in &mut *children {
            let readable = flags.next().unwrap_or(&[false, false]);
            for event in child.read_events(readable) {
                match event {
                    Step::Line(line) => send_line(output, line)?,
                    Step::Event(event) => send(output, &event)?,
                    Step::Done => done.push(child.id),
                }
            }
        }
        children.retain_mut(|child| {
            let running = !done.contains(&child.id);
            if !running {
                child.end(undo);
            }
            running
        });
        if ready[0] && !orders.read_from(input)? {
            return Ok(None); // The tool has exited.
        }
        while let Some(line) = orders.next_line() {
            handle_order(&line, children, &mut claim, undo, output)?;
        }
    }
}

/// Handles one order, or reports why it cannot.
fn handle_order(
    line: &[u8],
    children: &mut Vec<JobProcess>,
    claim: &mut MachineClaim,
    undo: &mut Undo,
    output: &mut File,
) -> Result<(), Errno> {
    let order = match serde_json::from_slice::<Order>(line) {
        Ok(order) => order,
        Err(error) => {
            return send(output, &failure(0, format!("cannot parse an order: {error}")));
        }
    };
    let id = order.id();
    let at = children.iter().position(|child| child.id == id);
    let refused = match (&order, at) {
        (Order::Lock { wait, .. }, _) => return send(output, &claim.acquire(id, *wait)),
        (Order::Stop { .. }, None) if claim.belongs_to(id) => {
            *claim = MachineClaim::None;
            None
        }
        // A server reads only from its peer, and that peer is no longer needed.
        (Order::Stop { .. }, Some(at)) if children[at].is_server => {
            children.remove(at).end(undo);
            None
        }
        (Order::Go { .. } | Order::Stop { .. }, Some(at)) => {
            // A job that has ended in the meantime has reported its end.
            children[at].send_line(line);
            None
        }
        // The job has just ended; its last event was its answer.
        (Order::Go { .. } | Order::Stop { .. }, None) => None,
        (_, Some(_)) => Some(format!("job {id} is already running")),
        (_, None) if children.len() >= MAX_JOBS => {
            Some(format!("{MAX_JOBS} jobs are already running"))
        }
        (_, None) => match JobProcess::start(&order, line, undo) {
            Ok(child) => {
                children.push(child);
                None
            }
            Err(error) => {
                let by = command::wrapper(&order).and_then(<[String]>::first);
                let by = by.map_or(String::new(), |program| format!(" by `{program}`"));
                Some(format!("cannot start a worker{by}: {error}"))
            }
        },
    };
    match refused {
        Some(reason) => send(output, &failure(id, reason)),
        None => Ok(()),
    }
}

/// The signal that requests the end, if one has arrived. The exit of a child shows on its pipes;
/// its signal only wakes the loop.
fn end_request(signals: &SignalFd) -> Option<i32> {
    let mut request = None;
    while let Some(arrived) = signal::next_event(signals) {
        if let SignalEvent::EndRequested { signal } = arrived {
            request = request.or(Some(signal));
        }
    }
    request
}

/// Sends one event. The error, if the tool has closed its end, ends the session.
fn send(output: &mut File, event: &Event) -> Result<(), Errno> {
    send_line(output, serde_json::to_vec(event).map_err(|_| Errno::EINVAL)?)
}

/// Sends a line that a worker has written.
fn send_line(output: &mut File, mut line: Vec<u8>) -> Result<(), Errno> {
    line.push(b'\n');
    output.write_all(&line).map_err(Errno::from)
}
