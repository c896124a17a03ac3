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

/// Memory whose lines form a circle: each one holds the number of the next, in random order. A read
/// waits for the one before it, and no prefetcher knows the next line.
pub struct MemoryWalk {
    /// `None` of a walk through no memory.
    memory: Option<Mapping>,
    lines: usize,
}

impl MemoryWalk {
    /// A walk through so many bytes, all of which are present; `seed` determines its order.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, Errno> {
        let lines = bytes / LINE_BYTES;
        if lines == 0 {
            return Ok(Self { memory: None, lines });
        }
        let memory = Mapping::private((lines * LINE_BYTES).next_multiple_of(PAGE_BYTES))?;
        // Most programs have small pages, and need as many translations.
        memory.disable_huge_pages();
        // An op that forks would pay for the tables of these pages.
        memory.keep_from_forks();
        let mut order: Vec<u64> = (0..lines as u64).collect();
        Seed::new(seed).shuffle(&mut order);
        for (&line, &next) in order.iter().zip(order.iter().cycle().skip(1)) {
            // SAFETY: a line of the mapping, aligned; nothing else refers to it.
            unsafe { memory.pointer::<u64>(line as usize * LINE_BYTES).write(next) };
        }
        Ok(Self { memory: Some(memory), lines })
    }

    /// Reads a word of each line, once.
    pub fn walk(&self) {
        let Some(memory) = &self.memory else { return };
        let mut line = 0;
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
    fn a_walk_through_nothing_holds_no_memory() {
        let walk = MemoryWalk::new(0, 7).unwrap();
        assert!(walk.memory.is_none());
        walk.walk();
    }
}
