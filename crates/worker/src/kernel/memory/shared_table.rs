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
    _mapping: Mapping,
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
        Ok(Self { base, len, _mapping: mapping })
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
    use super::*;

    #[test]
    fn a_table_keeps_what_is_written_and_refuses_what_lies_outside() {
        let mut table = SharedTable::<u64>::new(3).unwrap();
        table.set(2, 7).unwrap();
        assert_eq!((table.get(2), table.get(0), table.get(3)), (Some(7), Some(0), None));
        assert!(table.set(3, 1).is_err());
    }
}
