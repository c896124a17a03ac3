//! The cycle counter, and the smallest units of work: a loop iteration, an addition, a cycle.

use kernel::counter;
use kernel::cpu::black_box::{consume, consume_f64, opaque};
use kernel::cpu::dependent_chain::{CYCLES_PER_LINK, dependent_chain};
use kernel::cpu::increments::{self, Storage};

use super::super::prelude::*;
use crate::bench::{OpError, Shape, WorkBody};

/// Where the variables of an op live, as the axis [`CODE`] says.
pub(super) fn code(params: Params<'_>) -> Storage {
    if params.word("code") == "plain" { Storage::Memory } else { Storage::Register }
}

pub(super) const LOOP: Bench = Bench {
    id: "timer/loop",
    asks: "What does one iteration of an empty `for` loop cost?",
    op: "an increment, a comparison and a backward jump of an otherwise empty loop. `code=plain` \
         keeps the counter in memory, as unoptimised code does. Not included: entering and leaving \
         the loop, which the slope over its length removes.",
    expected: "one core cycle, since the jump is predicted and the rest executes in parallel; in \
               memory the 4 or 5 cycles of store-to-load forwarding, unless the core renames \
               memory",
    why: "An iteration is a dependency chain of one addition; everything else executes in \
          parallel. With the counter in memory the chain is a store and a dependent load, so an \
          unoptimised loop measures the store buffer and not the loop: study cse221-2014 found 7 \
          cycles that way, and subtracted them from code that overlaps with them.",
    axes: &[CODE],
    in_price_list: false,
    source: "study cse221-2014, section 3.1",
    build: |params| {
        let code = code(params);
        Ok(Work::from_body(Shape::Repeat, Loop(code)))
    },
    ..Bench::DEFAULT
};

/// A loop with one iteration per op, without an enclosing loop.
struct Loop(Storage);

impl WorkBody for Loop {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let ops = iterations * u64::from(unroll);
        if ops > 0 {
            increments::empty_loop(opaque(ops), self.0);
        }
        Ok(())
    }
}

pub(super) const ADD: Bench = Bench {
    id: "timer/add",
    asks: "What does one dependent ADD cost?",
    op: "one addition of two registers, each waiting for the previous sum; `code=plain` increments \
         a variable in memory. Not included: loop overhead, which the slope over unroll factors 1, \
         2, 4 and 8 removes.",
    expected: "one core cycle, 0.25 ns at 4 GHz",
    why: "Study sunos-1999 used the smallest time of one ADD as the precision of its clock. The \
          register form is timed because newer cores add constants during register renaming, at no \
          cost. That a third of an `imul` (3 cycles on every core) takes as long shows that the \
          addition was not folded: the live tests check that.",
    axes: &[CODE],
    in_price_list: false,
    source: "study sunos-1999, section 2; uops.info",
    build: |params| {
        Ok(match code(params) {
            Storage::Register => {
                let (mut sum, one) = (0, opaque(1));
                Work::repeat(move || {
                    sum = increments::add(sum, one);
                    Ok(())
                })
            }
            Storage::Memory => {
                let mut variable = Box::new(0u32);
                Work::repeat(move || {
                    increments::add_in_memory(&mut variable);
                    Ok(())
                })
            }
        })
    },
    ..Bench::DEFAULT
};

pub(super) const TICKS_PER_CYCLE: Bench = Bench {
    id: "timer/ticks-per-cycle",
    asks: "How many counter ticks pass per core cycle?",
    op: "the ticks taken by 8000 more multiplications in a chain of known latency, divided by \
         their cycles: the best of five chains for each of two lengths, so that the clock and the \
         call cancel. It is not a cost: 1 would mean that ticks are cycles. Not included: nothing \
         is subtracted.",
    expected: "below 1 wherever the core may run faster than its nominal frequency",
    why: "The counter runs at a constant rate, the nominal frequency or one chosen by the host; \
          the core runs as fast as power and temperature allow. Equating ticks with cycles, as \
          study cse221-2014 did, is wrong by this factor, which varies over time. It is an \
          estimate: cycles are derived from multiplications, not counted.",
    unit: Unit::TicksPerCycle,
    needs: &[Need::time(), Need::counter()],
    source: "METHOD section 1; study cse221-2014, section 3.1.1",
    build: |_| Ok(Work::own_value(|| Ok(thousandths_of_a_tick_per_cycle()))),
    ..Bench::DEFAULT
};

