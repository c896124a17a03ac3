//! The first read of one open file after another.

use crate::bench::PointFilter;
use crate::kernel::file::first_reads::FirstReads;

use super::super::prelude::*;

/// A MiB of files of a page is made in 3 ms, read once, and removed.
const SETUP: PointFilter = &[("span_mib", "20000")];
/// So many files are open at once.
const MAX_OPS: u64 = 64;

pub(super) const FIRST_READ: Bench = Bench {
    id: "file/first-read",
    asks: "What does the first read of one file after another cost if all of them are in memory?",
    op: "read(2) of all `size` bytes of a file of a tmpfs into a buffer that is reused: of another \
         file each time, until `span_mib` MiB of them were read; by the raw instruction. Not \
         included: creating the files, reading each of them once before, opening those of at most \
         64 ops, and checking what was read.",
    expected: "4096 bytes: 450 ns of 1 MiB, 1.1 us of 64; 65536 bytes: 3.6 us of 1 MiB, 16 of 64",
    why: "Each file has an inode of its own, a tree of its cached pages, a structure for each page, \
          and the bytes. file/read goes on in one file, whose structures stay in the caches, and the \
          processor fetches the next bytes in advance. Of 64 MiB the last-level cache holds a part \
          or nothing: a program that reads many files once, as an archiver does, waits for memory \
          several times a call.",
    calls: &[exactly("read", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["file/read:via=read,size=4096,cache=warm,file_mib=8"],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes of each file, which one call reads",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::WithPriceList {
                points: &Points::Numbers(&[4_096, 65_536]),
                price_list: &Points::Numbers(&[4_096]),
            },
        },
        Axis {
            name: "span_mib",
            sets: "MiB of files that are read before one is read again",
            points: Points::Numbers(&[1, 64]),
            default_points: Points::Numbers(&[1, 64]),
        },
    ],
    needs: &[Need::resource(Resource::Memory(160)).when(&[("span_mib", "64")])],
    in_price_list: false,
    bytes_axis: "size",
    setup_us: SETUP,
    source: "read(2); mm/filemap.c, mm/shmem.c; tar",
    build: |params| {
        let size = params.number("size") as usize;
        let files = (params.number("span_mib") << 20) as usize / size;
        let body = Reads { files: FirstReads::new(files, size)?, how: RawCall::Inline };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(MAX_OPS))
    },
    ..Bench::DEFAULT
};

/// First reads of files.
struct Reads {
    files: FirstReads,
    how: RawCall,
}

impl WorkBody for Reads {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.files.prepare(ops)
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.files.run(self.how, iterations * u64::from(unroll))
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.files.verify()
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}
