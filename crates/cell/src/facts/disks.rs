//! Block devices, without serial numbers.

use oscost_model::facts::Disk;

use super::{Roots, parse, reader};

/// `size` counts these, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// The devices that hold anything. Loop and RAM devices stand on another disk or on memory, and
/// a desktop has dozens of them.
pub(super) fn gather(roots: &Roots) -> Vec<Disk> {
    let folder = roots.at("sys/block");
    let names = reader::names(&folder).into_iter();
    let disks = names.filter(|name| !name.starts_with("loop") && !name.starts_with("ram"));
    let disks = disks.filter_map(|name| {
        let file = |file: &str| folder.join(&name).join(file);
        let sectors: Option<u64> = reader::number(&file("size"));
        Some(Disk {
            model: reader::value(&file("device/model")),
            size_bytes: sectors.and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
            rotational: reader::switch(&file("queue/rotational")),
            scheduler: reader::chosen(&file("queue/scheduler")),
            name: parse::shown(&name, 256)?,
        })
    });
    // An empty card reader has size 0; a disk whose size is unknown is still a disk.
    disks.filter(|disk| disk.size_bytes != Some(0)).collect()
}
