//! Work bodies of the file benchmarks: readers, writers and copiers.

use crate::kernel::file::copy::Copier;
use crate::kernel::file::directory::{FileOperation, PopulatedFolder};
use crate::kernel::file::location::{Location, MemoryCgroup};
use crate::kernel::file::page_cache::EvictMethod;
use crate::kernel::file::read::{ReadMethod, Reader};
use crate::kernel::file::scratch_file::ScratchFile;
use crate::kernel::file::write::Writer;
use crate::kernel::memory::blocks::ScrambledOrder;

use super::super::prelude::*;

/// The location that an axis selects.
pub(super) fn location(params: Params<'_>) -> Location {
    if params.word("directory") == "tmpfs" { Location::Tmpfs } else { Location::UserFolder }
}

/// The work, if the file system or a filter does not refuse its first op; otherwise a skipped row
/// that says so.
pub(super) fn unless_refused(mut work: Work, act: &str) -> Result<Work, Errno> {
    match work.prepare(1).and_then(|()| work.run(1, 1)).map_err(|at| at.errno) {
        Ok(()) => Ok(work),
        Err(error) if error.is_unavailable() => Ok(Work::unavailable(format!(
            "{act} is refused: this file system does not support it, or a filter forbids it \
             ({error})"
        ))),
        Err(error) => Err(error),
    }
}

/// How a file is evicted, as the axis selects.
fn evict(params: Params<'_>) -> EvictMethod {
    match params.word("evict") {
        "drop" => EvictMethod::Drop,
        "fill" => EvictMethod::Fill,
        _ => EvictMethod::Advice,
    }
}

/// A body whose ops continue through a file, with an untimed rewind between batches.
macro_rules! continues_through {
    ($body:ident, $op:ident, $verify:ident $(, $set_raw_call:ident)?) => {
        impl WorkBody for $body {
            fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
                self.0.rewind_if_needed(ops)
            }

            fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
                self.0.$op(iterations * u64::from(unroll))
            }

            fn verify(&mut self) -> Result<(), Errno> {
                self.0.$verify()
            }

            fn file_observation(&self) -> Option<FileObservation> {
                Some(self.0.observation())
            }

            $(fn $set_raw_call(&mut self, how: RawCall) -> bool {
                self.0.$set_raw_call(how)
            })?
        }
    };
}

/// Reads that continue through a warm file.
struct WarmReads(Reader);
continues_through!(WarmReads, read, verify, set_raw_call);

/// Writes that continue through a file.
pub(super) struct Writes(pub(super) Writer);
continues_through!(Writes, write, verify_last_write, set_raw_call);

/// Copies that continue through two files.
pub(super) struct Copies(pub(super) Copier);
continues_through!(Copies, copy, verify);

/// What happens, untimed, before each pass over a file.
enum PassPreparation {
    /// The file is evicted.
    Evict(EvictMethod),
    /// The reader returns to the start, and checks that the file is cached.
    RewindWarm,
    /// The reader returns to the start; how much of the file is cached is what is measured.
    Restart,
}

/// Whole passes over a file.
struct WholePasses {
    // Dropped in this order: the file's pages are freed before the group is left.
    reader: Reader,
    before: PassPreparation,
    /// The reads of a pass: all of the file, except in passes that are not timed.
    reads: u64,
    /// The group whose memory is limited, if it is.
    _group: Option<MemoryCgroup>,
}

impl WholePasses {
    fn new(reader: Reader, before: PassPreparation, group: Option<MemoryCgroup>) -> Self {
        let reads = reader.pieces();
        Self { reader, before, reads, _group: group }
    }

    fn work(self, shape: Shape) -> Work {
        let reads = self.reads;
        Work::from_prepared_body(shape, self).with_op_count(reads).with_max_batch_ops(1)
    }
}

