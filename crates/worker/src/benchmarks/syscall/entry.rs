//! The null system call, and calls that do almost nothing in the kernel.

use super::axes::{STATE, VIA, in_state, is_raw};
use crate::benchmarks::prelude::*;
use crate::kernel::cpu::affinity::current_cpu;
use crate::kernel::cpu::black_box::{Volatile, consume};
use crate::kernel::cpu::getcpu::GetCpu;
use crate::kernel::syscall::{self, libc_wrappers, prepared};

pub(super) const FUNCTION: Bench = Bench {
    id: "syscall/function",
    asks: "What does a loop over an empty function behind a pointer cost?",
    op: "one loop iteration: the pointer is loaded, the function is called through it and returns \
         0, or the result of the libc function that `call=` selects. Loop overhead is included, so \
         there is no unrolling. `close` closes an unused descriptor number, which fails with \
         EBADF: in the study's loop every close of 0 after the first does. `brk` is brk(sbrk(0)). \
         Not included: clock overhead.",
    expected: "1.5 to 2 ns: study cs161-syscalls found 1.77 on a machine of 2019",
    why: "The pointer is reloaded from memory in each iteration, like the study's volatile \
          pointer, so that the compiler can neither inline the function nor keep the pointer in a \
          register. What remains is a load, a correctly predicted indirect call, a return and the \
          loop counter. It does not enter the kernel: it is the study's baseline, its 1x.",
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
        at_least(1, KERNEL_ENTRY).when(&[("call", "getppid")]),
        at_least(1, KERNEL_ENTRY).when(&[("call", "getpid")]),
        at_least(1, KERNEL_ENTRY).when(&[("call", "brk")]),
        at_least(1, KERNEL_ENTRY).when(&[("call", "close")]),
        at_least(2, KERNEL_ENTRY).when(&[("call", "open-close")]),
    ],
    axes: &[Axis {
        name: "call",
        sets: "the C library function that is called instead of the empty one",
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
    build: |params| {
        let function = Volatile::new(libc_wrappers::function_by_name(params.word("call"))?);
        Ok(Work::with_loop(move || {
            consume(function.get()());
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const SBRK_0: Bench = Bench {
    id: "syscall/sbrk-0",
    asks: "Does sbrk(0) enter the kernel?",
    op: "sbrk(0) of the C library. Not included: the first call of the process, in which libc may \
         call brk(2).",
    expected: "no: twice an empty function call",
    why: "sbrk() is not a system call but a libc function on top of brk(2). libc keeps the result \
          of its last brk(2) in a variable (in glibc __curbrk) and returns it for an increment of \
          0: a comparison and a load. So it costs what a function call does. musl caches nothing, \
          and enters the kernel each time.",
    floor: &[at_least(1, "timer/nothing")],
    in_price_list: false,
    source: "sbrk(2); glibc misc/sbrk.c; study cs161-syscalls, option -s",
    build: |_| {
        Ok(Work::repeat(|| {
            consume(libc_wrappers::sbrk());
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};

pub(super) const GETCPU: Bench = Bench {
    id: "syscall/getcpu",
    asks: "What does reading the current CPU number cost?",
    op: "getcpu(2) for the CPU and its node; with `via=libc` sched_getcpu(3), for the CPU only. \
         Not included: looking up the vDSO function.",
    expected: "a null system call through the kernel; 5 to 10 ns through the vDSO and libc",
    why: "The kernel keeps the CPU number where user code can read it: on x86-64 in the limit of a \
          segment descriptor and in the register that RDTSCP and RDPID return. The vDSO function \
          is one such instruction and two shifts. libc calls it; from glibc 2.35 on it reads the \
          rseq(2) area of the thread instead, which oscost's workers reserve for themselves.",
    calls: &[exactly("getcpu", 1).when(&[("via", "raw")])],
    floor: &[at_least(1, KERNEL_ENTRY).when(&[("via", "raw")])],
    axes: &[Axis {
        sets: "entry path: raw system-call instruction, C library, or the vDSO function itself",
        points: Points::Words(&["raw", "libc", "vdso"]),
        default_points: Points::Words(&["raw", "libc", "vdso"]),
        ..VIA
    }],
    needs: &[Need::vdso("getcpu").when(&[("via", "vdso")])],
    in_price_list: false,
    source: "getcpu(2), vdso(7); arch/x86/entry/vdso/vgetcpu.c",
    build: |params| {
        Ok(match params.word("via") {
            "raw" => Work::raw(prepared::getcpu()),
            "libc" => Work::repeat(|| match current_cpu() {
                cpu @ 0.. => {
                    consume(cpu as u64);
                    Ok(())
                }
                _ => Err(Errno::last()),
            }),
            _ => {
                let vdso = GetCpu::find().ok_or(Errno::ENOSYS)?;
                Work::repeat(move || vdso.call().map(|cpu| consume(u64::from(cpu))))
            }
        })
    },
    ..Bench::DEFAULT
};

pub(super) const INVALID: Bench = Bench {
    id: "syscall/invalid",
    asks: "What do kernel entry and exit cost if the call does nothing?",
    op: "system call 65535, which no kernel implements; failing with ENOSYS is the expected \
         result. Not included: loop overhead.",
    expected: "a few ns below getppid: about 100 ns with today's mitigations",
    why: "The processor switches to kernel mode, the entry code switches stacks, saves the \
          registers and applies the mitigations against speculation; then the number is compared \
          with the size of the table, and the exit path begins. Every other system call pays this \
          too.",
    calls: &[exactly("syscall_65535", 1)],
    floor: &[at_least(1, "procedure/call:args=0,chain=independent")],
    source: "syscalls(2); arch/x86/entry/syscall_64.c, kernel/sys_ni.c",
    build: |_| Ok(Work::raw(prepared::invalid())),
    ..Bench::DEFAULT
};

pub(super) const GETPPID: Bench = Bench {
    id: "syscall/getppid",
    asks: "What does a null system call cost?",
    op: "getppid(2): takes no argument and is never cached by libc. Not included: loop overhead \
         (one core cycle, which overlaps with the call); with `state=cold` the eviction before \
         each op, which needs memory of twice the last-level cache, at most 256 MiB.",
    expected: "about 100 ns with today's mitigations; the libc wrapper within 1 ns of that where \
               its return is predicted. Cold twenty times that: about twenty cache lines of the \
               kernel come from memory",
    why: "In the kernel the call finds the caller's parent under RCU and translates its number \
          into the caller's PID namespace: a handful of loads. The parent may change at any \
          moment (when it ends, another process adopts its children), so libc cannot cache it. \
          The libc wrapper returns right after the kernel has, whose own returns may have left \
          other addresses in the return predictor: with the mitigation `Safe RET` (SRSO) on a \
          guest with a Zen 5 core, a C program took 116 ns for the instruction, 167 ns for a \
          function with it, and 116 ns if the function returned by an indirect jump. Cold, the \
          same path fetches its code, the task structure and the processor's tables from memory, \
          one line after the other, and mispredicts its branches.",
    calls: &[exactly("getppid", 1)],
    floor: &[at_least(1, "procedure/call:args=0,chain=independent")],
    axes: &[Axis { default_points: Points::Words(&["raw", "libc"]), ..VIA }, STATE],
    source: "getppid(2); kernel/sys.c; study sunos-1999 table 1; study cs161-syscalls, option -P",
    build: |params| {
        let work = match is_raw(params) {
            true => Work::raw_by_own_loop(|| syscall::getppid().map(drop), prepared::getppid()),
            false => Work::repeat(|| {
                consume(syscall::libc_getppid() as u64);
                Ok(())
            }),
        };
        in_state(params, work)
    },
    ..Bench::DEFAULT
};

pub(super) const GETPID: Bench = Bench {
    id: "syscall/getpid",
    asks: "Does getpid enter the kernel on every call?",
    op: "getpid(2). Not included: loop overhead.",
    expected: "yes: a null system call, also through libc, where it was two loads once",
    why: "A process never changes its number, and glibc before 2.25 cached it: getpid() was a \
          load from the thread descriptor, and only the first call entered the kernel. A process \
          created by a raw clone(2), or a signal handler at the wrong moment, got the parent's \
          number; getpid(2) documents the history. Since 2017 libc makes the call each time: one \
          kernel entry, with libc or without.",
    calls: &[exactly("getpid", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    source: "getpid(2), section C library/kernel differences; study cs161-syscalls, option -p",
    build: |params| {
        Ok(match is_raw(params) {
            true => Work::raw(prepared::getpid()),
            false => Work::with_loop(|| {
                consume(libc_wrappers::getpid() as u64);
                Ok(())
            }),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const GETTID: Bench = Bench {
    id: "syscall/gettid",
    asks: "What does gettid cost?",
    op: "gettid(2) by the raw instruction. Not included: loop overhead.",
    expected: "the same as getpid",
    calls: &[exactly("gettid", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "gettid(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::gettid())),
    ..Bench::DEFAULT
};

pub(super) const GETUID: Bench = Bench {
    id: "syscall/getuid",
    asks: "What does getuid cost?",
    op: "getuid(2) by the raw instruction. Not included: loop overhead.",
    expected: "the same as getpid: the user's number is translated into the caller's user \
               namespace",
    calls: &[exactly("getuid", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "getuid(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::getuid())),
    ..Bench::DEFAULT
};

pub(super) const PRCTL: Bench = Bench {
    id: "syscall/prctl",
    asks: "What does reading a process setting from the kernel cost?",
    op: "prctl(2) with PR_GET_DUMPABLE, by the raw instruction. Not included: loop overhead.",
    expected: "10 ns above a null system call: the security hooks first, then a switch of forty \
               branches",
    calls: &[exactly("prctl", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "prctl(2); kernel/sys.c",
    build: |_| Ok(Work::raw(prepared::prctl())),
    ..Bench::DEFAULT
};

pub(super) const BRK: Bench = Bench {
    id: "syscall/brk",
    asks: "What does reading the end of the heap from the kernel cost?",
    op: "brk(2) of address 0, which moves nothing; with `via=libc` as brk(0), which stores the \
         result. Not included: loop overhead.",
    expected: "a null system call plus 20 ns for a lock",
    why: "No heap ends at 0, so the kernel leaves the break unchanged; but it takes the lock of \
          the address space for writing before it looks, one atomic instruction to acquire and one \
          to release. Study cs161-syscalls calls brk with the current break, which takes and \
          releases the lock in the same way. What libc could answer from its own memory (sbrk(0)) \
          is requested from the kernel here.",
    calls: &[exactly("brk", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[VIA],
    in_price_list: false,
    source: "brk(2); mm/mmap.c; study cs161-syscalls, option -b",
    build: |params| {
        Ok(match is_raw(params) {
            true => Work::raw(prepared::brk()),
            false => Work::with_loop(libc_wrappers::brk),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const UNAME: Bench = Bench {
    id: "syscall/uname",
    asks: "What does uname cost?",
    op: "uname(2) into a buffer of the worker, by the raw instruction. Not included: the buffer.",
    expected: "30 ns above a null system call: a lock, and two copies of 390 bytes",
    calls: &[exactly("uname", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "uname(2); kernel/sys.c; UnixBench syscall; study sunos-1999 table 1",
    build: |_| Ok(Work::raw(prepared::uname())),
    ..Bench::DEFAULT
};
