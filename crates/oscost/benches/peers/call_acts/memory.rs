//! Acts of one process: memory, and random bytes.

use super::super::acts::Act;
use super::forms::{RAW, with_word};

pub(super) const ACTS: &[Act] = &[
    with_word("random/getrandom:via=raw,size=8", "getrandom_raw", "8", &["without flags"]),
    with_word("random/getrandom:via=raw,size=256", "getrandom_raw", "256", &["without flags"]),
    with_word("random/getrandom:via=raw,size=4096", "getrandom_raw", "4096", &["without flags"]),
    with_word(
        "random/getrandom:via=libc,size=8",
        "getrandom_libc",
        "8",
        &["by the C library's function"],
    ),
    with_word(
        "random/getrandom:via=libc,size=256",
        "getrandom_libc",
        "256",
        &["by the C library's function"],
    ),
    with_word("random/urandom:size=8", "urandom", "8", &["read(2)"]),
    with_word("random/urandom:size=256", "urandom", "256", &["read(2)"]),
    with_word(
        "memory/madvise:advice=willneed,size=4096",
        "advise",
        "willneed,4096",
        &["was written before", "successive parts"],
    ),
    with_word(
        "memory/madvise:advice=willneed,size=65536",
        "advise",
        "willneed,65536",
        &["was written before", "successive parts"],
    ),
    with_word(
        "memory/madvise:advice=cold,size=4096",
        "advise",
        "cold,4096",
        &["was written before", "successive parts"],
    ),
    with_word(
        "memory/madvise:advice=free,size=4096",
        "advise",
        "free,4096",
        &["was written before", "successive parts"],
    ),
    with_word("memory/mlock:pages=1", "lock_pages", "1", &["munlock(2)", RAW]),
    with_word("memory/mincore:pages=1", "pages_in_core", "1", &["that are present", RAW]),
    with_word("memory/mincore:pages=256", "pages_in_core", "256", &["that are present", RAW]),
    with_word(
        "memory/process-vm-readv:size=8,from=child",
        "read_child",
        "8",
        &["from a sleeping child", RAW],
    ),
    with_word(
        "memory/process-vm-readv:size=4096,from=child",
        "read_child",
        "4096",
        &["from a sleeping child", RAW],
    ),
    with_word(
        "memory/process-vm-readv:size=65536,from=child",
        "read_child",
        "65536",
        &["from a sleeping child", RAW],
    ),
    with_word(
        "memory/process-vm-readv:size=8,from=self",
        "read_self",
        "8",
        &["from the caller itself", RAW],
    ),
    with_word("memory/malloc:size=16", "allocate_and_free", "16", &["which is not touched"]),
    with_word("memory/malloc:size=1024", "allocate_and_free", "1024", &["which is not touched"]),
    with_word(
        "memory/malloc:size=131072",
        "allocate_and_free",
        "131072",
        &["which is not touched"],
    ),
    with_word(
        "memory/map-file:onto=free,size=2097152",
        "map_and_unmap",
        "2097152",
        &["private and read-only", "munmap(2)"],
    ),
    with_word("memory/map-file:onto=mapping,size=2097152", "map_over", "2097152", &["MAP_FIXED"]),
];