impl WorkBody for WholePasses {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        match self.before {
            PassPreparation::Evict(method) => self.reader.rewind_cold(method),
            PassPreparation::RewindWarm => self.reader.rewind_if_needed(self.reader.pieces()),
            PassPreparation::Restart => self.reader.restart(),
        }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        match iterations * u64::from(unroll) {
            0 => Ok(()),
            _ => self.reader.read(self.reads),
        }
    }

    fn limit_op_count(&mut self, max: u64) -> Option<u64> {
        self.reads = self.reader.pieces().min(max);
        Some(self.reads)
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.reader.verify()
    }

    fn file_observation(&self) -> Option<FileObservation> {
        Some(self.reader.observation())
    }
}

/// No device has smaller blocks.
const BLOCK_BYTES: usize = 512;

/// An order of `pieces` pieces, a power of two, that readahead does not predict.
pub(super) fn scrambled_order(pieces: usize) -> Vec<u32> {
    let order = ScrambledOrder::with_bits(pieces.ilog2());
    (0..pieces as u64).map(|piece| order.nth(piece) as u32).collect()
}

/// Reads of a file, warm or cold as the point selects.
pub(super) fn reads(params: Params<'_>, via: ReadMethod, random: bool) -> Result<Work, Errno> {
    let (location, size) = (location(params), params.number("size") as usize);
    let cold = params.word("cache") == "cold";
    let file = ScratchFile::new(location, params.number("file_mib") << 20, cold)?;
    if cold && file.is_in_memory() {
        return Err(Errno::unavailable(
            "a file of a tmpfs is in memory and cannot be cold: start oscost in a directory on a \
             disk"
                .to_owned(),
        ));
    }
    if via == ReadMethod::Direct && size < BLOCK_BYTES {
        return Err(Errno::unavailable(
            "O_DIRECT transfers whole blocks of the device: select size=512 or more".to_owned(),
        ));
    }
    let pieces = file.bytes as usize / size;
    let order = random.then(|| scrambled_order(pieces));
    let reader = Reader::new(file, via, size, order)?;
    // In random order a fresh mapping faults less and less often: only whole passes are comparable.
    let whole = cold || random && via == ReadMethod::Mmap;
    Ok(match whole {
        true => {
            let shape = if cold { Shape::Cold } else { Shape::SingleShot };
            let before = if cold {
                PassPreparation::Evict(evict(params))
            } else {
                PassPreparation::RewindWarm
            };
            WholePasses::new(reader, before, None).work(shape)
        }
        false => Work::from_prepared_body(Shape::WithLoop, WarmReads(reader))
            .with_max_batch_ops(pieces as u64),
    })
}

impl Writes {
    /// The work with this body.
    pub(super) fn work(self, shape: Shape) -> Work {
        let max_ops = self.0.pieces();
        Work::from_prepared_body(shape, self).with_max_batch_ops(max_ops)
    }
}

/// Operations on one file after another among many.
pub(super) struct DirectoryOps {
    pub(super) folder: PopulatedFolder,
    pub(super) operation: FileOperation,
    pub(super) how: RawCall,
}

impl WorkBody for DirectoryOps {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.folder.run(self.operation, self.how, iterations * u64::from(unroll))
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}

/// Bytes of a read of [`rereads`].
const REREAD_BYTES: usize = 65_536;
/// What a process and its caches need besides a file, in a group whose memory is limited.
const MIN_LIMIT_MIB: u64 = 64;

/// Reads a file repeatedly in a control group with limited memory; the file size is a share of
/// that.
pub(super) fn rereads(limit_mib: u64, share_pct: u64) -> Result<Work, Errno> {
    let group = MemoryCgroup::enter(limit_mib.max(MIN_LIMIT_MIB) << 20)?;
    let bytes = (limit_mib * share_pct / 100) << 20;
    let file = ScratchFile::new(Location::UserFolder, bytes, false)?;
    if file.is_in_memory() {
        return Err(Errno::unavailable(
            "a file of a tmpfs is not evicted under memory pressure: start oscost in a directory \
             on a disk"
                .to_owned(),
        ));
    }
    let reader = Reader::new(file, ReadMethod::Read, REREAD_BYTES, None)?;
    Ok(WholePasses::new(reader, PassPreparation::Restart, Some(group)).work(Shape::SingleShot))
}
