//! What is held against epoll(7), each complaint proven by a program.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::super::prelude::*;
use super::ENTRY;
use crate::bench::When;
use crate::kernel::event::io_uring::{Ring, Shots};
use crate::kernel::event::readiness::{Change, Epoll, Patience, READABLE};
use crate::kernel::ipc::context_switch;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::syscall::prepared::EPOLL_WAIT;
use oscost_model::unit::Unit;

mod spurious;
#[cfg(test)]
mod tests;

const PER_CHANGE: When = &[("quirk", "call-per-change")];
const BATCHES: When = &[("quirk", "io-uring-batches")];
const SPURIOUS: When = &[("quirk", "spurious-wake-ups")];

pub(super) const QUIRKS: Bench = Bench {
    id: "event/quirks",
    asks: "Which of the complaints about epoll hold on this kernel?",
    op: "a program that shows it, from its first pipe to its last: 1 (yes) where what the quirk \
         says was seen, 0 (no) where it was not. Any answer of the kernel that belongs to neither \
         fails the row. Outside: nothing.",
    expected: "yes to all of them",
    why: "An epoll set holds open files, not numbers, under the number that each had when it was \
          added. While a copy of a closed descriptor lives, its file stays in the set and reports \
          under a number that is nobody's or somebody else's, and only by that number and that \
          file together could it be taken out; when the last copy goes, the file goes out without \
          a word. Who does not keep account of what is in the set must guess between ADD and MOD. \
          Sets in sets work, the kernel only looks for circles and depth.",
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
        // The standard library's copy of a descriptor, and its check before it closes one.
        up_to("fcntl", 3 * CHANGES as u32),
        up_to("brk", 2),
    ],
    unit: Unit::YesOrNo,
    axes: &[Axis {
        name: "quirk",
        sets: "dup-reports: closed, but a copy lives: it is still reported; cannot-remove: and \
               its number cannot be taken out; other-file: and that number, now another file's, \
               is reported though that one has nothing; dropped-on-close: a ready descriptor is \
               closed, and nothing is told; guess-add-or-mod: ADD of what is there and MOD of \
               what is not are errors; call-per-change: 16 changes are 16 calls; \
               io-uring-batches: 16 polls are one call; nested: a set in a set reports",
        points: WORDS,
        default_points: WORDS,
    }],
    needs: &[Need::io_uring().when(BATCHES)],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; libev's manual, portability notes; epoll(7), \
             epoll_ctl(2); fs/eventpoll.c",
    build: |at| or_refused(proves(at)),
    ..Bench::DEFAULT
};

const WORDS: Points = Points::Words(&[
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
    asks: "How deep may epoll sets lie in each other, and how often are waiters told in vain?",
    op: "a program that counts it. Outside: starting the two waiters of spurious-wake-ups.",
    expected: "nesting-depth 5; spurious-wake-ups 0 on one CPU, and now and then 1 on two",
    why: "Whoever adds a set to a set has the kernel walk all sets that could be reached from it, \
          looking for a circle: beyond a depth it refuses. Two who wait for one pipe may both be \
          told of one byte, and the slower one finds nothing: it must not read as if something \
          were there.",
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
        sets: "nesting-depth: sets in a chain before the kernel refuses a further one; \
               spurious-wake-ups: calls that told two waiters of a byte which another had taken",
        points: COUNTED,
        default_points: COUNTED,
    }],
    in_price_list: false,
    switches: true,
    source: "study cs161-syscalls, The C10K problem; epoll(7), epoll_ctl(2); fs/eventpoll.c",
    build: |at| or_refused(proves(at)),
    ..Bench::DEFAULT
};

const COUNTED: Points = Points::Words(&["nesting-depth", "spurious-wake-ups"]);

