//! Blocks of memory that are read, written, copied and walked by known instructions.

use crate::kernel::Errno;
use crate::kernel::arch::memory::{self, ITERATION_BYTES};
use crate::kernel::cpu::black_box::opaque;
use crate::kernel::memory::region::{Access, PAGE_BYTES, PageKind, Region};

/// An operation on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOperation {
    /// Read it into registers.
    Read,
    /// Write registers to it.
    Write,
    /// Copy it to another block.
    Copy,
    /// The same, with stores that go past the caches.
    Stream,
}

/// The method by which a block is copied or cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMethod {
    /// The C library's memcpy or memset.
    Library,
    /// The processor's string instruction.
    String,
    /// A loop over the widest supported registers.
    Registers,
    /// The same, with stores that go past the caches.
    Stream,
}

/// Two blocks of the same length, each page-aligned and with all pages present.
pub struct Blocks {
    from: Region,
    to: Region,
    bytes: usize,
    wide: bool,
    /// The offset at which the next transfer starts.
    position: usize,
}

impl Blocks {
    /// Maps two blocks of `bytes` bytes and writes to each of their pages.
    pub fn new(bytes: usize) -> Result<Self, Errno> {
        let [from, to] = [Self::map_block(bytes)?, Self::map_block(bytes)?];
        Ok(Self { from, to, bytes, wide: memory::has_wide_registers(), position: 0 })
    }

    fn map_block(bytes: usize) -> Result<Region, Errno> {
        // Where the kernel places it, as with any program's block: two blocks a multiple of 2 MiB
        // apart conflict in the caches, and a copy of 1 KiB took half as much again.
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let region = Region::at_hint(0, bytes, PageKind::Small, 0)?;
        region.disable_huge_pages()?;
        region.touch_all(Access::Write);
        Ok(region)
    }

    /// The addresses of the second and the first block; the compiler knows neither of them, and
    /// cannot tell that the same copy was made before.
    #[inline(always)]
    fn pointers(&self) -> (*mut u8, *const u8) {
        let to = opaque(self.to.address() as u64);
        let from = opaque(self.from.address() as u64);
        (to as *mut u8, from as *const u8)
    }

    /// Copies the one block to the other.
    #[inline(always)]
    pub fn copy(&mut self, method: CopyMethod) {
        let (to, from) = self.pointers();
        // SAFETY: both blocks are mapped and do not overlap.
        unsafe {
            match method {
                CopyMethod::Library => {
                    libc::memcpy(to.cast(), from.cast(), self.bytes);
                }
                CopyMethod::String => memory::copy_string(to, from, self.bytes),
                CopyMethod::Registers => self.transfer_part(BlockOperation::Copy, 0, self.bytes),
                CopyMethod::Stream => self.transfer_part(BlockOperation::Stream, 0, self.bytes),
            }
        }
    }

    /// Fills the second block with zeros; by the library, or else by the string instruction.
    #[inline(always)]
    pub fn clear(&mut self, method: CopyMethod) {
        let (to, _) = self.pointers();
        // SAFETY: the block is mapped.
        unsafe {
            match method {
                CopyMethod::Library => {
                    libc::memset(to.cast(), 0, self.bytes);
                }
                _ => memory::clear_string(to, self.bytes),
            }
        }
    }

    /// Applies `act` to `bytes` bytes, cycling through the blocks. It continues where the last
    /// transfer ended, rounded up to an iteration, so that no transfer is misaligned.
    pub fn transfer(&mut self, operation: BlockOperation, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let now = (self.bytes - self.position).min(usize::try_from(left).unwrap_or(usize::MAX));
            // SAFETY: from the position to the blocks' end, and no further.
            unsafe { self.transfer_part(operation, self.position, now) };
            self.position = (self.position + now).next_multiple_of(ITERATION_BYTES);
            if self.position >= self.bytes {
                self.position = 0;
            }
            left -= now as u64;
        }
    }

    /// Applies `operation` to `bytes` bytes from `offset` on: whole iterations by registers, the remainder
    /// byte by byte.
    ///
    /// # Safety
    /// The blocks have `bytes` bytes from `offset` on, and `offset` is a multiple of an iteration.
    unsafe fn transfer_part(&mut self, operation: BlockOperation, offset: usize, bytes: usize) {
        let (to, from) = self.pointers();
        let (whole, rest) = (bytes / ITERATION_BYTES * ITERATION_BYTES, bytes % ITERATION_BYTES);
        // SAFETY: the caller guarantees the range; the blocks do not overlap and are page-aligned.
        unsafe {
            let (to, from) = (to.add(offset), from.add(offset));
            if whole > 0 {
                match operation {
                    BlockOperation::Read => memory::read_wide(from, whole, self.wide),
                    BlockOperation::Write => memory::write_wide(to, whole, self.wide),
                    BlockOperation::Copy => memory::copy_wide(to, from, whole, self.wide),
                    BlockOperation::Stream => memory::copy_streaming(to, from, whole, self.wide),
                }
            }
            let (to, from) = (to.add(whole), from.add(whole));
            // A string instruction costs ten core cycles and more even for zero bytes.
            if rest > 0 {
                match operation {
                    BlockOperation::Read => memory::read_string(from, rest),
                    BlockOperation::Write => memory::clear_string(to, rest),
                    BlockOperation::Copy | BlockOperation::Stream => {
                        memory::copy_string(to, from, rest)
                    }
                }
            }
        }
    }
}

