//! Closes, page faults, waits and execs of known programs, as the counters tell them apart.

use std::process::Command;

use serde_json::Value;

use crate::bill::{counted_by, with_prices};

/// Whether there is an interpreter for the programs here; a message if not.
fn has_python() -> bool {
    let is_there =
        Command::new("python3").arg("--version").output().is_ok_and(|it| it.status.success());
    if !is_there {
        eprintln!("not tested: there is no python3");
    }
    is_there
}

fn item<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    record["items"].as_array().unwrap().iter().find(|item| item["name"] == name)
}

fn times(record: &Value, name: &str) -> f64 {
    item(record, name).map_or(0.0, |item| item["times"].as_f64().unwrap())
}

/// A program that closes 100 duplicates of a descriptor of /dev/null, 100 times its file's only one,
/// and 50 descriptors of a file that is mapped.
const CLOSES: &str = "exec python3 -c '
import fcntl, mmap, os
null = os.open(\"/dev/null\", os.O_RDONLY)
for _ in range(100):
    os.close(fcntl.fcntl(null, fcntl.F_DUPFD_CLOEXEC, 0))
for _ in range(100):
    os.close(os.open(\"/dev/null\", os.O_RDONLY))
maps = []
for _ in range(50):
    file = os.open(\"/etc/passwd\", os.O_RDONLY)
    maps.append(mmap.mmap(file, 1, mmap.MAP_PRIVATE, mmap.PROT_READ))
    os.close(file)
'";

#[test]
fn a_close_that_leaves_other_references_to_its_file_is_a_form_of_its_own() {
    if !has_python() {
        return;
    }
    let sandbox = with_prices();
    let Some(record) = counted_by(&sandbox, "ebpf", CLOSES) else { return };
    // The loader and what starts the interpreter may close some, too.
    assert!(times(&record, "close shared device") >= 100.0, "{record}");
    assert!(times(&record, "close device") >= 100.0, "{record}");
    // mmap of Python duplicates the descriptor, which stays open.
    assert!(times(&record, "close shared file") >= 50.0, "{record}");
    let shared = item(&record, "close shared device").unwrap();
    assert_eq!((&shared["case"], &shared["family"]), (&"descriptor/dup".into(), &"files".into()));
}

/// A program that writes 1,000 pages while a child shares them, and 1,000 others after a child that
/// shared them has ended.
const FORKS: &str = "exec python3 -c '
import mmap, os
def pages():
    memory = mmap.mmap(-1, 4096 * 1000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    write(memory)
    return memory
def write(memory):
    for page in range(1000):
        memory[4096 * page] += 1
shared = pages()
read_end, write_end = os.pipe()
child = os.fork()
if child == 0:
    os.close(write_end)
    os.read(read_end, 1)
    os._exit(0)
write(shared)
os.close(write_end)
os.waitpid(child, 0)
exclusive = pages()
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
write(exclusive)
'";

#[test]
fn a_page_whose_last_other_user_has_ended_is_reused_and_not_copied() {
    if !has_python() {
        return;
    }
    let sandbox = with_prices();
    let Some(record) = counted_by(&sandbox, "ebpf", FORKS) else { return };
    let faults = &record["counted"]["calls"]["events"]["faults"];
    if faults["zero_fill"] == 0 {
        eprintln!("not tested: this kernel does not tell the kinds of faults");
        return;
    }
    let [copied, reused] = ["copy_on_write", "page_reuse"].map(|it| faults[it].as_u64().unwrap());
    assert!(copied >= 1_000 && reused >= 1_000, "{faults}");
    assert_eq!(times(&record, "reuse page fault"), reused as f64);
    let case = |name: &str| item(&record, name).unwrap()["case"].clone();
    assert_eq!(case("reuse page fault"), "fault/copy-on-write:child=exited");
    // No fork has a price here, and so none contains some of them.
    assert_eq!(times(&record, "copy-on-write page fault"), copied as f64, "{record}");
    // The interpreter is a file.
    let mapped = &record["counted"]["calls"]["events"]["mapped_file_pages"];
    assert!(mapped.as_u64().is_none_or(|pages| pages > 100), "{mapped}");
}

/// A program that forks 23 times, with 200 mappings besides its own: those of a file at one offset
/// do not merge.
const MAPPED_FORKS: &str = "exec python3 -c '
import mmap, os
file = os.open(\"/etc/passwd\", os.O_RDONLY)
maps = [mmap.mmap(file, 1, mmap.MAP_PRIVATE, mmap.PROT_READ) for _ in range(200)]
for _ in range(23):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
'";

#[test]
fn both_counters_know_the_mappings_that_a_fork_copies() {
    if !has_python() {
        return;
    }
    let sandbox = with_prices();
    let mut of_counters = Vec::new();
    for counter in ["ebpf", "ptrace"] {
        let Some(record) = counted_by(&sandbox, counter, MAPPED_FORKS) else { continue };
        // What starts the interpreter may fork with fewer.
        let counts = record["counted"]["calls"]["forms"].as_array().unwrap().iter();
        let of_many = counts.filter(|it| it["mappings"].as_u64().is_some_and(|most| most > 200));
        let [calls, mappings] = of_many.fold([0; 2], |[calls, moved], it| {
            [calls + it["calls"].as_u64().unwrap(), moved + it["moved"].as_u64().unwrap()]
        });
        assert_eq!(calls, 23, "{counter}: {record}");
        assert!((23 * 200..23 * 600).contains(&mappings), "{counter}: {mappings}, {record}");
        of_counters.push(mappings);
    }
    // The addresses of a run may let the kernel merge a mapping more or less.
    if let [by_ebpf, by_ptrace] = of_counters[..] {
        assert!(by_ebpf.abs_diff(by_ptrace) <= 2 * 23, "{by_ebpf}, {by_ptrace}");
    }
}

/// A program that waits 50 times for three descriptors by select(2), one of which is in two sets, and 70
/// times for two that are ready by epoll_wait(2).
const WAITS: &str = "exec python3 -c '
import os, select
pipes = [os.pipe() for _ in range(3)]
for _, write_end in pipes[:2]:
    os.write(write_end, b\"x\")
reads = [read_end for read_end, _ in pipes]
for _ in range(50):
    select.select(reads, [], reads[:1])
poller = select.epoll()
for read_end in reads:
    poller.register(read_end, select.EPOLLIN)
for _ in range(70):
    poller.poll()
'";

/// The calls of some forms that are about at most so many descriptors, and how many they were about.
fn by_descriptors(record: &Value, forms: &[&str], descriptors: u64) -> [u64; 2] {
    let counts = record["counted"]["calls"]["forms"].as_array().unwrap().iter();
    let of_forms = counts.filter(|it| {
        forms.contains(&it["form"].as_str().unwrap()) && it["descriptors"] == descriptors
    });
    of_forms.fold([0; 2], |[calls, moved], it| {
        [calls + it["calls"].as_u64().unwrap(), moved + it["moved"].as_u64().unwrap()]
    })
}

#[test]
fn both_counters_know_the_descriptors_of_waits_and_the_arguments_of_programs() {
    if !has_python() {
        return;
    }
    let sandbox = with_prices();
    for counter in ["ebpf", "ptrace"] {
        let Some(record) = counted_by(&sandbox, counter, WAITS) else { continue };
        let selects = by_descriptors(&record, &["select", "pselect6"], 4);
        assert_eq!(selects, [50, 150], "{counter}: {record}");
        let epolls = ["epoll_wait eventpoll", "epoll_pwait eventpoll"];
        assert_eq!(by_descriptors(&record, &epolls, 2), [70, 140], "{counter}: {record}");
        let counts = record["counted"]["calls"]["forms"].as_array().unwrap().iter();
        let is_exec = |it: &&Value| ["execve", "execve dynamic"].iter().any(|of| it["form"] == *of);
        let bytes: Vec<u64> =
            counts.filter(is_exec).map(|it| it["moved"].as_u64().unwrap()).collect();
        // The script is an argument.
        assert!(bytes.iter().sum::<u64>() > WAITS.len() as u64, "{counter}: {record}");
    }
}
