//! Bounded reading of small files: what is missing, forbidden or too long is `None`.
//!
//! The text is not to be trusted: a disk's model or a driver's name is what a device says.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use crate::facts::source::parse;

/// Longest read of a file. The first CPU of `/proc/cpuinfo`, all CPU lines of `/proc/stat` for
/// 500 CPUs and the head of a kernel configuration lie within it.
const MAX_BYTES: usize = 64 << 10;

/// Capacity before the first read. A file in /proc has size 0, so `read_to_end` would begin with
/// reads of 32 bytes; most of the files read here fit into this at once.
const FIRST_READ_BYTES: usize = 4 << 10;

/// Maximum number of names read from a directory.
const MAX_NAMES: usize = 256;

/// Maximum length of a value.
const MAX_CHARS: usize = 256;

/// At most `max_bytes` of a file, and whether that was all of it.
fn bytes(path: &Path, max_bytes: usize) -> Option<(Vec<u8>, bool)> {
    let mut bytes = Vec::with_capacity(FIRST_READ_BYTES);
    let limit = max_bytes as u64 + 1;
    File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    let whole = bytes.len() <= max_bytes;
    bytes.truncate(max_bytes);
    Some((bytes, whole))
}

/// A binary file.
pub(in crate::facts) fn binary(path: &Path) -> Option<Vec<u8>> {
    bytes(path, MAX_BYTES).map(|(bytes, _)| bytes)
}

/// A binary file; `None` unless it is complete.
pub(in crate::facts) fn whole_binary(path: &Path, max_bytes: usize) -> Option<Vec<u8>> {
    let (bytes, whole) = bytes(path, max_bytes)?;
    whole.then_some(bytes)
}

/// The first lines of a text file. A line that the limit truncates is dropped, since half a number
/// looks like a number.
pub(in crate::facts) fn lines(path: &Path) -> Option<String> {
    let (bytes, whole) = bytes(path, MAX_BYTES)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !whole {
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    }
    Some(text)
}

/// A text file; `None` unless it is complete.
pub(in crate::facts) fn whole(path: &Path, max_bytes: usize) -> Option<String> {
    let (bytes, whole) = bytes(path, max_bytes)?;
    whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The value in a file of one value, printable; `None` if it is empty.
pub(in crate::facts) fn value(path: &Path) -> Option<String> {
    parse::printable(&lines(path)?, MAX_CHARS)
}

/// The number in a file of one number.
pub(in crate::facts) fn number<T: FromStr>(path: &Path) -> Option<T> {
    lines(path)?.trim().parse().ok()
}

/// A switch that is `0` or `1`.
pub(in crate::facts) fn switch(path: &Path) -> Option<bool> {
    parse::switch(&lines(path)?)
}

/// The selected choice in a file of choices.
pub(in crate::facts) fn selected(path: &Path) -> Option<String> {
    parse::printable(parse::selected(&lines(path)?)?, MAX_CHARS)
}

/// The CPUs, or nodes, in a file of one list.
pub(in crate::facts) fn list(path: &Path) -> Option<Vec<u32>> {
    parse::list(&lines(path)?)
}

/// The names in a directory, sorted; empty if it cannot be read.
pub(in crate::facts) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_NAMES).collect();
    names.sort();
    names
}

/// The file name of a link's target, printable.
pub(in crate::facts) fn link_name(path: &Path) -> Option<String> {
    parse::printable(fs::read_link(path).ok()?.file_name()?.to_str()?, MAX_CHARS)
}
