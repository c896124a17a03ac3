//! Seccomp profiles: what is compiled does what the profile says, call by call; and what is no
//! profile is refused with its line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shows where it stood")]

mod bpf;

use bpf::{Call, audit_arch, calls, returned, wanted};
use oscost::treatments::parse_with_notes;
use oscost::treatments::seccomp::compile::{MAX_INSTRUCTIONS, compile};
use oscost::treatments::seccomp::docker;
use oscost::treatments::seccomp::profile::{Action, Condition, Op, Profile, Rule};
use oscost_model::call_names::Arch;
use oscost_model::target::Treatment;
use proptest::prelude::*;

const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];
const ALLOW: u32 = 0x7fff_0000;
const EPERM: u32 = 0x0005_0001;
const ENOSYS: u32 = 0x0005_0026;

/// Asks both judges about each call.
fn agrees(profile: &Profile, arch: Arch, calls: &[Call]) {
    let program = compile(profile, arch).unwrap().program;
    for call in calls {
        let is = returned(&program, call);
        assert_eq!(is, Ok(wanted(profile, arch, call)), "{call:x?} of {profile:?}");
    }
}

/// So many cases. One that fails is printed, and kept nowhere.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn number(arch: Arch, name: &str) -> u32 {
    arch.calls().find(|(_, it)| *it == name).unwrap_or_else(|| panic!("no {name}")).0
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => Just(Action::Allow),
        2 => (0u16..4_096).prop_map(Action::Errno),
        1 => Just(Action::KillThread),
        1 => Just(Action::KillProcess),
        1 => Just(Action::Trap),
        1 => Just(Action::Log),
    ]
}

fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..4,
        any::<u64>(),
        Just(u64::MAX),
        Just(u64::from(u32::MAX)),
        Just(1 << 32),
        Just(1 << 63),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let op = prop_oneof![
        Just(Op::Eq),
        Just(Op::Ne),
        Just(Op::Lt),
        Just(Op::Le),
        Just(Op::Gt),
        Just(Op::Ge),
        value().prop_map(Op::MaskedEq),
    ];
    (0u8..6, op, value()).prop_map(|(argument, op, value)| Condition { argument, op, value })
}

fn rule(names: &'static [&'static str]) -> impl Strategy<Value = Rule> {
    let names = prop::collection::vec(prop::sample::select(names), 0..6);
    let conditions = prop_oneof![Just(Vec::new()), prop::collection::vec(condition(), 1..6)];
    (names, conditions, action()).prop_map(|(names, mut conditions, action)| {
        conditions.sort_by_key(|condition| condition.argument);
        conditions.dedup_by_key(|condition| condition.argument);
        Rule { names: names.into_iter().map(str::to_owned).collect(), conditions, action }
    })
}

/// Few enough for rules to meet, and some that are no call at all.
const NAMES: &[&str] = &[
    "read", "write", "getppid", "openat", "clone", "socket", "mount", "bpf", "_llseek", "nothing",
];

fn profile() -> impl Strategy<Value = Profile> {
    let rules = prop::collection::vec(rule(NAMES), 0..12);
    (action(), any::<bool>(), rules).prop_map(|(default, foreign, rules)| Profile {
        default,
        foreign,
        rules,
    })
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn what_is_compiled_does_what_the_profile_says(
        profile in profile(),
        more in prop::collection::vec((0u32..500, prop::array::uniform6(value())), 0..20),
    ) {
        for arch in ARCHES {
            let mut asked = calls(&profile, arch, 2_000);
            let native = audit_arch(arch);
            let call = |&(number, arguments)| Call { number, arch: native, arguments };
            asked.extend(more.iter().map(call));
            agrees(&profile, arch, &asked);
        }
    }
}

#[test]
fn lists_longer_than_a_jump_reaches_are_walked_to_their_end() {
    for arch in ARCHES {
        let names: Vec<String> = arch.calls().map(|(_, name)| name.to_owned()).collect();
        let all = |action| Rule { names: names.clone(), conditions: vec![], action };
        let default = Action::Errno(1);
        let one = Profile { default, foreign: false, rules: vec![all(Action::Allow)] };
        let program = compile(&one, arch).unwrap().program;
        // A test for each, a return for each 255 of them, and the head.
        assert!((names.len()..names.len() + 12).contains(&program.len()), "{}", program.len());
        agrees(&one, arch, &calls(&one, arch, 10_000));
        // Every second one with a condition, and one whose rules are longer than a jump.
        let when = |value| vec![Condition { argument: 2, op: Op::Gt, value }];
        let rules = names.iter().enumerate().flat_map(|(index, name)| {
            let rules = if name == "openat" { 60 } else { 1 };
            (0..rules).map(move |value| Rule {
                names: vec![name.clone()],
                conditions: if index % 2 == 0 { when(value << 20 | 7) } else { vec![] },
                action: if value % 2 == 0 { Action::Allow } else { Action::Log },
            })
        });
        let many = Profile { default, foreign: true, rules: rules.collect() };
        agrees(&many, arch, &calls(&many, arch, 10_000));
    }
}

