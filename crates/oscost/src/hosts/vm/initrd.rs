//! The initramfs of a virtual machine: the worker, its orders, and nothing else.
//!
//! A cpio(5) archive in the "newc" format, which the kernel unpacks into its root file system. It
//! does not depend on user or time: the same worker and the same orders give the same bytes.

use std::io::{self, Write};

use cpio::newc;

/// A directory that only its owner may write.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_600;
const DEVICE: u32 = 0o020_600;
/// The console, which the kernel opens for the first process.
const CONSOLE_MAJOR: u32 = 5;
const CONSOLE_MINOR: u32 = 1;

/// Builds the archive: the worker as `/init`, and its orders, if all are known.
pub(super) fn initrd(worker: &[u8], orders: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let mut archive = Vec::new();
    for name in ["dev", "proc", "sys", "tmp"] {
        add(&mut archive, newc::Builder::new(name).mode(DIRECTORY), &[])?;
    }
    let console = newc::Builder::new("dev/console").mode(DEVICE);
    let console = console.rdev_major(CONSOLE_MAJOR).rdev_minor(CONSOLE_MINOR);
    add(&mut archive, console, &[])?;
    add(&mut archive, newc::Builder::new("init").mode(PROGRAM), worker)?;
    if let Some(orders) = orders {
        add(&mut archive, newc::Builder::new("orders").mode(FILE), orders)?;
    }
    newc::trailer(archive)
}

fn add(archive: &mut Vec<u8>, entry: newc::Builder, content: &[u8]) -> io::Result<()> {
    let size = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut writer = entry.nlink(1).write(archive, size);
    writer.write_all(content)?;
    writer.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_reproducible_and_contains_the_worker_and_its_orders() {
        let archive = initrd(b"worker", Some(b"orders")).unwrap();
        assert_eq!(archive, initrd(b"worker", Some(b"orders")).unwrap());
        assert_ne!(archive, initrd(b"worker", None).unwrap());
        let mut entries = Vec::new();
        let mut rest = &archive[..];
        loop {
            let mut reader = newc::Reader::new(rest).unwrap();
            let entry = reader.entry();
            if entry.is_trailer() {
                break;
            }
            let (name, mode) = (entry.name().to_owned(), entry.mode());
            let device = (entry.rdev_major(), entry.rdev_minor());
            let mut content = Vec::new();
            io::Read::read_to_end(&mut reader, &mut content).unwrap();
            entries.push((name, mode, device, content));
            rest = reader.finish().unwrap();
        }
        let entry = |name: &str, mode, device, content: &[u8]| {
            (name.to_owned(), mode, device, content.to_vec())
        };
        let expected = [
            entry("dev", DIRECTORY, (0, 0), b""),
            entry("proc", DIRECTORY, (0, 0), b""),
            entry("sys", DIRECTORY, (0, 0), b""),
            entry("tmp", DIRECTORY, (0, 0), b""),
            entry("dev/console", DEVICE, (5, 1), b""),
            entry("init", PROGRAM, (0, 0), b"worker"),
            entry("orders", FILE, (0, 0), b"orders"),
        ];
        assert_eq!(entries, expected);
    }
}