/// The cache line size of the supported machines.
const LINE_BYTES: usize = 64;

/// A cycle of pointers through every line of a block, in an order that no prefetcher predicts.
pub struct PointerChase {
    region: Region,
    address: usize,
}

impl PointerChase {
    /// Writes a cycle over the first `bytes` of `region`: a power of two, two lines at least.
    pub fn over(mut region: Region, bytes: usize) -> Result<Self, Errno> {
        if !bytes.is_power_of_two() || bytes < 2 * LINE_BYTES || bytes > region.bytes() {
            return Err(Errno::EINVAL);
        }
        let order = ScrambledOrder::with_bits((bytes / LINE_BYTES).ilog2());
        let base = region.address();
        let lines = region.words_mut().chunks_exact_mut(LINE_BYTES / size_of::<u64>());
        for (line, words) in lines.take(bytes / LINE_BYTES).enumerate() {
            words[0] = (base + order.successor(line as u64) as usize * LINE_BYTES) as u64;
        }
        Ok(Self { region, address: base })
    }

    /// Follows `iterations * copies` pointers, each a load of the address that the last one gave.
    #[inline(always)]
    pub fn step(&mut self, iterations: u64, copies: u32) {
        // SAFETY: the chain was written to the region, which lives as long as this.
        self.address = unsafe { memory::chase(self.address, iterations, copies) };
    }

    /// The line of the current address.
    pub fn current_line(&self) -> usize {
        (self.address - self.region.address()) / LINE_BYTES
    }
}

/// A cycle through all numbers of some bits: the k-th is a scramble of k, which is inverted to find
/// a number's successor. So the cycle is written line by line, without a table as large as the
/// block or a random walk over it.
pub struct ScrambledOrder {
    mask: u64,
    half: u32,
}

impl ScrambledOrder {
    /// Odd, so that it is invertible modulo any power of two; its bits look random (the golden
    /// ratio's fraction).
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    /// After one round some strides occur five hundred times in sixteen thousand steps; after three
    /// none occurs more often than by chance.
    const ROUNDS: u32 = 3;
    /// The factor's inverse.
    const INVERSE: u64 = modular_inverse(Self::FACTOR);

    /// The order of the numbers of `bits` bits.
    pub fn with_bits(bits: u32) -> Self {
        Self { mask: (1 << bits) - 1, half: bits.div_ceil(2) }
    }

    /// The number at index `number`: multiplies and folds the upper half into the lower one, some
    /// rounds; each step is invertible.
    pub fn nth(&self, number: u64) -> u64 {
        (0..Self::ROUNDS)
            .fold(number, |number, _| self.fold(number.wrapping_mul(Self::FACTOR) & self.mask))
    }

    fn index_of(&self, number: u64) -> u64 {
        (0..Self::ROUNDS)
            .fold(number, |number, _| self.fold(number).wrapping_mul(Self::INVERSE) & self.mask)
    }

    /// Its own inverse, since the upper half is unchanged.
    fn fold(&self, number: u64) -> u64 {
        number ^ (number >> self.half)
    }

    /// The number after `number`.
    fn successor(&self, number: u64) -> u64 {
        self.nth((self.index_of(number) + 1) & self.mask)
    }
}