fn thousandths_of_a_tick_per_cycle() -> i64 {
    const LINKS: u64 = 8_000;
    let best = |links: u64| {
        let ticks = (0..5).map(|_| {
            let start = counter::start();
            consume(dependent_chain(links, 3));
            counter::stop().wrapping_sub(start)
        });
        ticks.min().unwrap_or(0) as f64
    };
    let ticks = best(2 * LINKS) - best(LINKS);
    (1_000.0 * ticks / (CYCLES_PER_LINK * LINKS as f64)).round() as i64
}

pub(super) const TSC: Bench = Bench {
    id: "timer/tsc",
    asks: "What does reading the cycle counter cost, unordered and ordered?",
    op: "one read of the counter, kept in a register: RDTSC or RDTSCP alone, with LFENCE on both \
         sides (how oscost opens a timed window) or after it (how it closes one); `cpuid-pair` is \
         a whole empty window between CPUID;RDTSC and RDTSCP;CPUID. On aarch64: CNTVCT_EL0 alone, \
         with ISB before, or with ISB on both sides. Not included: loop overhead, which the slope \
         removes.",
    expected: "10 ns alone, 15 to 20 ns fenced; the cpuid pair 100 ns on bare metal, microseconds \
               in a virtual machine",
    why: "RDTSC may execute before or after the instructions around it; RDTSCP waits for earlier \
          instructions; LFENCE holds back later ones. CPUID serialises everything and was the \
          recommendation of 2010 that study cse736-2019 followed; but a hypervisor must emulate \
          it, so in a virtual machine each one is a VM exit: the window is correct, and adds \
          microseconds to an op of nanoseconds.",
    axes: &[Axis {
        name: "read",
        sets: "instructions that read the counter",
        points: Points::Words(&["rdtsc", "rdtscp", "fenced-rdtsc", "fenced-rdtscp", "cpuid-pair"]),
        default_points: Points::Words(&[
            "rdtsc",
            "rdtscp",
            "fenced-rdtsc",
            "fenced-rdtscp",
            "cpuid-pair",
        ]),
    }],
    needs: &[Need::counter()],
    in_price_list: false,
    source: "study cse736-2019, section 2.1; Paoloni, Intel 324264 (2010); METHOD section 1",
    build: |params| {
        fn keep(ticks: u64) -> Result<(), Errno> {
            consume(ticks);
            Ok(())
        }
        Ok(match params.word("read") {
            "rdtsc" => Work::repeat(|| keep(counter::plain())),
            "rdtscp" => Work::repeat(|| keep(counter::read_after_earlier())),
            "fenced-rdtsc" => Work::repeat(|| keep(counter::start())),
            "fenced-rdtscp" => Work::repeat(|| keep(counter::stop())),
            _ => Work::repeat(|| keep(counter::serialised_empty_window())),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const ELAPSED: Bench = Bench {
    id: "timer/elapsed",
    asks: "What does the difference of two tick readings cost as a floating-point number?",
    op: "two 64-bit readings converted to doubles and subtracted, as `elapsed()` of FFTW's cycle.h \
         does. Not included: reading the counter; loop overhead, which the slope removes.",
    expected: "1 to 2 ns: two conversions of unsigned integers, for which x86-64 has no \
               instruction",
    why: "Study cse221-2014 subtracted the time of one `getticks` from that of two with `elapsed` \
          between them, and found `elapsed` cheaper than the read itself: the core overlaps the \
          conversions with the second read.",
    in_price_list: false,
    source: "study cse221-2014, section 3.1; FFTW cycle.h",
    build: |_| {
        let (earlier, later) = (0x1234_5678_9abc, 0x1234_5678_ffff);
        Ok(Work::repeat(move || {
            consume_f64(opaque(later) as f64 - opaque(earlier) as f64);
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};
