//! Seccomp profiles: compiled filters decide as their profiles, call by call; invalid profiles are
//! refused with their line.

#![expect(clippy::unwrap_used, reason = "a failed test shows its location")]

mod bpf;

use bpf::{Call, audit_arch, calls, expected, return_value};
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

/// Checks that the compiled filter decides each call as the profile.
fn assert_agree(profile: &Profile, arch: Arch, calls: &[Call]) {
    let program = compile(profile, arch).unwrap().program;
    for call in calls {
        let actual = return_value(&program, call);
        assert_eq!(actual, Ok(expected(profile, arch, call)), "{call:x?} of {profile:?}");
    }
}

/// The number of cases. Failing ones are printed, but not saved to a file.
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

/// Few names, so that rules overlap; some are not system calls.
const NAMES: &[&str] = &[
    "read", "write", "getppid", "openat", "clone", "socket", "mount", "bpf", "_llseek", "nothing",
];

fn profile() -> impl Strategy<Value = Profile> {
    let rules = prop::collection::vec(rule(NAMES), 0..12);
    (action(), any::<bool>(), rules).prop_map(|(default, other_abis_get_default, rules)| Profile {
        default,
        other_abis_get_default,
        rules,
    })
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn a_compiled_filter_decides_as_its_profile(
        profile in profile(),
        more in prop::collection::vec((0u32..500, prop::array::uniform6(value())), 0..20),
    ) {
        for arch in ARCHES {
            let mut all = calls(&profile, arch, 2_000);
            let native = audit_arch(arch);
            let call = |&(number, arguments)| Call { number, arch: native, arguments };
            all.extend(more.iter().map(call));
            assert_agree(&profile, arch, &all);
        }
    }
}

#[test]
fn lists_longer_than_a_jump_are_checked_to_their_end() {
    for arch in ARCHES {
        let names: Vec<String> = arch.calls().map(|(_, name)| name.to_owned()).collect();
        let all = |action| Rule { names: names.clone(), conditions: vec![], action };
        let default = Action::Errno(1);
        let single =
            Profile { default, other_abis_get_default: false, rules: vec![all(Action::Allow)] };
        let program = compile(&single, arch).unwrap().program;
        // One test for each, one return for each 255 of them, and the architecture check.
        assert!((names.len()..names.len() + 12).contains(&program.len()), "{}", program.len());
        assert_agree(&single, arch, &calls(&single, arch, 10_000));
        // Half of them with a condition, and one whose rules are longer than a jump.
        let when = |value| vec![Condition { argument: 2, op: Op::Gt, value }];
        let rules = names.iter().enumerate().flat_map(|(index, name)| {
            let rules = if name == "openat" { 60 } else { 1 };
            (0..rules).map(move |value| Rule {
                names: vec![name.clone()],
                conditions: if index % 2 == 0 { when(value << 20 | 7) } else { vec![] },
                action: if value % 2 == 0 { Action::Allow } else { Action::Log },
            })
        });
        let many = Profile { default, other_abis_get_default: true, rules: rules.collect() };
        assert_agree(&many, arch, &calls(&many, arch, 10_000));
    }
}

#[test]
fn a_profile_with_too_many_instructions_is_refused() {
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
    let program = |each| {
        compile(&Profile { default, other_abis_get_default: false, rules: rules(each) }, arch)
    };
    assert!(program(1).unwrap().program.len() <= MAX_INSTRUCTIONS);
    assert!(program(2).is_err());
    assert!(program(400).is_err());
}

