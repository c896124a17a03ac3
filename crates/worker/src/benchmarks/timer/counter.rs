//! The processor's counter, and the smallest pieces of work: a loop's turn, an addition, a cycle.

use kernel::counter;
use kernel::cpu::black_box::{keep, keep_double, opaque};
use kernel::cpu::dependent_chain::{CYCLES_PER_LINK, dependent_chain};
use kernel::cpu::increments::{self, Code};

use super::super::prelude::*;
use crate::bench::{OpError, Shape, WorkBody};
use oscost_model::unit::Unit;

/// Where the variables of an op live, as [`CODE`] says.
pub(super) fn code(at: Params<'_>) -> Code {
    if at.word("code") == "plain" { Code::Plain } else { Code::Optimised }
}

pub(super) const LOOP: Bench = Bench {
    id: "timer/loop",
    asks: "What does a turn of an empty `for` loop cost?",
    op: "an increment, a comparison and a jump back, of a loop that does nothing else. \
         `code=plain` keeps the counter in memory, as a compiler without optimisation does. \
         Outside: entering and leaving the loop, which the slope over its length takes out.",
    expected: "one core cycle, since the jump is predicted and the rest runs beside it; in memory \
            the 4 or 5 cycles from a store to the load behind it, unless the core renames memory",
    why: "A turn is a chain of one addition, and everything else runs beside it. With its counter \
          in memory the chain is a store and the load that waits for it, so an unoptimised loop \
          costs what the store buffer costs, and not what a loop costs: study cse221-2014 \
          found 7 cycles that way, and subtracted them from code that overlaps with them.",
    axes: &[CODE],
    source: "study cse221-2014, section 3.1",
    build: |at| {
        let code = code(at);
        Ok(Work::from_body(Shape::Repeat, Loop(code)))
    },
    ..Bench::DEFAULT
};

/// A loop as long as the ops are many, without a second loop around it.
struct Loop(Code);

impl WorkBody for Loop {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), OpError> {
        let ops = turns * u64::from(copies);
        if ops > 0 {
            increments::turns(opaque(ops), self.0);
        }
        Ok(())
    }
}

pub(super) const ADD: Bench = Bench {
    id: "timer/add",
    asks: "What does one ADD cost that waits for the one before it?",
    op: "one addition of two registers, each waiting for the last one's sum; `code=plain` adds one \
         to a variable in memory. Outside: the loop, which the slope over 1, 2, 4 and 8 copies \
         takes out.",
    expected: "one core cycle, 0.25 ns at 4 GHz",
    why: "Study sunos-1999 took the smallest time of one ADD for the precision of its clock. The \
          register form is timed since newer cores add constants while they rename registers, in \
          no time at all. A third of `imul` (3 cycles everywhere) says that this one was not \
          folded: the live tests look.",
    axes: &[CODE],
    source: "study sunos-1999, section 2; uops.info",
    build: |at| {
        Ok(match code(at) {
            Code::Optimised => {
                let (mut sum, one) = (0, opaque(1));
                Work::repeat(move || {
                    sum = increments::add(sum, one);
                    Ok(())
                })
            }
            Code::Plain => {
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
    asks: "How many ticks of the processor's counter pass in one cycle of its core?",
    op: "the ticks that 8000 more multiplications take in a chain of known latency, over their \
         cycles: the best of five chains of each of two lengths, so that clock and call cancel. It \
         is no cost: 1 would mean that ticks are cycles. Outside: nothing is subtracted.",
    expected: "below 1 wherever the core may run faster than its nominal rate",
    why: "The counter runs at a fixed rate, the nominal one or the host's choice; the core runs as \
          fast as power and temperature let it. Whoever calls ticks cycles, as study cse221-2014 \
          did, is wrong by this factor, and by another one tomorrow. It is an estimate: nothing \
          counts cycles here but multiplications.",
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
            keep(dependent_chain(links, 3));
            counter::stop().wrapping_sub(start)
        });
        ticks.min().unwrap_or(0) as f64
    };
    let ticks = best(2 * LINKS) - best(LINKS);
    (1_000.0 * ticks / (CYCLES_PER_LINK * LINKS as f64)).round() as i64
}

pub(super) const TSC: Bench = Bench {
    id: "timer/tsc",
    asks: "What does it cost to read the processor's counter, and to read it in order?",
    op: "one read of the counter, kept in a register: RDTSC or RDTSCP as they are, with LFENCE on \
         both sides (how oscost opens a window) or behind (how it closes one); `cpuid-pair` is a \
         whole empty window between CPUID;RDTSC and RDTSCP;CPUID. On aarch64: CNTVCT_EL0 as it is, \
         with ISB before, or with ISB on both sides. Outside: the loop, which the slope takes out.",
    expected: "10 ns bare, 15 to 20 ns fenced; the cpuid pair 100 ns on bare metal, microseconds in \
            a virtual machine",
    why: "RDTSC may be done before or after what stands around it; RDTSCP waits for what is \
          before; LFENCE holds back what is behind. CPUID serialises everything and was the advice \
          of 2010 that study cse736-2019 followed; but a hypervisor must answer it, so that in a \
          virtual machine each one is an exit to the host and back: the window is right, and costs \
          microseconds around a thing of nanoseconds.",
    axes: &[Axis {
        name: "read",
        sets: "the instructions that read the counter",
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
    build: |at| {
        fn kept(ticks: u64) -> Result<(), Errno> {
            keep(ticks);
            Ok(())
        }
        Ok(match at.word("read") {
            "rdtsc" => Work::repeat(|| kept(counter::plain())),
            "rdtscp" => Work::repeat(|| kept(counter::after_earlier())),
            "fenced-rdtsc" => Work::repeat(|| kept(counter::start())),
            "fenced-rdtscp" => Work::repeat(|| kept(counter::stop())),
            _ => Work::repeat(|| kept(counter::serialised_pair())),
        })
    },
    ..Bench::DEFAULT
};

pub(super) const ELAPSED: Bench = Bench {
    id: "timer/elapsed",
    asks: "What does the difference of two tick readings cost as a floating-point number?",
    op: "two 64-bit readings turned into doubles, and one taken from the other, as `elapsed()` of \
         FFTW's cycle.h does. Outside: reading the counter; the loop, which the slope takes out.",
    expected: "1 to 2 ns: two conversions of unsigned numbers, which x86-64 has no instruction for",
    why: "Study cse221-2014 subtracted one `getticks` from two of them around `elapsed`, and found \
          it cheaper than the read itself: the core runs the conversions beside the second read.",
    in_price_list: false,
    source: "study cse221-2014, section 3.1; FFTW cycle.h",
    build: |_| {
        let (earlier, later) = (0x1234_5678_9abc, 0x1234_5678_ffff);
        Ok(Work::repeat(move || {
            keep_double(opaque(later) as f64 - opaque(earlier) as f64);
            Ok(())
        }))
    },
    ..Bench::DEFAULT
};