/// The inverse of an odd number modulo 2^64. Each step doubles the correct bits; the number itself
/// is correct in three.
const fn modular_inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut bits = 3;
    while bits < 64 {
        found = found.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(found)));
        bits *= 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(bytes: usize) -> Region {
        Region::anonymous(bytes.next_multiple_of(4_096), PageKind::Small).unwrap()
    }

    #[test]
    fn a_cycle_visits_every_line_once_before_it_repeats() {
        for bytes in [128, 256, 4_096, 8_192, 1 << 20] {
            let mut cycle = PointerChase::over(region(bytes), bytes).unwrap();
            let lines = bytes / LINE_BYTES;
            let mut seen = vec![false; lines];
            for _ in 0..lines {
                assert!(
                    !seen[cycle.current_line()],
                    "line {} comes twice in {bytes}",
                    cycle.current_line()
                );
                seen[cycle.current_line()] = true;
                cycle.step(1, 1);
            }
            assert_eq!(cycle.current_line(), 0, "{bytes}: the cycle is closed");
        }
        for wrong in [0, 64, 4_095, 12_288] {
            assert!(PointerChase::over(region(8_192), wrong).is_err(), "{wrong}");
        }
        assert!(PointerChase::over(region(4_096), 8_192).is_err());
    }

    #[test]
    fn the_steps_are_iterations_times_copies() {
        let mut one = PointerChase::over(region(65_536), 65_536).unwrap();
        for (iterations, copies) in [(0, 1), (0, 8), (7, 1), (3, 2), (5, 4), (9, 8)] {
            let mut other = PointerChase::over(region(65_536), 65_536).unwrap();
            other.step(iterations * u64::from(copies), 1);
            one.address = one.region.address();
            one.step(iterations, copies);
            assert_eq!(
                one.current_line(),
                other.current_line(),
                "{iterations} iterations of {copies}"
            );
        }
    }

    #[test]
    fn no_stride_of_a_cycle_is_predictable() {
        let order = ScrambledOrder::with_bits(14);
        let mut times = std::collections::BTreeMap::new();
        for line in 0..1u64 << 14 {
            let stride = order.successor(line) as i64 - line as i64;
            *times.entry(stride).or_insert(0u32) += 1;
        }
        let most = times.values().max().copied().unwrap();
        assert!(most <= 8, "a stride comes {most} times in {}", 1 << 14);
    }

    fn filled(bytes: usize) -> Blocks {
        let mut blocks = Blocks::new(bytes).unwrap();
        for (index, word) in blocks.from.words_mut().iter_mut().enumerate() {
            // No byte of it is what a fresh block has.
            *word = (index as u64).wrapping_mul(ScrambledOrder::FACTOR) | 0x1010_1010_1010_1010;
        }
        blocks.to.words_mut().fill(0x0101_0101_0101_0101);
        blocks
    }

    fn alike(blocks: &mut Blocks, bytes: usize) -> bool {
        (0..bytes).all(|at| blocks.from.byte(at) == blocks.to.byte(at))
    }

    #[test]
    fn every_copy_method_copies_the_block() {
        for wide in [false, memory::has_wide_registers()] {
            for by in
                [CopyMethod::Library, CopyMethod::String, CopyMethod::Registers, CopyMethod::Stream]
            {
                let mut blocks = Blocks { wide, ..filled(8_192) };
                assert!(!alike(&mut blocks, 8_192));
                blocks.copy(by);
                assert!(alike(&mut blocks, 8_192), "{by:?}");
            }
        }
        let mut blocks = filled(13);
        blocks.copy(CopyMethod::Library);
        assert!(alike(&mut blocks, 13) && blocks.to.byte(13) != blocks.from.byte(13));
    }

    #[test]
    fn a_cleared_block_is_zero_and_its_neighbour_is_not() {
        for by in [CopyMethod::Library, CopyMethod::String] {
            let mut blocks = filled(4_000);
            blocks.to.words_mut().fill(u64::MAX);
            blocks.clear(by);
            assert!((0..4_000).all(|at| blocks.to.byte(at) == Ok(0)), "{by:?}");
            assert_eq!(blocks.to.byte(4_000), Ok(0xff));
        }
    }

    #[test]
    fn a_transfer_continues_where_the_last_one_ended_and_moves_no_more_bytes() {
        for operation in [BlockOperation::Copy, BlockOperation::Stream] {
            for wide in [false, memory::has_wide_registers()] {
                let mut blocks = Blocks { wide, ..filled(4_096) };
                for bytes in [256, 512, 2_561] {
                    blocks.transfer(operation, bytes);
                }
                assert!(alike(&mut blocks, 3_329), "{operation:?}");
                assert_eq!(blocks.to.byte(3_329), Ok(1), "{operation:?} went too far");
                assert_eq!(blocks.position, 3_584, "the next one begins at a whole iteration");
                blocks.transfer(operation, 4_096);
                assert!(alike(&mut blocks, 3_329), "{operation:?}");
                assert_eq!(blocks.position, 3_584, "once around");
            }
        }
        for operation in [BlockOperation::Read, BlockOperation::Write] {
            let mut blocks = filled(4_096);
            blocks.transfer(operation, 10_000);
            assert_eq!(
                blocks.position,
                (10_000usize % 4_096).next_multiple_of(256),
                "{operation:?}"
            );
        }
    }
}