pub(super) const NESTED: Bench = Bench {
    id: "event/nested",
    asks: "What does it cost to learn of a ready descriptor through sets that hold sets?",
    op: "one epoll_wait(2) on the outermost of so many sets that hold each other, the innermost a \
         pipe with a byte in it, which stays. Outside: making pipe and sets.",
    expected: "250 ns for a set alone, 150 ns more for each around it",
    why: "Of a set in a set the kernel asks what it would ask of any file: whether it is ready. \
          The answer is a look at its own list, and at each file there: a set further in, and in \
          the end the pipe. The way to the innermost one is gone for each call.",
    calls: &[exactly(EPOLL_WAIT, 1)],
    floor: &[at_least(1, ENTRY)],
    axes: &[Axis {
        name: "depth",
        sets: "how many sets lie between the one that is asked and the one that holds the pipe, \
               both included",
        points: Points::Numbers(&[1, 2, 3, 4, 5]),
        default_points: Points::Numbers(&[1, 5]),
    }],
    in_price_list: false,
    source: "study cs161-syscalls, The C10K problem; epoll(7); fs/eventpoll.c: ep_item_poll",
    build: |at| or_refused(asks_the_outermost(at)),
    ..Bench::DEFAULT
};

/// Changes that are made together: the batch of which an io_uring hands over all at once.
const CHANGES: usize = 16;

/// Sets in a chain that are tried, at most: the kernel allows five.
const DEEPEST: usize = 16;

fn proves(at: Params<'_>) -> Result<Work, Errno> {
    let program: fn() -> Result<i64, Errno> = match at.word("quirk") {
        "dup-reports" => || yes(Copied::new()?.is_reported()),
        "cannot-remove" => cannot_remove,
        "other-file" => other_file,
        "dropped-on-close" => dropped_on_close,
        "guess-add-or-mod" => expected,
        "call-per-change" => call_per_change,
        "io-uring-batches" => io_uring_batches,
        "nested" => || Chain::of(2)?.reports(),
        "nesting-depth" => nesting_depth,
        _ => {
            let mut waiters = spurious::Waiters::new(at.context)?;
            return Ok(Work::own_value(move || waiters.spurious().map(|times| 1_000 * times)));
        }
    };
    Ok(Work::own_value(move || program().map(|figure| 1_000 * figure)))
}

fn asks_the_outermost(at: Params<'_>) -> Result<Work, Errno> {
    let mut chain = Chain::of(at.number("depth") as usize)?;
    Ok(Work::repeat(move || match chain.reports()? {
        1 => Ok(()),
        _ => Err(Errno::EPROTO),
    }))
}

fn yes(seen: Result<bool, Errno>) -> Result<i64, Errno> {
    seen.map(i64::from)
}

/// Whether a set tells, without waiting, of what is called `token` and of nothing else; `false`
/// where it tells of nothing.
fn tells_of(set: &mut Epoll, token: u64) -> Result<bool, Errno> {
    let count = set.ask(Patience::None)?;
    let mut strangers = false;
    set.each(count, |told| strangers |= told != token);
    match (count, strangers) {
        (0, _) => Ok(false),
        (1, false) => Ok(true),
        _ => Err(Errno::EPROTO),
    }
}

/// A pipe's end that was added to a set and then closed, while a copy of it lives; there is a byte
/// to read.
struct Copied {
    set: Epoll,
    number: i32,
    _copy: File,
    _other: File,
}

impl Copied {
    fn new() -> Result<Self, Errno> {
        let (from, to) = pipe()?;
        let number = from.as_raw_fd();
        let set = Epoll::new(4)?;
        set.change(Change::Add, number, READABLE, number as u64)?;
        let copy = from.try_clone()?;
        drop(from);
        context_switch::write(&to, &[1])?;
        Ok(Self { set, number, _copy: copy, _other: to })
    }

    fn is_reported(&mut self) -> Result<bool, Errno> {
        tells_of(&mut self.set, self.number as u64)
    }

    /// Whether its number is refused, for this reason, when it is to be taken out.
    fn stays(&mut self, because: Errno) -> Result<bool, Errno> {
        match self.set.change(Change::Delete, self.number, 0, 0) {
            Ok(()) => Ok(false),
            Err(error) if error == because => self.is_reported(),
            Err(error) => Err(error),
        }
    }
}

fn cannot_remove() -> Result<i64, Errno> {
    yes(Copied::new()?.stays(Errno::EBADF))
}

fn other_file() -> Result<i64, Errno> {
    let mut copied = Copied::new()?;
    // The lowest free number is handed out each time, and the closed one is free.
    let mut counters = Vec::new();
    while counters.last().is_none_or(|last: &File| last.as_raw_fd() < copied.number) {
        counters.push(context_switch::event_counter()?);
    }
    if counters.last().is_none_or(|last| last.as_raw_fd() != copied.number) {
        return Err(Errno::EPROTO);
    }
    // The counter of that number is at 0, and was never added.
    yes(copied.stays(Errno::ENOENT))
}

