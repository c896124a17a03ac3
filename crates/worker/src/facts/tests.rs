//! Tests of all facts, on synthetic machines.

mod aarch64;
mod activity;
mod cgroups;
mod counter_files;
mod unreadable;
mod x86;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::source::roots::Roots;

/// A private directory that represents a machine, removed with this value.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new() -> Tree {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("oscost-facts-{}-{next}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir(&root).unwrap();
        Tree(root)
    }

    fn file(self, path: &str, content: impl AsRef<[u8]>) -> Tree {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn files(self, files: &[(&str, &str)]) -> Tree {
        files.iter().fold(self, |tree, (path, content)| tree.file(path, content))
    }

    fn link(self, path: &str, target: &str) -> Tree {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(Path::new(target), path).unwrap();
        self
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::under(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A leftover directory is not worth a second panic.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The auxiliary vector of a process with these pages.
fn auxv(page_bytes: usize) -> Vec<u8> {
    [3, 64, 6, page_bytes, 0, 0].iter().flat_map(|word: &usize| word.to_ne_bytes()).collect()
}

/// One ELF note: three words, then name and content, each padded to four bytes.
pub(super) fn note(kind: u32, name: &[u8], content: &[u8]) -> Vec<u8> {
    let words = [name.len() as u32, content.len() as u32, kind];
    let mut note: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for part in [name, content] {
        note.extend(part);
        note.resize(note.len().next_multiple_of(4), 0);
    }
    note
}
