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
    Word {
        word: "ps",
        means: "picoseconds, in tables of ns/op",
        range: "1000 ps are 1 ns",
        ..UNIT
    },
    Word { word: "ns", means: "nanoseconds", range: "1000 ns are 1 us", ..UNIT },
    Word { word: "us", means: "microseconds", range: "1000 us are 1 ms", ..UNIT },
    Word { word: "ms", means: "milliseconds", range: "1000 ms are 1 s", ..UNIT },
    Word { word: "kB", means: "1000 bytes", ..UNIT },
    Word { word: "MB", means: "a million bytes", ..UNIT },
    Word { word: "GB", means: "a billion bytes", ..UNIT },
    Word { word: "KiB", means: "1024 bytes", ..UNIT },
    Word { word: "MiB", means: "1024 KiB: 1,048,576 bytes", ..UNIT },
    Word { word: "GiB", means: "1024 MiB: 1,073,741,824 bytes", ..UNIT },
    Word {
        word: "Ki",
        means: "times 1024: `64Ki` is 65536",
        action: "A selector takes it as it is printed: `size=64Ki`.",
        ..UNIT
    },
    Word {
        word: "Mi",
        means: "times 1024 times 1024: `1Mi` is 1048576",
        action: "A selector takes it as it is printed: `size=1Mi`.",
        ..UNIT
    },
    Word {
        word: "Gi",
        means: "times 1024 times 1024 times 1024",
        action: "A selector takes it as it is printed: `size=1Gi`.",
        ..UNIT
    },
    Word { word: "kB/s", means: "1000 bytes per second", matters: "More is better.", ..UNIT },
    Word { word: "MB/s", means: "a million bytes per second", matters: "More is better.", ..UNIT },
    Word { word: "GB/s", means: "a billion bytes per second", matters: "More is better.", ..UNIT },
    Word { word: "kop/s", means: "1000 ops per second", matters: "More is better.", ..UNIT },
    Word { word: "Mop/s", means: "a million ops per second", matters: "More is better.", ..UNIT },
    Word { word: "insn", means: "instructions of an op", ..UNIT },
    Word {
        word: "instructions",
        means: "what a processor executes; of an op as `insn/op`, counted by the processor or \
                under an emulator",
        matters: "They are the work of an op, and repeat where time does not. They are not time: \
                  misses and stalls do not show.",
        action: "`oscost run --counters`, or a `vm:` target, counts them.",
        ..UNIT
    },
    Word { word: "cycle", means: "one period of the clock of the core", ..UNIT },
    Word {
        word: "tick",
        means: "one step of the time stamp counter, whose rate is fixed",
        matters: "It is no cycle of the core, whose rate may change.",
        ..UNIT
    },
    Word { word: "times", means: "how often something happens in an op", ..UNIT },
    Word { word: "%", means: "per cent: of the figure, of the base, or of the time", ..UNIT },
    Word { word: "ppm", means: "millionths", ..UNIT },
    Word { word: "MHz", means: "million periods per second", ..UNIT },
];
