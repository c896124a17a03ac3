//! A walk through memory: it leaves the caches as a program does that reads so much between two
//! calls.

use oscost_model::cool::WalkKind;
use oscost_model::seed::Seed;

use crate::kernel::Errno;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::memory::mapping::Mapping;

/// The bytes of a walk through many pages: one line of each KiB.
pub const SPREAD_WALK_BYTES: usize = oscost_model::cool::SPREAD_WALK_BYTES as usize;
/// The shortest cache line of the supported machines.
const LINE_BYTES: usize = 64;
/// The least that one address translation covers.
const PAGE_BYTES: usize = 4_096;
/// The piece of a spread walk of which one line is read.
const SPREAD_STRIDE_BYTES: usize = 1_024;
/// The chains of reads of a long walk, which do not wait for each other. In one chain those of a spread walk
/// take up to 3 ms where other guests use the last level of cache, and these then empty it of what the op
/// needs. In eight they take some 70 us, as long as a program computes between two calls; and those of a
/// walk through each line of 32 MiB take some 4 ms.
const LONG_WALK_CHAINS: usize = 8;

/// The lines of memory that a walk reads: one in each piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WalkLines {
    /// Their number.
    count: usize,
    /// The length of a piece: a multiple of the shortest cache line, which is 64 bytes.
    stride_bytes: usize,
}

impl WalkLines {
    /// Those of a walk through so many bytes.
    fn of(bytes: usize) -> Self {
        let stride_bytes = match WalkKind::of(bytes as u64) {
            WalkKind::Spread => SPREAD_STRIDE_BYTES,
            WalkKind::Whole | WalkKind::LastLevel => LINE_BYTES,
        };
        Self { count: bytes / stride_bytes, stride_bytes }
    }

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

/// Memory of which some lines form chains, each of them closed: a line holds the number of the next one, in
/// random order. A read waits for the one before it in its chain, and no prefetcher knows the next line.
pub struct MemoryWalk {
    /// `None` of a walk through no memory.
    memory: Option<Mapping>,
    /// The first line of each chain.
    starts: Vec<u64>,
    /// The lines of a chain.
    lines: usize,
}

impl MemoryWalk {
    /// A walk through so many bytes, all of which are present: each line, or one of each KiB where that
    /// would take too long. `seed` determines the order, and where in its piece each line lies.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, Errno> {
        let lines = WalkLines::of(bytes);
        let chains = match WalkKind::of(bytes as u64) {
            WalkKind::Whole => 1,
            WalkKind::Spread | WalkKind::LastLevel => LONG_WALK_CHAINS,
        };
        let mut seed = Seed::new(seed);
        let mut order = lines.numbers(&mut seed);
        if order.is_empty() {
            return Ok(Self { memory: None, starts: Vec::new(), lines: 0 });
        }
        let memory = Mapping::private(lines.span_bytes().next_multiple_of(PAGE_BYTES))?;
        // Most programs have small pages, and need as many translations.
        memory.disable_huge_pages();
        // An op that forks would pay for the tables of these pages.
        memory.keep_from_forks();
        seed.shuffle(&mut order);
        let of_chain = lines.count / chains;
        let mut starts = Vec::new();
        for chain in order.chunks_exact(of_chain) {
            for (&line, &next) in chain.iter().zip(chain.iter().cycle().skip(1)) {
                // SAFETY: a line of the mapping, aligned; nothing else refers to it.
                unsafe { memory.pointer::<u64>(line as usize * LINE_BYTES).write(next) };
            }
            starts.extend(chain.iter().min());
        }
        Ok(Self { memory: Some(memory), starts, lines: of_chain })
    }

    /// Reads a word of each line, once.
    pub fn walk(&self) {
        let Some(memory) = &self.memory else { return };
        match <[u64; LONG_WALK_CHAINS]>::try_from(self.starts.as_slice()) {
            Ok(starts) => follow(memory, starts, self.lines).into_iter().for_each(consume),
            Err(_) => {
                for &start in &self.starts {
                    follow(memory, [start], self.lines).into_iter().for_each(consume);
                }
            }
        }
    }
}

/// Reads so many lines of each of these chains, of all in turns, and returns the lines after them.
fn follow<const CHAINS: usize>(
    memory: &Mapping,
    starts: [u64; CHAINS],
    lines: usize,
) -> [u64; CHAINS] {
    let mut at = starts;
    for _ in 0..lines {
        for line in &mut at {
            *line = next(memory, *line);
        }
    }
    at
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
            assert_eq!((walk.lines, walk.starts.as_slice(), line), (lines, [0].as_slice(), 0));
            assert_eq!(follow(memory, [0], lines), [0]);
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
    fn a_spread_walk_reads_one_line_of_each_piece_at_changing_places() {
        const PIECES: usize = 16_384;
        let walk = MemoryWalk::new(16 << 20, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        assert_eq!(memory.bytes(), PIECES * 1_024);
        assert_eq!((walk.starts.len(), walk.lines), (8, 2_048));
        let (mut is_read, mut reads_at) = (vec![false; PIECES], [0; 16]);
        for &start in &walk.starts {
            let mut line = start;
            for _ in 0..walk.lines {
                line = next(memory, line);
                let (piece, place) = (line as usize / 16, line as usize % 16);
                assert!(!std::mem::replace(&mut is_read[piece], true), "piece {piece} twice");
                reads_at[place] += 1;
            }
            assert_eq!(line, start);
        }
        let starts = <[u64; 8]>::try_from(walk.starts.as_slice()).unwrap();
        assert_eq!(follow(memory, starts, 1), starts.map(|line| next(memory, line)));
        assert_eq!(follow(memory, starts, walk.lines), starts);
        assert!(is_read.iter().all(|&it| it));
        // 1,024 expected, sd 31.
        assert!(reads_at.iter().all(|reads| (860..1_190).contains(reads)), "{reads_at:?}");
        walk.walk();
    }

    #[test]
    fn a_walk_through_a_last_level_cache_reads_each_line_in_eight_chains() {
        const LINES: usize = 524_288;
        let walk = MemoryWalk::new(32 << 20, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        assert_eq!((memory.bytes(), walk.starts.len(), walk.lines), (32 << 20, 8, LINES / 8));
        let mut is_read = vec![false; LINES];
        for &start in &walk.starts {
            let mut line = start;
            for _ in 0..walk.lines {
                line = next(memory, line);
                assert!(!std::mem::replace(&mut is_read[line as usize], true), "{line} twice");
            }
            assert_eq!(line, start);
        }
        assert!(is_read.iter().all(|&it| it));
    }

    #[test]
    fn the_order_of_a_walk_through_each_line_is_that_of_earlier_versions() {
        let walk = MemoryWalk::new(8 * LINE_BYTES, 7).unwrap();
        let memory = walk.memory.as_ref().unwrap();
        let lines =
            std::iter::successors(walk.starts.first().copied(), |&line| Some(next(memory, line)));
        assert_eq!(lines.take(9).collect::<Vec<_>>(), [0, 3, 7, 4, 6, 1, 2, 5, 0]);
    }

    #[test]
    fn a_walk_through_nothing_holds_no_memory() {
        let walk = MemoryWalk::new(0, 7).unwrap();
        assert!(walk.memory.is_none());
        walk.walk();
    }
}