#[test]
fn a_profile_that_comes_to_more_than_the_kernel_takes_is_refused() {
    let arch = Arch::X86_64;
    let names: Vec<String> = arch.calls().map(|(_, name)| name.to_owned()).collect();
    let rules = |each: u64| {
        let rule = |value| Rule {
            names: names.clone(),
            conditions: vec![Condition { argument: 0, op: Op::Eq, value }],
            action: Action::Allow,
        };
        (0..each).map(rule).collect::<Vec<_>>()
    };
    let default = Action::Errno(1);
    let program = |each| compile(&Profile { default, foreign: false, rules: rules(each) }, arch);
    assert!(program(1).unwrap().program.len() <= MAX_INSTRUCTIONS);
    assert!(program(2).is_err());
    assert!(program(400).is_err());
}

#[test]
fn dockers_shape_lets_ordinary_calls_through_and_stops_what_its_pages_name() {
    for arch in ARCHES {
        let compiled = compile(&docker::profile(arch), arch).unwrap();
        assert_eq!(compiled.unknown, 0);
        let native = audit_arch(arch);
        let asked = |name: &str, first: u64| {
            let arguments = [first, 0, 0, 0, 0, 0];
            let call = Call { number: number(arch, name), arch: native, arguments };
            returned(&compiled.program, &call).unwrap()
        };
        for name in [
            "read",
            "write",
            "openat",
            "mmap",
            "execve",
            "exit_group",
            "getppid",
            "futex",
            "ptrace",
            "epoll_pwait",
            "sendmsg",
            "chroot",
            "seccomp",
            "prctl",
            "timerfd_create",
            "landlock_restrict_self",
        ] {
            assert_eq!(asked(name, 0), ALLOW, "{name}");
        }
        for name in [
            "mount",
            "umount2",
            "bpf",
            "perf_event_open",
            "init_module",
            "kexec_load",
            "reboot",
            "setns",
            "unshare",
            "keyctl",
            "add_key",
            "pivot_root",
            "swapon",
            "settimeofday",
            "process_vm_readv",
            "kcmp",
            "userfaultfd",
            "io_uring_setup",
            "open_by_handle_at",
        ] {
            assert_eq!(asked(name, 0), EPERM, "{name}");
        }
        assert_eq!(asked("clone", 0x11), ALLOW, "fork");
        assert_eq!(asked("clone", 0x7d_0f00), ALLOW, "a thread");
        assert_eq!(asked("clone", 0x1000_0000), EPERM, "a new user namespace");
        assert_eq!(asked("clone3", 0), ENOSYS);
        assert_eq!(asked("personality", 0xffff_ffff), ALLOW);
        assert_eq!(asked("personality", 0x4_0000), EPERM, "ADDR_NO_RANDOMIZE");
        assert_eq!(asked("socket", 2), ALLOW, "AF_INET");
        assert_eq!(asked("socket", 40), EPERM, "AF_VSOCK");
        let count = docker::profile(arch).rules.len();
        assert!((270..340).contains(&count), "{arch:?}: {count} rules");
        assert!((280..380).contains(&compiled.program.len()), "{}", compiled.program.len());
        println!("{arch:?}: {count} rules, {} instructions", compiled.program.len());
    }
    let profile = docker::profile(Arch::X86_64);
    agrees(&profile, Arch::X86_64, &calls(&profile, Arch::X86_64, 10_000));
}