fn dropped_on_close() -> Result<i64, Errno> {
    let (from, to) = pipe()?;
    let mut set = Epoll::new(4)?;
    set.change(Change::Add, from.as_raw_fd(), READABLE, 7)?;
    context_switch::write(&to, &[1])?;
    drop(from);
    yes(tells_of(&mut set, 7).map(|told| !told))
}

fn expected() -> Result<i64, Errno> {
    let (from, _to) = pipe()?;
    let set = Epoll::new(1)?;
    let change = |what| set.change(what, from.as_raw_fd(), READABLE, 0);
    let unknown = refused_for(change(Change::Modify), Errno::ENOENT)?;
    change(Change::Add)?;
    let known = refused_for(change(Change::Add), Errno(libc::EEXIST))?;
    Ok(i64::from(unknown && known))
}

fn refused_for(done: Result<(), Errno>, because: Errno) -> Result<bool, Errno> {
    match done {
        Ok(()) => Ok(false),
        Err(error) if error == because => Ok(true),
        Err(error) => Err(error),
    }
}

/// As many pipes as there are changes, each with a byte in it.
fn full_pipes() -> Result<Vec<(File, File)>, Errno> {
    let full = || {
        let (from, to) = pipe()?;
        context_switch::write(&to, &[1])?;
        Ok((from, to))
    };
    (0..CHANGES).map(|_| full()).collect()
}

fn call_per_change() -> Result<i64, Errno> {
    let pipes = full_pipes()?;
    let mut set = Epoll::new(CHANGES)?;
    for (from, _) in &pipes {
        set.change(Change::Add, from.as_raw_fd(), READABLE, 0)?;
    }
    // How many calls that took is what the count of this row shows.
    Ok(i64::from(set.ask(Patience::None)? == CHANGES))
}

fn io_uring_batches() -> Result<i64, Errno> {
    let pipes = full_pipes()?;
    let mut ring = Ring::new(CHANGES as u32)?;
    for (token, (from, _)) in (0..).zip(&pipes) {
        ring.queue_poll(from.as_raw_fd(), token, Shots::One)?;
    }
    ring.wait_for(0)?;
    ring.wait_for(CHANGES as u32)?;
    let mut told = 0;
    while let Some(done) = ring.take() {
        if done.result < 0 {
            return Err(Errno(-done.result));
        }
        told += 1;
    }
    Ok(i64::from(told == CHANGES))
}

/// Sets that hold each other; the first one holds a pipe with a byte in it.
struct Chain {
    sets: Vec<Epoll>,
    pipe: (File, File),
}

impl Chain {
    fn of(depth: usize) -> Result<Self, Errno> {
        let (from, to) = pipe()?;
        context_switch::write(&to, &[1])?;
        let mut chain = Self { sets: Vec::new(), pipe: (from, to) };
        (0..depth).try_for_each(|_| chain.grow())?;
        Ok(chain)
    }

    /// Puts a set around them.
    fn grow(&mut self) -> Result<(), Errno> {
        let set = Epoll::new(2)?;
        let inner = self.sets.last().map_or(self.pipe.0.as_raw_fd(), Epoll::fd);
        set.change(Change::Add, inner, READABLE, inner as u64)?;
        self.sets.push(set);
        Ok(())
    }

    /// 1 where the outermost one tells of the one in it, 0 where it tells of nothing.
    #[inline(always)]
    fn reports(&mut self) -> Result<i64, Errno> {
        let inner = match self.sets.as_slice() {
            [.., inner, _] => inner.fd(),
            _ => self.pipe.0.as_raw_fd(),
        };
        let outermost = self.sets.last_mut().ok_or(Errno::EINVAL)?;
        yes(tells_of(outermost, inner as u64))
    }
}

fn nesting_depth() -> Result<i64, Errno> {
    let mut chain = Chain::of(0)?;
    for depth in 0..DEEPEST {
        match chain.grow() {
            Ok(()) => {}
            // A set that cannot be asked is no depth.
            Err(Errno(libc::ELOOP | libc::EINVAL)) if depth > 0 && chain.reports()? == 1 => {
                return Ok(depth as i64);
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::E2BIG)
}
