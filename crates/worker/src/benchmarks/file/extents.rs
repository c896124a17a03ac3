//! The extents of a file.

use crate::benchmarks::prelude::*;
use crate::kernel::file::extents::FileOfOneExtent;

pub(super) const EXTENTS: Bench = Bench {
    id: "file/extents",
    asks: "What does asking for the extents of a file cost?",
    op: "ioctl(2) FS_IOC_FIEMAP of a file of 4096 bytes, which has one extent, by the C library. \
         Not included: writing the file and syncing it.",
    expected: "500 ns: the inode is locked, its pages are checked for writes to come, and one \
               extent is copied out",
    why: "cp(1) asks so whether a file has holes, and tar(1) where they are: once for each file.",
    calls: &[exactly("ioctl", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    in_price_list: false,
    source: "ioctl_fiemap(2); fs/ioctl.c",
    build: |_| {
        let file = FileOfOneExtent::new()?;
        match file.extents() {
            Ok(1) => {}
            Ok(found) => {
                return Ok(Work::unavailable(format!(
                    "the file has {found} extents here, not one: start oscost in a folder of a disk"
                )));
            }
            Err(error) => {
                return Ok(Work::unavailable(format!(
                    "this folder's file system does not tell extents: {error}: start oscost in a \
                     folder of a disk"
                )));
            }
        }
        Ok(Work::with_loop(move || match file.extents()? {
            1 => Ok(()),
            _ => Err(Errno::EPROTO),
        }))
    },
    ..Bench::DEFAULT
};
