//! Complaints about epoll(7), each demonstrated by a program.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::super::prelude::*;
use crate::bench::PointFilter;
use crate::kernel::event::io_uring::{PollMode, Ring};
use crate::kernel::event::readiness::{Epoll, EpollChange, READABLE, WaitLimit};
use crate::kernel::ipc::context_switch;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::syscall::prepared::EPOLL_WAIT;

mod spurious;
#[cfg(test)]
mod tests;

const PER_CHANGE: PointFilter = &[("quirk", "call-per-change")];
const BATCHES: PointFilter = &[("quirk", "io-uring-batches")];
const SPURIOUS: PointFilter = &[("quirk", "spurious-wake-ups")];

pub(super) const QUIRKS: Bench = Bench {
    id: "event/quirks",
    asks: "Which of the known complaints about epoll apply to this kernel?",
    op: "a program that demonstrates it, from its first pipe to its last: 1 (yes) if the behaviour \
         was observed, 0 (no) if it was not. Any other answer of the kernel fails the row. Not \
         included: nothing.",
    expected: "yes to all of them",
    why: "An epoll set holds open files, not descriptors, under the number that each had when it \
          was added. While a duplicate of a closed descriptor exists, its file stays in the set \
          and is reported under a number that is free or now belongs to another file, and it could \
          be removed only by that number and that file together; when the last duplicate is \
          closed, the file leaves the set silently. A program that does not keep track of the set \
          has to guess between ADD and MOD. Nested sets work; the kernel only checks for loops and \
          depth.",
    calls: &[
        exactly("epoll_ctl", CHANGES as u32).when(PER_CHANGE),
        exactly("io_uring_enter", 2).when(BATCHES),
        exactly("io_uring_setup", 1).when(BATCHES),
        exactly("mmap", 3).when(BATCHES),
        up_to("munmap", 3).when(BATCHES),
        up_to("epoll_ctl", 100),
        up_to("epoll_create1", 32),
        up_to(EPOLL_WAIT, 2),
        up_to("pipe2", CHANGES as u32),
        up_to("write", CHANGES as u32),
        up_to("eventfd2", 32),
        up_to("close", 3 * CHANGES as u32),
        // The standard library's duplication of a descriptor, and its check before closing one.
        up_to("fcntl", 3 * CHANGES as u32),
        up_to("brk", 2),
    ],
    unit: Unit::YesOrNo,
    axes: &[Axis {
        name: "quirk",
        sets: "dup-reports: a closed descriptor with a duplicate is still reported; cannot-remove: \
               and its number cannot be removed; other-file: and that number, now of another file, \
               is reported although that file is not ready; dropped-on-close: a ready descriptor \
               is closed, and nothing is reported; guess-add-or-mod: ADD of a present and MOD of \
               an absent descriptor are errors; call-per-change: 16 changes are 16 calls; \
               io-uring-batches: 16 polls are one call; nested: a set in a set reports",
        points: QUIRK_NAMES,
        default_points: QUIRK_NAMES,
    }],
    needs: &[Need::io_uring().when(BATCHES)],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; libev's manual, portability notes; epoll(7), \
             epoll_ctl(2); fs/eventpoll.c",
    build: |params| or_unavailable(demonstrate(params)),
    ..Bench::DEFAULT
};

const QUIRK_NAMES: Points = Points::Words(&[
    "dup-reports",
    "cannot-remove",
    "other-file",
    "dropped-on-close",
    "guess-add-or-mod",
    "call-per-change",
    "io-uring-batches",
    "nested",
]);

pub(super) const COUNTS: Bench = Bench {
    id: "event/quirk-counts",
    asks: "How deeply may epoll sets be nested, and how many wake-ups are spurious?",
    op: "a program that counts it. Not included: starting the two waiters of spurious-wake-ups.",
    expected: "nesting-depth 5; spurious-wake-ups 0 on one CPU, and occasionally 1 on two",
    why: "Adding a set to a set makes the kernel walk all sets reachable from it, to detect loops; \
          it refuses chains beyond a certain depth. Two waiters on one pipe may both be woken by \
          one byte, and the slower one finds nothing: it must not rely on data being there.",
    calls: &[
        up_to("epoll_ctl", 100),
        up_to("epoll_create1", 32),
        up_to(EPOLL_WAIT, 2),
        up_to("pipe2", 2),
        up_to("write", CHANGES as u32),
        up_to("close", 3 * CHANGES as u32),
        up_to("fcntl", 3 * CHANGES as u32),
        up_to("brk", 2),
        up_to("pread64", 100_000).when(SPURIOUS),
        up_to("sched_yield", 100_000).when(SPURIOUS),
        up_to("clock_gettime", 100_000).when(SPURIOUS),
    ],
    unit: Unit::TimesPerOp,
    axes: &[Axis {
        name: "quirk",
        sets: "nesting-depth: sets in a chain before the kernel refuses another; \
               spurious-wake-ups: calls that reported a byte to two waiters although one had \
               already read it",
        points: COUNT_NAMES,
        default_points: COUNT_NAMES,
    }],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; epoll(7), epoll_ctl(2); fs/eventpoll.c",
    build: |params| or_unavailable(demonstrate(params)),
    ..Bench::DEFAULT
};

