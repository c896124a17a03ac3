//! File descriptors: creating those of each kind, closing many at once, and passing them.
//!
//! What a close frees only after a grace period of RCU (inodes, on some kernels structs file) is
//! freed during later ops of the same row, which free as many: a row of many ops includes it.

use crate::kernel::event::descriptor_range::{DescriptorRanges, RangeFiles};
use crate::kernel::ipc::descriptor_passing::{DescriptorPassing, Ends, create_and_close};
use crate::kernel::syscall::prepared::{self, FlagCommand, PipeRequest};

use super::prelude::*;

mod close_on_exec;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "descriptor",
    about: "the cost of making, passing and closing file descriptors",
    benches: BENCHES,
};

const DEV_NULL: Need = Need::readable("/dev/null");

const BENCHES: &[Bench] = &[
    Bench {
        id: "descriptor/fcntl",
        asks: "What do the flags of a descriptor and of its open file cost?",
        op: "fcntl(2) on /dev/null, by the raw instruction. command=getfd: F_GETFD; setfd: F_SETFD \
             to FD_CLOEXEC, which is set already; setfl: F_SETFL to O_NONBLOCK, which is set \
             already from the second op on. Not included: opening it.",
        expected: "getfd as syscall/fcntl, 10 to 20 ns above a null system call; setfd and setfl \
                   10 ns more, for a lock",
        why: "The flag of a descriptor is a bit in the table of the process, and F_SETFD takes \
              the lock of the table. Those of the open file belong to all who share it; F_SETFL \
              takes the lock of the file. syscall/fcntl reads them (F_GETFL) without a lock.",
        calls: &[exactly("fcntl", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/fcntl"],
        axes: &[Axis {
            name: "command",
            sets: "what is read or set",
            points: Points::Words(&["getfd", "setfd", "setfl"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["getfd", "setfd", "setfl"]),
                price_list: &Points::Words(&["setfd"]),
            },
        }],
        needs: &[DEV_NULL],
        source: "fcntl(2); fs/fcntl.c, fs/file.c",
        build: |params| {
            let command = match params.word("command") {
                "setfd" => FlagCommand::SetDescriptorFlags,
                "setfl" => FlagCommand::SetFileFlags,
                _ => FlagCommand::GetDescriptorFlags,
            };
            prepared::fcntl_flags(command).map(Work::raw)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/ioctl",
        asks: "What does an ioctl cost that a driver answers, and one that no driver knows?",
        op: "ioctl(2) of an empty pipe, by the raw instruction. request=fionread: FIONREAD, the \
             number of bytes to read; tcgets: TCGETS, which fails with ENOTTY, the expected \
             result. Not included: creating the pipe.",
        expected: "fionread 50 ns above a null system call, for the lock of the pipe; tcgets 30 ns",
        why: "The kernel looks the descriptor up, asks the security module, compares the request \
              with those that it answers for every file, and calls the file's driver. TCGETS is \
              what isatty(3) asks: programs make it for standard output, which often is a pipe.",
        calls: &[exactly("ioctl", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "request",
            sets: "the request: one that pipes answer, or one that they refuse",
            points: Points::Words(&["fionread", "tcgets"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["fionread", "tcgets"]),
                price_list: &Points::Words(&["tcgets"]),
            },
        }],
        source: "ioctl(2), isatty(3); fs/ioctl.c, fs/pipe.c",
        build: |params| {
            let request = match params.word("request") {
                "tcgets" => PipeRequest::TerminalAttributes,
                _ => PipeRequest::BytesToRead,
            };
            prepared::pipe_ioctl(request).map(Work::raw)
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/dup",
        asks: "What does duplicating a descriptor cost, by calls other than dup?",
        op: "a duplicate of a descriptor of /dev/null, by the raw instruction. by=dup3: dup3(2) to \
             a free number below 64, and close(2); dup3-onto-open: dup3(2) to the number of \
             another descriptor of the same file, which that closes; fcntl: fcntl(2) with \
             F_DUPFD_CLOEXEC, and close(2). Not included: opening it.",
        expected: "dup3 and fcntl as syscall/dup-close, 10 ns more for the flag; onto an open \
                   number two thirds of that, in one call",
        why: "All find a slot of the table under its lock, and take a reference of the struct \
              file. dup3 onto an open number replaces the reference in the slot, and then closes \
              the old file as close(2) does. syscall/dup-close has dup(2).",
        calls: &[
            exactly("dup3", 1).when(&[("by", "dup3")]),
            exactly("close", 1).when(&[("by", "dup3")]),
            exactly("dup3", 1).when(&[("by", "dup3-onto-open")]),
            exactly("fcntl", 1).when(&[("by", "fcntl")]),
            exactly("close", 1).when(&[("by", "fcntl")]),
        ],
        floor: &[
            at_least(2, KERNEL_ENTRY).when(&[("by", "dup3")]),
            at_least(1, KERNEL_ENTRY).when(&[("by", "dup3-onto-open")]),
            at_least(2, KERNEL_ENTRY).when(&[("by", "fcntl")]),
        ],
        compare_with: &["syscall/dup-close"],
        axes: &[Axis {
            name: "by",
            sets: "the call that duplicates the descriptor",
            points: Points::Words(&["dup3", "dup3-onto-open", "fcntl"]),
            default_points: Points::WithPriceList {
                points: &Points::Words(&["dup3", "dup3-onto-open", "fcntl"]),
                price_list: &Points::Words(&["fcntl"]),
            },
        }],
        needs: &[DEV_NULL],
        source: "dup(2), fcntl(2); fs/file.c",
        build: |params| match params.word("by") {
            "dup3" => prepared::dup3_close().map(Work::raw_pair),
            "dup3-onto-open" => prepared::dup3_onto_open().map(Work::raw),
            _ => prepared::dupfd_close().map(Work::raw_pair),
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/eventfd",
        asks: "What does an eventfd cost, created and closed?",
        op: "eventfd2(2) of zero, and close(2), by the raw instruction. Not included: nothing.",
        expected: "600 ns: a counter, a struct file and a dentry, but no inode of its own",
        why: "Descriptors of this kind share one anonymous inode: creating one allocates the \
              object, a struct file and a dentry, and closing frees them.",
        calls: &[exactly("eventfd2", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        in_price_list: false,
        source: "eventfd(2); fs/eventfd.c, fs/anon_inodes.c",
        build: |_| prepared::eventfd_close().tried("eventfd2").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/epoll",
        asks: "What does an epoll instance cost, created and closed?",
        op: "epoll_create1(2) and close(2), by the raw instruction; no descriptor is added. Not \
             included: nothing; what waits for a grace period of RCU is freed during later ops.",
        expected: "750 ns: as descriptor/eventfd, with a larger object",
        why: "As an eventfd, with two wait queues and a tree. The object is freed after a grace \
              period of RCU on recent kernels.",
        calls: &[exactly("epoll_create1", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["descriptor/eventfd"],
        in_price_list: false,
        source: "epoll_create(2); fs/eventpoll.c",
        build: |_| prepared::epoll_close().tried("epoll_create1").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/timerfd",
        asks: "What does a timerfd cost, created and closed?",
        op: "timerfd_create(2) of CLOCK_MONOTONIC, and close(2), by the raw instruction; it is \
             never armed. Not included: nothing; what waits for a grace period of RCU is freed \
             during later ops.",
        expected: "700 ns: as descriptor/eventfd, and a timer that is initialised and cancelled",
        why: "As an eventfd, with a high-resolution timer. The close cancels it, which finds it \
              unarmed, and the object is freed after a grace period of RCU.",
        calls: &[exactly("timerfd_create", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["descriptor/eventfd"],
        in_price_list: false,
        source: "timerfd_create(2); fs/timerfd.c",
        build: |_| prepared::timerfd_close().tried("timerfd_create").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/signalfd",
        asks: "What does a signalfd cost, created and closed?",
        op: "signalfd4(2) for SIGUSR1, and close(2), by the raw instruction; the signal is not \
             blocked, and none arrives. Not included: nothing.",
        expected: "600 ns: as descriptor/eventfd, with a set of signals that is copied in",
        calls: &[exactly("signalfd4", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["descriptor/eventfd"],
        in_price_list: false,
        source: "signalfd(2); fs/signalfd.c",
        build: |_| prepared::signalfd_close().tried("signalfd4").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/pidfd",
        asks: "What does a pidfd cost, created and closed?",
        op: "pidfd_open(2) of the process itself, and close(2), by the raw instruction. Not \
             included: nothing.",
        expected: "600 ns; 300 ns more since Linux 6.9, where each process has an inode in pidfs",
        why: "The process is looked up by its number, and its struct pid is referenced by a new \
              struct file: of the anonymous inode before Linux 6.9, and of an inode and a dentry \
              in pidfs since then, which are created again if no other pidfd of the process is \
              open.",
        calls: &[exactly("pidfd_open", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["descriptor/eventfd"],
        in_price_list: false,
        source: "pidfd_open(2); kernel/pid.c, fs/pidfs.c",
        build: |_| prepared::pidfd_close().tried("pidfd_open").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/memfd",
        asks: "What does a file in memory cost, created and closed?",
        op: "memfd_create(2) of an empty file that cannot be executed (MFD_NOEXEC_SEAL, where the \
             kernel has it), and close(2), by the raw instruction; no page is allocated. Not \
             included: nothing; what waits for a grace period of RCU is freed during later ops.",
        expected: "2 us: a file of a hidden tmpfs, with an inode of its own",
        why: "The name is copied in, an inode of tmpfs and its dentry are allocated, with the \
              security module's part, and the close finds that no name is left and evicts the \
              inode, which is freed after a grace period of RCU.",
        calls: &[exactly("memfd_create", 1), exactly("close", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["descriptor/eventfd"],
        in_price_list: false,
        source: "memfd_create(2); mm/memfd.c, mm/shmem.c",
        build: |_| prepared::memfd_close().tried("memfd_create").map(Work::raw_pair),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/pipe",
        asks: "What does a pipe cost, created and closed?",
        op: "pipe2(2), and close(2) of its reader and of its writer; nothing is written, so that \
             no page is allocated. Not included: nothing; what waits for a grace period of RCU is \
             freed during later ops.",
        expected: "2 us: an inode, a ring of 16 slots, and two structs file",
        why: "A pipe is an inode of pipefs with a ring, 640 bytes in one allocation, and two \
              structs file. The close of the first end wakes who waits at the other, the close of \
              the last one frees all; the inode follows after a grace period of RCU.",
        calls: &[exactly("pipe2", 1), exactly("close", 2)],
        floor: &[at_least(3, KERNEL_ENTRY)],
        source: "pipe(2); fs/pipe.c; stress-ng --pipeherd, will-it-scale",
        build: |_| pair_work(Ends::Pipe, "pipe2"),
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/socketpair",
        asks: "What does a pair of connected sockets cost, created and closed?",
        op: "socketpair(2) of AF_UNIX, and close(2) of one end and of the other; nothing is sent. \
             Not included: nothing; what waits for a grace period of RCU is freed during later \
             ops.",
        expected: "4 us, twice a pipe: two sockets, each with an inode and a struct file; the \
                   kinds differ little",
        why: "Each end is a socket inode, a struct sock of 1 KiB and a struct file, and is charged \
              to the memory cgroup and to the count of the user's sockets. The close of an end \
              tells the other, and purges its queue; sockets of a stream and of packets also look \
              for connections that nobody accepted.",
        calls: &[exactly("socketpair", 1), exactly("close", 2)],
        floor: &[at_least(3, KERNEL_ENTRY)],
        compare_with: &["descriptor/pipe"],
        axes: &[Axis {
            name: "kind",
            sets: "the type of the sockets",
            points: Points::Words(&["stream", "dgram", "seqpacket"]),
            default_points: Points::Words(&["stream"]),
        }],
        in_price_list: false,
        source: "socketpair(2), unix(7); net/socket.c, net/unix/af_unix.c",
        build: |params| {
            let ends = match params.word("kind") {
                "dgram" => Ends::DatagramSockets,
                "seqpacket" => Ends::PacketSockets,
                _ => Ends::StreamSockets,
            };
            or_unavailable(pair_work(ends, "socketpair"))
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/close-range",
        asks: "What does closing many descriptors by one call cost?",
        op: "close_range(2) of `count` descriptors of /dev/null with successive numbers, all of \
             which are open. refers_to=one-file: duplicates of one, whose file stays open; \
             own-files: each was opened, and its file is released. Not included: opening them \
             before a batch, which has at most 1024 descriptors, and checking afterwards that \
             exactly they are closed.",
        expected: "one-file: 150 ns for one, 25 ns for each further; own-files: 250 ns for one, \
                   120 ns for each further: what syscall/close costs without entering the kernel",
        why: "The lock of the table is taken for each descriptor in turn. Files that lose their \
              last reference are released together, on the way back to the program.",
        calls: &[exactly("close_range", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["syscall/close"],
        axes: &[
            Axis {
                name: "count",
                sets: "number of descriptors that one call closes",
                points: Points::Items("descriptor", &Points::Numbers(&[1, 16, 256])),
                default_points: Points::Numbers(&[1, 16, 256]),
            },
            Axis {
                name: "refers_to",
                sets: "whether the descriptors share a file that stays open, or each has its own",
                points: Points::Words(&["one-file", "own-files"]),
                default_points: Points::Words(&["own-files"]),
            },
        ],
        needs: &[DEV_NULL],
        in_price_list: false,
        source: "close_range(2); fs/file.c",
        build: |params| {
            let files = match params.word("refers_to") {
                "one-file" => RangeFiles::Shared,
                _ => RangeFiles::Own,
            };
            match DescriptorRanges::new(files, params.number("count")) {
                Err(error) if error.is_unavailable() && error != Errno::UNAVAILABLE => {
                    Ok(Work::unavailable(format!(
                        "close_range(2), which Linux 5.9 has, is refused here: {error}"
                    )))
                }
                ranges => Ok(Ranges(ranges?).work()),
            }
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "descriptor/pass",
        asks: "What does passing a descriptor over a socket cost?",
        op: "sendmsg(2) of one byte with a descriptor of /dev/null (SCM_RIGHTS) into one end of a \
             socket pair, recvmsg(2) from the other end, in the same process, and close(2) of the \
             descriptor that was received, which leaves the file open. Not included: creating \
             both, and checking once that what arrives is the same file.",
        expected: "1.5 us: a message through a socket pair, and 300 ns for the descriptor",
        why: "sendmsg takes a reference of the file and attaches it to the message, counts it as \
              in flight for the user, and asks the security module; recvmsg finds a free number \
              and installs the file. Only sockets that are passed themselves are tracked by the \
              garbage collector of AF_UNIX.",
        calls: &[exactly("sendmsg", 1), exactly("recvmsg", 1), exactly("close", 1)],
        floor: &[at_least(3, KERNEL_ENTRY)],
        compare_with: &["syscall/dup-close"],
        needs: &[DEV_NULL],
        in_price_list: false,
        source: "unix(7), cmsg(3); net/core/scm.c, net/unix/af_unix.c",
        build: |_| {
            let passing = DescriptorPassing::new().and_then(|mut passing| {
                passing.check()?;
                Ok(Work::with_loop(move || passing.pass()))
            });
            or_unavailable(passing)
        },
        ..Bench::DEFAULT
    },
    close_on_exec::CLOSE_ON_EXEC,
];

/// Both ends, created and closed; an error that skips the row where the call is refused.
fn pair_work(ends: Ends, name: &str) -> Result<Work, Errno> {
    match create_and_close(ends) {
        Ok(()) => Ok(Work::with_loop(move || create_and_close(ends))),
        Err(error) if error.is_unavailable() => {
            Err(Errno::unavailable(format!("{name}(2) is refused here: {error}")))
        }
        Err(error) => Err(error),
    }
}

/// Ranges of descriptors that are opened before a batch, and closed one after another by it.
struct Ranges(DescriptorRanges);

impl Ranges {
    fn work(self) -> Work {
        let max_ops = self.0.max_ranges();
        Work::from_prepared_body(Shape::WithLoop, self).with_max_batch_ops(max_ops)
    }
}

impl WorkBody for Ranges {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.0.prepare(ops)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.0.close_next().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.0.verify()
    }
}
