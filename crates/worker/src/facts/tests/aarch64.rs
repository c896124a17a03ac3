//! A machine with an Arm processor, whose files differ from those of an x86.

use super::{Tree, auxv};
use crate::facts::gather;

const CPUINFO: &str = "processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes atomics ssbs
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1

processor\t: 1
";

fn machine() -> Tree {
    Tree::new()
        .files(&[
            ("proc/cpuinfo", CPUINFO),
            ("proc/sys/kernel/arch", "aarch64\n"),
            ("sys/devices/system/cpu/online", "0-1\n"),
            // Before Linux 5.3 the lists had other names.
            ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
            ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n"),
            ("sys/devices/system/cpu/cpu0/topology/core_siblings_list", "0-1\n"),
        ])
        .file("proc/self/auxv", auxv(65536))
}

#[test]
fn the_processor_is_described_by_implementer_and_part() {
    let facts = gather(&machine().roots());
    assert_eq!(facts.cpu.model_name, None);
    assert_eq!(facts.cpu.vendor.as_deref(), Some("0x41"));
    assert_eq!((facts.cpu.family, facts.cpu.model), (Some(8), Some(0xd0c)));
    // r3p1.
    assert_eq!(facts.cpu.stepping, Some(49));
    assert_eq!(facts.cpu.flags.unwrap(), ["atomics", "evtstrm", "ssbs"]);
    assert_eq!((facts.cpu.cores, facts.cpu.sockets), (Some(2), Some(1)));
    assert_eq!(facts.memory.page_bytes, Some(65536));
    assert_eq!(facts.os.arch.as_deref(), Some("aarch64"));
}

#[test]
fn the_hypervisor_is_unknown_unless_a_file_names_it() {
    assert_eq!(gather(&machine().roots()).virtualization, None);
    let guest = machine().file("proc/device-tree/hypervisor/compatible", "linux,kvm\0");
    assert_eq!(gather(&guest.roots()).virtualization.as_deref(), Some("kvm"));
    let guest = machine().file("sys/class/dmi/id/sys_vendor", "QEMU\n");
    assert_eq!(gather(&guest.roots()).virtualization.as_deref(), Some("qemu"));
    let guest = guest.file("sys/class/dmi/id/product_name", "KVM Virtual Machine\n");
    assert_eq!(gather(&guest.roots()).virtualization.as_deref(), Some("kvm"));
}