const COUNT_NAMES: Points = Points::Words(&["nesting-depth", "spurious-wake-ups"]);

pub(super) const NESTED: Bench = Bench {
    id: "event/nested",
    asks: "What does epoll_wait through nested sets cost?",
    op: "one epoll_wait(2) on the outermost of `depth` sets that contain each other, the innermost \
         a pipe with a byte in it, which stays. Not included: creating the pipe and the sets.",
    expected: "250 ns for a single set, 150 ns more for each around it",
    why: "The kernel polls a nested set like any file: is it ready? The answer is a scan of its \
          own ready list, and of each file there: a set further inside, and finally the pipe. \
          Every call descends to the innermost set.",
    calls: &[exactly(EPOLL_WAIT, 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "depth",
        sets: "number of sets from the one that is waited on to the one that holds the pipe, both \
               included",
        points: Points::Numbers(&[1, 2, 3, 4, 5]),
        default_points: Points::Numbers(&[1, 5]),
    }],
    in_price_list: false,
    source: "study cs161-syscalls, The C10K problem; epoll(7); fs/eventpoll.c: ep_item_poll",
    build: |params| or_unavailable(wait_on_outermost(params)),
    ..Bench::DEFAULT
};

/// Changes that are made together: the size of the batch that an io_uring submits at once.
const CHANGES: usize = 16;

/// The deepest chain tried: the kernel allows five.
const MAX_DEPTH: usize = 16;

fn demonstrate(params: Params<'_>) -> Result<Work, Errno> {
    let program: fn() -> Result<i64, Errno> = match params.word("quirk") {
        "dup-reports" => || yes_or_no(DuplicatedPipe::new()?.is_reported()),
        "cannot-remove" => cannot_remove,
        "other-file" => other_file,
        "dropped-on-close" => dropped_on_close,
        "guess-add-or-mod" => guess_add_or_mod,
        "call-per-change" => call_per_change,
        "io-uring-batches" => io_uring_batches,
        "nested" => || Chain::of(2)?.reports(),
        "nesting-depth" => nesting_depth,
        _ => {
            let mut waiters = spurious::Waiters::new(params.context)?;
            return Ok(Work::own_value(move || {
                waiters.count_spurious().map(|times| 1_000 * times)
            }));
        }
    };
    Ok(Work::own_value(move || program().map(|figure| 1_000 * figure)))
}

fn wait_on_outermost(params: Params<'_>) -> Result<Work, Errno> {
    let mut chain = Chain::of(params.number("depth") as usize)?;
    Ok(Work::repeat(move || match chain.reports()? {
        1 => Ok(()),
        _ => Err(Errno::EPROTO),
    }))
}

fn yes_or_no(observed: Result<bool, Errno>) -> Result<i64, Errno> {
    observed.map(i64::from)
}

/// Whether a set reports, without blocking, `token` and nothing else; `false` if it reports
/// nothing.
fn reports_only(set: &mut Epoll, token: u64) -> Result<bool, Errno> {
    let count = set.wait(WaitLimit::Immediate)?;
    let mut unexpected = false;
    set.each(count, |reported| unexpected |= reported != token);
    match (count, unexpected) {
        (0, _) => Ok(false),
        (1, false) => Ok(true),
        _ => Err(Errno::EPROTO),
    }
}

/// A pipe's read end that was added to a set and then closed, while a duplicate exists; a byte is
/// readable.
struct DuplicatedPipe {
    set: Epoll,
    fd: i32,
    _duplicate: File,
    _write_end: File,
}

impl DuplicatedPipe {
    fn new() -> Result<Self, Errno> {
        let (from, to) = pipe()?;
        let fd = from.as_raw_fd();
        let set = Epoll::new(4)?;
        set.change(EpollChange::Add, fd, READABLE, fd as u64)?;
        let duplicate = from.try_clone()?;
        drop(from);
        context_switch::write(&to, &[1])?;
        Ok(Self { set, fd, _duplicate: duplicate, _write_end: to })
    }

    fn is_reported(&mut self) -> Result<bool, Errno> {
        reports_only(&mut self.set, self.fd as u64)
    }

    /// Whether removing its number fails with this error, and it is still reported.
    fn removal_fails_with(&mut self, expected: Errno) -> Result<bool, Errno> {
        match self.set.change(EpollChange::Delete, self.fd, 0, 0) {
            Ok(()) => Ok(false),
            Err(error) if error == expected => self.is_reported(),
            Err(error) => Err(error),
        }
    }
}

fn cannot_remove() -> Result<i64, Errno> {
    yes_or_no(DuplicatedPipe::new()?.removal_fails_with(Errno::EBADF))
}

