//! Each rule on made-up machines, on both sides of each threshold.

use oscost_model::clock::{ClockKind, ClockVerdict};
use oscost_model::counters::{CounterEvent, CounterFacts, CounterProbe};
use oscost_model::facts::{Bound, Facts, Limit};

use super::*;

/// A machine on which nothing limits oscost.
fn good() -> Conditions {
    let mut facts = Facts::default();
    let unlimited = Limit { soft: Some(Bound::UNLIMITED), hard: Some(Bound::UNLIMITED) };
    facts.limits.open_files = unlimited.clone();
    facts.limits.processes = unlimited.clone();
    facts.limits.address_space_bytes = unlimited.clone();
    facts.limits.stack_bytes = unlimited.clone();
    facts.limits.locked_memory_bytes = unlimited.clone();
    facts.cpu.allowed_cpus = Some(vec![0, 1]);
    facts.cpu.logical_online = Some(2);
    facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::UNLIMITED);
    facts.scheduling.timer_slack_ns = Some(50_000);
    facts.scheduling.clocksource = Some("tsc".into());
    facts.security.unprivileged_bpf_disabled = Some(2);
    facts.counters = CounterFacts {
        paranoid: Some(1),
        events: CounterEvent::ALL.map(|event| CounterProbe { event, refused: None }).into(),
        ..CounterFacts::default()
    };
    let usable = |kind| ClockVerdict { kind, unusable_reason: None };
    let clocks = vec![usable(ClockKind::Tsc), usable(ClockKind::Vdso)];
    let trials = [PTRACE, IO_URING, USERFAULTFD];
    let trials = trials.map(|call| CallTrial { call, refused: None }).to_vec();
    let folder = |path: &str| Folder {
        path: path.to_owned(),
        access: FolderAccess::Writable,
        free_bytes: Some(1 << 30),
        forbids_programs: false,
    };
    let process = ProcessState {
        uid: Some(0),
        capabilities: Some(u64::MAX),
        is_in_user_namespace: Some(false),
        seccomp_mode: Some(0),
        seccomp_filters: Some(0),
        no_new_privileges: Some(false),
    };
    let host = HostConditions {
        process,
        proc: ProcView::AllUsers,
        file_size_bytes: unlimited,
        max_user_namespaces: Some(0),
        has_null_device: true,
        shared_memory: folder("/dev/shm"),
        temporary: folder("/tmp"),
        store: Some(folder("/home/user/.local/share/oscost")),
        lock_file: LockFile::Usable("/run/lock/oscost.lock".into()),
    };
    Conditions { worker: Ok(WorkerConditions { facts, clocks, trials: Ok(trials) }), host }
}

/// The facts of the worker.
fn worker(conditions: &mut Conditions) -> &mut WorkerConditions {
    conditions.worker.as_mut().unwrap()
}

fn facts(conditions: &mut Conditions) -> &mut Facts {
    &mut worker(conditions).facts
}

fn process(conditions: &mut Conditions) -> &mut ProcessState {
    &mut conditions.host.process
}

/// A limit of the worker.
fn limit(max: u64) -> Limit {
    Limit { soft: Some(Bound::Max(max)), hard: Some(Bound::Max(max)) }
}

/// Refuses a call.
fn refuse(conditions: &mut Conditions, call: &str, why: &str) {
    let trials = worker(conditions).trials.as_mut().unwrap();
    let trial = trials.iter_mut().find(|trial| trial.call == call).unwrap();
    trial.refused = Some(why.to_owned());
}

/// The judgement on a subject after a change of the good machine.
fn judged(subject: &str, change: impl FnOnce(&mut Conditions)) -> Judgement {
    let mut conditions = good();
    change(&mut conditions);
    let judgements = judge(&conditions);
    judgements.into_iter().find(|judgement| judgement.subject == subject).unwrap()
}

/// It limits oscost; what is found, what it costs and what to do contain these words.
fn limits(subject: &str, change: impl FnOnce(&mut Conditions), [found, cost, remedy]: [&str; 3]) {
    let judgement = judged(subject, change);
    assert_eq!(judgement.state, State::Limits, "{judgement:?}");
    assert!(judgement.found.contains(found), "{judgement:?}");
    assert!(judgement.cost.as_deref().unwrap().contains(cost), "{judgement:?}");
    assert!(judgement.remedy.as_deref().unwrap().contains(remedy), "{judgement:?}");
}

