//! Waiting for the ready ones among many descriptors.

use std::ops::Range;

use super::super::prelude::*;
use super::set::{Method, Part, Ready, Set, WaitState};
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
    /// How many of `of` descriptors come before the ready ones.
    fn before(self, of: u64) -> u64 {
        match self {
            Position::First => 0,
            Position::Middle => of / 2,
            Position::Last => of,
        }
    }

    /// The consecutive positions of `count` ready descriptors among `of`.
    fn places(self, of: u64, count: u64) -> Range<u64> {
        let first = self.before(of - count);
        first..first + count
    }
}

impl SetSpec {
    fn params(at: Params<'_>) -> Self {
        let fds = at.number("fds");
        Self {
            method: Method::of(at),
            over: descriptor_type(at),
            fds,
            ready: match at.word("ready") {
                "none" => 0,
                "one" => 1,
                _ => (fds / 10).max(1),
            },
            highest: match at.word("highest") {
                "4k" => Some(4_095),
                "16k" => Some(16_383),
                _ => None,
            },
            position: match at.word("position") {
                "first" => Position::First,
                "middle" => Position::Middle,
                _ => Position::Last,
            },
        }
    }
}

/// The work at a point: an op is `part` of one wait.
pub(super) fn wait_work(params: Params<'_>, part: Part) -> Result<Work, Errno> {
    build(SetSpec::params(params), part)
}

/// The work at a point: an op is the share of one descriptor in one wait.
pub(super) fn share_work(params: Params<'_>) -> Result<Work, Errno> {
    let fds = params.number("fds");
    let wanted = SetSpec {
        method: Method::of(params),
        over: DescriptorKind::Pipe,
        fds,
        // The call has added itself to the wait queues of all others before it finds this one.
        ready: u64::from(params.word("step") == "block"),
        highest: None,
        position: Position::Last,
    };
    build(wanted, Part::Whole).map(|work| work.with_op_count(fds))
}

fn build(wanted: SetSpec, part: Part) -> Result<Work, Errno> {
    let SetSpec { method, over, fds, ready, highest, .. } = wanted;
    if highest.is_some_and(|highest| highest < fds + 64) {
        return Err(Errno::unavailable(
            "that many descriptors exceed this number by themselves: select smaller \
                            fds"
            .to_owned(),
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
        shared_set(&wanted, limit)?
    } else {
        let places = wanted.position.places(fds, ready);
        let many = DescriptorSet::new(fds, over, places.clone(), highest)?;
        let asked = WaitState::of(method, &mut many.fds(), ready)
            .map_err(|why| explain_error(why, fds, over))?;
        (Set { many, state: asked, ready: Ready::of(places, method) }, Vec::new())
    };
    set.wake()?;
    let mut body = Body { set, part: Part::Whole, _helpers: helpers };
    // Once, so that a wrong set fails now, and there are results for `Part::Caller`.
    body.run(1, 1).map_err(|error| error.errno)?;
    // The caller's part alone is so short that loop overhead counts: it is included.
    let shape = if part == Part::Caller { Shape::WithLoop } else { Shape::Repeat };
    Ok(Work::from_body(shape, Body { part, ..body }))
}

/// A set that does not fit into one process: a kernel-resident set may contain descriptors of any
/// process that inherited it.
fn shared_set(wanted: &SetSpec, limit: u64) -> Result<(Set, Vec<PeerProcess>), Errno> {
    /// A process's other descriptors, with a margin.
    const OTHERS: u64 = 320;
    let &SetSpec { method, over, fds, ready, .. } = wanted;
    let ends = if over == DescriptorKind::Eventfd { 1 } else { 2 };
    let each = limit.saturating_sub(OTHERS) / ends;
    // The write ends of those that are made ready belong to this process, too.
    let own = if over == DescriptorKind::Eventfd { each } else { each.saturating_sub(ready) };
    if own < ready.max(1) || fds / each.max(1) > MAX_HELPERS || wanted.highest.is_some() {
        return Err(explain_error(Errno::EMFILE, fds, over));
    }
    let mut asked = WaitState::empty(method, ready)?;
    let mut fillers = Vec::new();
    let mut left = fds - own;
    while left > 0 {
        let count = left.min(each);
        let beyond = own + left - count;
        let fill = |many: &DescriptorSet| {
            asked.skip_foreign_entries();
            asked.fill(&mut many.fds(), beyond)
        };
        fillers.push((ChildFiller::start(count, over, 1 + fillers.len() as u32, fill)?, count));
        left -= count;
    }
    let before = wanted.position.before(fillers.len() as u64) as usize;
    let mut helpers = Vec::new();
    let later = fillers.split_off(before);
    for (filler, count) in fillers {
        helpers.push(filler.fill(count, over)?);
    }
    let places = wanted.position.places(own, ready);
    let many = DescriptorSet::new(own, over, places.clone(), None)?;
    asked.skip_foreign_entries();
    asked.fill(&mut many.fds(), 0).map_err(|why| explain_error(why, fds, over))?;
    for (filler, count) in later {
        helpers.push(filler.fill(count, over)?);
    }
    asked.skip_foreign_entries();
    Ok((Set { many, state: asked, ready: Ready::of(places, method) }, helpers))
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
