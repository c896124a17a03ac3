//! One way: from a time stamp in one process to its receipt in the other.

use std::fs::File;

use super::super::placement::cpu_of_optional_peer;
use super::super::prelude::*;
use crate::kernel::ipc::context_switch::{self, PeerProcess};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::time::stopwatch::Stopwatch;

/// The work at a point: an op is one time stamp sent and received.
pub(super) fn time_stamps(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_optional_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    if cpu != params.context.cpu && !params.context.clock.agrees_across_cpus() {
        return Ok(incomparable_clocks());
    }
    match params.word("peer") {
        "stays" => persistent_peer(cpu, params.context.clock),
        _ => forked_peer(cpu, params.context.clock),
    }
}

/// A persistent peer: it receives a request, and sends the time.
fn persistent_peer(cpu: Option<u32>, watch: Stopwatch) -> Result<Work, Errno> {
    let ((from_own, to_peer), (from_peer, to_own)) = (pipe()?, pipe()?);
    let mut ends = Some((to_peer, from_peer));
    let peer = {
        let ends = &mut ends;
        PeerProcess::start(cpu, move || {
            // The child's copies: if it held its parent's ends, it would never see end of file.
            drop(ends.take());
            while context_switch::read(&from_own, &mut [0])? == 1 {
                // A woken task may preempt the one that woke it. Yielding once lets that one run
                // until it waits, as the definition says.
                context_switch::sched_yield()?;
                send(&to_own, watch)?;
            }
            Ok(())
        })?
    };
    let (to_peer, from_peer) = ends.ok_or(Errno::EINVAL)?; // `None` in the child only.
    let request = move || {
        // The peer runs as long as the work exists; if it has exited, its pipe is at end of file.
        let _peer = &peer;
        context_switch::write(&to_peer, &[1])?;
        receive(&from_peer, watch)
    };
    // Once, so that the peer is on its CPU before anything is timed.
    request()?;
    Ok(Work::own_ticks(request))
}

/// A peer that is forked for each op, sends the time and exits; the reader has waited for its exit.
fn forked_peer(cpu: Option<u32>, watch: Stopwatch) -> Result<Work, Errno> {
    let (from_peer, to_own) = pipe()?;
    let fork_and_receive = move || {
        PeerProcess::start(cpu, || send(&to_own, watch))?.join()?;
        receive(&from_peer, watch)
    };
    fork_and_receive()?;
    Ok(Work::own_ticks(fork_and_receive))
}

/// Takes a time stamp and sends it.
fn send(to: &File, watch: Stopwatch) -> Result<(), Errno> {
    let stamp = watch.start().to_ne_bytes();
    if context_switch::write(to, &stamp)? == stamp.len() { Ok(()) } else { Err(Errno::EPIPE) }
}

/// Receives a time stamp and returns how many ticks ago it was taken.
fn receive(from: &File, watch: Stopwatch) -> Result<i64, Errno> {
    let mut stamp = [0; size_of::<u64>()];
    let bytes = context_switch::read(from, &mut stamp)?;
    let now = watch.stop();
    if bytes != stamp.len() {
        return Err(Errno::EPIPE);
    }
    Ok(now.wrapping_sub(u64::from_ne_bytes(stamp)) as i64)
}