fn fine(subject: &str, change: impl FnOnce(&mut Conditions)) {
    let judgement = judged(subject, change);
    assert_eq!(judgement.state, State::Fine, "{judgement:?}");
}

fn unknown(subject: &str, change: impl FnOnce(&mut Conditions)) {
    let judgement = judged(subject, change);
    assert_eq!(judgement.state, State::Unknown, "{judgement:?}");
    assert_eq!((judgement.cost, judgement.remedy), (None, None), "nothing is known of it");
}

#[test]
fn nothing_limits_oscost_on_a_good_machine_and_each_subject_is_judged_once() {
    let judgements = judge(&good());
    assert_eq!(judgements.len(), RULES.len());
    for judgement in &judgements {
        assert_eq!(judgement.state, State::Fine, "{judgement:?}");
        assert!(judgement.cost.is_none() && judgement.remedy.is_none(), "{judgement:?}");
    }
    let mut subjects: Vec<&str> = judgements.iter().map(|judgement| judgement.subject).collect();
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), RULES.len());
}

#[test]
fn what_blocks_is_listed_first_and_what_is_fine_last() {
    let mut conditions = good();
    conditions.host.has_null_device = false;
    conditions.host.lock_file = LockFile::NoFolder;
    conditions.host.process.seccomp_mode = None;
    let judgements = judge(&conditions);
    let states: Vec<State> = judgements.iter().map(|judgement| judgement.state).collect();
    assert!(states.is_sorted(), "{states:?}");
    assert_eq!(states[..3], [State::Blocks, State::Limits, State::Unknown]);
}

#[test]
fn without_a_worker_nothing_can_be_measured_and_the_rest_is_still_judged() {
    let missing = |conditions: &mut Conditions| {
        conditions.worker = Err("cannot find it\n  hint: build it".into());
    };
    let worker = judged("worker", missing);
    assert_eq!((worker.state, worker.found.as_str()), (State::Blocks, "cannot find it"));
    assert_eq!(worker.remedy.as_deref(), Some("build it"));
    for subject in ["ptrace", "io_uring", "perf events", "clock", "CPUs", "stack", "timer slack"] {
        unknown(subject, missing);
    }
    fine("store", missing);
    fine("capabilities", missing);
    let unhinted = judged("worker", |conditions| conditions.worker = Err("it fell".into()));
    assert!(unhinted.remedy.is_some(), "each has a next step");
}

#[test]
fn a_refused_ptrace_costs_the_proof_of_calls() {
    let refused = |scope: Option<u32>| {
        move |conditions: &mut Conditions| {
            facts(conditions).security.yama_ptrace_scope = scope;
            refuse(conditions, PTRACE, "ptrace: EPERM");
        }
    };
    limits("ptrace", refused(None), ["no Yama", "CALLS_UNCOUNTED", "allow ptrace(2)"]);
    limits("ptrace", refused(Some(2)), ["scope is 2", "`seccomp-trace`", "ptrace_scope=1"]);
    limits("ptrace", refused(Some(3)), ["EPERM", "is not checked", "reboot"]);
    let filtered = |conditions: &mut Conditions| {
        refused(None)(conditions);
        process(conditions).seccomp_mode = Some(2);
    };
    limits("ptrace", filtered, ["EPERM", "is not checked", "--cap-add SYS_PTRACE"]);
    fine("ptrace", |conditions| facts(conditions).security.yama_ptrace_scope = Some(1));
}

#[test]
fn a_call_that_cannot_be_tried_without_ptrace_is_unknown_and_not_refused() {
    let untraceable = |conditions: &mut Conditions| {
        for call in [PTRACE, IO_URING, USERFAULTFD] {
            refuse(conditions, call, "ptrace: EPERM");
        }
    };
    unknown("io_uring", untraceable);
    unknown("userfaultfd", untraceable);
    let busy =
        |conditions: &mut Conditions| worker(conditions).trials = Err("oscost, pid 7".into());
    for subject in ["ptrace", "io_uring", "userfaultfd"] {
        unknown(subject, busy);
    }
    assert!(judged("ptrace", busy).found.contains("pid 7 is measuring"));
    unknown("io_uring", |conditions| worker(conditions).trials = Ok(Vec::new()));
}