#[test]
fn the_docker_profile_allows_ordinary_calls_and_blocks_the_documented_ones() {
    for arch in ARCHES {
        let compiled = compile(&docker::profile(arch), arch).unwrap();
        assert_eq!(compiled.unknown, 0);
        let native = audit_arch(arch);
        let decide = |name: &str, first: u64| {
            let arguments = [first, 0, 0, 0, 0, 0];
            let call = Call { number: number(arch, name), arch: native, arguments };
            return_value(&compiled.program, &call).unwrap()
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
            assert_eq!(decide(name, 0), ALLOW, "{name}");
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
            assert_eq!(decide(name, 0), EPERM, "{name}");
        }
        assert_eq!(decide("clone", 0x11), ALLOW, "fork");
        assert_eq!(decide("clone", 0x7d_0f00), ALLOW, "a thread");
        assert_eq!(decide("clone", 0x1000_0000), EPERM, "a new user namespace");
        assert_eq!(decide("clone3", 0), ENOSYS);
        assert_eq!(decide("personality", 0xffff_ffff), ALLOW);
        assert_eq!(decide("personality", 0x4_0000), EPERM, "ADDR_NO_RANDOMIZE");
        assert_eq!(decide("socket", 2), ALLOW, "AF_INET");
        assert_eq!(decide("socket", 40), EPERM, "AF_VSOCK");
        let count = docker::profile(arch).rules.len();
        assert!((270..340).contains(&count), "{arch:?}: {count} rules");
        assert!((280..380).contains(&compiled.program.len()), "{}", compiled.program.len());
        println!("{arch:?}: {count} rules, {} instructions", compiled.program.len());
    }
    let profile = docker::profile(Arch::X86_64);
    assert_agree(&profile, Arch::X86_64, &calls(&profile, Arch::X86_64, 10_000));
}

/// A profile with every key, and arguments in decimal as in Moby's.
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
fn a_profile_is_parsed_like_container_runtimes_do() {
    let arch = Arch::X86_64;
    let profile = Profile::parse(WHOLE.as_bytes(), arch).unwrap();
    assert_eq!(profile.default, Action::Errno(38));
    assert!(profile.other_abis_get_default, "32-bit calls are named");
    let compiled = compile(&profile, arch).unwrap();
    assert_eq!(compiled.unknown, 1, "_llseek");
    let decide = |name: &str, first: u64| {
        let arguments = [first, 0, 0, 0, 0, 0];
        let call = Call { number: number(arch, name), arch: audit_arch(arch), arguments };
        return_value(&compiled.program, &call).unwrap()
    };
    for (name, first, action) in [
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
        assert_eq!(decide(name, first), action, "{name}({first:#x})");
    }
    let other = Profile::parse(WHOLE.as_bytes(), Arch::Aarch64).unwrap();
    assert!(!other.other_abis_get_default);
    let call = Call {
        number: number(Arch::Aarch64, "openat"),
        arch: audit_arch(Arch::Aarch64),
        arguments: [0; 6],
    };
    assert_eq!(expected(&other, Arch::Aarch64, &call), ALLOW);
}

#[test]
fn an_invalid_profile_is_refused_with_its_line_and_the_reason() {
    for (from, to, line, words) in [
        (
            "SCMP_ACT_ERRNO\",\n",
            "SCMP_ACT_ERNO\",\n",
            2,
            "`SCMP_ACT_ERNO` is not a known action; did you mean SCMP_ACT_ERRNO?",
        ),
        (
            "SCMP_ACT_ALLOW\", \"args\": null",
            "SCMP_ACT_NOTIFY\"",
            10,
            "`SCMP_ACT_NOTIFY` requires a listening process",
        ),
        (
            "SCMP_ACT_KILL_PROCESS",
            "SCMP_ACT_TRACE",
            11,
            "`SCMP_ACT_TRACE` requires a listening process",
        ),
        (
            "\"index\": 0, \"value\": 2114060288",
            "\"index\": 6, \"value\": 1",
            13,
            "6 is not the index of an argument",
        ),
        ("2114060288", "-1", 13, "invalid value"),
        (
            "SCMP_CMP_MASKED_EQ",
            "SCMP_CMP_MASK_EQ",
            13,
            "`SCMP_CMP_MASK_EQ` is not a known comparison; did you mean SCMP_CMP_MASKED_EQ?",
        ),
        (
            "\"defaultErrnoRet\": 38",
            "\"defaultErrnoRet\": 4096",
            3,
            "4096 is not an errno, which is at most 4095",
        ),
        (
            "\"SCMP_ARCH_X86_64\"",
            "\"SCMP_ARCH_X8664\"",
            5,
            "`SCMP_ARCH_X8664` is not a known architecture",
        ),
        ("FLAG_LOG", "FLAG_LOOG", 8, "is not a known flag"),
        ("\"name\": \"getppid\"", "\"nome\": \"getppid\"", 11, "unknown field `nome`"),
        ("\"name\": \"getppid\", ", "", 11, "an entry of `syscalls` lacks `names`"),
        (
            "\"name\": \"getppid\"",
            "\"name\": \"getppid\", \"names\": []",
            11,
            "the entry of `getppid` has both `name` and `names`",
        ),
        (
            "\"comment\": \"no\"",
            "\"errnoRet\": 2",
            11,
            "the entry of `getppid` has an errno, but its action takes none",
        ),
        ("4.8", "4", 18, "`4` is not a kernel version"),
        ("EACCES", "EACESS", 21, "`EACESS` is not a known errno name; did you mean EACCES?"),
        ("\"defaultAction\": \"SCMP_ACT_ERRNO\",\n", "", 22, "missing field `defaultAction`"),
        ("    ]\n}", "    ]\n", 23, "EOF while parsing"),
    ] {
        assert!(WHOLE.contains(from), "{from}");
        let text = WHOLE.replacen(from, to, 1);
        let error = Profile::parse(text.as_bytes(), Arch::X86_64).unwrap_err();
        assert!(error.why.contains(words), "{to}: {error:?}");
        assert_eq!(error.line, line, "{to}: {error:?}");
    }
}

