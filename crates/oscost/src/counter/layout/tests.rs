//! Keys of forms, and the entries of classes.

use oscost_model::call_classes::CLASSES;

use super::*;

/// A key of this call, as the programs write it.
fn key(arch: Arch, name: &str, change: impl FnOnce(&mut RawForm)) -> Vec<u8> {
    let number = arch.calls().find(|&(_, other)| other == name).map_or(9_999, |(it, _)| it);
    let mut raw = RawForm {
        call: number,
        word: 0,
        error: 0,
        depth: NO_DEPTH,
        kind: 0,
        size: 0,
        flags: 0,
        name: String::new(),
    };
    change(&mut raw);
    let mut bytes = [raw.call.to_ne_bytes(), raw.word.to_ne_bytes()].concat();
    bytes.extend([raw.error.to_ne_bytes(), raw.depth.to_ne_bytes()].concat());
    bytes.extend([raw.kind, raw.size, raw.flags, 0]);
    bytes.extend(raw.name.bytes());
    bytes.resize(FORM_BYTES, 0);
    assert_eq!(RawForm::parse(&bytes), Some(raw));
    bytes
}

fn form(name: &str, change: impl FnOnce(&mut RawForm)) -> FormKey {
    FormNames::of(Arch::X86_64).form(&key(Arch::X86_64, name, change)).unwrap()
}

fn text(name: &str, change: impl FnOnce(&mut RawForm)) -> String {
    form(name, change).form
}

#[test]
fn keys_have_the_forms_of_the_tracer() {
    assert_eq!(text("getpid", |_| ()), "getpid");
    assert_eq!(text("no-such-call", |_| ()), "syscall_9999");
    assert_eq!(text("read", |it| (it.kind, it.error) = (5, 11)), "read pipe EAGAIN");
    assert_eq!(text("read", |it| (it.kind, it.error) = (5, 512)), "read pipe");
    assert_eq!(text("close", |it| (it.kind, it.error) = (1, 9)), "close none EBADF");
    assert_eq!(text("close", |it| it.kind = 4), "close directory");
    assert_eq!(text("close", |it| (it.kind, it.flags) = (4, SHARED)), "close shared directory");
    assert_eq!(text("write", |it| it.kind = 3), "write file");
    assert_eq!(text("write", |it| (it.kind, it.flags) = (3, APPENDS)), "write append file");
    for name in ["pread64", "getdents64", "copy_file_range", "sendfile"] {
        let from_disk = text(name, |it| (it.kind, it.size) = (12, 14));
        assert_eq!(from_disk, format!("{name} disk"));
    }
    assert_eq!(text("execve", |it| it.depth = 2), "execve");
    assert_eq!(text("execve", |it| (it.depth, it.flags) = (2, HAS_LOADER)), "execve dynamic");
    assert_eq!(text("execve", |it| (it.depth, it.error) = (2, 13)), "execve EACCES");
    assert_eq!(text("execveat", |it| (it.depth, it.flags) = (0, HAS_LOADER)), "execveat dynamic");
    let tcp = |it: &mut RawForm| (it.kind, it.name) = (9, "TCPv6".to_owned());
    assert_eq!(text("recvfrom", tcp), "recvfrom tcp");
    let event = |it: &mut RawForm| (it.kind, it.name) = (10, "[eventfd]".to_owned());
    assert_eq!(text("write", event), "write eventfd");
    assert_eq!(text("openat", |it| (it.kind, it.depth) = (3, 2)), "openat file");
    assert_eq!(text("openat", |it| (it.error, it.depth) = (2, 2)), "openat ENOENT");
    assert_eq!(text("openat", |it| (it.kind, it.word) = (3, 0o100)), "openat create");
    assert_eq!(text("openat", |it| (it.kind, it.word) = (8, 0o100)), "openat device");
    assert_eq!(text("openat2", |it| (it.kind, it.depth) = (3, 2)), "openat2 file");
    assert_eq!(text("openat2", |it| (it.kind, it.depth) = (4, 2)), "openat2 directory");
    assert_eq!(text("openat2", |it| (it.kind, it.word) = (3, 0o100)), "openat2 create");
    assert_eq!(text("openat2", |it| (it.error, it.depth) = (2, 2)), "openat2 ENOENT");
    assert_eq!(text("openat2", |it| (it.error, it.flags) = (14, WORD_UNREAD)), "openat2 EFAULT");
    assert_eq!(text("openat2", |it| (it.kind, it.flags) = (3, WORD_UNREAD)), "openat2 unknown");
    let empty = |it: &mut RawForm| {
        (it.kind, it.word, it.depth, it.flags) = (3, 0x1000, 0, EMPTY_PATH);
    };
    assert_eq!(text("newfstatat", empty), "newfstatat empty file");
    assert_eq!(text("statx", empty), "statx empty file");
    assert_eq!(text("newfstatat", |it| (it.error, it.depth) = (2, 1)), "newfstatat ENOENT");
    assert_eq!(text("fcntl", |it| it.word = 1_030), "fcntl F_DUPFD_CLOEXEC");
    assert_eq!(text("ioctl", |it| (it.word, it.error) = (0x5401, 25)), "ioctl TCGETS ENOTTY");
    assert_eq!(text("mmap", |it| it.word = 0x30), "mmap anonymous fixed");
    assert_eq!(text("mmap", |_| ()), "mmap file");
    assert_eq!(text("futex", |it| it.word = 9), "futex wait");
    assert_eq!(text("futex", |it| (it.word, it.error) = (9, 110)), "futex wait");
    assert_eq!(text("futex", |it| (it.word, it.error) = (9, 11)), "futex wait EAGAIN");
    assert_eq!(text("futex", |it| it.word = 1), "futex wake");
    assert_eq!(text("futex", |it| (it.word, it.flags) = (1, WOKE)), "futex wake waiter");
    assert_eq!(text("futex", |it| (it.word, it.flags) = (4, WOKE)), "futex requeue");
    assert_eq!(text("clone", |it| it.word = 0x4000), "clone vfork");
    assert_eq!(text("clone", |it| it.error = 513), "clone process RESTART");
    assert_eq!(text("clone3", |it| it.word = 0x1_0000), "clone3 thread");
    assert_eq!(text("clone3", |it| it.flags = WORD_UNREAD), "clone3 process");
    assert_eq!(text("socket", |it| it.word = 1), "socket AF_UNIX");
    assert_eq!(text("read", |it| (it.call, it.error) = (FOREIGN, 2)), "32-bit-call ENOENT");
    let names = FormNames::of(Arch::X86_64);
    assert_eq!(names.form(&other_key()).unwrap().form, OTHER_FORMS);
    assert_eq!(names.form(&[0; 7]), None);
}

