//! Children that are forked, run and exit.

use std::io::Write;
use std::rc::Rc;

use kernel::cpu::affinity;
use kernel::memory::region::{Access, Region, memory_file};
use kernel::memory::resident::ResidentMemory;
use kernel::memory::shared_table::SharedTable;
use kernel::process;
use kernel::process::spawn;
use kernel::time::stopwatch::Stopwatch;

use super::super::prelude::*;
use super::limits::{NO_OTHER_CPU, try_once};

/// Memory that a child shares with its parent, for a time stamp that one passes to the other.
struct SharedTime {
    words: SharedTable<u64>,
    watch: Stopwatch,
}

impl SharedTime {
    fn new(watch: Stopwatch) -> Result<Self, Errno> {
        Ok(Self { words: SharedTable::new(2)?, watch })
    }

    /// Stores a time stamp; returns the exit status of the child, which ends with this.
    fn store(&mut self, ticks: u64) -> i32 {
        self.words.set(0, ticks).map_or_else(|error| error.0, |()| 0)
    }

    /// The time stamp; an error if none was stored.
    fn load(&self) -> Result<u64, Errno> {
        self.words.get(0).filter(|&ticks| ticks > 0).ok_or(Errno::ECHILD)
    }

    /// Announces whether the parent is about to sleep.
    fn set_sleeping(&mut self, sleeps: bool) -> Result<(), Errno> {
        self.words.set(1, u64::from(sleeps))
    }

    fn parent_sleeps(&self) -> bool {
        self.words.get(1) == Some(1)
    }
}

fn ticks(start: u64, stop: u64) -> i64 {
    stop.wrapping_sub(start) as i64
}

