//! Waiting for the ready ones among many descriptors.

use std::ops::Range;

use super::super::prelude::*;
use super::interruption::repeat_if_interrupted;
use super::set::{Method, Part, ReadySubset, Set, WaitState};
use crate::kernel::event::descriptor_set::{
    ChildFiller, DescriptorKind, DescriptorSet, explain_error, max_descriptors,
};
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::process::limits;

/// The type of the descriptors.
pub(super) fn descriptor_type(params: Params<'_>) -> DescriptorKind {
    match params.word("over") {
        "pipe" => DescriptorKind::Pipe,
        "socketpair" => DescriptorKind::SocketPair,
        "tcp" => DescriptorKind::Tcp,
        _ => DescriptorKind::Eventfd,
    }
}

/// What a point selects.
struct SetSpec {
    method: Method,
    over: DescriptorKind,
    fds: u64,
    ready: u64,
    highest: Option<u64>,
    position: Position,
}

/// The position of the ready descriptors.
#[derive(Clone, Copy, Debug)]
enum Position {
    First,
    Middle,
    Last,
}

impl Position {
    /// Where the ready ones begin, from 0 to `last`.
    fn first(self, last: u64) -> u64 {
        match self {
            Position::First => 0,
            Position::Middle => last / 2,
            Position::Last => last,
        }
    }

    /// The consecutive positions of `count` ready ones among so many `descriptors`.
    fn range(self, descriptors: u64, count: u64) -> Range<u64> {
        let first = self.first(descriptors - count);
        first..first + count
    }
}

impl SetSpec {
    fn of(params: Params<'_>) -> Self {
        let fds = params.number("fds");
        Self {
            method: Method::of(params),
            over: descriptor_type(params),
            fds,
            ready: match params.word("ready") {
                "none" => 0,
                "one" => 1,
                _ => (fds / 10).max(1),
            },
            highest: match params.word("highest") {
                "4k" => Some(4_095),
                "16k" => Some(16_383),
                _ => None,
            },
            position: match params.word("position") {
                "first" => Position::First,
                "middle" => Position::Middle,
                _ => Position::Last,
            },
        }
    }
}

/// The work at a point: an op is `part` of one wait.
pub(super) fn wait_work(params: Params<'_>, part: Part) -> Result<Work, Errno> {
    build(SetSpec::of(params), part)
}

/// The work at a point: an op is the share of one descriptor in one wait.
pub(super) fn share_work(params: Params<'_>) -> Result<Work, Errno> {
    let fds = params.number("fds");
    let spec = SetSpec {
        method: Method::of(params),
        over: DescriptorKind::Pipe,
        fds,
        // The call has added itself to the wait queues of all others before it finds this one.
        ready: u64::from(params.word("step") == "block"),
        highest: None,
        position: Position::Last,
    };
    build(spec, Part::Whole).map(|work| work.with_op_count(fds))
}

fn build(spec: SetSpec, part: Part) -> Result<Work, Errno> {
    let SetSpec { method, over, fds, ready, highest, .. } = spec;
    if highest.is_some_and(|highest| highest < fds + 64) {
        return Err(Errno::unavailable(
            "that many descriptors exceed this number by themselves: select smaller fds".to_owned(),
        ));
    }
    let limit =
        limits::raise_descriptor_limit_to((2 * fds + ready).max(highest.unwrap_or(0)) + 256)?;
    if let Some(highest) = highest.filter(|highest| highest + 128 > limit) {
        return Err(Errno::unavailable(format!(
            "no descriptor can be numbered {highest} here, where a process may have {limit}: run \
             `sudo prlimit --pid $$ --nofile={0}:{0}` in the shell that starts oscost to raise it",
            highest + 1_024
        )));
    }
    let (set, helpers) = if fds > max_descriptors(over, limit) && method.is_shared() {
        shared_set(&spec, limit)?
    } else {
        let positions = spec.position.range(fds, ready);
        let descriptors = DescriptorSet::new(fds, over, positions.clone(), highest)?;
        let state = WaitState::of(method, &mut descriptors.fds(), ready)
            .map_err(|errno| explain_error(errno, fds, over))?;
        (Set { descriptors, state, ready: ReadySubset::of(positions, method) }, Vec::new())
    };
    set.wake()?;
    let mut body = Body { set, part: Part::Whole, _helpers: helpers };
    // Once, so that a wrong set fails now, and there are results for `Part::Caller`.
    repeat_if_interrupted(|| body.run(1, 1).map_err(|error| error.errno))?;
    // The caller's part alone is so short that loop overhead counts: it is included.
    let shape = if part == Part::Caller { Shape::WithLoop } else { Shape::Repeat };
    Ok(Work::from_body(shape, Body { part, ..body }))
}

/// A set that does not fit into one process: a kernel-resident set may contain descriptors of any
/// process that inherited it.
fn shared_set(spec: &SetSpec, limit: u64) -> Result<(Set, Vec<PeerProcess>), Errno> {
    /// A process's other descriptors, with a margin.
    const OTHERS: u64 = 320;
    let &SetSpec { method, over, fds, ready, .. } = spec;
    let ends = if over == DescriptorKind::Eventfd { 1 } else { 2 };
    let per_process = limit.saturating_sub(OTHERS) / ends;
    // The write ends of those that are made ready belong to this process as well.
    let own_fds = if over == DescriptorKind::Eventfd {
        per_process
    } else {
        per_process.saturating_sub(ready)
    };
    if own_fds < ready.max(1) || fds / per_process.max(1) > MAX_HELPERS || spec.highest.is_some() {
        return Err(explain_error(Errno::EMFILE, fds, over));
    }
    let mut state = WaitState::empty(method, ready)?;
    let mut fillers = Vec::new();
    let mut left = fds - own_fds;
    while left > 0 {
        let count = left.min(per_process);
        let offset = own_fds + left - count;
        let fill = |descriptors: &DescriptorSet| {
            state.skip_foreign_entries();
            state.fill(&mut descriptors.fds(), offset)
        };
        fillers.push((ChildFiller::start(count, over, 1 + fillers.len() as u32, fill)?, count));
        left -= count;
    }
    let before = spec.position.first(fillers.len() as u64) as usize;
    let mut helpers = Vec::new();
    let later = fillers.split_off(before);
    for (filler, count) in fillers {
        helpers.push(filler.fill(count, over)?);
    }
    let positions = spec.position.range(own_fds, ready);
    let descriptors = DescriptorSet::new(own_fds, over, positions.clone(), None)?;
    state.skip_foreign_entries();
    state.fill(&mut descriptors.fds(), 0).map_err(|errno| explain_error(errno, fds, over))?;
    for (filler, count) in later {
        helpers.push(filler.fill(count, over)?);
    }
    state.skip_foreign_entries();
    Ok((Set { descriptors, state, ready: ReadySubset::of(positions, method) }, helpers))
}

/// Maximum number of helper processes that fill a set: enough for 100,000 pipes where a process may
/// have 4,096 descriptors.
const MAX_HELPERS: u64 = 64;

/// A set, and the helpers that filled part of it.
struct Body {
    set: Set,
    part: Part,
    _helpers: Vec<PeerProcess>,
}

impl WorkBody for Body {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.set.run(self.part, iterations * u64::from(unroll))
    }
}