#[test]
fn the_line_of_an_error_is_that_of_the_invalid_value() {
    for text in [
        "{\n\"defaultAction\": \"X\"\n}",
        "{\n\"defaultAction\": \"X\",\n\"syscalls\": []}",
        "{\"syscalls\": [{\"names\": [],\n\"action\": \"X\"\n\n}\n],\n\"defaultAction\": 1}",
        "{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n\"defaultErrnoRet\": 5000\n\n}",
        "{\"defaultAction\": \"SCMP_ACT_LOG\",\n\"syscalls\":[{\"action\": \"SCMP_ACT_LOG\"}]}",
    ] {
        let error = Profile::parse(text.as_bytes(), Arch::X86_64).unwrap_err();
        assert_eq!(error.line, 2, "{text}: {error:?}");
    }
}

#[test]
fn errors_and_notes_name_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("x.json");
    let parse = |path: &std::path::Path| {
        let value = Some(path.to_str().unwrap().to_owned());
        parse_with_notes(&[Treatment { name: "seccomp".to_owned(), value }], Arch::X86_64)
    };
    std::fs::write(&path, WHOLE).unwrap();
    let parsed = parse(&path).unwrap();
    assert_eq!(parsed.notes.len(), 1);
    assert!(parsed.notes[0].contains("1 name is not a system call"), "{:?}", parsed.notes);
    std::fs::write(&path, WHOLE.replace("SCMP_ACT_KILL_PROCESS", "SCMP_ACT_ALOW")).unwrap();
    let error = parse(&path).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the seccomp profile "), "{error}");
    assert!(
        error.contains(
            "x.json: line 11: `SCMP_ACT_ALOW` is not a known action; did you mean SCMP_ACT_ALLOW?"
        ),
        "{error}"
    );
    std::fs::write(&path, vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(parse(&path).unwrap_err().to_string().contains("more than 1048576 bytes"));
    assert!(parse(folder.path()).unwrap_err().to_string().contains("not a regular file"));
    let error = parse(&folder.path().join("y.json")).unwrap_err().to_string();
    assert!(error.contains("No such file") && error.contains("hint: `seccomp=allow`"), "{error}");
}

/// Changed profiles, and arbitrary bytes.
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
    fn any_bytes_are_parsed_or_refused_in_one_line(text in text()) {
        match Profile::parse(&text, Arch::X86_64) {
            Ok(profile) => assert_agree(&profile, Arch::X86_64, &calls(&profile, Arch::X86_64, 500)),
            Err(error) => {
                prop_assert!(!error.why.is_empty() && error.why.len() < 1_300, "{:?}", error);
                prop_assert!(!error.why.contains(char::is_control), "{:?}", error);
            }
        }
    }
}