#[test]
fn keys_have_sizes_and_depths() {
    let sizes = [0, 1, 2, 14, 65].map(|size| form("read", |it| it.size = size).bytes);
    assert_eq!(sizes, [Some(0), Some(0), Some(1), Some(4_096), Some(1 << 63)]);
    assert_eq!(form("munmap", |it| it.size = 18).bytes, Some(65_536));
    let execve = form("execve", |it| (it.size, it.flags) = (14, HAS_LOADER));
    assert_eq!((execve.form.as_str(), execve.bytes), ("execve dynamic", Some(4_096)));
    assert_eq!(form("execve", |it| it.error = 2).bytes, None);
    assert_eq!(form("read", |it| (it.size, it.error) = (0, 5)).bytes, None);
    let poll = form("poll", |it| it.size = 5);
    assert_eq!((poll.bytes, poll.descriptors), (None, Some(8)));
    for name in ["select", "pselect6", "epoll_wait", "epoll_pwait2"] {
        let of = |size: u8, error: u16| {
            let found = form(name, |it| (it.kind, it.size, it.error) = (10, size, error));
            (found.bytes, found.descriptors)
        };
        // None, at most four, and none that is known: an error, or a set that was not read.
        assert_eq!([of(1, 0), of(4, 0)], [(None, Some(0)), (None, Some(4))], "{name}");
        assert_eq!(of(0, 4), (None, None), "{name}");
    }
    assert_eq!(form("select", |it| it.size = 0).descriptors, None);
    for name in ["clone", "clone3", "fork"] {
        let of = |size: u8, error: u16| {
            let found = form(name, |it| (it.size, it.error) = (size, error));
            (found.bytes, found.mappings)
        };
        assert_eq!([of(7, 0), of(0, 11)], [(None, Some(32)), (None, None)], "{name}");
    }
    // Memory that is shared has no size.
    let shared = form("clone", |it| it.word = CLONE_VM as u32);
    assert_eq!((shared.form.as_str(), shared.mappings), ("clone process", None));
    let udp = |it: &mut RawForm| (it.kind, it.size, it.name) = (9, 4, "UDP".to_owned());
    let sent = form("sendmmsg", udp);
    assert_eq!(sent.form, "sendmmsg udp");
    assert_eq!((sent.bytes, sent.descriptors, sent.messages), (None, None, Some(4)));
    let depths = [0, 1, 3, NO_DEPTH].map(|depth| form("openat", |it| it.depth = depth).depth);
    assert_eq!(depths, [Some(0), Some(1), Some(3), None]);
}