fn other_file() -> Result<i64, Errno> {
    let mut duplicated = DuplicatedPipe::new()?;
    // Each new descriptor gets the lowest free number, and the closed one is free.
    let mut counters = Vec::new();
    while counters.last().is_none_or(|last: &File| last.as_raw_fd() < duplicated.fd) {
        counters.push(context_switch::eventfd()?);
    }
    if counters.last().is_none_or(|last| last.as_raw_fd() != duplicated.fd) {
        return Err(Errno::EPROTO);
    }
    // The counter with that number is at 0, and was never added.
    yes_or_no(duplicated.removal_fails_with(Errno::ENOENT))
}

fn dropped_on_close() -> Result<i64, Errno> {
    let (from, to) = pipe()?;
    let mut set = Epoll::new(4)?;
    set.change(EpollChange::Add, from.as_raw_fd(), READABLE, 7)?;
    context_switch::write(&to, &[1])?;
    drop(from);
    yes_or_no(reports_only(&mut set, 7).map(|reported| !reported))
}

fn guess_add_or_mod() -> Result<i64, Errno> {
    let (from, _to) = pipe()?;
    let set = Epoll::new(1)?;
    let change = |kind| set.change(kind, from.as_raw_fd(), READABLE, 0);
    let absent_fails = fails_with(change(EpollChange::Modify), Errno::ENOENT)?;
    change(EpollChange::Add)?;
    let present_fails = fails_with(change(EpollChange::Add), Errno(libc::EEXIST))?;
    Ok(i64::from(absent_fails && present_fails))
}

fn fails_with(done: Result<(), Errno>, expected: Errno) -> Result<bool, Errno> {
    match done {
        Ok(()) => Ok(false),
        Err(error) if error == expected => Ok(true),
        Err(error) => Err(error),
    }
}

/// One pipe per change, each with a byte in it.
fn pipes_with_input() -> Result<Vec<(File, File)>, Errno> {
    let pipe_with_input = || {
        let (from, to) = pipe()?;
        context_switch::write(&to, &[1])?;
        Ok((from, to))
    };
    (0..CHANGES).map(|_| pipe_with_input()).collect()
}

fn call_per_change() -> Result<i64, Errno> {
    let pipes = pipes_with_input()?;
    let mut set = Epoll::new(CHANGES)?;
    for (from, _) in &pipes {
        set.change(EpollChange::Add, from.as_raw_fd(), READABLE, 0)?;
    }
    // The counted calls of this row show how many calls that took.
    Ok(i64::from(set.wait(WaitLimit::Immediate)? == CHANGES))
}

fn io_uring_batches() -> Result<i64, Errno> {
    let pipes = pipes_with_input()?;
    let mut ring = Ring::new(CHANGES as u32)?;
    for (token, (from, _)) in (0..).zip(&pipes) {
        ring.queue_poll(from.as_raw_fd(), token, PollMode::OneShot)?;
    }
    ring.wait_for(0)?;
    ring.wait_for(CHANGES as u32)?;
    let mut reported = 0;
    while let Some(done) = ring.take_completion() {
        if done.result < 0 {
            return Err(Errno(-done.result));
        }
        reported += 1;
    }
    Ok(i64::from(reported == CHANGES))
}

/// Nested sets; the first one holds a pipe with a byte in it.
struct Chain {
    sets: Vec<Epoll>,
    pipe: (File, File),
}

impl Chain {
    fn of(depth: usize) -> Result<Self, Errno> {
        let (from, to) = pipe()?;
        context_switch::write(&to, &[1])?;
        let mut chain = Self { sets: Vec::new(), pipe: (from, to) };
        (0..depth).try_for_each(|_| chain.add_set())?;
        Ok(chain)
    }

    /// Adds a set around them.
    fn add_set(&mut self) -> Result<(), Errno> {
        let set = Epoll::new(2)?;
        let inner = self.sets.last().map_or(self.pipe.0.as_raw_fd(), Epoll::fd);
        set.change(EpollChange::Add, inner, READABLE, inner as u64)?;
        self.sets.push(set);
        Ok(())
    }

    /// 1 if the outermost set reports the one inside it, 0 if it reports nothing.
    #[inline(always)]
    fn reports(&mut self) -> Result<i64, Errno> {
        let inner = match self.sets.as_slice() {
            [.., inner, _] => inner.fd(),
            _ => self.pipe.0.as_raw_fd(),
        };
        let outermost = self.sets.last_mut().ok_or(Errno::EINVAL)?;
        yes_or_no(reports_only(outermost, inner as u64))
    }
}

fn nesting_depth() -> Result<i64, Errno> {
    let mut chain = Chain::of(0)?;
    for depth in 0..MAX_DEPTH {
        match chain.add_set() {
            Ok(()) => {}
            // A set that cannot be waited on does not count.
            Err(Errno(libc::ELOOP | libc::EINVAL)) if depth > 0 && chain.reports()? == 1 => {
                return Ok(depth as i64);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::E2BIG)
}
