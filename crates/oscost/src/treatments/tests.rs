//! Parsing the treatments of targets.

use oscost_model::raw_call::RawCall;
use oscost_model::target::Target;
use oscost_model::treatment::{AntagonistLoad, Limit};

use super::*;

fn parse(text: &str) -> Result<TreatmentSet, TreatmentError> {
    super::parse(&Target::parse(text).unwrap().treatments, Arch::X86_64)
}

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn applied(text: &str) -> Vec<AppliedTreatment> {
    let parsed = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(parsed.attached.is_empty(), "{text}");
    parsed.applied
}

fn attached(text: &str) -> Vec<AttachedTreatment> {
    let parsed = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(parsed.applied.is_empty(), "{text}");
    parsed.attached
}

#[test]
fn each_kind_of_the_table_is_parsed_with_its_mechanism() {
    let values = [
        ("seccomp", "=allow"),
        ("ebpf", "=count"),
        ("clocksource", "=hpet"),
        ("cgroup", "=own"),
        ("nice", "=1"),
        ("cool", "=1M"),
        ("call", "=function"),
        ("env", "=A=b"),
        ("antagonist", "=cpu"),
        ("cmd", "=strace"),
    ];
    for kind in KINDS {
        let value = values.iter().find(|(name, _)| *name == kind.name).map_or("", |it| it.1);
        assert_eq!(value.is_empty(), kind.value.is_empty(), "{}", kind.name);
        let before = kind.modifies().map(|it| format!("{it}+")).unwrap_or_default();
        let text = format!("{before}{}{value}", kind.name);
        let parsed = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mechanism = match (&parsed.applied[..], &parsed.attached[..]) {
            ([one], []) if one.supports_twins() => Mechanism::Applied,
            ([_], []) => Mechanism::Wraps,
            ([], [_]) => Mechanism::Attached,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(mechanism, kind.mechanism, "{text}");
        assert!(!kind.effect.ends_with('.') && kind.effect.len() <= 80, "{}", kind.name);
        if kind.value.is_empty() {
            assert!(error(&format!("{text}=1")).contains("takes no value"), "{text}");
        } else {
            assert!(error(kind.name).contains("needs a value"), "{text}");
            assert!(error(&format!("{}=", kind.name)).contains("empty"), "{text}");
        }
    }
}

#[test]
fn values_are_parsed() {
    assert_eq!(
        applied("nice=-20+ptrace"),
        [AppliedTreatment::Nice { increment: -20 }, AppliedTreatment::Ptrace]
    );
    let limits = vec![
        Limit::Cpu { percent: 50 },
        Limit::Memory { bytes: 64 << 20 },
        Limit::Pids { max: 100 },
    ];
    assert_eq!(
        applied("cgroup=cpu:50%,memory:64M,pids:100"),
        [AppliedTreatment::Cgroup { limits }]
    );
    assert_eq!(applied("cgroup=own"), [AppliedTreatment::Cgroup { limits: vec![] }]);
    let env =
        |name: &str, value: &str| AppliedTreatment::Env { name: name.into(), value: value.into() };
    assert_eq!(applied("env=A=b=c+env=B="), [env("A", "b=c"), env("B", "")]);
    let command = ["perf", "trace", "-o", "a b"].map(str::to_owned).to_vec();
    assert_eq!(applied("cmd=perf trace -o 'a b'"), [AppliedTreatment::Wrapper { command }]);
    assert_eq!(
        attached("ebpf=empty+antagonist=memory+antagonist=syscalls:same+ftrace"),
        [
            AttachedTreatment::Ebpf { counts: false },
            AttachedTreatment::Antagonist { load: AntagonistLoad::Memory, same_cpu: false },
            AttachedTreatment::Antagonist { load: AntagonistLoad::Syscalls, same_cpu: true },
            AttachedTreatment::Ftrace,
        ]
    );
    assert_eq!(attached("clocksource=kvm-clock").len(), 1);
    assert_eq!(applied("cool=256K"), [AppliedTreatment::Cool { walk_bytes: 256 << 10 }]);
    assert_eq!(applied("cool=0"), [AppliedTreatment::Cool { walk_bytes: 0 }]);
    assert_eq!(
        applied("call=function+cool=0"),
        [
            AppliedTreatment::Call { how: RawCall::Function },
            AppliedTreatment::Cool { walk_bytes: 0 }
        ]
    );
}

#[test]
fn an_invalid_treatment_is_refused_with_a_hint() {
    for (text, words) in [
        ("secomp=allow", "no such treatment; did you mean seccomp?\n  hint: `oscost treat list`"),
        ("wxyz", "there is no such treatment\n"),
        ("slurm", "no such treatment; did you mean the host `slurm:`?\n"),
        ("docker", "no such treatment; did you mean seccomp=docker?\n"),
        ("nice=20", "`20` is not an integer from -20 to 19\n  hint: write `nice=N`"),
        ("nice=1.5", "not an integer"),
        ("cool=1G", "`1G` is not 0, nor 4K to 8M, 16M or 32M"),
        ("cool=1M+cool=0", "already has `cool=1M`"),
        ("call=libc", "`libc` is not a way to make a call\n  hint: write `call=inline|function`"),
        ("ebpf=emtpy", "`emtpy` is not a program; did you mean empty?"),
        ("antagonist=cpu:here", "`here` is not a CPU for a load"),
        ("antagonist=CPU", "`CPU` is not a load"),
        ("cgroup=cpu:50", "`cpu:50` is not cpu:N%"),
        ("cgroup=cpu:0%", "is not cpu:N%"),
        ("cgroup=memory:1K", "is not memory:N"),
        ("cgroup=memory:-1M", "is not memory:N"),
        ("cgroup=memory:99999999999999G", "is not memory:N"),
        ("cgroup=pids:0", "is not pids:N"),
        ("cgroup=cpu:5%,cpu:6%", "repeats a limit"),
        ("cgroup=own,cpu:5%", "`own` is not a limit"),
        ("cgroup=mem:1M", "did you mean memory?"),
        ("clocksource=../x", "a clock source's name"),
        ("env=A", "NAME=VALUE"),
        ("env=1A=b", "not a variable name"),
        ("env=TMPDIR=/", "`TMPDIR` is reserved for workers"),
        ("env==b", "not a variable name"),
        ("cmd='a", "is not closed"),
        ("cmd=a\tb", "control character\n  hint: write it in one line"),
        ("trained", "it must follow `ph`\n  hint: write `ph+trained`"),
        ("respond=1+ph", "it takes no value\n  hint: write `ph+respond`"),
        ("nice=1+nice=2", "already has `nice=1`"),
        ("ebpf=count+ebpf=count", "already has `ebpf=count`"),
        ("ptrace+sud+ptrace", "already has `ptrace`"),
        ("seccomp=allow+seccomp=allow", "already has `seccomp=allow`"),
        ("env=A=1+env=A=2", "already has `env=A=1`"),
    ] {
        let error = error(text);
        assert!(error.starts_with("cannot treat with `"), "{text}: {error}");
        assert!(error.contains(words), "{text}: {error}");
    }
    assert!(error(&format!("cmd={}", "a".repeat(5_000))).contains("4096 bytes\n  hint: put"));
    let many: Vec<String> = (0..17).map(|index| format!("env=A{index}=")).collect();
    assert!(error(&many.join("%2B").replace("%2B", "+")).contains("16 treatments\n  hint: leave"));
}
