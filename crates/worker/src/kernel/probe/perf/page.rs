//! A counter's page, through which a program reads the counter by an instruction.

use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

use super::counter::CounterGroup;
use crate::kernel::Errno;
use crate::kernel::arch::{HAS_PMC_INSTRUCTION, read_pmc};
use crate::kernel::memory::mapping::Mapping;

/// The head of `perf_event_mmap_page`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    version: u32,
    compatible_version: u32,
    lock: u32,
    index: u32,
    offset: i64,
    enabled_ns: u64,
    running_ns: u64,
    capabilities: u64,
    width_bits: u16,
}

/// `cap_user_rdpmc` of the capabilities.
const USER_READ: u64 = 1 << 2;

/// What a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageReading {
    /// The count; `None` while the event is not on a counter.
    pub count: Option<u64>,
    /// The time for which it was enabled, in nanoseconds, at the kernel's last update.
    pub enabled_ns: u64,
    /// The time for which it counted, likewise.
    pub running_ns: u64,
}

/// The page of a counter of the calling thread.
pub struct CounterPage {
    head: NonNull<Head>,
    /// What `head` points into.
    _mapping: Mapping,
}

impl CounterPage {
    /// Maps the page of an event of a group.
    pub fn of_group(group: &CounterGroup, event: usize) -> Result<Self, Errno> {
        Self::map(Mapping::of_counter(group.fd(event).ok_or(Errno::EINVAL)?)?)
    }

    fn map(mapping: Mapping) -> Result<Self, Errno> {
        // SAFETY: the start of the mapping, which is longer than the head and aligned to a page.
        let head = unsafe { mapping.pointer(0) };
        Ok(Self { head, _mapping: mapping })
    }

    /// Whether the kernel lets this counter be read by an instruction.
    pub fn can_be_read(&self) -> bool {
        HAS_PMC_INSTRUCTION && self.load(|head| &raw const head.capabilities) & USER_READ != 0
    }

    /// The width of the counter in bits; `None` if the kernel does not say.
    pub fn width_bits(&self) -> Option<u32> {
        let width = self.load(|head| &raw const head.width_bits);
        (width != 0).then_some(u32::from(width))
    }

    /// Reads the counter by the instruction. Only if [`Self::can_be_read`].
    #[inline(always)]
    pub fn read(&self) -> PageReading {
        // SAFETY: the kernel allows the instruction to a task that has mapped such a page, and the
        // index, which the lock guards, is that of an existing counter.
        self.read_with(|counter| unsafe { read_pmc(counter) })
    }

    /// The protocol of linux/perf_event.h: the kernel changes the lock before and after an update,
    /// which happens on this CPU, so that no fence of the processor is needed.
    #[inline(always)]
    fn read_with(&self, read_pmc: impl Fn(u32) -> u64) -> PageReading {
        loop {
            let lock = self.load(|head| &raw const head.lock);
            compiler_fence(Ordering::SeqCst);
            let enabled_ns = self.load(|head| &raw const head.enabled_ns);
            let running_ns = self.load(|head| &raw const head.running_ns);
            let index = self.load(|head| &raw const head.index);
            let offset = self.load(|head| &raw const head.offset);
            let width = self.load(|head| &raw const head.width_bits);
            let count = match index {
                0 => None,
                _ => Some(offset.wrapping_add(sign_extended(read_pmc(index - 1), width)) as u64),
            };
            compiler_fence(Ordering::SeqCst);
            if self.load(|head| &raw const head.lock) == lock {
                return PageReading { count, enabled_ns, running_ns };
            }
        }
    }

    #[inline(always)]
    fn load<T: Copy>(&self, field: impl Fn(&Head) -> *const T) -> T {
        // SAFETY: the mapping lives as long as this value; the kernel writes the page, so that each
        // field is read by a volatile load alone.
        unsafe { field(self.head.as_ref()).read_volatile() }
    }
}

/// The value of a counter of this width: the kernel starts it below zero, so that it overflows after
/// a known number of events.
#[inline(always)]
fn sign_extended(value: u64, width_bits: u16) -> i64 {
    let unused = 64 - u32::from(width_bits.clamp(1, 64));
    ((value << unused) as i64) >> unused
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A page that a test fills in, as the kernel would.
    fn page(head: Head) -> CounterPage {
        let page = CounterPage::map(Mapping::private(4_096).unwrap()).unwrap();
        set(&page, head);
        page
    }

    fn set(page: &CounterPage, head: Head) {
        // SAFETY: the page is private memory of this test.
        unsafe { page.head.write_volatile(head) };
    }

    const ON: Head = Head {
        version: 0,
        compatible_version: 0,
        lock: 2,
        index: 1,
        offset: 0,
        enabled_ns: 70,
        running_ns: 70,
        capabilities: USER_READ,
        width_bits: 48,
    };

    #[test]
    fn the_head_has_the_kernels_layout() {
        assert_eq!(std::mem::offset_of!(Head, lock), 8);
        assert_eq!(std::mem::offset_of!(Head, offset), 16);
        assert_eq!(std::mem::offset_of!(Head, capabilities), 40);
        assert_eq!(std::mem::offset_of!(Head, width_bits), 48);
    }

    #[test]
    fn a_count_is_the_offset_and_the_counters_signed_value() {
        let start = 1_u64 << 47; // What the kernel programs for a period of 2^47.
        let page = page(Head { offset: 1 << 47, ..ON });
        let read = |pmc: u64| page.read_with(|_| pmc).count;
        assert_eq!(read(start), Some(0));
        assert_eq!(read(start + 12_345), Some(12_345));
        // At 48 bits it wraps, and the kernel has not updated the offset yet.
        assert_eq!(read((1 << 48) - 1), Some((1 << 47) - 1));
        assert_eq!(read(0), Some(1 << 47));
        assert_eq!(read(7), Some((1 << 47) + 7));
    }

    #[test]
    fn an_event_that_is_on_no_counter_has_no_count() {
        let page = page(Head { index: 0, running_ns: 60, ..ON });
        let reading = page.read_with(|_| unreachable!("there is no counter to read"));
        assert_eq!(reading, PageReading { count: None, enabled_ns: 70, running_ns: 60 });
    }

    #[test]
    fn a_reading_during_an_update_is_repeated() {
        let page = page(ON);
        let reads = Cell::new(0);
        let reading = page.read_with(|counter| {
            assert_eq!(counter, 0, "the index is one more than the counter's number");
            reads.set(reads.get() + 1);
            if reads.get() == 1 {
                // The kernel moves the count into the offset between two loads.
                set(&page, Head { lock: 4, offset: 1_000, ..ON });
                return 500;
            }
            1
        });
        assert_eq!((reading.count, reads.get()), (Some(1_001), 2));
    }

    #[test]
    fn the_width_and_the_permission_are_the_pages() {
        let refused = page(Head { capabilities: 0, width_bits: 0, ..ON });
        assert!(!refused.can_be_read());
        assert_eq!(refused.width_bits(), None);
        let allowed = page(ON);
        assert_eq!(allowed.can_be_read(), HAS_PMC_INSTRUCTION);
        assert_eq!(allowed.width_bits(), Some(48));
    }
}