/// Work on top of memory that was written before, or the reason why it is unavailable.
pub(super) fn with_touched(
    params: Params<'_>,
    build: fn(Params<'_>, Option<ResidentMemory>) -> Result<Work, Errno>,
) -> Result<Work, Errno> {
    let mib = params.number("touched_mib");
    match ResidentMemory::unavailable_reason(mib) {
        Some(reason) => Ok(Work::unavailable(reason)),
        None => try_once(build(params, ResidentMemory::new(mib)?)?),
    }
}

/// Writes the memory again if the point selects that.
fn written(params: Params<'_>, memory: Option<ResidentMemory>) -> impl Fn() + 'static {
    let rewrites = params.word("written") == "anew";
    move || memory.iter().filter(|_| rewrites).for_each(ResidentMemory::touch)
}

pub(super) fn fork(params: Params<'_>, memory: Option<ResidentMemory>) -> Result<Work, Errno> {
    // On another CPU than its parent's the child would run in parallel with the parent.
    if params.context.cpu.is_none() && params.word("until") == "runs" {
        return Ok(unpinned_work());
    }
    let watch = params.context.clock;
    let raw = params.word("via") == "raw";
    let write = written(params, memory);
    if params.word("until") == "returns" {
        return Ok(Work::own_ticks(move || {
            write();
            let start = watch.start();
            let child = if raw { spawn::raw_fork(watch, |_| 0)? } else { process::fork(|| 0)? };
            let stop = watch.stop();
            spawn::reap(child)?;
            Ok(ticks(start, stop))
        }));
    }
    let mut shared_time = SharedTime::new(watch)?;
    Ok(Work::own_ticks(move || {
        write();
        shared_time.store(0);
        let start = watch.start();
        let child = if raw {
            spawn::raw_fork(watch, |child_ticks| shared_time.store(child_ticks))?
        } else {
            process::fork(|| shared_time.store(watch.stop()))?
        };
        spawn::reap(child)?;
        Ok(ticks(start, shared_time.load()?))
    }))
}

pub(super) fn fork_exit(params: Params<'_>, memory: Option<ResidentMemory>) -> Result<Work, Errno> {
    if params.context.cpu.is_none() {
        return Ok(unpinned_work());
    }
    let rewrites = params.word("written") == "anew";
    let write = Rc::new(written(params, memory));
    // The written memory stays mapped for as long as the work lives.
    let resident = Rc::clone(&write);
    let work = if params.word("peer_cpu") == "same" {
        Work::with_loop(move || {
            let _resident = &resident;
            spawn::reap(process::fork(|| 0)?)
        })
    } else {
        let (Some(own_cpu), Some(other)) = (params.context.cpu, params.context.other_cpu) else {
            return Ok(Work::unavailable(NO_OTHER_CPU));
        };
        Work::with_loop(move || {
            let _resident = &resident;
            let has_moved = || affinity::current_cpu() != own_cpu as i32;
            let child = process::fork(|| spawn::yield_until(has_moved))?;
            let moved = affinity::pin_task(child, other);
            if moved.is_err() {
                process::kill(child);
            }
            let reaped = spawn::reap(child);
            moved.and(reaped)
        })
    };
    if !rewrites {
        return Ok(work);
    }
    // One op at a time, since each needs memory that was just written.
    let mut work = work.with_preparation(move |_| {
        write();
        Ok(())
    });
    work.shape = Shape::SingleShot;
    Ok(work)
}

pub(super) fn exit(params: Params<'_>, memory: Option<ResidentMemory>) -> Result<Work, Errno> {
    if params.context.cpu.is_none() {
        return Ok(unpinned_work());
    }
    exit_after(params, move || {
        // The parent's memory stays mapped for as long as the work lives.
        let _resident = &memory;
        Ok(())
    })
}

/// The exit of a child that has done this before.
fn exit_after(
    params: Params<'_>,
    acts: impl Fn() -> Result<(), Errno> + 'static,
) -> Result<Work, Errno> {
    let mut shared_time = SharedTime::new(params.context.clock)?;
    Ok(Work::own_ticks(move || {
        shared_time.set_sleeping(false)?;
        let child = process::fork(|| {
            if let Err(error) = acts() {
                return error.0;
            }
            // The first write faults: fork does not copy page tables that can be rebuilt by faults.
            shared_time.store(0);
            // A parent still on its way to sleep would put that time into the figure.
            match spawn::yield_until(|| shared_time.parent_sleeps()) {
                0 => shared_time.store(shared_time.watch.start()),
                error => error,
            }
        })?;
        shared_time.set_sleeping(true)?;
        spawn::wait_without_reaping(child)?;
        let stop = shared_time.watch.stop();
        spawn::reap(child)?;
        Ok(ticks(shared_time.load()?, stop))
    }))
}

/// What a child has besides the memory of its parent until it exits.
enum ChildMemory {
    /// Anonymous memory of so many MiB, which it writes.
    Anonymous(u64),
    /// A mapping of a file in memory, which it reads.
    File(Region),
}

impl ChildMemory {
    /// That of a point. The parent maps the file and touches none of its pages, so that a fork copies
    /// no entries of them.
    fn new(params: Params<'_>) -> Result<Self, Errno> {
        let mib = params.number("touched_mib");
        if params.word("backing") == "anonymous" {
            return Ok(Self::Anonymous(mib));
        }
        let bytes = mib << 20;
        let mut file = memory_file(bytes)?;
        let piece = vec![1u8; 1 << 20];
        for _ in 0..mib {
            file.write_all(&piece)?;
        }
        Ok(Self::File(Region::private_file(file, bytes as usize)?))
    }

    /// Touches each page, in the child. The end of the process unmaps them, not a munmap(2) before.
    fn touch(&self) -> Result<(), Errno> {
        match self {
            Self::Anonymous(mib) => std::mem::forget(ResidentMemory::new(*mib)?),
            Self::File(region) => region.touch_all(Access::Read),
        }
        Ok(())
    }
}

/// The exit of a child that has touched such memory.
pub(super) fn exit_resident(params: Params<'_>) -> Result<Work, Errno> {
    if params.context.cpu.is_none() {
        return Ok(unpinned_work());
    }
    let mib = params.number("touched_mib");
    if let Some(reason) = ResidentMemory::unavailable_reason(mib) {
        return Ok(Work::unavailable(reason));
    }
    let memory = ChildMemory::new(params)?;
    try_once(exit_after(params, move || memory.touch())?)
}
