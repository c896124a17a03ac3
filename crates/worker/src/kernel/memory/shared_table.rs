//! Tables shared between processes.

use std::ptr::NonNull;

use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;

/// A table of plain values in a shared mapping: pre-faulted, locked where the limit allows, and
/// shared with every fork.
pub struct SharedTable<T: Copy + Default> {
    base: NonNull<T>,
    len: usize,
    /// What `base` points into.
    mapping: Mapping,
}

impl<T: Copy + Default> SharedTable<T> {
    /// Maps room for `len` values and writes each once, so that no later write faults.
    pub fn new(len: usize) -> Result<Self, Errno> {
        let bytes = size_of::<T>() * len.max(1);
        let mapping = Mapping::shared(bytes)?;
        // Locking may be refused; written pages stay in memory anyway unless the machine swaps,
        // which `ru_majflt` shows.
        let _ = mapping.lock();
        // SAFETY: the start of the mapping.
        let base: NonNull<T> = unsafe { mapping.pointer(0) };
        for index in 0..len {
            // SAFETY: `index` lies inside the mapping, which is aligned to a page.
            unsafe { base.add(index).write(T::default()) };
        }
        Ok(Self { base, len, mapping })
    }

    /// Leaves it out of the memory of processes that are forked from now on, none of which may use
    /// it: a fork copies the description of each mapping, which would be charged to the op.
    pub fn keep_from_forks(&self) {
        self.mapping.keep_from_forks();
    }

    /// The capacity in values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the capacity is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes one value; refuses an index outside.
    pub fn set(&mut self, index: usize, value: T) -> Result<(), Errno> {
        if index >= self.len {
            return Err(Errno(libc::ENOSPC));
        }
        // SAFETY: inside the mapping; a fork that shares it writes to other indices.
        unsafe { self.base.add(index).write_volatile(value) };
        Ok(())
    }

    /// The first `count` values, or all. Other writers must have reported that they are done.
    pub fn prefix(&self, count: usize) -> Vec<T> {
        // SAFETY: that many values lie in the mapping, each was written, and no process writes now.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), count.min(self.len)) }.to_vec()
    }

    /// Reads one value; refuses an index outside.
    pub fn get(&self, index: usize) -> Option<T> {
        // SAFETY: inside the mapping, and every value in it was written.
        (index < self.len).then(|| unsafe { self.base.add(index).read_volatile() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::kernel::process::spawn::reap;
    use crate::kernel::process::{fork, in_own_process};

    /// Whether a table is mapped in this process.
    fn is_mapped(table: &SharedTable<u64>) -> bool {
        let begins = format!("{:x}-", table.base.as_ptr() as usize);
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().any(|line| line.starts_with(&begins))
    }

    #[test]
    fn a_process_forked_later_does_not_have_a_table_that_is_kept_from_forks() {
        in_own_process(|| {
            let tables = [(); 2].map(|()| SharedTable::<u64>::new(1_000).unwrap());
            let [kept, shared] = &tables;
            kept.keep_from_forks();
            assert!(is_mapped(kept) && is_mapped(shared));
            let child = fork(|| i32::from(is_mapped(kept) || !is_mapped(shared)));
            assert_eq!(reap(child.unwrap()), Ok(()));
        });
    }

    #[test]
    fn a_table_keeps_what_is_written_and_refuses_what_lies_outside() {
        let mut table = SharedTable::<u64>::new(3).unwrap();
        table.set(2, 7).unwrap();
        assert_eq!((table.get(2), table.get(0), table.get(3)), (Some(7), Some(0), None));
        assert!(table.set(3, 1).is_err());
    }
}
