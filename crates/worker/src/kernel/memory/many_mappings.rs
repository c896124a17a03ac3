//! An address space of many mappings.

use std::ptr::NonNull;

use crate::kernel::Errno;
use crate::kernel::memory::mapping::Mapping;
use crate::kernel::memory::region::kernel_page_bytes;

/// Adjacent mappings of one page each, alternately writable and read-only, so that the kernel
/// merges none of them. No page is ever touched.
pub struct ManyMappings {
    whole: Mapping,
    count: usize,
}

impl ManyMappings {
    /// So many of them. ENOMEM if that is more than `vm.max_map_count` allows.
    pub fn new(count: usize) -> Result<Option<Self>, Errno> {
        if count == 0 {
            return Ok(None);
        }
        let page = kernel_page_bytes();
        let many = Self { whole: Mapping::private(count * page)?, count };
        for index in (1..count).step_by(2) {
            // SAFETY: the page lies inside the mapping, which nothing refers to.
            Errno::check(unsafe {
                let at: NonNull<libc::c_void> = many.whole.pointer(index * page);
                libc::mprotect(at.as_ptr(), page, libc::PROT_READ)
            })?;
        }
        Ok(Some(many))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::in_own_process;

    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }

    #[test]
    fn each_mapping_is_one_of_the_process_until_all_are_dropped() {
        in_own_process(|| {
            assert!(ManyMappings::new(0).unwrap().is_none());
            let before = mappings();
            let many = ManyMappings::new(1_000).unwrap().unwrap();
            // The first and the last may be merged with a neighbour; the allocator may map some.
            let added = mappings() - before;
            assert!((many.count() - 2..many.count() + 4).contains(&added), "{added} mappings");
            drop(many);
            assert!(mappings() < before + 4);
        });
    }
}
