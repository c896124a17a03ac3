//! Block devices, without serial numbers.

use std::path::{Path, PathBuf};

use oscost_model::facts::Disk;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// `size` counts these, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// Maximum number of parent directories that are searched for a device's bus.
const MAX_DEPTH: usize = 16;

/// The offset of the rotation rate in page B1h, and the valid rates: 1 means non-rotating, other
/// values are reserved.
const RPM_AT: usize = 4;
const RPM: std::ops::RangeInclusive<u16> = 0x401..=0xfffe;

/// The block devices with a capacity. Loop and RAM devices are backed by another disk or by memory,
/// and a desktop has dozens of them.
pub(in crate::facts) fn gather(roots: &Roots) -> Vec<Disk> {
    let folder = roots.at("sys/block");
    let names = reader::names(&folder).into_iter();
    let disks = names.filter(|name| !name.starts_with("loop") && !name.starts_with("ram"));
    let disks = disks.filter_map(|name| {
        let file = |file: &str| folder.join(&name).join(file);
        let sectors: Option<u64> = reader::number(&file("size"));
        // The links in the directory point to the device in the device tree.
        let device = folder.join(&name).canonicalize().unwrap_or_else(|_| PathBuf::from(&name));
        Some(Disk {
            model: reader::value(&file("device/model")),
            size_bytes: sectors.and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
            rotational: reader::switch(&file("queue/rotational")),
            scheduler: reader::selected(&file("queue/scheduler")),
            interface: interface(&name, &device),
            write_cache: reader::value(&file("queue/write_cache")),
            rpm: reader::binary(&file("device/vpd_pgb1")).and_then(|page| rpm(&page)),
            link: link(&device),
            name: parse::printable(&name, 256)?,
        })
    });
    // An empty card reader has size 0; a disk whose size is unknown is still a disk.
    disks.filter(|disk| disk.size_bytes != Some(0)).collect()
}

/// The interface of the device, from its parents in the device tree, otherwise from its name.
fn interface(name: &str, device: &Path) -> Option<String> {
    let below = |start: &str| {
        device.iter().filter_map(|part| part.to_str()).any(|part| {
            part.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_numeric()))
        })
    };
    let named = |start: &str| name.starts_with(start);
    let found = match () {
        () if below("nvme") || named("nvme") => "nvme",
        () if below("usb") => "usb",
        () if below("ata") => "sata",
        () if below("virtio") && below("host") => "virtio-scsi",
        () if below("virtio") || named("vd") => "virtio",
        () if below("mmc") || named("mmcblk") => "mmc",
        () if below("vbd-") || named("xvd") => "xen",
        () if below("host") || named("sd") => "scsi",
        () if device.iter().any(|part| part == "virtual") => "virtual",
        () => return None,
    };
    Some(found.to_owned())
}

/// The rotation rate per minute, from the disk's VPD page.
fn rpm(page: &[u8]) -> Option<u32> {
    let rate = u16::from_be_bytes(*page.get(RPM_AT..)?.first_chunk()?);
    RPM.contains(&rate).then(|| u32::from(rate))
}

/// The link speed of the device: of a SATA port, or of the PCI slot of an NVMe disk. The speed of a
/// virtual slot is meaningless and is not read.
fn link(device: &Path) -> Option<String> {
    for folder in device.ancestors().skip(1).take(MAX_DEPTH) {
        let name = folder.file_name()?.to_str()?;
        if let Some(port) = name.strip_prefix("ata").filter(|port| port.parse::<u32>().is_ok()) {
            return reader::value(&folder.join(format!("link{port}/ata_link/link{port}/sata_spd")));
        }
        let is_nvme = device.iter().any(|part| part == "nvme");
        if let Some(speed) = reader::value(&folder.join("current_link_speed"))
            && is_nvme
        {
            let speed = speed.trim_end_matches(" PCIe");
            let width = reader::value(&folder.join("current_link_width")).unwrap_or("?".into());
            return Some(format!("{speed} PCIe x{width}"));
        }
    }
    None
}
