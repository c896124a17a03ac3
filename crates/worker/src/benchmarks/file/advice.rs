//! What programs tell the kernel about their use of a file.

use crate::benchmarks::prelude::*;
use crate::kernel::file::location::Location;
use crate::kernel::file::page_cache::cached_pages;
use crate::kernel::file::scratch_file::ScratchFile;
use crate::kernel::syscall::prepared::{self, Call};

use super::axes::DIRECTORY;
use super::body::{location, unless_refused};

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

pub(super) const READAHEAD: Bench = Bench {
    id: "file/readahead",
    asks: "What does readahead(2) cost if all of it is cached?",
    op: "readahead(2) of the first `size` bytes of a file of 1 MiB, all of which is cached, by the \
         raw instruction. Not included: writing the file.",
    expected: "some 200 ns for 4096 bytes; for 1048576 bytes some 3 us on a disk, and no more than \
               for 4096 on tmpfs: as file/fadvise",
    why: "Since Linux 4.18 the call is posix_fadvise(2) with POSIX_FADV_WILLNEED under another \
          name: the kernel looks each page up in the page cache and reads those that are missing, \
          here none.",
    calls: &[exactly("readahead", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    compare_with: &["file/fadvise:size=4096", "file/fadvise:size=1048576"],
    axes: &[
        Axis {
            name: "size",
            sets: "bytes that are to be read ahead",
            points: Points::Numbers(&[4_096, 1_048_576]),
            default_points: Points::Numbers(&[4_096, 1_048_576]),
        },
        DIRECTORY,
    ],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    source: "readahead(2); mm/readahead.c",
    build: |params| {
        let mut file = ScratchFile::new(location(params), 1 << 20, false)?;
        file.warm()?;
        let call = prepared::readahead(file.file, params.number("size"));
        if call.ready().make() == Err(Errno::EINVAL) {
            return Ok(Work::unavailable(
                "this file system cannot read ahead: start oscost in a folder of a disk",
            ));
        }
        unless_refused(Work::raw(call), "readahead(2)")
    },
    ..Bench::DEFAULT
};

pub(super) const DONTNEED: Bench = Bench {
    id: "file/dontneed",
    asks: "What does dropping a file from the page cache cost?",
    op: "posix_fadvise(2) with POSIX_FADV_DONTNEED of a whole file of `file_mib` MiB, all of which \
         is cached and on its disk, by the raw instruction. Not included: writing the file, and \
         before each op reading it again and checking with cachestat(2) that all of it is cached; \
         after it, that less than a sixteenth is.",
    expected: "some 25 us for 1 MiB, or some 5 where the file system uses large folios; eight \
               times that for 8 MiB",
    why: "Each page is looked up, locked, found clean and unmapped, removed from the file's tree \
          and freed: a large folio at once. Pages that some CPU has just read are in a list of \
          that CPU until it is emptied, for which the kernel may ask all CPUs and wait. Backup \
          programs call it so that what they read once evicts nothing else.",
    calls: &[exactly("fadvise64", 1)],
    floor: &[at_least(1, KERNEL_ENTRY)],
    axes: &[Axis {
        name: "file_mib",
        sets: "file size in MiB",
        points: Points::Numbers(&[1, 8]),
        default_points: Points::Numbers(&[1, 8]),
    }],
    needs: &[SMALL_PAGES],
    in_price_list: false,
    switches: true,
    source: "posix_fadvise(2); mm/fadvise.c, invalidate_mapping_pages in mm/truncate.c",
    build: |params| {
        let file = ScratchFile::new(Location::UserFolder, params.number("file_mib") << 20, false)?;
        if file.is_in_memory() {
            return Ok(Work::unavailable(
                "a file of a tmpfs is in memory and cannot be dropped: start oscost in a \
                 directory on a disk",
            ));
        }
        let advice = prepared::wont_need(file.file.try_clone()?);
        let work = Work::from_prepared_body(Shape::SingleShot, Drops { file, advice });
        unless_refused(work.with_max_batch_ops(1), "posix_fadvise(2)")
    },
    ..Bench::DEFAULT
};

/// Drops of a file that is read again before each.
struct Drops {
    file: ScratchFile,
    advice: Call,
}

impl WorkBody for Drops {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.file.warm()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let advice = self.advice.ready();
        for op in 0..iterations * u64::from(unroll) {
            advice.make().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    /// A few pages may stay: those that another CPU has in hand.
    fn verify(&mut self) -> Result<(), Errno> {
        let pages = self.file.observation.pages;
        match cached_pages(&self.file.file, self.file.bytes)? {
            left if left * 16 < pages => Ok(()),
            left => Err(Errno::check_failed(format!(
                "posix_fadvise(2) has left {left} of the file's {pages} pages in the cache"
            ))),
        }
    }

    fn file_observation(&self) -> Option<FileObservation> {
        Some(self.file.observation)
    }
}
