//! What the kernel has passed to the program of another task (getauxval(3)), as /proc tells it.

use std::fs;

/// The type of the entry that has the address of the loader (AT_BASE).
const AT_BASE: u64 = 7;
/// The bytes of an entry: a type and a value.
const ENTRY_BYTES: usize = 16;

/// Whether the program of a task has a loader (ELF's interpreter), as one that is linked dynamically;
/// `None` if that cannot be found out.
pub fn has_loader(task: u32) -> Option<bool> {
    let vector = fs::read(format!("/proc/{task}/auxv")).ok()?;
    Some(loader_address(&vector) != 0)
}

/// The address of the loader; 0 without one.
fn loader_address(vector: &[u8]) -> u64 {
    let mut entries = vector.chunks_exact(ENTRY_BYTES);
    entries.find(|entry| first_word(entry) == AT_BASE).map_or(0, |entry| first_word(&entry[8..]))
}

fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_loader_is_found_by_its_type() {
        let vector = |entries: &[[u64; 2]]| -> Vec<u8> {
            entries.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        assert_eq!(loader_address(&vector(&[[33, 7], [AT_BASE, 4_096], [0, 0]])), 4_096);
        assert_eq!(loader_address(&vector(&[[33, 7], [AT_BASE, 0], [0, 0]])), 0);
        assert_eq!(loader_address(&vector(&[[33, 7]])), 0);
        let cut = vector(&[[AT_BASE, 4_096]]);
        assert_eq!(loader_address(&cut[..12]), 0);
        assert_eq!(loader_address(&[]), 0);
    }

    #[test]
    fn the_own_vector_is_read_and_that_of_no_task_is_not() {
        // SAFETY: takes a number, and returns one.
        let of_library = unsafe { libc::getauxval(AT_BASE) };
        assert_eq!(has_loader(std::process::id()), Some(of_library != 0));
        assert_eq!(has_loader(u32::MAX), None);
    }
}
