//! Items of bills that are no calls: page faults, pages, switches, and what happens across CPUs.

use super::word::{Kind, Word};

const ITEM: Word = Word::of(Kind::BillTerm);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "zero-fill page fault",
        means: "the first access to memory that no file backs, for which the kernel gives a page \
                that it fills with zeros",
        matters: "Its price is `fault/zero-fill:access=write,pages=4k`; at the cool end, with \
                  more than 2,048 of them in a process, with what `mapping_mib=64,between=walk` \
                  takes more than `between=clock`.",
        ..ITEM
    },
    Word {
        word: "huge zero-fill page fault",
        means: "the first write to memory that the kernel gives a huge page of 2 MiB, which it fills \
                with zeros at once",
        matters: "Its price is 512 ops of `fault/zero-fill:access=write,pages=thp`, one for each 4 \
                  KiB.",
        ..ITEM
    },
    Word {
        word: "file page fault",
        means: "the first access to a mapped page of a file that is in the page cache: no disk is \
                read",
        matters: "Its price is `fault/file-minor`.",
        ..ITEM
    },
    Word {
        word: "copy-on-write page fault",
        means: "a write to a page that a fork, or a private mapping of a file, shares with others: \
                the kernel copies it",
        matters: "Its price is `fault/copy-on-write:child=lives`.",
        ..ITEM
    },
    Word {
        word: "reuse page fault",
        means: "a write to a page that was shared and has one user left: the kernel makes it \
                writable and copies nothing",
        matters: "Its price is `fault/copy-on-write:child=exited`. First writes to pages of a \
                  shared mapping that were read before are among them: the kernel tells no \
                  difference.",
        ..ITEM
    },
    Word {
        word: "minor page fault",
        means: "a page fault without a disk whose kind is not known: a tracer counts no kinds, and \
                no counter sees the faults before the command is executed",
        matters: "It is charged as a first touch (`fault/zero-fill:access=write,pages=4k`).",
        action: "As root, the eBPF counter tells the kinds.",
        ..ITEM
    },
    Word {
        word: "major page fault",
        means: "a page fault for which the kernel reads a disk",
        matters: "Its price is `fault/file-major`.",
        ..ITEM
    },
    Word {
        word: "freed private page",
        means: "a page that a first write or a copy gave a process, which the kernel frees at its \
                exit, at an execve(2) or before",
        matters: "Its price is what `process/exit-resident:backing=anonymous` takes more for each \
                  page between 1 and 64 MiB. Prices of faults, exits and munmap(2) contain no part \
                  of it.",
        ..ITEM
    },
    Word {
        word: "unmapped file page",
        means: "a mapped page of a file, which the kernel unmaps at the exit of the process, at an \
                execve(2) or before; the page stays in memory",
        matters: "Its price is what `process/exit-resident:backing=file` takes more for each page \
                  between 1 and 64 MiB. A fault maps up to 15 pages around it, each of which \
                  counts.",
        ..ITEM
    },
    Word {
        word: "switch to another process",
        means: "a task waits, and its CPU goes to a task of another process at once; without the \
                switches that are in prices of calls",
        matters: "Its price is half of what `switch/yield:between=processes,peer_cpu=same` takes \
                  more than `peer_cpu=none`.",
        ..ITEM
    },
    Word {
        word: "switch to another thread",
        means: "a task waits, and its CPU goes at once to a thread of its process or a child of \
                vfork(2); without switches that are in prices of calls",
        matters: "Its price is half of what `switch/yield:between=threads,peer_cpu=same` takes \
                  more than `peer_cpu=none`.",
        ..ITEM
    },
    Word {
        word: "child on another CPU",
        means: "what a fork(2) takes more whose child starts on another CPU, until the parent has \
                waited for it",
        matters: "Its price is the CPU time of `process/fork-cpu-time:peer_cpu=other` less that of \
                  `peer_cpu=same`. The fork itself is charged as on one CPU.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up across CPUs",
        means: "a wait after which the CPU became idle, ended by a task on another CPU, and not \
                by TCP, a unix socket, a pipe or a futex",
        matters: "It pays half of what `switch/cpu-time:by=eventfd,peer_cpu=other` takes more than \
                  `peer_cpu=none`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "switch across CPUs",
        means: "what waking a task from another CPU takes more than on one; also of threads and \
                children of vfork(2) that start there",
        matters: "It pays half of what `switch/cpu-time:by=eventfd,peer_cpu=other` takes more than \
                  `peer_cpu=same`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up across CPUs by TCP",
        means: "a wait after which the CPU became idle, ended by a task on another CPU with a \
                call about a TCP socket",
        matters: "It pays half of what `switch/cpu-time:by=tcp,peer_cpu=other` takes more than \
                  `peer_cpu=none`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "switch across CPUs by TCP",
        means: "what a wake-up by a task on another CPU with a call about a TCP socket takes more \
                than one on one CPU, which is in prices of calls",
        matters: "It pays half of what `switch/cpu-time:by=tcp,peer_cpu=other` takes more than \
                  `peer_cpu=same`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up across CPUs by unix socket",
        means: "a wait after which the CPU became idle, ended by a task on another CPU with a \
                call about an AF_UNIX socket",
        matters: "It pays half of what `switch/cpu-time:by=unix,peer_cpu=other` takes more than \
                  `peer_cpu=none`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "switch across CPUs by unix socket",
        means: "what a wake-up from another CPU by a call about an AF_UNIX socket takes more than \
                one on one CPU, which is in prices of calls",
        matters: "It pays half of what `switch/cpu-time:by=unix,peer_cpu=other` takes more than \
                  `peer_cpu=same`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up across CPUs by futex",
        means: "a wait after which the CPU became idle, ended by a task on another CPU with a \
                call about a futex",
        matters: "It pays half of what `switch/cpu-time:by=futex,peer_cpu=other` takes more than \
                  `peer_cpu=none`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "switch across CPUs by futex",
        means: "what a wake-up by a task on another CPU with a call about a futex takes more than \
                one on one CPU, which is in prices of calls",
        matters: "It pays half of what `switch/cpu-time:by=futex,peer_cpu=other` takes more than \
                  `peer_cpu=same`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up across CPUs by pipe",
        means: "a wait after which the CPU became idle, ended by a task on another CPU with a \
                call about a pipe",
        matters: "It pays half of what `switch/cpu-time:by=pipe,peer_cpu=other` takes more than \
                  `peer_cpu=none`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "switch across CPUs by pipe",
        means: "what a wake-up by a task on another CPU with a call about a pipe takes more than \
                one on one CPU, which is in prices of calls",
        matters: "It pays half of what `switch/cpu-time:by=pipe,peer_cpu=other` takes more than \
                  `peer_cpu=same`, at the cool end with `settle_ms=100` if no stopped \
                  tick is told.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up of a tickless CPU",
        means: "what a wake-up takes more of an idle CPU that had stopped its tick, not by TCP, a \
                unix socket, a pipe or a futex",
        matters: "Its price is half of what `switch/cpu-time:by=eventfd,peer_cpu=other,settle_ms=100` \
                  takes more than without `settle_ms`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up of a tickless CPU by TCP",
        means: "what a wake-up from another CPU by a call about a TCP socket takes \
                more since the CPU was idle, and had stopped its tick",
        matters: "Its price is half of what `switch/cpu-time:by=tcp,peer_cpu=other,settle_ms=100` \
                  takes more than without `settle_ms`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up of a tickless CPU by unix socket",
        means: "what a wake-up from another CPU by a call about an AF_UNIX socket takes \
                more since the CPU was idle, and had stopped its tick",
        matters: "Its price is half of what `switch/cpu-time:by=unix,peer_cpu=other,settle_ms=100` \
                  takes more than without `settle_ms`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up of a tickless CPU by futex",
        means: "what a wake-up from another CPU by a call about a futex takes \
                more since the CPU was idle, and had stopped its tick",
        matters: "Its price is half of what `switch/cpu-time:by=futex,peer_cpu=other,settle_ms=100` \
                  takes more than without `settle_ms`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up of a tickless CPU by pipe",
        means: "what a wake-up from another CPU by a call about a pipe takes \
                more since the CPU was idle, and had stopped its tick",
        matters: "Its price is half of what `switch/cpu-time:by=pipe,peer_cpu=other,settle_ms=100` \
                  takes more than without `settle_ms`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 0.3 ms idle",
        means: "what a wake-up from another CPU, not by TCP, a unix socket, a pipe or a futex, \
                takes more since the CPU was idle for 150 to 600 us",
        matters: "Its price is what `switch/cpu-time:by=eventfd,peer_cpu=other,idle_us=300` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 1 ms idle",
        means: "what a wake-up from another CPU, not by TCP, a unix socket, a pipe or a futex, \
                takes more since the CPU was idle for 600 us or longer",
        matters: "Its price is what `switch/cpu-time:by=eventfd,peer_cpu=other,idle_us=1000` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 0.3 ms idle by TCP",
        means: "what a wake-up from another CPU by a call about a TCP socket takes more since the \
                CPU had been idle for 150 to 600 us",
        matters: "Its price is what `switch/cpu-time:by=tcp,peer_cpu=other,idle_us=300` takes more \
                  than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 1 ms idle by TCP",
        means: "what a wake-up from another CPU by a call about a TCP socket takes more since the \
                CPU had been idle for 600 us or longer",
        matters: "Its price is what `switch/cpu-time:by=tcp,peer_cpu=other,idle_us=1000` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 0.3 ms idle by unix socket",
        means: "what a wake-up from another CPU by a call about an AF_UNIX socket takes more since \
                the CPU had been idle for 150 to 600 us",
        matters: "Its price is what `switch/cpu-time:by=unix,peer_cpu=other,idle_us=300` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 1 ms idle by unix socket",
        means: "what a wake-up from another CPU by a call about an AF_UNIX socket takes more since \
                the CPU had been idle for 600 us or longer",
        matters: "Its price is what `switch/cpu-time:by=unix,peer_cpu=other,idle_us=1000` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 0.3 ms idle by futex",
        means: "what a wake-up from another CPU by a call about a futex takes more since the CPU \
                had been idle for 150 to 600 us",
        matters: "Its price is what `switch/cpu-time:by=futex,peer_cpu=other,idle_us=300` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 1 ms idle by futex",
        means: "what a wake-up from another CPU by a call about a futex takes more since the CPU \
                had been idle for 600 us or longer",
        matters: "Its price is what `switch/cpu-time:by=futex,peer_cpu=other,idle_us=1000` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 0.3 ms idle by pipe",
        means: "what a wake-up from another CPU by a call about a pipe takes more since the CPU \
                had been idle for 150 to 600 us",
        matters: "Its price is what `switch/cpu-time:by=pipe,peer_cpu=other,idle_us=300` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
    Word {
        word: "wake-up after 1 ms idle by pipe",
        means: "what a wake-up from another CPU by a call about a pipe takes more since the CPU \
                had been idle for 600 us or longer",
        matters: "Its price is what `switch/cpu-time:by=pipe,peer_cpu=other,idle_us=1000` takes \
                  more than `idle_us=none`.",
        action: "`oscost bill --cpu N` bills the program on one CPU.",
        ..ITEM
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::bill_outside_wakes;
    use super::*;

    #[derive(serde::Deserialize)]
    struct Families {
        families: Vec<Family>,
    }

    #[derive(serde::Deserialize)]
    struct Family {
        #[serde(default)]
        items: Vec<String>,
    }

    #[test]
    fn each_item_that_is_no_call_is_explained_with_its_price() {
        let table = include_str!("../../../../../docs/reference/calls/families.toml");
        let read: Families = toml::from_str(table).unwrap();
        let items: BTreeSet<String> = read.families.into_iter().flat_map(|it| it.items).collect();
        let all = || WORDS.iter().chain(bill_outside_wakes::WORDS);
        let words: BTreeSet<String> = all().map(|word| word.word.to_owned()).collect();
        assert_eq!(words, items);
        assert!(all().all(|word| word.matters.contains('`')), "the case of the price");
    }
}