#[test]
fn every_class_has_an_entry_that_fits() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let entries: BTreeMap<u32, Vec<u8>> = class_entries(arch).collect();
        assert!(entries.values().all(|entry| entry.len() == CLASS_BYTES));
        for (number, name) in arch.calls().filter(|&(number, _)| number < CALLS) {
            let class = class_of(name);
            let entry = &entries[&number];
            let words = class_words(class.words);
            assert_eq!(entry[4], words.number, "{name}");
            assert!(u32::try_from(words.mask).is_ok(), "{name}: a word has 32 bits");
            assert_eq!(entry[8] != 0, class.path.is_some(), "{name}");
        }
        let acts = ["execve", "execveat", "exit_group"].map(|name| {
            let number = arch.calls().find(|&(_, other)| other == name).unwrap().0;
            entries[&number][9]
        });
        assert_eq!(acts, [1, 1, 2]);
        let reads = |name: &str| {
            let number = arch.calls().find(|&(_, other)| other == name).unwrap().0;
            entries[&number][10]
        };
        let readers = ["read", "readv", "pread64", "preadv", "preadv2", "splice"];
        assert_eq!(readers.map(reads), [1; 6]);
        assert_eq!(["getdents64", "copy_file_range", "sendfile"].map(reads), [1, 1, 2]);
        assert_eq!(["write", "pwritev2", "sendto", "close"].map(reads), [0; 4]);
        let size = |name: &str| {
            let number = arch.calls().find(|&(_, other)| other == name).unwrap().0;
            entries[&number][6]
        };
        let sized = ["getpid", "epoll_pwait", "ppoll", "pselect6", "execve", "execveat", "clone"];
        assert_eq!(sized.map(size), [0, 1, 2, 3, 4, 4, 5]);
        assert_eq!(size("clone3"), 5);
    }
    let largest = CLASSES.iter().filter_map(|class| class.path).max();
    assert!(largest < Some(6), "a call has six arguments");
}

#[test]
fn a_plain_call_has_nothing_to_look_at_but_its_number_and_its_error() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let entries: BTreeMap<u32, Vec<u8>> = class_entries(arch).collect();
        let plain = |name: &str| {
            let number = arch.calls().find(|&(_, other)| other == name).unwrap().0;
            entries[&number][11]
        };
        assert_eq!(["getppid", "sched_yield", "prctl"].map(plain), [1; 3]);
        let others =
            ["read", "close", "openat", "chdir", "munmap", "futex", "execve", "exit_group"];
        assert_eq!(others.map(plain), [0; 8]);
        for entry in entries.values().filter(|entry| entry[11] == 1) {
            // The programs write this class without a look at it: all but `act` and `plain` is 0.
            assert_eq!((&entry[..9], entry[10]), (&[0; 9][..], 0));
        }
    }
}

#[test]
fn the_table_has_each_entry_at_the_number_of_its_call() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let table = class_table(arch);
        assert_eq!(table.len(), 512 * CLASS_BYTES);
        let entry = |number: u32| &table[number as usize * CLASS_BYTES..][..CLASS_BYTES];
        for (number, bytes) in class_entries(arch) {
            assert_eq!(entry(number), bytes);
        }
        assert_eq!(entry(511), [0; CLASS_BYTES], "no call has this number");
    }
}
