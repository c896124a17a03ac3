//! The door itself, and calls with next to nothing behind it.

use super::{DOOR, STATE, VIA, in_state, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::cpu::affinity::current_cpu;
use crate::kernel::cpu::black_box::{Volatile, keep};
use crate::kernel::cpu::getcpu::GetCpu;
use crate::kernel::syscall::{self, libc_wrappers, prepared};

pub(super) const FUNCTION: Bench = Bench {
    id: "syscall/function",
    asks: "What does a loop over an empty function behind a pointer cost?",
    op: "a turn of the loop: the pointer is loaded, the function behind it is called, and it \
         returns 0, or what `call=` of the C library returned. The loop is in it, so that no \
         copies are subtracted. `close` closes a number that no descriptor has, which fails with \
         EBADF: in the study's loop all closes of 0 but the first do. `brk` is brk(sbrk(0)). \
         Outside: the clock.",
    expected: "1.5 to 2 ns: study cs161-syscalls found 1.77 on a machine of 2019",
    why: "The pointer is read from memory at each turn, so that the compiler can neither look \
          behind it nor hold it in a register, as the study's volatile pointer has it. What is \
          left is a load, an indirect call that the predictor gets right, a return and the loop's \
          counter. Nothing of it enters the kernel: it is the study's baseline, its 1x.",
    calls: &[
        exactly("getppid", 1).when(&[("call", "getppid")]),
        exactly("getpid", 1).when(&[("call", "getpid")]),
        exactly("brk", 1).when(&[("call", "brk")]),
        exactly("close", 1).when(&[("call", "close")]),
        exactly("openat", 1).when(&[("call", "open-close")]),
        exactly("close", 1).when(&[("call", "open-close")]),
    ],
    floor: &[
        at_least(1, "timer/nothing"),
        at_least(1, DOOR).when(&[("call", "getppid")]),
        at_least(1, DOOR).when(&[("call", "getpid")]),
        at_least(1, DOOR).when(&[("call", "brk")]),
        at_least(1, DOOR).when(&[("call", "close")]),
        at_least(2, DOOR).when(&[("call", "open-close")]),
    ],
    axes: &[Axis {
        name: "call",
        sets: "which function of the C library is called in the empty one's stead",
        points: Points::Words(&[
            "none",
            "time",
            "sbrk",
            "clock-gettime-coarse",
            "clock-gettime",
            "getppid",
            "getpid",
            "brk",
            "close",
            "open-close",
        ]),
        default_points: Points::Implied("none"),
    }],
    needs: &[Need::readable("/dev/null").when(&[("call", "open-close")])],
    source: "study cs161-syscalls, options -0 to -o",
    build: |at| {
        let function = Volatile::new(libc_wrappers::function(at.word("call"))?);
        Ok(Work::with_loop(move || {
            keep(function.get()());
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const SBRK_0: Bench = Bench {
    id: "syscall/sbrk-0",
    asks: "Does asking where the heap ends enter the kernel?",
    op: "sbrk(0) of the C library. Outside: the first one of the process, in which the library may \
         ask the kernel.",
    expected: "not at all: twice an empty function",
    why: "sbrk() is no system call, but the library's own function above brk(2). The library keeps \
          what its last brk(2) gave in a variable (in glibc __curbrk), and for an increment of 0 \
          it hands that out: a comparison and a load. So a system call in name costs what a \
          function does. musl keeps nothing, and enters the kernel each time.",
    floor: &[at_least(1, "timer/nothing")],
    source: "sbrk(2); glibc misc/sbrk.c; study cs161-syscalls, option -s",
    build: |_| {
        Ok(Work::repeat(|| {
            keep(libc_wrappers::sbrk());
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const GETCPU: Bench = Bench {
    id: "syscall/getcpu",
    asks: "What does it cost to ask which CPU one runs on?",
    op: "getcpu(2) for the CPU and its node; by the library sched_getcpu(3), for the CPU alone. \
         Outside: finding the vDSO's function.",
    expected: "the bare door through the kernel; 5 to 10 ns through the vDSO and the library",
    why: "The kernel keeps the CPU's number where user code may read it: on x86-64 in the limit of \
          a segment and in the register that RDTSCP and RDPID hand out. The vDSO's function is one \
          such instruction and two shifts. The library calls it; from glibc 2.35 on it reads the \
          rseq(2) area of the thread instead, which oscost's workers keep for themselves.",
    calls: &[exactly("getcpu", 1).when(&[("via", "raw")])],
    floor: &[at_least(1, "syscall/invalid").when(&[("via", "raw")])],
    axes: &[Axis {
        sets: "the way in: the bare instruction, the C library, or the vDSO's own function",
        points: Points::Words(&["raw", "libc", "vdso"]),
        default_points: Points::Words(&["raw", "libc", "vdso"]),
        ..VIA
    }],
    needs: &[Need::vdso("getcpu").when(&[("via", "vdso")])],
    in_price_list: false,
    source: "getcpu(2), vdso(7); arch/x86/entry/vdso/vgetcpu.c",
    build: |at| {
        Ok(match at.word("via") {
            "raw" => Work::raw(prepared::getcpu()),
            "libc" => Work::repeat(|| match current_cpu() {
                cpu @ 0.. => {
                    keep(cpu as u64);
                    Ok(())
                }
                _ => Err(Errno::last()),
            }),
            _ => {
                let vdso = GetCpu::find().ok_or(Errno::ENOSYS)?;
                Work::repeat(move || vdso.call().map(|cpu| keep(u64::from(cpu))))
            }
        })
    },
    ..Bench::DEFAULT
};

pub(super) const INVALID: Bench = Bench {
    id: "syscall/invalid",
    asks: "What does the kernel's door cost with nothing behind it?",
    op: "system call 65535, which no kernel knows; that it fails with ENOSYS is what is right. \
         Outside: nothing but the loop's turn.",
    expected: "a few ns below getppid: some 100 ns with today's mitigations",
    why: "The processor changes to the kernel's mode, the entry code switches stacks, saves the \
          registers and closes what speculation left open; then the number is compared with the \
          table's end, and the way back begins. All other system calls pay this too.",
    calls: &[exactly("syscall_65535", 1)],
    floor: &[at_least(1, "procedure/call:args=0,chain=independent")],
    source: "syscalls(2); arch/x86/entry/syscall_64.c, kernel/sys_ni.c",
    build: |_| Ok(Work::raw(prepared::invalid())),
    ..Bench::DEFAULT
};

pub(super) const GETPPID: Bench = Bench {
    id: "syscall/getppid",
    asks: "What does the kernel's door cost, with next to nothing behind it?",
    op: "getppid(2), which takes no argument, and that no library remembers. \
         Outside: nothing but the loop's turn, a core cycle that runs beside the call; at \
         `state=cold` an eviction before each op, which takes memory of twice the last-level \
         cache, at most 256 MiB.",
    expected: "some 100 ns with today's mitigations; the library's wrapper within 1 ns of that. Cold \
            twenty times that: some twenty lines of the kernel come from memory",
    why: "Behind the door the kernel finds the caller's parent under RCU and puts its number into \
          the caller's PID namespace: a handful of loads. The parent may change at any moment (it \
          ends, and somebody else takes over its children), so that no library may remember it. \
          Cold, the same path fetches its code, the task and the tables of the processor from \
          memory, one line after the other, and guesses its branches wrongly.",
    calls: &[exactly("getppid", 1)],
    floor: &[at_least(1, "procedure/call:args=0,chain=independent")],
    axes: &[Axis { default_points: Points::Words(&["raw", "libc"]), ..VIA }, STATE],
    source: "getppid(2); kernel/sys.c; study sunos-1999 table 1; study cs161-syscalls, option -P",
    build: |at| {
        let work = match is_raw(at) {
            true => Work::repeat(|| syscall::getppid().map(drop)),
            false => Work::repeat(|| {
                keep(syscall::libc_getppid() as u64);
                Ok(())
            }),
        };
        in_state(at, work)
    },
    ..Bench::DEFAULT
};

pub(super) const GETPID: Bench = Bench {
    id: "syscall/getpid",
    asks: "Does a process ask the kernel for its own number each time?",
    op: "getpid(2). Outside: nothing but the loop's turn.",
    expected: "yes: the bare door, through the library too, where it once was two loads",
    why: "A process never changes its number, and glibc before 2.25 remembered it: getpid() was a \
          load from the thread's descriptor, and only the first one entered the kernel. A process \
          that was made by a bare clone(2), or that called from a signal handler at the wrong \
          moment, was told its parent's number, and getpid(2) tells the story. Since 2017 the \
          library asks each time: one entry, through it as without it.",
    calls: &[exactly("getpid", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    axes: &[VIA],
    source: "getpid(2), section C library/kernel differences; study cs161-syscalls, option -p",
    build: |at| {
        Ok(match is_raw(at) {
            true => Work::raw(prepared::getpid()),
            false => Work::with_loop(|| {
                keep(libc_wrappers::getpid() as u64);
                Ok(())
            }),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const GETTID: Bench = Bench {
    id: "syscall/gettid",
    asks: "What does a thread's number cost?",
    op: "gettid(2) by the bare instruction. Outside: nothing but the loop's turn.",
    expected: "what getpid does",
    calls: &[exactly("gettid", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    in_price_list: false,
    source: "gettid(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::gettid())),
    ..Bench::DEFAULT
};

pub(super) const GETUID: Bench = Bench {
    id: "syscall/getuid",
    asks: "What does it cost to ask who one is?",
    op: "getuid(2) by the bare instruction. Outside: nothing but the loop's turn.",
    expected: "what getpid does: the user's number is put into the caller's user namespace",
    calls: &[exactly("getuid", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    in_price_list: false,
    source: "getuid(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::getuid())),
    ..Bench::DEFAULT
};

pub(super) const PRCTL: Bench = Bench {
    id: "syscall/prctl",
    asks: "What does it cost to ask the kernel for a setting of the process?",
    op: "prctl(2) with PR_GET_DUMPABLE, by the bare instruction. Outside: nothing but the loop's \
         turn.",
    expected: "10 ns above the bare door: security modules are asked first, then a switch of forty \
            branches",
    calls: &[exactly("prctl", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    in_price_list: false,
    source: "prctl(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::prctl())),
    ..Bench::DEFAULT
};

pub(super) const BRK: Bench = Bench {
    id: "syscall/brk",
    asks: "What does it cost to ask the kernel where the heap ends?",
    op: "brk(2) of address 0, which moves nothing; through the library as brk(0), which remembers \
         the answer. Outside: nothing but the loop's turn.",
    expected: "the bare door and 20 ns for a lock",
    why: "No heap ends at 0, so that the kernel leaves the break alone; but it takes the lock of \
          the address space for writing before it looks, an atomic instruction each way. Study \
          cs161-syscalls calls it with the break as it stands, which is taken and left in the same \
          way. What the library could answer from its own memory (sbrk(0)) is asked of the kernel \
          here.",
    calls: &[exactly("brk", 1)],
    floor: &[at_least(1, "syscall/invalid")],
    axes: &[VIA],
    source: "brk(2); mm/mmap.c; study cs161-syscalls, option -b",
    build: |at| {
        Ok(match is_raw(at) {
            true => Work::raw(prepared::brk()),
            false => Work::with_loop(libc_wrappers::brk),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const UNAME: Bench = Bench {
    id: "syscall/uname",
    asks: "What does it cost to be told the kernel's name?",
    op: "uname(2) into a buffer of our own, by the bare instruction. Outside: the buffer.",
    expected: "30 ns above the bare door: a lock, and two copies of 390 bytes",
    calls: &[exactly("uname", 1)],
    floor: &[at_least(1, DOOR)],
    in_price_list: false,
    source: "uname(2); kernel/sys.c; UnixBench syscall; study sunos-1999 table 1",
    build: |_| Ok(Work::raw(prepared::uname())),
    ..Bench::DEFAULT
};
