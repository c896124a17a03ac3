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
flags\t\t: fpu tsc lm constant_tsc nonstop_tsc rdtscp hypervisor pcid erms avx2 pni ssse3 cx16 \
sse4_1 sse4_2 popcnt lahf_lm

processor\t: 1
vendor_id\t: Other
";

const STATUS: &str = "Name:\toscost-worker
TracerPid:\t77
Uid:\t0\t1000\t0\t0
Seccomp:\t2
Seccomp_filters:\t3
Speculation_Store_Bypass:\tthread vulnerable
SpeculationIndirectBranch:\tconditional enabled
CapBnd:\t000001fffeffffff
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
        ("proc/self/personality", "00040000\n"),
        ("proc/1/comm", "init\n"),
        ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
        ("proc/meminfo", "MemTotal:  24684092 kB\nSwapTotal: 0 kB\nHugepagesize:  2048 kB\n"),
        ("proc/cmdline", "mitigations=off preempt=none ip=10.0.0.2 preempt=lazy -- --key k\n"),
        ("proc/sys/kernel/osrelease", "6.8.0\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Wed\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("proc/sys/kernel/randomize_va_space", "2\n"),
        ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("proc/sys/kernel/yama/ptrace_scope", "1\n"),
        ("boot/config-6.8.0", "# CONFIG_HZ_100 is not set\nCONFIG_HZ=1000\nCONFIG_KASAN=y\n"),
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
        ("sys/block/nvme0n1/queue/write_cache", "write back\n"),
        ("sys/bus/virtio/devices/virtio0/device", "0x0005\n"),
        ("sys/bus/virtio/devices/virtio0/features", "011001010\n"),
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
fn caches_are_listed_nearest_first() {
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
    // The last one takes effect.
    assert_eq!(facts.scheduling.preempt.as_deref(), Some("lazy"));
}

#[test]
fn an_ambiguous_preemption_mode_is_reported_as_ambiguous() {
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
fn a_measured_tick_takes_precedence_over_a_file_in_boot() {
    let roots = machine();
    assert_eq!(gather(&roots.roots().with_tick_ns(4_000_000)).os.hz, Some(250));
    assert_eq!(gather(&roots.roots().with_tick_ns(1)).os.hz, Some(1000));
}

#[test]
fn unlimited_and_unknown_are_distinguished() {
    let limits = gather(&machine().roots()).limits;
    assert_eq!(limits.stack_bytes.soft, Some(Bound::Max(8_388_608)));
    assert_eq!(limits.stack_bytes.hard, Some(Bound::UNLIMITED));
    assert_eq!(limits.open_files.hard, Some(Bound::Max(20_000)));
    assert_eq!(limits.locked_memory_bytes.soft, None);
    assert_eq!(limits.address_space_bytes.hard, None);
    let json = serde_json::to_value(&limits.stack_bytes).unwrap();
    assert_eq!(json, serde_json::json!({"soft": 8_388_608, "hard": "unlimited"}));
}

#[test]
fn tracers_of_system_calls_are_named() {
    let facts = gather(&machine().roots());
    let expected = [
        "tracer function",
        "trace events on system calls",
        "trace events (instance rtla)",
        "ptrace on this process",
        "seccomp filter on this process",
    ];
    assert_eq!(facts.tracers, expected);
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
    // CPU 2 is the first allowed one.
    assert_eq!(facts.scheduling.governor.as_deref(), Some("performance"));
    assert_eq!(facts.scheduling.isolated_cpus, Some(vec![]));
    assert_eq!(facts.scheduling.nohz_full_cpus, Some(vec![]));
    assert_eq!(facts.scheduling.clocksources_available.unwrap(), ["tsc", "kvm-clock"]);
    assert_eq!(facts.security.perf_event_paranoid, Some(-1));
    assert_eq!(facts.security.seccomp_filters, Some(3));
    assert_eq!(facts.security.unprivileged_bpf_disabled, None);
}

#[test]
fn only_devices_with_their_own_capacity_are_disks() {
    let disk = Disk {
        name: "nvme0n1".to_string(),
        model: Some("Amazon Elastic Block Store".to_string()),
        size_bytes: Some(1 << 20),
        rotational: Some(false),
        scheduler: Some("none".to_string()),
        interface: Some("nvme".to_string()),
        write_cache: Some("write back".to_string()),
        rpm: None,
        link: None,
    };
    assert_eq!(gather(&machine().roots()).disks, [disk]);
}

#[test]
fn equal_cards_are_counted_and_their_names_and_addresses_left_out() {
    let tree = card(machine(), "enx525400123456", "1\n", "1500\n")
        .file("sys/class/net/enx525400123456/speed", "4294967295\n")
        .link("sys/class/net/enx525400123456/device/driver", "../bus/virtio/drivers/virtio_net")
        .file("sys/class/net/enx525400123456/device/vendor", "0x1af4\n")
        .file("sys/class/net/enx525400123456/device/device", "0x0001\n")
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
        device: driver.map(|_| "1af4:0001".to_string()),
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

#[test]
fn the_instruction_set_level_is_the_highest_complete_one() {
    let level = |flags: &str| {
        let tree = Tree::new().file("proc/cpuinfo", format!("flags\t: {flags}\n"));
        gather(&tree.roots()).cpu.instruction_set
    };
    let v2 = "lm cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3";
    let v3 = format!("{v2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave");
    let v4 = format!("{v3} avx512f avx512bw avx512cd avx512dq avx512vl");
    assert_eq!(level("lm sse2").as_deref(), Some("x86-64"));
    assert_eq!(level(v2).as_deref(), Some("x86-64-v2"));
    assert_eq!(level(&v3).as_deref(), Some("x86-64-v3"));
    assert_eq!(level(&v4).as_deref(), Some("x86-64-v4"));
    // One flag short of a level, whatever is above it.
    assert_eq!(level(&v4.replace(" fma", "")).as_deref(), Some("x86-64-v2"));
    assert_eq!(level("fp asimd"), None, "no x86 in 64-bit mode");
    let facts = gather(&machine().roots());
    assert_eq!(facts.cpu.instruction_set.as_deref(), Some("x86-64-v2"));
    assert_eq!(facts.cpu.extensions.unwrap(), ["sse4_2", "popcnt", "avx2"]);
}

#[test]
fn the_system_has_a_distribution_an_init_and_kernel_options() {
    let facts = gather(&machine().roots());
    assert_eq!(facts.os.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
    assert_eq!(facts.os.init.as_deref(), Some("init"));
    assert_eq!(facts.os.run_level, None);
    assert_eq!(facts.os.options.unwrap(), ["KASAN"]);
    assert_eq!(facts.memory.free_page_reporting, Some(true));
    assert_eq!(facts.security.randomization_disabled, Some(true));
    assert_eq!(facts.security.is_root, Some(false), "the second number is the effective one");
    assert_eq!(facts.security.capability_bound, Some(0x1ff_feff_ffff));
}

#[test]
fn the_firmware_has_a_version_and_a_date_if_both_are_known() {
    let firmware = |tree: &Tree| gather(&tree.roots()).os.firmware;
    assert_eq!(firmware(&machine()), None);
    let tree = machine().file("sys/class/dmi/id/bios_version", "1.4.2 \n");
    assert_eq!(firmware(&tree).as_deref(), Some("1.4.2"));
    let tree = tree.file("sys/class/dmi/id/bios_date", "03/14/2023\n");
    assert_eq!(firmware(&tree).as_deref(), Some("1.4.2 (03/14/2023)"));
}

#[test]
fn systemd_names_its_default_target_and_utmp_the_run_level_elsewhere() {
    let mut record = vec![0u8; 384];
    record[..2].copy_from_slice(&1i16.to_ne_bytes());
    record[4..8].copy_from_slice(&i32::from(b'3').to_ne_bytes());
    let tree = Tree::new().file("run/utmp", record);
    assert_eq!(gather(&tree.roots()).os.run_level.as_deref(), Some("3"));
    let tree = tree
        .file("run/systemd/system/x", "")
        .link("usr/lib/systemd/system/default.target", "graphical.target");
    let os = gather(&tree.roots()).os;
    assert_eq!(
        (os.init.as_deref(), os.run_level.as_deref()),
        (Some("systemd"), Some("graphical.target"))
    );
}

#[test]
fn the_configuration_of_the_running_kernel_takes_precedence_over_a_file_in_boot() {
    let tree = machine().file("proc/config.gz", "not packed");
    assert_eq!(gather(&tree.roots()).os.options.unwrap(), ["KASAN"], "garbled: the other is read");
}

#[test]
fn security_modules_come_from_the_kernel_if_no_file_names_them() {
    let asked = vec!["bpf".to_string()];
    let tree = Tree::new();
    let facts = gather(&tree.roots().with_lsm(asked.clone()));
    assert_eq!(facts.os.lsm, Some(asked.clone()));
    let facts = gather(&machine().roots().with_lsm(asked));
    assert_eq!(facts.os.lsm.unwrap(), ["lockdown", "capability", "apparmor"]);
}

#[test]
fn the_interface_of_a_disk_follows_from_its_parents() {
    let hang = |path: &str, name: &str, files: &[(&str, &[u8])]| {
        let folder = format!("sys/devices/{path}");
        let tree =
            files.iter().fold(Tree::new().file(&format!("{folder}/size"), "8\n"), |tree, file| {
                tree.file(&format!("sys/devices/{}", file.0), file.1)
            });
        let tree = tree.link(&format!("sys/block/{name}"), &format!("../devices/{path}"));
        gather(&tree.roots()).disks.remove(0)
    };
    let page = [0, 0xb1, 0, 60, 0x15, 0x18];
    let sata = "pci0/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda";
    let disk = hang(
        sata,
        "sda",
        &[
            ("pci0/0000:00:1f.2/ata3/link3/ata_link/link3/sata_spd", b"3.0 Gbps\n"),
            ("pci0/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda/device/vpd_pgb1", &page),
        ],
    );
    assert_eq!(disk.interface.as_deref(), Some("sata"));
    assert_eq!((disk.link.as_deref(), disk.rpm), (Some("3.0 Gbps"), Some(5400)));
    let nvme = "pci0/0000:01:00.0/nvme/nvme0/nvme0n1";
    let speed = ("pci0/0000:01:00.0/current_link_speed", &b"8.0 GT/s PCIe\n"[..]);
    let width = ("pci0/0000:01:00.0/current_link_width", &b"4\n"[..]);
    let disk = hang(nvme, "nvme0n1", &[speed, width]);
    assert_eq!(disk.interface.as_deref(), Some("nvme"));
    assert_eq!((disk.link.as_deref(), disk.rpm), (Some("8.0 GT/s PCIe x4"), None));
    let speed = ("pci0/0000:00:02.0/current_link_speed", &b"Unknown\n"[..]);
    let disk = hang("pci0/0000:00:02.0/virtio1/block/vda", "vda", &[speed]);
    assert_eq!((disk.interface.as_deref(), disk.link), (Some("virtio"), None));
    let of = |path: &str, name: &str| hang(path, name, &[]).interface;
    assert_eq!(of("pci0/usb1/1-1/host4/t/4:0:0:0/block/sdb", "sdb").as_deref(), Some("usb"));
    assert_eq!(of("pci0/virtio2/host0/t/block/sda", "sda").as_deref(), Some("virtio-scsi"));
    assert_eq!(of("virtual/block/dm-0", "dm-0").as_deref(), Some("virtual"));
    assert_eq!(of("somewhere/md9", "md9"), None);
}
