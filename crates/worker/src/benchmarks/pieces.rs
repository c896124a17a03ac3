//! Work on the pieces of a file, one after another.

use super::prelude::*;
use crate::kernel::file::entries::Folder;
use crate::kernel::file::piece_file::PieceFile;

/// Reads or writes of a file's pieces.
pub(super) struct Pieces {
    // Dropped in this order: the file is closed before its folder is removed.
    file: PieceFile,
    _folder: Option<Folder>,
}

impl Pieces {
    /// The work on a file, in batches of at most one pass over it: a batch of writes finds each
    /// piece as the preparation has left it. The file keeps its name for as long as the folder
    /// given with it lives: fsync(2) may skip one without a name (btrfs).
    pub(super) fn work(file: PieceFile, folder: Option<Folder>, shape: Shape) -> Work {
        let pieces = file.pieces();
        let body = Self { file, _folder: folder };
        Work::from_prepared_body(shape, body).with_max_batch_ops(pieces)
    }
}

impl WorkBody for Pieces {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        self.file.settle()
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.file.run(iterations * u64::from(unroll))
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.file.verify()
    }
}