/// A profile with all that there can be in one, its arguments in decimal, as Moby's has them.
const WHOLE: &str = r#"{
    "defaultAction": "SCMP_ACT_ERRNO",
    "defaultErrnoRet": 38,
    "archMap": [
    {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]},
    {"architecture": "SCMP_ARCH_S390X", "subArchitectures": ["SCMP_ARCH_S390"]}
    ],
    "flags": ["SECCOMP_FILTER_FLAG_LOG"],
    "syscalls": [
    {"names": ["read", "write", "_llseek"], "action": "SCMP_ACT_ALLOW", "args": null},
    {"name": "getppid", "action": "SCMP_ACT_KILL_PROCESS", "comment": "no"},
    {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "excludes": {"caps": ["CAP_SYS_ADMIN"]},
     "args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]},
    {"names": ["socket"], "action": "SCMP_ACT_ALLOW",
     "args": [{"index":0,"value":1,"op":"SCMP_CMP_EQ"}, {"index":0,"value":2,"op":"SCMP_CMP_EQ"}]},
    {"names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
    {"names": ["chroot"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_CHROOT"]}},
    {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}},
    {"names": ["arch_prctl"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["amd64", "x32"]}},
    {"names": ["openat"], "action": "SCMP_ACT_ALLOW", "excludes": {"arches": ["amd64"]}},
    {"names": ["bpf"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "errno": "EACCES"}
    ]
}"#;

#[test]
fn a_profile_is_read_as_container_runtimes_read_it() {
    let arch = Arch::X86_64;
    let profile = Profile::read(WHOLE.as_bytes(), arch).unwrap();
    assert_eq!(profile.default, Action::Errno(38));
    assert!(profile.foreign, "32-bit calls are named");
    let compiled = compile(&profile, arch).unwrap();
    assert_eq!(compiled.unknown, 1, "_llseek");
    let asked = |name: &str, first: u64| {
        let arguments = [first, 0, 0, 0, 0, 0];
        let call = Call { number: number(arch, name), arch: audit_arch(arch), arguments };
        returned(&compiled.program, &call).unwrap()
    };
    for (name, first, is) in [
        ("read", 0, ALLOW),
        ("getppid", 0, 0x8000_0000),
        ("clone", 0x11, ALLOW),
        ("clone", 0x1000_0000, ENOSYS),
        ("socket", 1, ALLOW),
        ("socket", 2, ALLOW),
        ("socket", 3, ENOSYS),
        ("mount", 0, ENOSYS),
        ("chroot", 0, ALLOW),
        ("ptrace", 0, ALLOW),
        ("arch_prctl", 0, ALLOW),
        ("openat", 0, ENOSYS),
        ("bpf", 0, 0x0005_000d),
        ("getpid", 0, ENOSYS),
    ] {
        assert_eq!(asked(name, first), is, "{name}({first:#x})");
    }
    let there = Profile::read(WHOLE.as_bytes(), Arch::Aarch64).unwrap();
    assert!(!there.foreign);
    let call = Call {
        number: number(Arch::Aarch64, "openat"),
        arch: audit_arch(Arch::Aarch64),
        arguments: [0; 6],
    };
    assert_eq!(wanted(&there, Arch::Aarch64, &call), ALLOW);
}

#[test]
fn a_malformed_profile_is_refused_with_its_line_and_the_reason() {
    for (from, to, line, words) in [
        (
            "SCMP_ACT_ERRNO\",\n",
            "SCMP_ACT_ERNO\",\n",
            2,
            "`SCMP_ACT_ERNO` is no action; did you mean SCMP_ACT_ERRNO?",
        ),
        (
            "SCMP_ACT_ALLOW\", \"args\": null",
            "SCMP_ACT_NOTIFY\"",
            10,
            "`SCMP_ACT_NOTIFY` needs a process that answers",
        ),
        ("SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRACE", 11, "`SCMP_ACT_TRACE` needs a process"),
        (
            "\"index\": 0, \"value\": 2114060288",
            "\"index\": 6, \"value\": 1",
            13,
            "6 is no argument's index",
        ),
        ("2114060288", "-1", 13, "invalid value"),
        (
            "SCMP_CMP_MASKED_EQ",
            "SCMP_CMP_MASK_EQ",
            13,
            "`SCMP_CMP_MASK_EQ` is no comparison; did you mean SCMP_CMP_MASKED_EQ?",
        ),
        (
            "\"defaultErrnoRet\": 38",
            "\"defaultErrnoRet\": 4096",
            3,
            "4096 is no errno: they end at 4095",
        ),
        ("\"SCMP_ARCH_X86_64\"", "\"SCMP_ARCH_X8664\"", 5, "`SCMP_ARCH_X8664` is no architecture"),
        ("FLAG_LOG", "FLAG_LOOG", 8, "is no flag"),
        ("\"name\": \"getppid\"", "\"nome\": \"getppid\"", 11, "unknown field `nome`"),
        ("\"name\": \"getppid\", ", "", 11, "an entry of `syscalls` has no `names`"),
        (
            "\"name\": \"getppid\"",
            "\"name\": \"getppid\", \"names\": []",
            11,
            "the entry of `getppid` has `names` too",
        ),
        (
            "\"comment\": \"no\"",
            "\"errnoRet\": 2",
            11,
            "the entry of `getppid` has an errno, and its action none",
        ),
        ("4.8", "4", 18, "`4` is no version of a kernel"),
        (
            "EACCES",
            "EACESS",
            21,
            "`EACESS` is no errno that is known here by name; did you mean EACCES?",
        ),
        ("\"defaultAction\": \"SCMP_ACT_ERRNO\",\n", "", 22, "missing field `defaultAction`"),
        ("    ]\n}", "    ]\n", 23, "EOF while parsing"),
    ] {
        assert!(WHOLE.contains(from), "{from}");
        let text = WHOLE.replacen(from, to, 1);
        let told = Profile::read(text.as_bytes(), Arch::X86_64).unwrap_err();
        assert!(told.why.contains(words), "{to}: {told:?}");
        assert_eq!(told.line, line, "{to}: {told:?}");
    }
}

#[test]
fn the_line_of_an_error_is_that_of_the_word_that_is_wrong() {
    for text in [
        "{\n\"defaultAction\": \"X\"\n}",
        "{\n\"defaultAction\": \"X\",\n\"syscalls\": []}",
        "{\"syscalls\": [{\"names\": [],\n\"action\": \"X\"\n\n}\n],\n\"defaultAction\": 1}",
        "{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n\"defaultErrnoRet\": 5000\n\n}",
        "{\"defaultAction\": \"SCMP_ACT_LOG\",\n\"syscalls\":[{\"action\": \"SCMP_ACT_LOG\"}]}",
    ] {
        let told = Profile::read(text.as_bytes(), Arch::X86_64).unwrap_err();
        assert_eq!(told.line, 2, "{text}: {told:?}");
    }
}

#[test]
fn a_file_is_refused_by_its_name_and_what_it_leaves_out_is_said() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("x.json");
    let asked = |path: &std::path::Path| {
        let value = Some(path.to_str().unwrap().to_owned());
        parse_with_notes(&[Treatment { name: "seccomp".to_owned(), value }], Arch::X86_64)
    };
    std::fs::write(&path, WHOLE).unwrap();
    let read = asked(&path).unwrap();
    assert_eq!(read.notes.len(), 1);
    assert!(read.notes[0].contains("1 name of no call of this processor"), "{:?}", read.notes);
    std::fs::write(&path, WHOLE.replace("SCMP_ACT_KILL_PROCESS", "SCMP_ACT_ALOW")).unwrap();
    let told = asked(&path).unwrap_err().to_string();
    assert!(told.starts_with("cannot read the seccomp profile "), "{told}");
    assert!(
        told.contains(
            "x.json: line 11: `SCMP_ACT_ALOW` is no action; did you mean SCMP_ACT_ALLOW?"
        ),
        "{told}"
    );
    std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(asked(&path).unwrap_err().to_string().contains("more than 1048576 bytes"));
    assert!(asked(folder.path()).unwrap_err().to_string().contains("no plain file"));
    let told = asked(&folder.path().join("y.json")).unwrap_err().to_string();
    assert!(told.contains("No such file") && told.contains("hint: `seccomp=allow`"), "{told}");
}

/// Bytes that look like profiles, and bytes that do not.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let cut = (0..WHOLE.len(), "\\PC{0,8}").prop_map(|(at, more)| {
        let mut text = WHOLE.as_bytes().to_vec();
        text.splice(at..(at + more.len()).min(text.len()), more.into_bytes());
        text
    });
    prop_oneof![cut, prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_bytes_are_a_profile_or_refused_in_one_line(text in text()) {
        match Profile::read(&text, Arch::X86_64) {
            Ok(profile) => agrees(&profile, Arch::X86_64, &calls(&profile, Arch::X86_64, 500)),
            Err(told) => {
                prop_assert!(!told.why.is_empty() && told.why.len() < 1_300, "{:?}", told);
                prop_assert!(!told.why.contains(char::is_control), "{:?}", told);
            }
        }
    }
}
