//! Eviction of the core's caches, address translations and branch predictors.
//!
//! Whatever was cached is evicted, the kernel's code and data included. That needs no privilege,
//! since caches, translations and predictors are shared by address, not by owner.

use oscost_model::seed::Seed;

use crate::kernel::Errno;
use crate::kernel::arch::branches;
use crate::kernel::cpu::affinity;
use crate::kernel::memory::mapping::Mapping;

/// Twice the largest cache, so that a walk leaves nothing behind in a cache that does not strictly
/// evict the oldest line.
const WALK_CACHE_MULTIPLE: usize = 2;
/// Assumed where the machine does not report its largest cache.
const UNKNOWN_CACHE_BYTES: usize = 32 << 20;
/// Beyond this an eviction takes a tenth of a second, and memory that others need.
const MAX_WALK_BYTES: usize = 256 << 20;
/// The shortest cache line of the supported machines.
const LINE_BYTES: usize = 64;
/// The least that one address translation covers.
const PAGE_BYTES: usize = 4_096;
/// Branches in a run, each at its own address: the largest branch target buffers hold some 24,000.
/// At 16 bytes each they exceed any first-level instruction cache many times.
const BRANCHES: usize = 32_768;

/// What one eviction touched, counted as it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionCounts {
    /// Lines of memory read.
    pub lines: u64,
    /// Branches run.
    pub branches: u64,
    /// Branches of them that were not taken.
    pub not_taken: u64,
}

/// A buffer to walk and branches to run.
pub struct Eviction {
    buffer: Mapping,
    code: Mapping,
    directions: Vec<u64>,
    seed: Seed,
}

impl Eviction {
    /// An eviction sized for the CPU that the caller runs on. Fails where memory cannot be made
    /// executable.
    pub fn for_current_cpu() -> Result<Self, Errno> {
        let cache = largest_cache_bytes(affinity::current_cpu()).unwrap_or(UNKNOWN_CACHE_BYTES);
        Self::with_walk_bytes((WALK_CACHE_MULTIPLE * cache).min(MAX_WALK_BYTES))
    }

    /// An eviction that walks this many bytes.
    fn with_walk_bytes(bytes: usize) -> Result<Self, Errno> {
        let buffer = Mapping::private(bytes.next_multiple_of(PAGE_BYTES))?;
        // So that there are more translations to evict.
        buffer.disable_huge_pages();
        for line in 0..buffer.bytes() / LINE_BYTES {
            // SAFETY: inside the mapping, aligned. Each line holds 1, so that the walk's sum counts
            // the lines, and every page is present before the first walk.
            unsafe { buffer.pointer::<u64>(line * LINE_BYTES).write(1) };
        }
        let branches = branches::code(BRANCHES);
        let code = Mapping::private(branches.len().next_multiple_of(PAGE_BYTES))?;
        // SAFETY: the mapping is at least as long as the code, and nothing else refers to it.
        unsafe {
            code.pointer::<u8>(0)
                .as_ptr()
                .copy_from_nonoverlapping(branches.as_ptr(), branches.len());
            branches::publish(code.pointer::<u8>(0).as_ptr(), branches.len());
        }
        code.make_executable()?;
        let directions = vec![0; BRANCHES.div_ceil(64)];
        Ok(Self { buffer, code, directions, seed: Seed::new(1) })
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes() + self.code.bytes()
    }

    /// Evicts.
    ///
    /// First the walk, which reads a word of every line and so touches every page; then the
    /// branches, in unpredictable directions, since these are random each time.
    pub fn evict(&mut self) -> EvictionCounts {
        let mut lines = 0;
        for line in 0..self.buffer.bytes() / LINE_BYTES {
            // SAFETY: inside the mapping; volatile, so that it is read.
            lines += unsafe { self.buffer.pointer::<u64>(line * LINE_BYTES).read_volatile() };
        }
        for directions in &mut self.directions {
            *directions = self.seed.bits();
        }
        // SAFETY: the mapping holds a complete C function of this type, is executable, and the
        // function only reads one direction bit per branch.
        let not_taken = unsafe {
            let run: extern "C" fn(u64, *const u64) -> u64 =
                std::mem::transmute(self.code.pointer::<u8>(0).as_ptr());
            run(0, self.directions.as_ptr())
        };
        EvictionCounts { lines, branches: BRANCHES as u64, not_taken }
    }
}

/// The size of the largest cache of a CPU, in bytes.
fn largest_cache_bytes(cpu: i32) -> Option<usize> {
    /// Cache indices to try; a CPU has four or five.
    const MAX_CACHES: u32 = 16;
    let size = |index: u32| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/size");
        bytes(std::fs::read_to_string(file).ok()?.trim())
    };
    (0..MAX_CACHES).filter_map(size).max()
}

/// Parses a size as sysfs prints it: `32768K`, sometimes `32M`.
fn bytes(text: &str) -> Option<usize> {
    let (digits, factor) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    digits.parse::<usize>().ok()?.checked_mul(factor).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eviction_reads_every_line_and_runs_every_branch() {
        let mut eviction = Eviction::with_walk_bytes(1 << 20).unwrap();
        for _ in 0..3 {
            let touched = eviction.evict();
            assert_eq!(touched.lines, (1 << 20) / LINE_BYTES as u64);
            assert_eq!(touched.branches, BRANCHES as u64);
            // A branch is taken if its bit is set: each has run, in its own direction.
            let clear: u32 = eviction.directions.iter().map(|bits| bits.count_zeros()).sum();
            assert_eq!(touched.not_taken, u64::from(clear));
        }
    }

    #[test]
    fn no_two_evictions_take_the_same_branches() {
        let mut eviction = Eviction::with_walk_bytes(1 << 20).unwrap();
        eviction.evict();
        let first = eviction.directions.clone();
        eviction.evict();
        let alike: u32 = first
            .iter()
            .zip(&eviction.directions)
            .map(|(one, other)| (one ^ other).count_zeros())
            .sum();
        let share = f64::from(alike) / BRANCHES as f64;
        assert!((0.45..0.55).contains(&share), "{share}");
    }

    #[test]
    fn the_walk_is_twice_the_largest_cache_and_bounded() {
        let eviction = Eviction::for_current_cpu().unwrap();
        let cache = largest_cache_bytes(affinity::current_cpu()).unwrap_or(UNKNOWN_CACHE_BYTES);
        assert_eq!(eviction.buffer.bytes(), (2 * cache).min(MAX_WALK_BYTES));
        assert!(eviction.bytes() <= MAX_WALK_BYTES + (1 << 20));
    }

    #[test]
    fn sizes_are_read_as_sysfs_writes_them() {
        assert_eq!(bytes("32768K"), Some(32 << 20));
        assert_eq!(bytes("32M"), Some(32 << 20));
        for odd in ["", "K", "0K", "-1K", "12", "99999999999999999999K", "18014398509481984M"] {
            assert_eq!(bytes(odd), None, "{odd}");
        }
    }
}
