//! fio: medians of a call's completion times in a file of 8 MiB, which is cached.

use super::reading::{Figure, Found, Is};
use super::row::Part::{self, Once};
use super::row::{ROW, Row};

const FIO: Row = Row {
    program: "fio",
    package: "fio",
    common_words: &["--name=peer", "--invalidate=0", "--loops=20", "--output-format=json"],
    differs: "the peer's figure includes a read of its clock and what fio does around the call, \
              some 100 ns, and is the middle of a class that is 1.5 % wide",
    ..ROW
};

const READS: Figure =
    Figure { found: Found::Json("/jobs/0/read/clat_ns/percentile/50.000000"), is: Is::Time(1.0) };
const WRITES: Figure =
    Figure { found: Found::Json("/jobs/0/write/clat_ns/percentile/50.000000"), is: Is::Time(1.0) };

/// A read of a file of 8 MiB.
const fn read(name: &'static str, words: &'static [&'static str], parts: &'static [Part]) -> Row {
    Row { name, words, figure: READS, parts, ..FIO }
}

/// A write of one.
const fn write(name: &'static str, words: &'static [&'static str], parts: &'static [Part]) -> Row {
    Row { name, words, figure: WRITES, parts, ..FIO }
}

pub(super) const ROWS: &[Row] = &[
    read(
        "fio psync read 4k",
        &["--filename=fio.data", "--size=8m", "--ioengine=psync", "--rw=read", "--bs=4k"],
        &[Once("file/read:via=pread,size=4096,cache=warm,file_mib=8")],
    ),
    read(
        "fio randread 4k",
        &["--filename=fio.data", "--size=8m", "--ioengine=psync", "--rw=randread", "--bs=4k"],
        &[Once("file/read-random:via=pread,size=4096,cache=warm,file_mib=8")],
    ),
    read(
        "fio randread 64k",
        &["--filename=fio.data", "--size=8m", "--ioengine=psync", "--rw=randread", "--bs=64k"],
        &[Once("file/read-random:via=pread,size=65536,cache=warm,file_mib=8")],
    ),
    write(
        "fio psync write 4k",
        &[
            "--filename=fio-write.data",
            "--size=8m",
            "--ioengine=psync",
            "--overwrite=1",
            "--rw=write",
            "--bs=4k",
        ],
        &[Once("file/write:via=pwrite,size=4096,onto=old,file_mib=8")],
    ),
    write(
        "fio psync write 64k",
        &[
            "--filename=fio-write.data",
            "--size=8m",
            "--ioengine=psync",
            "--overwrite=1",
            "--rw=write",
            "--bs=64k",
        ],
        &[Once("file/write:via=pwrite,size=65536,onto=old,file_mib=8")],
    ),
    read(
        "fio filestat",
        &["--ioengine=filestat", "--filesize=4k", "--nrfiles=100", "--rw=read", "--bs=4k"],
        &[Once("file/stat:files=100")],
    ),
];
