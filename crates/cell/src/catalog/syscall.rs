//! Entering the kernel.

use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "syscall",
    about: "what it costs to enter the kernel, and what the simplest calls do there",
    benches: BENCHES,
};

const VIA: Axis = Axis {
    name: "via",
    sets: "the way in: the bare instruction, or the C library's wrapper",
    points: Points::Words(&["raw", "libc"]),
    usual: Points::Words(&["raw", "libc"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "syscall/getppid",
        asks: "What does the kernel's door cost, with next to nothing behind it?",
        op: "getppid(2), which takes no argument, and that no library remembers. \
             Outside: nothing but the loop's turn, a core cycle that runs beside the call.",
        guess: "some 100 ns with today's mitigations; the library's wrapper within 1 ns of that",
        calls: &[exactly("getppid", 1)],
        floor: &[at_least(1, "procedure/call:args=0,chain=independent,code=optimised")],
        axes: &[VIA],
        source: "getppid(2); kernel/sys.c; study sunos-1999 table 1",
        build: |at| {
            Ok(match at.word("via") {
                "raw" => Work::repeat(|| sys::syscall::getppid().map(drop)),
                _ => Work::repeat(|| {
                    sys::opaque::keep(sys::syscall::libc_getppid() as u64);
                    Ok(())
                }),
            })
        },
        ..Bench::PLAIN
    },
    Bench {
        id: "syscall/open-close",
        asks: "What does it cost to open a file that is always there, and to close it?",
        op: "open(2) of /dev/null for reading, made as openat(2), and close(2). Outside: nothing.",
        guess: "ten times the bare door: a path walk, a struct file, a slot in the table",
        calls: &[exactly("openat", 1), exactly("close", 1)],
        floor: &[at_least(2, "syscall/getppid:via=raw")],
        axes: &[Axis { usual: Points::Words(&["raw"]), ..VIA }],
        needs: &[Need::readable("/dev/null")],
        source: "open(2), close(2); study cs161-syscalls, option -o",
        build: |at| {
            const PATH: &std::ffi::CStr = c"/dev/null";
            Ok(match at.word("via") {
                "raw" => Work::repeat(|| {
                    let fd = sys::syscall::open(PATH)?;
                    sys::syscall::close(fd).map(drop)
                }),
                _ => Work::repeat(|| sys::syscall::libc_open_close(PATH)),
            })
        },
        ..Bench::PLAIN
    },
];
