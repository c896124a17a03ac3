//! Units of figures.

use super::word::{Kind, Word};

const UNIT: Word = Word::of(Kind::Unit);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "ns/op",
        means: "nanoseconds per op; tables scale it to ps, us, ms or s",
        range: "above 0; what contains zero is given as a bound",
        ..UNIT
    },
    Word {
        word: "B/s",
        means: "bytes per second, in multiples of 1000 (GB/s)",
        range: "above 0",
        matters: "More is better.",
        ..UNIT
    },
    Word {
        word: "op/s",
        means: "ops per second",
        range: "above 0",
        matters: "More is better.",
        ..UNIT
    },
    Word { word: "s", means: "seconds, of a whole program", range: "above 0", ..UNIT },
    Word {
        word: "frame/s",
        means: "frames per second, read from the output of a program",
        range: "above 0",
        matters: "More is better.",
        ..UNIT
    },
    Word { word: "B", means: "bytes: of memory", range: "whole numbers", ..UNIT },
    Word {
        word: "insn/op",
        means: "instructions per op, counted under an emulator or by the processor",
        range: "whole numbers where they repeat",
        matters: "Counts have no noise: a single instruction is a difference.",
        ..UNIT
    },
    Word {
        word: "cycle/op",
        means: "cycles of the core per op, counted by the processor",
        range: "above 0",
        matters: "Unlike time it does not depend on the frequency.",
        ..UNIT
    },
    Word {
        word: "cycle/insn",
        means: "cycles of the core per instruction",
        range: "0.2 to 10 and more",
        matters: "High values are misses of caches and predictors.",
        ..UNIT
    },
    Word {
        word: "GHz",
        means: "cycles of the core per nanosecond of time on a CPU",
        range: "0.5 to 6",
        matters: "It shows turbo, power limits and throttling.",
        ..UNIT
    },
    Word {
        word: "tick/cycle",
        means: "ticks of the time stamp counter per cycle of the core",
        range: "about 1",
        matters: "The counter has a fixed rate, the core has not.",
        ..UNIT
    },
    Word {
        word: "1/op",
        means: "events per op: faults, switches, misses",
        range: "0 and more",
        ..UNIT
    },
    Word {
        word: "yes/no",
        means: "1 if an observed property holds, 0 if it does not",
        range: "0 or 1",
        ..UNIT
    },
];
