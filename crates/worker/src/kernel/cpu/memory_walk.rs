//! A walk through memory: it leaves the caches as a program does that reads so much between two
//! calls.

use oscost_model::seed::Seed;

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::memory::mapping::Mapping;

/// The shortest cache line of the supported machines.
const LINE_BYTES: usize = 64;
/// The least that one address translation covers.
const PAGE_BYTES: usize = 4_096;

/// The lines of memory that a walk reads: one in each piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkLines {
    /// Their number.
    pub count: usize,
    /// The length of a piece: a multiple of the shortest cache line, which is 64 bytes.
    pub stride_bytes: usize,
}

impl WalkLines {
    /// The lines of a piece.
    fn lines_per_piece(self) -> usize {
        (self.stride_bytes / LINE_BYTES).max(1)
    }

    /// The length of the memory that they lie in.
    fn span_bytes(self) -> usize {
        self.count * self.lines_per_piece() * LINE_BYTES
    }

    /// Their numbers among all lines of that memory, ascending. Which line of a piece is read is
    /// random: lines at one place in all pieces would share a part of a cache's sets, and leave the
    /// others alone.
    fn numbers(self, seed: &mut Seed) -> Vec<u64> {
        let per_piece = self.lines_per_piece() as u64;
        let mut place = || if per_piece > 1 { seed.below(per_piece) } else { 0 };
        (0..self.count as u64).map(|piece| piece * per_piece + place()).collect()
    }
}

/// Memory of which some lines form a circle: each one holds the number of the next, in random
/// order. A read waits for the one before it, and no prefetcher knows the next line.
pub struct MemoryWalk {
    /// `None` of a walk through no memory.
    memory: Option<Mapping>,
    /// A line of the circle.
    first: u64,
    /// The lines of the circle.
    lines: usize,
}

impl MemoryWalk {
    /// A walk through each line of so many bytes, all of which are present; `seed` determines its
    /// order.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, Errno> {
        Self::through(WalkLines { count: bytes / LINE_BYTES, stride_bytes: LINE_BYTES }, seed)
    }

    /// A walk through these lines, all of which are present; `seed` determines its order, and where
    /// in its piece each line lies.
    pub fn through(lines: WalkLines, seed: u64) -> Result<Self, Errno> {
        let mut seed = Seed::new(seed);
        let mut order = lines.numbers(&mut seed);
        let Some(&first) = order.first() else {
            return Ok(Self { memory: None, first: 0, lines: 0 });
        };
        let memory = Mapping::private(lines.span_bytes().next_multiple_of(PAGE_BYTES))?;
        // Most programs have small pages, and need as many translations.
        memory.disable_huge_pages();
        // An op that forks would pay for the tables of these pages.
        memory.keep_from_forks();
        seed.shuffle(&mut order);
        for (&line, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            // SAFETY: a line of the mapping, aligned; nothing else refers to it.
            unsafe { memory.pointer::<u64>(line as usize * LINE_BYTES).write(next) };
        }
        Ok(Self { memory: Some(memory), first, lines: lines.count })
    }

    /// Reads a word of each line, once.
    pub fn walk(&self) {
        let Some(memory) = &self.memory else { return };
        let mut line = self.first;
        for _ in 0..self.lines {
            line = next(memory, line);
        }
        consume(line);
    }
}

/// The line after this one.
#[inline(always)]
fn next(memory: &Mapping, line: u64) -> u64 {
    // SAFETY: each line holds the number of a line of the mapping; volatile, so that it is read.
    unsafe { memory.pointer::<u64>(line as usize * LINE_BYTES).read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_reads_each_line_once_and_ends_where_it_began() {
        for lines in [1, 2, 3, 1_000] {
            let walk = MemoryWalk::new(lines * LINE_BYTES + 1, 7).unwrap();
            let memory = walk.memory.as_ref().unwrap();
            let mut is_read = vec![false; lines];
            let mut line = 0;
            for _ in 0..lines {
                line = next(memory, line);
                assert!(!std::mem::replace(&mut is_read[line as usize], true), "{line} twice");
            }
            assert_eq!((walk.lines, line), (lines, 0));
            walk.walk();
        }
    }

    #[test]
    fn few_lines_follow_their_neighbour() {
        let walk = MemoryWalk::new(1 << 20, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        let neighbours =
            (0..walk.lines as u64).filter(|&line| next(memory, line) == line + 1).count();
        assert!(neighbours < walk.lines / 100, "{neighbours} of {}", walk.lines);
    }

    #[test]
    fn one_line_of_each_piece_is_read_once_at_changing_places() {
        const PIECES: usize = 1_000;
        let lines = WalkLines { count: PIECES, stride_bytes: 1_024 };
        let walk = MemoryWalk::through(lines, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        assert_eq!(memory.bytes(), (PIECES * 1_024).next_multiple_of(PAGE_BYTES));
        let (mut is_read, mut reads_at) = (vec![false; PIECES], [0; 16]);
        let mut line = walk.first;
        for _ in 0..walk.lines {
            line = next(memory, line);
            let (piece, place) = (line as usize / 16, line as usize % 16);
            assert!(!std::mem::replace(&mut is_read[piece], true), "piece {piece} twice");
            reads_at[place] += 1;
        }
        assert_eq!((walk.lines, line), (PIECES, walk.first));
        // 62 expected, sd 8.
        assert!(reads_at.iter().all(|reads| (30..100).contains(reads)), "{reads_at:?}");
        walk.walk();
    }

    #[test]
    fn the_order_of_a_walk_through_each_line_is_that_of_earlier_versions() {
        let walk = MemoryWalk::new(8 * LINE_BYTES, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        let lines = std::iter::successors(Some(walk.first), |&line| Some(next(memory, line)));
        assert_eq!(lines.take(9).collect::<Vec<_>>(), [0, 3, 7, 4, 6, 1, 2, 5, 0]);
    }

    #[test]
    fn a_walk_through_nothing_holds_no_memory() {
        let walk = MemoryWalk::new(0, 7).unwrap();
        assert!(walk.memory.is_none());
        walk.walk();
    }
}
