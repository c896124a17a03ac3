//! Paths to many files and folders, one after another.

use crate::bench::PointFilter;
use crate::benchmarks::prelude::*;
use crate::kernel::file::tree::{TreeCall, TreeCalls};

/// A file in a tmpfs is made in 10 us, and removed in as many.
const SETUP: PointFilter = &[("files", "100")];
/// The paths of a batch stay in the first-level cache, as that of a call in a program does.
const MAX_OPS: u64 = 128;

const STAT: (&str, &str) = ("act", "stat");
const OPEN_FILE: (&str, &str) = ("act", "open-file");
const OPEN_FOLDER: (&str, &str) = ("act", "open-folder");

pub(super) const TREE: Bench = Bench {
    id: "directory/tree",
    asks: "What does a call on a path cost that has not been walked for a while?",
    op: "newfstatat(2) of an empty file, openat(2) of it for reading and close(2), or openat(2) of an \
         empty directory with O_DIRECTORY and close(2): of another one each time, in a tree of \
         `files` of them on a tmpfs, 16 in a directory, by a path of `depth` components relative to \
         an open directory; by the raw instruction. With depth=1 all are in one \
         directory. Not included: creating the tree, writing the paths of at most 128 ops, and \
         removing it.",
    expected: "in a virtual machine: stat of 64 files 600 to 900 ns at a depth of 1, and 900 to 1200 \
               at 6, of 4096 files 1.1 us and 1.6; open and close 1.3 us and 1.6 of 64, 1.7 and 2.0 \
               of 4096",
    why: "All names are in the dentry cache, so no file system is asked, and each call executes the \
          same instructions. But a walk reads a slot of the hash table, the dentry and the inode of \
          each component, and stat two or three more lines of the inode: of 4096 files and their \
          directories that is more than a second-level cache holds. A program that looks at each of \
          its files once finds none of that in a cache near its CPU, and file/stat, of a hundred \
          files, all of it.",
    calls: &[
        exactly("newfstatat", 1).when(&[STAT]),
        exactly("openat", 1).when(&[OPEN_FILE]),
        exactly("close", 1).when(&[OPEN_FILE]),
        exactly("openat", 1).when(&[OPEN_FOLDER]),
        exactly("close", 1).when(&[OPEN_FOLDER]),
    ],
    floor: &[
        at_least(1, KERNEL_ENTRY),
        at_least(1, KERNEL_ENTRY).when(&[OPEN_FILE]),
        at_least(1, KERNEL_ENTRY).when(&[OPEN_FOLDER]),
    ],
    compare_with: &["directory/path-depth:depth=4", "file/stat:files=100"],
    axes: &[
        Axis {
            name: "act",
            sets: "what is done with each of them",
            points: Points::Words(&["stat", "open-file", "open-folder"]),
            default_points: Points::Words(&["stat", "open-file", "open-folder"]),
        },
        Axis {
            name: "files",
            sets: "number of files, or of directories that are opened",
            points: Points::Items("file", &Points::Numbers(&[64, 4_096])),
            default_points: Points::Numbers(&[64, 4_096]),
        },
        Axis {
            name: "depth",
            sets: "number of components in their paths",
            points: Points::Items("component", &Points::Numbers(&[1, 6])),
            default_points: Points::WithPriceList {
                points: &Points::Numbers(&[1, 6]),
                price_list: &Points::Numbers(&[6]),
            },
        },
    ],
    needs: &[Need::resource(Resource::Memory(32))],
    in_price_list: false,
    setup_us: SETUP,
    source: "path_resolution(7); fs/namei.c, fs/dcache.c; git status, find",
    build: |params| {
        let call = match params.word("act") {
            "open-file" => TreeCall::OpenFile,
            "open-folder" => TreeCall::OpenFolder,
            _ => TreeCall::Stat,
        };
        let (files, depth) = (params.number("files") as usize, params.number("depth") as usize);
        let body = Walks { calls: TreeCalls::new(call, files, depth)?, how: RawCall::Inline };
        Ok(Work::from_prepared_body(Shape::WithLoop, body).with_max_batch_ops(MAX_OPS))
    },
    ..Bench::DEFAULT
};

/// Calls on one entry of a tree after another.
struct Walks {
    calls: TreeCalls,
    how: RawCall,
}

impl WorkBody for Walks {
    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.calls.prepare(ops);
        Ok(())
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.calls.run(self.how, iterations * u64::from(unroll))
    }

    fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.how = how;
        true
    }
}
