//! A rented x86 machine of one socket, two cores and four threads.

use oscost_model::facts::{Bound, Disk, NetworkCard};

use super::{Tree, auxv, note};
use crate::facts::gather;

const CPUINFO: &str = "processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8488C
stepping\t: 8
microcode\t: 0x2b000620
flags\t\t: fpu tsc constant_tsc nonstop_tsc rdtscp hypervisor pcid erms avx2

processor\t: 1
vendor_id\t: Other
";

const STATUS: &str = "Name:\tcell
TracerPid:\t77
Seccomp:\t2
Seccomp_filters:\t3
Speculation_Store_Bypass:\tthread vulnerable
SpeculationIndirectBranch:\tconditional enabled
Cpus_allowed:\tc
Cpus_allowed_list:\t2-3
";

const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 20000                files
Max locked memory         garbage              8388608              bytes
";

const CPU: &str = "sys/devices/system/cpu";
const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";

fn machine() -> Tree {
    let tree = Tree::new().files(&[
        ("proc/cpuinfo", CPUINFO),
        ("proc/self/status", STATUS),
        ("proc/self/limits", LIMITS),
        ("proc/self/timerslack_ns", "50000\n"),
        ("proc/meminfo", "MemTotal:  24684092 kB\nSwapTotal: 0 kB\nHugepagesize:  2048 kB\n"),
        ("proc/cmdline", "mitigations=off preempt=none ip=10.0.0.2 preempt=lazy -- --key k\n"),
        ("proc/sys/kernel/osrelease", "6.8.0\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Wed\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("proc/sys/kernel/randomize_va_space", "2\n"),
        ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
        ("boot/config-6.8.0", "# CONFIG_HZ_100 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n"),
        ("sys/kernel/security/lsm", "lockdown,capability,apparmor"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/kernel/tracing/current_tracer", "function\n"),
        ("sys/kernel/tracing/events/enable", "X\n"),
        ("sys/kernel/tracing/events/raw_syscalls/enable", "1\n"),
        ("sys/kernel/tracing/instances/rtla/current_tracer", "nop\n"),
        ("sys/kernel/tracing/instances/rtla/events/enable", "X\n"),
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/block/nvme0n1/size", "2048\n"),
        ("sys/block/nvme0n1/device/model", "Amazon Elastic Block Store   \n"),
        ("sys/block/nvme0n1/device/serial", "vol0123\n"),
        ("sys/block/nvme0n1/queue/rotational", "0\n"),
        ("sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline\n"),
        ("sys/block/loop3/size", "900\n"),
        ("sys/block/sr0/size", "0\n"),
    ]);
    let tree = (0..4).fold(tree, |tree, cpu| {
        let threads = if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" };
        tree.file(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), threads)
            .file(&format!("{CPU}/cpu{cpu}/topology/package_cpus_list"), "0-3\n")
    });
    tree.file(&format!("{CPU}/online"), "0-3\n")
        .file(&format!("{CPU}/isolated"), "\n")
        .file(&format!("{CPU}/nohz_full"), " (null)\n")
        .file(&format!("{CPU}/smt/active"), "1\n")
        .file(&format!("{CPU}/intel_pstate/no_turbo"), "1\n")
        .file(&format!("{CPU}/cpu2/cpufreq/scaling_governor"), "performance\n")
        .file(&format!("{CPU}/cpu0/cache/index0/level"), "3\n")
        .file(&format!("{CPU}/cpu0/cache/index1/level"), "1\n")
        .file(&format!("{CPU}/cpu0/cache/index1/size"), "48K\n")
        .file(&format!("{CPU}/cpu0/cache/index1/shared_cpu_list"), "0,2\n")
        .file(&format!("{CPU}/vulnerabilities/meltdown"), "Not affected\n")
        .file(&format!("{CLOCK}/current_clocksource"), "tsc\n")
        .file(&format!("{CLOCK}/available_clocksource"), "tsc kvm-clock \n")
        .file("proc/self/auxv", auxv(4096))
        .file("sys/kernel/notes", note(3, b"GNU\0", &[0x48, 0xdc]))
}

fn card(tree: Tree, name: &str, kind: &str, mtu: &str) -> Tree {
    tree.file(&format!("sys/class/net/{name}/type"), kind)
        .file(&format!("sys/class/net/{name}/mtu"), mtu)
        .file(&format!("sys/class/net/{name}/address"), "52:54:00:12:34:56\n")
}

#[test]
fn the_processor_is_described_by_its_first_block() {
    let cpu = gather(&machine().roots()).cpu;
    assert_eq!(cpu.model_name.as_deref(), Some("Intel(R) Xeon(R) Platinum 8488C"));
    assert_eq!(cpu.vendor.as_deref(), Some("GenuineIntel"));
    assert_eq!((cpu.family, cpu.model, cpu.stepping), (Some(6), Some(143), Some(8)));
    let flags = ["constant_tsc", "nonstop_tsc", "rdtscp", "hypervisor", "pcid", "erms", "avx2"];
    assert_eq!(cpu.flags.unwrap(), flags);
}

#[test]
fn threads_of_a_core_are_one_core_and_cores_of_a_package_one_socket() {
    let cpu = gather(&machine().roots()).cpu;
    assert_eq!((cpu.logical_online, cpu.cores, cpu.sockets), (Some(4), Some(2), Some(1)));
    assert_eq!(cpu.allowed_cpus, Some(vec![2, 3]));
}

#[test]
fn caches_come_nearest_first() {
    let caches = gather(&machine().roots()).caches;
    assert_eq!(caches.iter().map(|cache| cache.level).collect::<Vec<_>>(), [Some(1), Some(3)]);
    assert_eq!(caches[0].size_kib, Some(48));
    assert_eq!(caches[0].shared_cpus, Some(vec![0, 2]));
    assert_eq!(caches[1].size_kib, None);
}

#[test]
fn the_kernel_is_described_without_addresses_and_the_arguments_of_init() {
    let facts = gather(&machine().roots());
    assert_eq!(facts.os.build_id.as_deref(), Some("48dc"));
    assert_eq!(facts.os.hz, Some(1000));
    assert_eq!(facts.os.lsm.unwrap(), ["lockdown", "capability", "apparmor"]);
    let kept = "mitigations=off preempt=none ip=*** preempt=lazy -- ***";
    assert_eq!(facts.os.cmdline.as_deref(), Some(kept));
    // The kernel obeys the last one.
    assert_eq!(facts.scheduling.preempt.as_deref(), Some("lazy"));
}

#[test]
fn the_preemption_mode_is_told_no_more_precisely_than_it_is_known() {
    let mode = |version: &str| {
        let tree = Tree::new().file("proc/sys/kernel/version", version);
        gather(&tree.roots()).scheduling.preempt
    };
    assert_eq!(mode("#1 SMP PREEMPT_RT Wed").as_deref(), Some("rt"));
    assert_eq!(mode("#1 SMP PREEMPT_DYNAMIC Wed").as_deref(), Some("dynamic"));
    assert_eq!(mode("#1 SMP PREEMPT Wed").as_deref(), Some("full-or-lazy"));
    assert_eq!(mode("#1 SMP Wed"), None);
    let tree = machine().file("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n");
    assert_eq!(gather(&tree.roots()).scheduling.preempt.as_deref(), Some("full"));
}

#[test]
fn a_tick_that_was_measured_wins_over_a_file_in_boot() {
    let roots = machine();
    assert_eq!(gather(&roots.roots().with_tick_ns(4_000_000)).os.hz, Some(250));
    assert_eq!(gather(&roots.roots().with_tick_ns(1)).os.hz, Some(1000));
}

#[test]
fn unlimited_and_unknown_are_told_apart() {
    let limits = gather(&machine().roots()).limits;
    assert_eq!(limits.stack_bytes.soft, Some(Bound::At(8_388_608)));
    assert_eq!(limits.stack_bytes.hard, Some(Bound::UNLIMITED));
    assert_eq!(limits.open_files.hard, Some(Bound::At(20_000)));
    assert_eq!(limits.locked_memory_bytes.soft, None);
    assert_eq!(limits.address_space_bytes.hard, None);
    let json = serde_json::to_value(&limits.stack_bytes).unwrap();
    assert_eq!(json, serde_json::json!({"soft": 8_388_608, "hard": "unlimited"}));
}

#[test]
fn what_slows_system_calls_is_named() {
    let facts = gather(&machine().roots());
    let seen = [
        "tracer function",
        "trace events on system calls",
        "trace events (instance rtla)",
        "ptrace on this process",
        "seccomp filter on this process",
    ];
    assert_eq!(facts.tracers, seen);
    assert_eq!(facts.tracers_unread, Vec::<String>::new());
}

#[test]
fn the_switches_of_the_kernel_are_read() {
    let facts = gather(&machine().roots());
    assert_eq!(facts.virtualization.as_deref(), Some("kvm"));
    assert_eq!(facts.mitigations["meltdown"], "Not affected");
    assert_eq!(facts.memory.page_bytes, Some(4096));
    assert_eq!(facts.memory.swap_total_kib, Some(0));
    assert_eq!(facts.memory.transparent_huge_pages.as_deref(), Some("madvise"));
    assert_eq!(facts.memory.numa_nodes, Some(2));
    assert_eq!(facts.scheduling.smt_active, Some(true));
    assert_eq!(facts.scheduling.boost, Some(false));
    // CPU 2 is the first on which this process may run.
    assert_eq!(facts.scheduling.governor.as_deref(), Some("performance"));
    assert_eq!(facts.scheduling.isolated_cpus, Some(vec![]));
    assert_eq!(facts.scheduling.nohz_full_cpus, Some(vec![]));
    assert_eq!(facts.scheduling.clocksources_available.unwrap(), ["tsc", "kvm-clock"]);
    assert_eq!(facts.security.perf_event_paranoid, Some(-1));
    assert_eq!(facts.security.seccomp_filters, Some(3));
    assert_eq!(facts.security.unprivileged_bpf_disabled, None);
}

#[test]
fn a_disk_is_what_holds_something_of_its_own() {
    let disk = Disk {
        name: "nvme0n1".to_string(),
        model: Some("Amazon Elastic Block Store".to_string()),
        size_bytes: Some(1 << 20),
        rotational: Some(false),
        scheduler: Some("none".to_string()),
    };
    assert_eq!(gather(&machine().roots()).disks, [disk]);
}

#[test]
fn equal_cards_are_told_once_and_no_name_or_address_of_them_at_all() {
    let tree = card(machine(), "enx525400123456", "1\n", "1500\n")
        .file("sys/class/net/enx525400123456/speed", "4294967295\n")
        .link("sys/class/net/enx525400123456/device/driver", "../bus/virtio/drivers/virtio_net")
        .file("sys/class/net/bonding_masters", "bond0\n");
    let tree = card(tree, "lo", "772\n", "65536\n");
    let tree = card(card(tree, "veth1", "1\n", "1400\n"), "veth2", "1\n", "1400\n");
    let facts = gather(&tree.roots());
    let card = |kind: &str, driver: Option<&str>, mtu_bytes, count| NetworkCard {
        kind: kind.to_string(),
        driver: driver.map(str::to_string),
        speed_mbps: None,
        mtu_bytes: Some(mtu_bytes),
        count,
    };
    let cards = [
        card("physical", Some("virtio_net"), 1500, 1),
        card("loopback", None, 65536, 1),
        card("virtual", None, 1400, 2),
    ];
    assert_eq!(facts.network, cards);
    let json = serde_json::to_string(&facts).unwrap();
    for private in ["525400123456", "52:54:00", "vol0123", "10.0.0.2"] {
        assert!(!json.contains(private), "{private}");
    }
}
