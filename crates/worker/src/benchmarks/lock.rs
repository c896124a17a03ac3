//! Locks on files.
//!
//! Each file is an unnamed one among the temporary files: nobody else locks it, and no lock waits.

use super::prelude::*;
use crate::kernel::file::record_lock::{LockOwner, LockQuery};
use crate::kernel::syscall::prepared::{self, CallPair};

#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "lock",
    about: "the cost of locking files that nobody else has locked",
    benches: BENCHES,
};

/// What the benchmarks of this family are unless they say otherwise.
const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };

const KIND: Axis = Axis {
    name: "kind",
    sets: "what owns the lock: the process (F_SETLK, F_GETLK), or the open file description \
           (F_OFD_SETLK, F_OFD_GETLK)",
    points: Points::Words(&["process", "open-file"]),
    default_points: Points::Words(&["process", "open-file"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "lock/flock",
        asks: "What does locking and unlocking a whole file cost?",
        op: "flock(2) with LOCK_EX, and flock(2) with LOCK_UN, by the raw instruction, of an \
             unnamed file among the temporary files that nobody else has open. Not included: \
             creating the file.",
        expected: "350 ns: two calls, and a lock allocated, put into the file's list and freed",
        why: "The lock belongs to the open file description. Locking allocates a lock, looks for \
              conflicts among those of the file, and puts it into their list and into one of the \
              CPU, from which /proc/locks is made; unlocking removes and frees it. On a network \
              file system each would be a message to the server.",
        calls: &[exactly("flock", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        source: "flock(2); fs/locks.c: flock_lock_inode",
        build: |_| pair(prepared::flock(), "flock(2)"),
        ..DEFAULTS
    },
    Bench {
        id: "lock/fcntl",
        asks: "What does locking and unlocking a range of a file cost, and does it depend on how \
               many others are held?",
        op: "fcntl(2) with F_SETLK (`kind=process`) or F_OFD_SETLK (`kind=open-file`) that locks a \
             byte for writing, and one that unlocks it, by the raw instruction, of an unnamed file \
             among the temporary files. The same owner holds `held` other bytes of the file, none \
             next to another, all before the one that is locked. Not included: creating the file, \
             and locking the bytes that are held.",
        expected: "450 ns with no other range, of either kind; 3 to 5 ns more for each range that \
                   is held: the list is walked several times by each call",
        why: "The locks of a file are a list, sorted by position within each owner. Locking walks \
              all of it for a conflict with other owners, then to the owner's first lock, and then \
              along the owner's locks to the position; unlocking walks it again. So n locks that \
              one process takes and holds cost n squared steps. Three locks are allocated for each \
              call, since a range may be split or replaced, and those that were not needed are \
              freed. Of the two kinds only the owner differs: a process loses all its locks on a \
              file when it closes any descriptor of that file, an open file description when its \
              last descriptor is closed.",
        calls: &[exactly("fcntl", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[
            KIND,
            Axis {
                name: "held",
                sets: "other ranges of the file that the same owner holds",
                points: Points::Items("held range", &Points::Numbers(&[0, 10, 100])),
                default_points: Points::Numbers(&[0, 100]),
            },
        ],
        source: "fcntl(2), F_SETLK, F_OFD_SETLK; fs/locks.c: posix_lock_inode; lmbench lat_fcntl",
        build: |params| {
            pair(prepared::record_lock(owner(params), params.number("held")), "fcntl(2)")
        },
        ..DEFAULTS
    },
    Bench {
        id: "lock/getlk",
        asks: "What does asking for a conflicting lock cost if there is none?",
        op: "fcntl(2) with F_GETLK (`kind=process`) or F_OFD_GETLK (`kind=open-file`) for a write \
             lock on a byte of an unnamed file that nobody has locked, by the raw instruction; it \
             must find no conflict. With it the store of the lock's type, which the kernel has \
             overwritten. Not included: creating the file.",
        expected: "150 ns: a call, a lock allocated and freed, 32 bytes copied in and out",
        calls: &[exactly("fcntl", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[KIND],
        source: "fcntl(2), F_GETLK, F_OFD_GETLK; fs/locks.c: fcntl_getlk",
        build: |params| {
            let query = LockQuery::new(owner(params)).and_then(|mut query| {
                query.ask()?;
                Ok(Work::with_loop(move || query.ask()))
            });
            or_refused(query, "fcntl(2)")
        },
        ..DEFAULTS
    },
    Bench {
        id: "lock/lease",
        asks: "What does taking a lease on a file and giving it back cost?",
        op: "fcntl(2) with F_SETLEASE and F_WRLCK, and one with F_SETLEASE and F_UNLCK, by the raw \
             instruction, of an unnamed file among the temporary files that nobody else has open. \
             Not included: creating the file; and the memory of the signal's registration, which \
             the kernel frees after a grace period of RCU, in interrupts of later ops or batches.",
        expected: "700 ns: two calls, a lock and a registration allocated, one freed at once",
        why: "The owner of a lease is sent a signal when another process opens the file. Setting \
              one therefore also allocates what a file needs that signals its owner (O_ASYNC), \
              names the process as that owner, and checks that nobody else has the file open.",
        calls: &[exactly("fcntl", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        source: "fcntl(2), F_SETLEASE; fs/locks.c: generic_setlease",
        build: |_| pair(prepared::lease(), "fcntl(2) with F_SETLEASE"),
        ..DEFAULTS
    },
];

/// The owner of locks at the point.
fn owner(params: Params<'_>) -> LockOwner {
    match params.word("kind") {
        "open-file" => LockOwner::OpenFile,
        _ => LockOwner::Process,
    }
}

/// The work of two calls, which are tried once: a file system may have no locks of this kind.
fn pair(calls: Result<CallPair, Errno>, call: &str) -> Result<Work, Errno> {
    let tried = calls.and_then(|pair| {
        pair.ready().make()?;
        Ok(pair)
    });
    or_refused(tried.map(Work::raw_pair), call)
}

/// The work; or a skipped row that says what is refused.
fn or_refused(work: Result<Work, Errno>, call: &str) -> Result<Work, Errno> {
    match work {
        Err(Errno::UNAVAILABLE) => Ok(Work::unavailable(Errno::UNAVAILABLE.to_string())),
        // EINVAL: this kernel or file system has no such lock. EAGAIN: a file system on top of
        // another one, or a scanner, also has the file open. ENOLCK: no locks on a network file
        // system.
        Err(error)
            if error.is_unavailable()
                || [Errno::EINVAL, Errno::EAGAIN, Errno(libc::ENOLCK)].contains(&error) =>
        {
            Ok(Work::unavailable(format!(
                "{call} on a file in {} is refused: {error}; set TMPDIR to a folder on a local \
                 file system",
                std::env::temp_dir().display()
            )))
        }
        other => other,
    }
}
