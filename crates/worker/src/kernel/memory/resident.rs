//! Memory that a process has written: what fork(2) copies page tables for, and exit frees.

use crate::kernel::Errno;
use crate::kernel::machine::resources::{address_space_left_bytes, available_bytes};
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::memory::region::kernel_page_bytes;

/// A private mapping whose every page was written, in pages of the smallest size.
pub struct ResidentMemory(Mapping);

const MIB: u64 = 1 << 20;

impl ResidentMemory {
    /// Maps `mib` MiB and writes each page once. Huge pages are disabled: one page table entry
    /// would cover 512 pages, and another operation would be timed.
    pub fn new(mib: u64) -> Result<Option<Self>, Errno> {
        let bytes = (mib * MIB) as usize;
        if bytes == 0 {
            return Ok(None);
        }
        let mapping = Mapping::private(bytes)?;
        mapping.disable_huge_pages();
        let touched = Self(mapping);
        touched.touch();
        Ok(Some(touched))
    }

    /// Writes each page.
    pub fn touch(&self) {
        for at in (0..self.0.bytes()).step_by(kernel_page_bytes()) {
            // SAFETY: inside the mapping, which nothing else refers to.
            unsafe { self.0.pointer::<u8>(at).write_volatile(1) };
        }
    }

    /// Why `mib` MiB are not available here, with a hint; `None` if they are.
    pub fn unavailable_reason(mib: u64) -> Option<String> {
        /// Reserve for the process, its page tables and other programs.
        const MARGIN_MIB: u64 = 64;
        if mib == 0 {
            return None;
        }
        let wanted = mib + MARGIN_MIB;
        let mib_of = |bytes: u64| bytes / MIB;
        let (left, of) =
            match (address_space_left_bytes().map(mib_of), available_bytes().map(mib_of)) {
                (Some(left), _) if left < wanted => (left, "RLIMIT_AS"),
                (_, Some(left)) if left < wanted => {
                    (left, "MemAvailable, or a control group's limit")
                }
                _ => return None,
            };
        Some(format!(
            "{wanted} MiB are needed and {left} MiB are available ({of}): raise the limit \
             (`ulimit -v \
             unlimited`) or end what uses memory, or ask for fewer touched_mib"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_always_fits_and_more_than_available_never_does() {
        assert_eq!(ResidentMemory::unavailable_reason(0), None);
        let reason = ResidentMemory::unavailable_reason(1 << 40).unwrap();
        assert!(reason.contains("touched_mib"), "{reason}");
        assert!(ResidentMemory::new(0).unwrap().is_none());
        assert_eq!(ResidentMemory::new(1).unwrap().unwrap().0.bytes(), 1 << 20);
    }
}
