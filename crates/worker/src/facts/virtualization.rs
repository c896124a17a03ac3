//! Which hypervisor is underneath.

use super::reader;
use super::roots::Roots;

/// Clocks that only a guest of that hypervisor has.
const CLOCKS: &[(&str, &str)] = &[("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];

/// What the firmware of a virtual machine calls its maker or itself.
const FIRMWARE: &[(&str, &str)] = &[
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Parallels", "parallels"),
    ("KVM", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("QEMU", "qemu"),
    // Last, since others say it too: "KVM Virtual Machine".
    ("Virtual Machine", "hyper-v"),
];

/// The hypervisor's name, `none`, or `unnamed`. `flags` are those of the processor.
///
/// An x86 guest sees by a flag that it is one. Without the flag firmware is not asked: a rented
/// bare-metal machine carries the same maker's name as a rented virtual one.
pub(super) fn gather(roots: &Roots, flags: Option<&[String]>) -> Option<String> {
    let has = |name: &str| flags.is_some_and(|flags| flags.iter().any(|flag| flag == name));
    let is_guest = has("hypervisor");
    // Only an x86 has these two, and it would list a hypervisor beside them.
    if !is_guest && (has("constant_tsc") || has("rdtscp")) {
        // Except for a paravirtual guest of Xen.
        return hypervisor_folder(roots).or(Some("none".to_string()));
    }
    let told = hypervisor_folder(roots).or_else(|| device_tree(roots));
    let told = told.or_else(|| clock(roots)).or_else(|| firmware(roots));
    told.or_else(|| is_guest.then(|| "unnamed".to_string()))
}

fn hypervisor_folder(roots: &Roots) -> Option<String> {
    reader::value(&roots.at("sys/hypervisor/type"))
}

/// `linux,kvm` or `xen,xen-4.16`: whose it is, then what it is.
fn device_tree(roots: &Roots) -> Option<String> {
    let compatible = reader::lines(&roots.at("proc/device-tree/hypervisor/compatible"))?;
    ["kvm", "xen"].iter().find(|name| compatible.contains(*name)).map(|name| name.to_string())
}

fn clock(roots: &Roots) -> Option<String> {
    let folder = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    named(&reader::value(&roots.at(folder))?, CLOCKS)
}

fn firmware(roots: &Roots) -> Option<String> {
    let file = |name| reader::value(&roots.at("sys/class/dmi/id").join(name));
    let says = |name| named(&file(name)?, FIRMWARE);
    says("product_name").or_else(|| says("sys_vendor"))
}

fn named(text: &str, names: &[(&str, &str)]) -> Option<String> {
    names.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| name.to_string())
}