#[test]
fn refused_calls_name_the_rows_that_are_skipped() {
    limits(
        "io_uring",
        |conditions| refuse(conditions, IO_URING, "io_uring is disabled"),
        ["io_uring is disabled", "`via=io-uring`", "io_uring_disabled=0"],
    );
    limits(
        "userfaultfd",
        |conditions| refuse(conditions, USERFAULTFD, "not permitted"),
        ["not permitted", "`fault/userfaultfd`", "unprivileged_userfaultfd=1"],
    );
}

#[test]
fn counters_that_do_not_open_or_are_distrusted_cost_the_work_of_ops() {
    let words = ["perf_event_paranoid is 1", "`--on insn`", "perf_event_paranoid=1"];
    let closed = |conditions: &mut Conditions| {
        facts(conditions).counters.unavailable = Some("EACCES".into());
    };
    limits("perf events", closed, words);
    let distrusted = |conditions: &mut Conditions| {
        facts(conditions).counters.distrusted = Some("half is lost".into());
    };
    limits("perf events", distrusted, words);
    let user_alone = |conditions: &mut Conditions| {
        for probe in &mut facts(conditions).counters.events {
            if probe.event == CounterEvent::InstructionsKernel {
                probe.refused = Some("EACCES".into());
            }
        }
    };
    limits("perf events", user_alone, ["user mode only", "kernel's instructions", "paranoid=1"]);
    unknown("perf events", |conditions| facts(conditions).counters = CounterFacts::default());
}

#[test]
fn a_worse_clock_costs_precision_and_none_blocks() {
    let without = |kinds: &'static [ClockKind]| {
        move |conditions: &mut Conditions| {
            let clocks = &mut worker(conditions).clocks;
            clocks.push(ClockVerdict { kind: ClockKind::Syscall, unusable_reason: None });
            for clock in clocks.iter_mut().filter(|clock| kinds.contains(&clock.kind)) {
                clock.unusable_reason = Some("it steps back".into());
            }
        }
    };
    let words = ["the counter is not: it steps back", "batches are longer", "current_clocksource"];
    limits("clock", without(&[ClockKind::Tsc]), words);
    let words = ["by a system call", "long batches", "tsc=reliable"];
    limits("clock", without(&[ClockKind::Tsc, ClockKind::Vdso]), words);
    let all = &[ClockKind::Tsc, ClockKind::Vdso, ClockKind::Syscall];
    assert_eq!(judged("clock", without(all)).state, State::Blocks);
}

#[test]
fn a_missing_or_restricted_proc_is_told_apart() {
    let view = |proc: ProcView| move |conditions: &mut Conditions| conditions.host.proc = proc;
    limits("/proc", view(ProcView::Missing), ["not mounted", "unknown", "mount -t proc"]);
    unknown("other users", view(ProcView::Missing));
    limits("other users", view(ProcView::OwnUser), ["hidepid", "`oscost doctor`", "`gid=`"]);
    fine("/proc", view(ProcView::OwnUser));
    unknown("other users", view(ProcView::Mounted));
}

#[test]
fn filters_are_counted_and_cost_every_call() {
    let filters = |count: Option<u32>| {
        move |conditions: &mut Conditions| {
            let process = process(conditions);
            (process.seccomp_mode, process.seccomp_filters) = (Some(2), count);
        }
    };
    limits("seccomp", filters(Some(1)), ["a filter applies", "every system call", "unconfined"]);
    limits("seccomp", filters(Some(3)), ["3 filters apply", "skipped", "unconfined"]);
    limits("seccomp", filters(None), ["filters apply", "skipped", "unconfined"]);
    unknown("seccomp", |conditions| process(conditions).seccomp_mode = None);
}

