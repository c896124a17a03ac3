//! The initramfs of a virtual machine: the worker, its orders, and nothing else.
//!
//! A cpio(5) archive in the new format ("newc"), which the kernel unpacks into its root file
//! system. It does not depend on user or time: the same worker and the same orders give the same
//! bytes.

/// A directory that only its owner may write.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_600;
const DEVICE: u32 = 0o020_600;
/// The console, character device 5:1, which the kernel opens for the first process.
const CONSOLE: (u32, u32) = (5, 1);
/// The entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// Builds the archive: the worker as `/init`, and its orders, if all are known.
pub(super) fn initrd(worker: &[u8], orders: Option<&[u8]>) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["dev", "proc", "sys", "tmp"] {
        archive.add(folder, FOLDER, &[], (0, 0));
    }
    archive.add("dev/console", DEVICE, &[], CONSOLE);
    archive.add("init", PROGRAM, worker, (0, 0));
    if let Some(orders) = orders {
        archive.add("orders", FILE, orders, (0, 0));
    }
    archive.add(TRAILER, 0, &[], (0, 0));
    archive.bytes
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds an entry: a header of thirteen hexadecimal numbers, the name and the content, both
    /// padded to a multiple of four bytes.
    fn add(&mut self, name: &str, mode: u32, content: &[u8], (major, minor): (u32, u32)) {
        self.entries += 1;
        let (user, group, links, changed) = (0, 0, 1, 0);
        let sizes = (content.len() as u32, name.len() as u32 + 1);
        let numbers = [
            self.entries,
            mode,
            user,
            group,
            links,
            changed,
            sizes.0,
            0,
            0,
            major,
            minor,
            sizes.1,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes.extend_from_slice(format!("{number:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_archive_is_reproducible_and_readable_by_cpio() {
        let archive = initrd(b"worker", Some(b"orders"));
        assert_eq!(archive, initrd(b"worker", Some(b"orders")));
        assert_ne!(archive, initrd(b"worker", None));
        assert_eq!(archive.len() % 4, 0);
        let listing = Command::new("cpio")
            .args(["-i", "-t", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut cpio) = listing else {
            return assert!(archive.starts_with(b"070701")); // cpio(1) is not installed everywhere.
        };
        cpio.stdin.take().unwrap().write_all(&archive).unwrap();
        let said = cpio.wait_with_output().unwrap();
        let names = String::from_utf8_lossy(&said.stdout).into_owned();
        assert_eq!(names, "dev\nproc\nsys\ntmp\ndev/console\ninit\norders\n");
    }
}
