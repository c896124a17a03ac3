//! Writes past the page cache.

use crate::benchmarks::pieces::Pieces;
use crate::benchmarks::prelude::*;
use crate::kernel::file::location::unnamed_file;
use crate::kernel::file::piece_file::{PieceFile, PieceOperation, reopen_direct};

use super::axes::DIRECTORY;
use super::body::location;

pub(super) const WRITE_DIRECT: Bench = Bench {
    id: "file/write-direct",
    asks: "What does writing past the page cache cost?",
    op: "pwrite64(2) of `size` bytes onto the next place of a file of 1 MiB that was opened with \
         O_DIRECT and written before, by the raw instruction. Not included: creating the file and \
         writing it first, which allocates its blocks, and syncing it then; what the disk's own \
         cache still holds, which only a flush writes; between ops, reading back what was written \
         last.",
    expected: "4096 bytes: some 30 us on a virtual disk; on tmpfs some 400 ns, as without O_DIRECT",
    why: "The kernel pins the pages of the buffer, asks the file system where the blocks are, and \
          sends them to the disk: the call waits until the disk has them, but not for a flush of \
          the disk's own cache, which is what file/write-sync waits for besides. Database systems \
          write so, since they cache for themselves. tmpfs accepts O_DIRECT from Linux 6.6 on, and \
          writes to its pages as ever.",
    calls: &[exactly("pwrite64", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["file/write-sync:via=pwrite,size=4096,sync=fdatasync,file_mib=8"],
    axes: &[
        Axis {
            name: "size",
            sets: "write size in bytes",
            points: Points::Numbers(&[4_096, 65_536]),
            default_points: Points::Numbers(&[4_096]),
        },
        DIRECTORY,
    ],
    needs: &[Need::resource(Resource::SmallPages)],
    in_price_list: false,
    switches: true,
    bytes_axis: "size",
    source: "open(2), section O_DIRECT; fs/iomap/direct-io.c; fio --direct=1 --rw=write",
    build: |params| {
        let direct = reopen_direct(&unnamed_file(location(params), PieceFile::BYTES)?)?;
        match PieceFile::new(direct, PieceOperation::WriteDirect, params.number("size") as usize) {
            Err(Errno::EINVAL) => Ok(Work::unavailable(
                "this folder's file system, or its disk, refuses a direct write of 4096 bytes \
                 that is aligned: start oscost in another folder",
            )),
            file => {
                let file = file?;
                if file.is_in_the_page_cache_of_a_disk()? {
                    return Ok(Work::unavailable(
                        "this folder's file system takes a direct write through its page cache \
                         (btrfs with checksums, ext4 with data=journal): start oscost in another \
                         folder",
                    ));
                }
                Ok(Pieces::work(file, None, Shape::SingleShot))
            }
        }
    },
    ..Bench::DEFAULT
};