#[test]
fn an_ordinary_user_and_a_restricted_root_lack_different_things() {
    let user = |conditions: &mut Conditions| {
        let process = process(conditions);
        (process.uid, process.capabilities) = (Some(1000), Some(0));
    };
    limits("capabilities", user, ["an ordinary user", "`ftrace`", "sudo"]);
    limits("BPF", user, ["CAP_BPF", "`ph`", "sudo"]);
    limits(
        "capabilities",
        |conditions| {
            user(conditions);
            process(conditions).no_new_privileges = Some(true);
        },
        ["an ordinary user", "`ftrace`", "sudo has no effect"],
    );
    let restricted = |conditions: &mut Conditions| {
        process(conditions).capabilities = Some(!(1 << 23));
    };
    limits("capabilities", restricted, ["root without SYS_NICE", "`nice` below 0", "--cap-add"]);
    unknown("capabilities", |conditions| process(conditions).capabilities = None);
    unknown("BPF", |conditions| process(conditions).capabilities = None);
}

#[test]
fn bpf_needs_the_kernel_and_the_machines_root() {
    let absent = |conditions: &mut Conditions| {
        facts(conditions).security.unprivileged_bpf_disabled = None;
    };
    limits("BPF", absent, ["no bpf(2)", "`ebpf=count`", "CONFIG_BPF_SYSCALL"]);
    let contained = |conditions: &mut Conditions| {
        process(conditions).is_in_user_namespace = Some(true);
    };
    limits("BPF", contained, ["user namespace", "`ebpf=empty`", "root of the machine"]);
    limits("user namespaces", contained, ["not that of the machine", "do not extend", "outside"]);
    unknown("user namespaces", |conditions| process(conditions).is_in_user_namespace = None);
    // Without SYS_ADMIN, both of the newer capabilities are needed.
    let with = |bits: u64| {
        move |conditions: &mut Conditions| process(conditions).capabilities = Some(bits)
    };
    fine("BPF", with(1 << 38 | 1 << 39));
    limits("BPF", with(1 << 39), ["missing", "`ph`", "sudo"]);
}

#[test]
fn limits_are_judged_at_their_thresholds() {
    let files =
        |max| move |conditions: &mut Conditions| facts(conditions).limits.open_files = limit(max);
    fine("open files", files(20_010));
    limits("open files", files(20_009), ["20009", "`fds=10000`", "prlimit"]);
    let stack =
        |max| move |conditions: &mut Conditions| facts(conditions).limits.stack_bytes = limit(max);
    fine("stack", stack(256 << 10));
    limits("stack", stack(64 << 10), ["64 KiB", "does not start", "ulimit -s"]);
    let space = |max| {
        move |conditions: &mut Conditions| {
            facts(conditions).limits.address_space_bytes = limit(max);
        }
    };
    fine("address space", space(2 << 30));
    limits("address space", space(1 << 30), ["1024 MiB", "`memory`", "ulimit -v"]);
    let size =
        |max| move |conditions: &mut Conditions| conditions.host.file_size_bytes = limit(max);
    fine("file size", size(1 << 30));
    limits("file size", size(1 << 20), ["1024 KiB", "store", "ulimit -f"]);
    unknown("file size", |conditions| conditions.host.file_size_bytes = Limit::default());
}

#[test]
fn limits_that_do_not_apply_to_root_are_fine_there() {
    let few = |conditions: &mut Conditions| facts(conditions).limits.processes = limit(511);
    fine("processes", few);
    let of_user = |conditions: &mut Conditions| {
        few(conditions);
        process(conditions).uid = Some(1000);
    };
    limits("processes", of_user, ["511", "`process`", "ulimit -u"]);
    let of_contained_root = |conditions: &mut Conditions| {
        few(conditions);
        process(conditions).is_in_user_namespace = Some(true);
    };
    limits("processes", of_contained_root, ["511", "`switch`", "ulimit -u"]);
    let little = |conditions: &mut Conditions| {
        facts(conditions).limits.locked_memory_bytes = limit((8 << 20) - 1);
    };
    fine("locked memory", little);
    let of_user = |conditions: &mut Conditions| {
        little(conditions);
        process(conditions).capabilities = Some(0);
    };
    limits("locked memory", of_user, ["8191 KiB", "prefault=mlock", "ulimit -l"]);
}

