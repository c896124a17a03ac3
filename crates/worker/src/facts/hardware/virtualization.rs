//! The hypervisor that the machine runs on.

use crate::facts::source::reader;
use crate::facts::source::roots::Roots;

/// Clock sources that only guests of a hypervisor have.
const CLOCKS: &[(&str, &str)] = &[("kvm-clock", "kvm"), ("hyperv", "hyper-v"), ("xen", "xen")];

/// Vendor and product names in the firmware of virtual machines.
const FIRMWARE: &[(&str, &str)] = &[
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("Parallels", "parallels"),
    ("KVM", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("QEMU", "qemu"),
    // Last, since others contain it, too: "KVM Virtual Machine".
    ("Virtual Machine", "hyper-v"),
];

/// The hypervisor's name, `none`, or `unnamed`. `flags` are those of the processor.
///
/// An x86 guest has the flag `hypervisor`. Without the flag the firmware is not checked: a rented
/// bare-metal machine has the same vendor name as a virtual one.
pub(in crate::facts) fn gather(roots: &Roots, flags: Option<&[String]>) -> Option<String> {
    let has = |name: &str| flags.is_some_and(|flags| flags.iter().any(|flag| flag == name));
    let is_guest = has("hypervisor");
    // Only an x86 has these two flags, and a guest would have `hypervisor` as well.
    if !is_guest && (has("constant_tsc") || has("rdtscp")) {
        // Except a paravirtual guest of Xen.
        return hypervisor_folder(roots).or(Some("none".to_string()));
    }
    let name = hypervisor_folder(roots).or_else(|| device_tree(roots));
    let name = name.or_else(|| clock(roots)).or_else(|| firmware(roots));
    name.or_else(|| is_guest.then(|| "unnamed".to_string()))
}

fn hypervisor_folder(roots: &Roots) -> Option<String> {
    reader::value(&roots.at("sys/hypervisor/type"))
}

/// `linux,kvm` or `xen,xen-4.16`: vendor, then name.
fn device_tree(roots: &Roots) -> Option<String> {
    let compatible = reader::lines(&roots.at("proc/device-tree/hypervisor/compatible"))?;
    ["kvm", "xen"].iter().find(|name| compatible.contains(*name)).map(|name| name.to_string())
}

fn clock(roots: &Roots) -> Option<String> {
    let folder = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    find_name(&reader::value(&roots.at(folder))?, CLOCKS)
}

fn firmware(roots: &Roots) -> Option<String> {
    let file = |name| reader::value(&roots.at("sys/class/dmi/id").join(name));
    let says = |name| find_name(&file(name)?, FIRMWARE);
    says("product_name").or_else(|| says("sys_vendor"))
}

fn find_name(text: &str, names: &[(&str, &str)]) -> Option<String> {
    names.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| name.to_string())
}
