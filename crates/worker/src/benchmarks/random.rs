//! Random bytes from the kernel.

use super::prelude::*;
use crate::bench::PointFilter;
use crate::kernel::cpu::getrandom::{GetRandom, fill_by_libc};
use crate::kernel::syscall::prepared;

pub(super) const FAMILY: Family =
    Family { name: "random", about: "the cost of random bytes from the kernel", benches: BENCHES };

const SIZE: Axis = Axis {
    name: "size",
    sets: "bytes asked for at once",
    points: Points::Numbers(&[8, 32, 256, 4_096]),
    default_points: Points::Numbers(&[8, 256]),
};

const RAW: PointFilter = &[("via", "raw")];
const LIBC: PointFilter = &[("via", "libc")];
const VDSO: PointFilter = &[("via", "vdso")];

const BENCHES: &[Bench] = &[
    Bench {
        id: "random/getrandom",
        asks: "What do random bytes cost, through the kernel and without a system call?",
        op: "getrandom of `size` bytes without flags, of which all must come: by the raw \
             instruction; by the C library's function, which uses the vDSO from glibc 2.41 on; or \
             by the vDSO's function itself, with a state that was mapped before. Not included: \
             that mapping, and looking up the vDSO function.",
        expected: "raw: 350 ns for 8 or 32 bytes, 700 for 256, 9 us for 4096; by the vDSO 30 ns \
                   for 8 bytes, 110 for 32, 500 for 256, 8 us for 4096",
        why: "The kernel encrypts zeros by ChaCha20: a block of 64 bytes for a new key and the \
              first 32 bytes, and one more for each 64 bytes. The key is replaced before anything \
              is returned, so that a later break-in reveals nothing. The vDSO does the same in \
              user mode and produces 96 bytes at a time, from which small requests are served; it \
              enters the kernel once for a new key after each reseed, about once a minute.",
        compare_with: &["syscall/getppid:via=raw"],
        calls: &[
            exactly("getrandom", 1).when(RAW),
            up_to("getrandom", 1).when(LIBC),
            up_to("getrandom", 1).when(VDSO),
        ],
        floor: &[at_least(1, KERNEL_ENTRY).when(RAW)],
        axes: &[
            Axis {
                name: "via",
                sets: "entry path: raw system-call instruction, C library, or the vDSO function \
                       itself",
                points: Points::Words(&["raw", "libc", "vdso"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["raw", "libc", "vdso"]),
                    price_list: &Points::Words(&["raw"]),
                },
            },
            Axis {
                default_points: Points::WithPriceList {
                    points: &Points::Numbers(&[8, 256]),
                    price_list: &Points::Numbers(&[8]),
                },
                ..SIZE
            },
        ],
        needs: &[Need::vdso("getrandom").when(VDSO)],
        bytes_axis: "size",
        source: "getrandom(2), vdso(7); drivers/char/random.c, lib/vdso/getrandom.c",
        build: |params| {
            let size = params.number("size") as usize;
            let mut buffer = vec![0u8; size].into_boxed_slice();
            Ok(match params.word("via") {
                "raw" => Work::raw(prepared::getrandom(size)),
                "libc" => Work::repeat(move || fill_by_libc(&mut buffer)),
                _ => {
                    let mut vdso = GetRandom::new()?;
                    Work::repeat(move || vdso.fill(&mut buffer))
                }
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "random/urandom",
        asks: "What do random bytes cost that are read from /dev/urandom?",
        op: "read(2) of `size` bytes from /dev/urandom, of which all must come. Not included: \
             opening it.",
        expected: "50 ns more than random/getrandom by the raw instruction, at any size",
        why: "The generator is the same; the path to it leads through a descriptor, and the \
              permission check and accounting of a read.",
        compare_with: &["syscall/read:via=raw"],
        calls: &[exactly("read", 1)],
        floor: &[
            at_least(1, "random/getrandom:via=raw,size=8").when(&[("size", "8")]),
            at_least(1, "random/getrandom:via=raw,size=32").when(&[("size", "32")]),
            at_least(1, "random/getrandom:via=raw,size=256").when(&[("size", "256")]),
            at_least(1, "random/getrandom:via=raw,size=4096").when(&[("size", "4096")]),
        ],
        axes: &[SIZE],
        needs: &[Need::readable("/dev/urandom")],
        in_price_list: false,
        bytes_axis: "size",
        source: "random(4); drivers/char/random.c: urandom_read_iter",
        build: |params| Ok(Work::raw(prepared::read_urandom(params.number("size") as usize)?)),
        ..Bench::DEFAULT
    },
];