#[test]
fn one_cpu_and_a_small_quota_cost_the_rows_of_two() {
    let one = |online| {
        move |conditions: &mut Conditions| {
            let cpu = &mut facts(conditions).cpu;
            (cpu.allowed_cpus, cpu.logical_online) = (Some(vec![3]), Some(online));
        }
    };
    limits("CPUs", one(4), ["1 of 4", "`peer_cpu=other`", "cpuset"]);
    limits("CPUs", one(1), ["there is one", "`peer_cpu=other`", "second CPU"]);
    unknown("CPUs", |conditions| facts(conditions).cpu.allowed_cpus = None);
    let quota = |bound| {
        move |conditions: &mut Conditions| {
            facts(conditions).scheduling.cgroup_quota_milli_cpus = bound;
        }
    };
    fine("CPU quota", quota(Some(Bound::Max(2_000))));
    limits("CPU quota", quota(Some(Bound::Max(1_999))), ["199 %", "stopped", "--cpus 2"]);
    unknown("CPU quota", quota(None));
}

#[test]
fn a_longer_timer_slack_costs_the_rows_that_sleep() {
    let slack =
        |ns| move |conditions: &mut Conditions| facts(conditions).scheduling.timer_slack_ns = ns;
    limits("timer slack", slack(Some(50_001)), ["50001 ns", "`timer`", "TimerSlackNSec"]);
    unknown("timer slack", slack(None));
}

#[test]
fn places_that_cannot_be_used_name_what_is_not_there() {
    let shared = |access: FolderAccess| {
        move |conditions: &mut Conditions| conditions.host.shared_memory.access = access
    };
    limits("/dev/shm", shared(FolderAccess::Missing), ["not exist", "`directory=tmpfs`", "mount"]);
    limits("/dev/shm", shared(FolderAccess::NotWritable), ["written", "skipped", "chmod"]);
    let temporary = |change: fn(&mut Folder)| {
        move |conditions: &mut Conditions| change(&mut conditions.host.temporary)
    };
    let words = ["/tmp is mounted noexec", "`process/fork-exec`", "TMPDIR"];
    limits("temporary files", temporary(|folder| folder.forbids_programs = true), words);
    let full = temporary(|folder| folder.free_bytes = Some(1 << 20));
    limits("temporary files", full, ["nearly full, 1 MiB free", "skipped", "TMPDIR"]);
    let missing = temporary(|folder| folder.access = FolderAccess::Missing);
    limits("temporary files", missing, ["not exist", "no scratch directory", "TMPDIR"]);
    let null = judged("/dev/null", |conditions| conditions.host.has_null_device = false);
    assert_eq!(null.state, State::Blocks);
    assert!(null.remedy.unwrap().contains("mknod"));
}

#[test]
fn a_store_that_cannot_be_written_keeps_no_run() {
    let words = ["neither XDG_DATA_HOME nor HOME", "no run is kept", "XDG_DATA_HOME"];
    limits("store", |conditions| conditions.host.store = None, words);
    let store = |change: fn(&mut Folder)| {
        move |conditions: &mut Conditions| change(conditions.host.store.as_mut().unwrap())
    };
    let closed = store(|folder| folder.access = FolderAccess::NotWritable);
    limits("store", closed, ["cannot be written", "`--json FILE`", "XDG_DATA_HOME"]);
    let full = store(|folder| folder.free_bytes = Some((64 << 20) - 1));
    limits("store", full, ["nearly full, 63 MiB free", "no run is kept", "64 MiB"]);
    fine("store", store(|folder| folder.access = FolderAccess::Creatable));
    fine("store", store(|folder| folder.free_bytes = None));
}

#[test]
fn a_lock_without_its_file_excludes_fewer_runs() {
    let file = |file: LockFile| move |conditions: &mut Conditions| conditions.host.lock_file = file;
    limits("lock file", file(LockFile::NoFolder), ["/run/lock", "network namespace", "chmod"]);
    let unusable = LockFile::Unusable("it is a pipe".into());
    limits("lock file", file(unusable), ["a pipe", "unseen", "remove"]);
}
