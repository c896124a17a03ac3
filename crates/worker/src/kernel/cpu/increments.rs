//! The smallest pieces of work: an empty loop, additions, and an exact number of increments between
//! two reads of a clock.

use crate::kernel::arch::{self, sled::Sled};
use crate::kernel::cpu::black_box::consume;

/// The direction of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `variable++`.
    Up,
    /// `variable--`.
    Down,
}

/// Where a variable is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In a register, as optimised code keeps it.
    Register,
    /// In memory, as unoptimised code keeps it.
    Memory,
}

/// Dependent increments of one variable.
pub struct Increments {
    sled: Sled,
    variable: Box<u32>,
}

/// A number of increments, prepared outside the timed window.
#[derive(Clone, Copy, Debug)]
pub struct PreparedIncrements {
    whole: u64,
    entry: usize,
}

impl Increments {
    /// Increments of this kind.
    pub fn new(way: Direction, code: Storage) -> Self {
        let [up, down, plain_up, plain_down] = arch::sleds();
        let sled = match (code, way) {
            (Storage::Register, Direction::Up) => up,
            (Storage::Register, Direction::Down) => down,
            (Storage::Memory, Direction::Up) => plain_up,
            (Storage::Memory, Direction::Down) => plain_down,
        };
        Self { sled, variable: Box::new(0) }
    }

    /// Prepares this many increments.
    pub fn prepare(&self, steps: u64) -> PreparedIncrements {
        let rest = (steps % arch::SLED_STEPS) as usize;
        PreparedIncrements {
            whole: steps / arch::SLED_STEPS,
            entry: self.sled.end - rest * self.sled.step_bytes,
        }
    }

    /// Runs them. For zero increments a call that returns at once remains, so that the surrounding
    /// code is the same for every number.
    #[inline(always)]
    pub fn run(&mut self, stride: PreparedIncrements) {
        let first = self.sled.end - arch::SLED_STEPS as usize * self.sled.step_bytes;
        let variable: *mut u32 = &raw mut *self.variable;
        let mut value = 0;
        for _ in 0..stride.whole {
            // SAFETY: the first step of the sled, and a variable that this value owns.
            value = unsafe { arch::enter_sled(first, value, variable) };
        }
        // SAFETY: `stride` computed the entry from the sled's end, less than a sled before it.
        consume(unsafe { arch::enter_sled(stride.entry, value, variable) });
    }

    /// The variable that increments in memory change.
    #[cfg(test)]
    fn variable(&self) -> u32 {
        *self.variable
    }
}

/// An empty loop of `iterations` iterations; at least one runs.
#[inline(always)]
pub fn empty_loop(iterations: u64, code: Storage) {
    match code {
        Storage::Register => arch::loop_in_register(iterations),
        Storage::Memory => arch::loop_in_memory(iterations, &mut 0),
    }
}

/// `value + one` by an addition of two registers, which no core eliminates.
#[inline(always)]
#[must_use]
pub fn add(value: u64, one: u64) -> u64 {
    arch::add_in_register(value, one)
}

/// Adds one to a variable in memory.
#[inline(always)]
pub fn add_in_memory(variable: &mut u32) {
    arch::add_in_memory(variable);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_steps_are_taken() {
        for way in [Direction::Up, Direction::Down] {
            let mut steps = Increments::new(way, Storage::Memory);
            let mut expected = 0u32;
            for count in [0u64, 1, 2, 255, 256, 257, 1_000, 70_000] {
                let stride = steps.prepare(count);
                steps.run(stride);
                expected = match way {
                    Direction::Up => expected.wrapping_add(count as u32),
                    Direction::Down => expected.wrapping_sub(count as u32),
                };
                assert_eq!(steps.variable(), expected, "{count} steps {way:?}");
            }
        }
    }

    #[test]
    fn steps_in_a_register_leave_memory_alone() {
        for (way, one) in [(Direction::Up, 1u64), (Direction::Down, u64::MAX)] {
            let mut steps = Increments::new(way, Storage::Register);
            let stride = steps.prepare(1_000);
            steps.run(stride);
            assert_eq!(steps.variable(), 0);
            let entry = steps.prepare(5).entry;
            // SAFETY: five steps before the end of a sled, and a variable that the value owns.
            let five = unsafe { arch::enter_sled(entry, 0, &raw mut *steps.variable) };
            assert_eq!(five, one.wrapping_mul(5), "{way:?}");
        }
    }

    #[test]
    fn additions_add_one() {
        assert_eq!(add(41, 1), 42);
        let mut variable = 41;
        add_in_memory(&mut variable);
        assert_eq!(variable, 42);
        for code in [Storage::Register, Storage::Memory] {
            empty_loop(1, code);
            empty_loop(1_000, code);
        }
    }
}
