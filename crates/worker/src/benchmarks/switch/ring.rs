//! A token that is passed round a ring of processes, each of which reads memory of its own.

use std::fs::File;

use super::super::prelude::*;
use super::pair::repeat_op;
use crate::bench::{OpError, Shape, WorkBody};
use crate::kernel::cpu::black_box;
use crate::kernel::ipc::context_switch::{self, PeerProcess};
use crate::kernel::ipc::pipe::pipe;

/// Cache line size: reading one byte loads the whole line.
const CACHE_LINE_BYTES: usize = 64;

/// The member that starts each lap, and the others.
struct Ring {
    member: Member,
    _others: Vec<PeerProcess>,
}

/// A member: the end it reads from, the end it writes to, and its memory.
struct Member {
    from: File,
    to: File,
    memory: Vec<u8>,
}

/// The work at a point: an op is a lap.
pub(super) fn laps(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let members = params.number("ring") as usize;
    let mut memory = vec![1; params.number("footprint") as usize];
    let (mut read_ends, mut write_ends) = (Vec::new(), Vec::new());
    for _ in 0..members {
        let (read, write) = pipe()?;
        read_ends.push(Some(read));
        write_ends.push(Some(write));
    }
    let mut others = Vec::new();
    for index in 1..members {
        let (read_ends, write_ends, memory) = (&mut read_ends, &mut write_ends, &mut memory);
        others.push(PeerProcess::start(Some(cpu), move || {
            // The child's copies: it keeps only its own two ends, so that the exit of any member
            // ends all, and writes its memory, so that it has pages of its own.
            let ends = (read_ends[index].take(), write_ends[(index + 1) % members].take());
            read_ends.clear();
            write_ends.clear();
            memory.fill(index as u8);
            let (Some(from), Some(to)) = ends else { return Err(Errno::EINVAL) };
            let member = Member { from, to, memory: std::mem::take(memory) };
            loop {
                member.receive()?;
                member.pass()?;
            }
        })?);
    }
    let (from, to) = (read_ends[0].take(), write_ends[1 % members].take());
    let (Some(from), Some(to)) = (from, to) else { return Err(Errno::EINVAL) };
    let mut ring = Ring { member: Member { from, to, memory }, _others: others };
    drop((read_ends, write_ends));
    // A first lap, so that every member waits in its read before anything is timed.
    ring.run(1, 1).map_err(|error| error.errno)?;
    Ok(Work::from_body(Shape::Repeat, ring))
}

impl Member {
    /// Waits for the token, and reads all the memory.
    fn receive(&self) -> Result<(), Errno> {
        match context_switch::read(&self.from, &mut [0])? {
            1 => self
                .memory
                .chunks(CACHE_LINE_BYTES)
                .for_each(|line| black_box::consume(u64::from(line[0]))),
            _ => return Err(Errno::EPIPE),
        }
        Ok(())
    }

    /// Passes it on.
    fn pass(&self) -> Result<(), Errno> {
        if context_switch::write(&self.to, &[1])? == 1 { Ok(()) } else { Err(Errno::EPIPE) }
    }
}

impl WorkBody for Ring {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let member = &self.member;
        repeat_op(iterations * u64::from(unroll), || member.pass().and_then(|()| member.receive()))
    }
}
