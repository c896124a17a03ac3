//! The axes that several benchmarks of this family have.

use super::super::prelude::*;

pub(super) const DIRECTORY: Axis = Axis {
    name: "directory",
    sets: "the directory of the file: the one in which oscost was started, or a tmpfs",
    points: Points::Words(&["cwd", "tmpfs"]),
    default_points: Points::Implied("cwd"),
};
pub(super) const CACHE: Axis = Axis {
    name: "cache",
    sets: "whether the page cache holds all of the file, or none of it, when it is read",
    points: Points::Words(&["warm", "cold"]),
    default_points: Points::Words(&["warm"]),
};
pub(super) const FILE_MIB: Axis = Axis {
    name: "file_mib",
    sets: "file size in MiB; study sunos-1999 used 128",
    points: Points::Numbers(&[1, 8, 128, 512]),
    default_points: Points::Numbers(&[8]),
};

/// Bytes per op, from 8 to 65536: the sizes of study sunos-1999.
pub(super) const fn size(sets: &'static str, usual: Points) -> Axis {
    let points = Points::Numbers(&[
        8, 16, 32, 64, 128, 256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536,
    ]);
    Axis { name: "size", sets, points, default_points: usual }
}

pub(super) const WRITE_VIA: Axis = Axis {
    name: "via",
    sets: "how it is written",
    points: Points::Words(&["write", "fwrite", "pwrite"]),
    default_points: Points::Words(&["write"]),
};
pub(super) const WRITE_SIZE: Axis = Axis {
    name: "size",
    sets: "write size in bytes",
    points: Points::Numbers(&[8, 64, 512, 4_096, 65_536]),
    default_points: Points::WithPriceList {
        points: &Points::Numbers(&[64, 4_096, 65_536]),
        price_list: &Points::Numbers(&[4_096]),
    },
};
pub(super) const ONTO: Axis = Axis {
    name: "onto",
    sets: "whether existing pages are overwritten, or the file grows",
    points: Points::Words(&["old", "new"]),
    default_points: Points::Words(&["old"]),
};
pub(super) const FILES: Axis = Axis {
    name: "files",
    sets: "number of files in the directory",
    points: Points::Numbers(&[10, 100, 1_000, 10_000, 100_000]),
    default_points: Points::Numbers(&[100]),
};
