//! Instructions of the processor: the units that other figures can be compared with.

use kernel::cpu::black_box::opaque;
use kernel::cpu::instructions::{self, Branches, Directions};

use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "cpu",
    about: "how long single instructions of the processor take",
    benches: BENCHES,
};

const BITS: Axis = Axis {
    name: "bits",
    sets: "bits of the operands",
    points: Points::Numbers(&[32, 64]),
    default_points: Points::Numbers(&[64]),
};

/// The defaults of this family.
const DEFAULTS: Bench =
    Bench { floor: &[at_least(1, "timer/nothing")], in_price_list: false, ..Bench::DEFAULT };

const BENCHES: &[Bench] = &[
    Bench {
        id: "cpu/integer",
        asks: "How long does an integer operation take, if the next waits for its result?",
        op: "one operation of two registers, of which one holds the result of the operation \
             before: an exclusive or, an addition, a multiplication, or a division without sign of \
             a constant by the last quotient. Divisor and quotient are both about half as long as \
             the dividend. On x86-64, whose DIV has its registers fixed, a division includes a \
             move of the quotient. Not included: loop overhead.",
        expected: "exclusive or and addition one cycle, 0.33 ns at 3 GHz; multiplication three \
                   cycles, 1 ns; division some 4 ns for 32 bits, some 5 ns for 64 bits, and 10 to \
                   30 ns on Intel's cores before 2019",
        why: "This is latency: a core starts several additions and one multiplication in each \
              cycle, but the next one of a chain needs the result of the last. A divider computes \
              a few bits of the quotient in each cycle, so its time depends on the length of the \
              quotient; Intel's older cores divided 64 bits by a long microprogram, even if the \
              numbers were short.",
        compare_with: &["timer/add", "procedure/call:args=1,chain=dependent"],
        axes: &[
            Axis {
                name: "op",
                sets: "the operation",
                points: Points::Words(&["xor", "add", "multiply", "divide"]),
                default_points: Points::Words(&["xor", "add", "multiply", "divide"]),
            },
            BITS,
        ],
        source: "lmbench lat_ops; uops.info",
        build: integer,
        ..DEFAULTS
    },
    Bench {
        id: "cpu/float",
        asks: "How long does a floating-point operation take, if the next waits for its result?",
        op: "one operation of two registers, of which one holds the result of the operation \
             before: an addition, a multiplication, or a division of a constant by the last \
             quotient; or a square root and a multiplication of it by a constant, without which \
             the numbers would become 1. No number is denormal, infinite or not a number. Not \
             included: loop overhead.",
        expected: "addition and multiplication four cycles, 1.3 ns; division some 4 ns for 32 bits \
                   and some 5 ns for 64 bits; square root 1.3 ns more than that",
        why: "Addition and multiplication are pipelined: a core starts two of them in each cycle, \
              and of vectors too, so that a sum in a loop takes an eighth of the time if it is \
              split into eight sums. A compiler may not do that by itself, since rounding makes \
              the order matter. Divider and square root are one unit that computes a few bits in \
              each cycle, and starts the next operation before it has finished only on some cores.",
        compare_with: &["cpu/integer:op=multiply,bits=64"],
        axes: &[
            Axis {
                name: "op",
                sets: "the operation",
                points: Points::Words(&["add", "multiply", "divide", "square-root"]),
                default_points: Points::Words(&["add", "multiply", "divide", "square-root"]),
            },
            BITS,
        ],
        floor: &[
            at_least(1, "timer/nothing"),
            at_least(1, "cpu/float:op=multiply,bits=32")
                .when(&[("op", "square-root"), ("bits", "32")]),
            at_least(1, "cpu/float:op=multiply,bits=64")
                .when(&[("op", "square-root"), ("bits", "64")]),
        ],
        source: "lmbench lat_ops; uops.info",
        build: float,
        ..DEFAULTS
    },
    Bench {
        id: "cpu/branch",
        asks: "What does a branch cost whose direction cannot be predicted?",
        op: "the next number of a generator (a multiplication and an addition), a test of one of \
             its bits, a branch over the next instruction if it is set, and an addition if not. \
             The instructions are the same at each point, the bit is another: none; the fourth, \
             which repeats after 16 numbers and changes after eight, so that also in an unrolled \
             loop no branch has one direction; the highest, which is random. Not included: loop \
             overhead.",
        expected: "four cycles, 1.3 ns, if the direction is constant or alternates; 4.5 ns if it \
                   is random: half of the branches are mispredicted, at 15 to 20 cycles each",
        why: "A core does not wait for the test: it predicts the direction and continues there. If \
              that was wrong, everything after the branch is discarded, and fetched and decoded \
              again from the other side. Predictors remember patterns of hundreds of branches: \
              alternation costs nothing. Twice the difference between random and constant is the \
              price of a misprediction, which a cold branch in the kernel's path pays too (cases \
              with cache=evicted).",
        axes: &[Axis {
            name: "directions",
            sets: "the order in which the branch is taken and not taken",
            points: Points::Words(&["constant", "alternating", "random"]),
            default_points: Points::Words(&["constant", "alternating", "random"]),
        }],
        source: "Intel 64 and IA-32 Architectures Optimization Reference Manual, branch \
                 prediction; Fog, The microarchitecture of Intel, AMD and VIA CPUs",
        build: |params| {
            let mut branches = Branches::new(match params.word("directions") {
                "alternating" => Directions::Alternating,
                "random" => Directions::Random,
                _ => Directions::Constant,
            });
            Ok(Work::repeat(move || {
                branches.execute();
                Ok(())
            }))
        },
        ..DEFAULTS
    },
    Bench {
        id: "cpu/pause",
        asks: "How long does the instruction for waiting loops take?",
        op: "PAUSE on x86-64, YIELD on aarch64. Not included: loop overhead.",
        expected: "45 ns on Intel's cores since 2017, 15 to 20 ns on AMD's; on aarch64 nothing: \
                   most cores treat YIELD as a NOP",
        why: "It tells the core that the thread waits, so that the other thread of the core gets \
              its execution slots. How long is the model's choice: see `sync/spin`, where it is \
              part of a loop. Some hypervisors leave a guest that executes many in a row.",
        compare_with: &["sync/spin:hint=pause"],
        source: "Intel SDM volume 2, PAUSE; Arm Architecture Reference Manual, YIELD",
        build: |_| Ok(each(instructions::pause)),
        ..DEFAULTS
    },
    Bench {
        id: "cpu/serialise",
        asks: "What does an instruction cost that waits for all earlier ones?",
        op: "by=fence: LFENCE on x86-64, ISB on aarch64. by=cpuid: CPUID of leaf 0, with the moves \
             that keep a register that it writes; x86-64 only. Nothing else is to be waited for. \
             Not included: loop overhead.",
        expected: "fence some 3 to 10 ns; cpuid 30 to 60 ns on bare metal, one to two microseconds \
                   and more in a virtual machine",
        why: "No later instruction starts before the earlier ones have completed, so that the core \
              does one thing at a time: clocks are read that way, and kernels use it against \
              speculation. CPUID describes the processor, and serialises as a side effect. A \
              hypervisor decides what its guest is to see of the processor, and on Intel's cores \
              it cannot leave the instruction alone: each CPUID leaves the guest, so that it is \
              the cheapest round trip between guest and hypervisor.",
        compare_with: &["timer/tsc:read=cpuid-pair", "timer/tsc:read=fenced-rdtsc"],
        axes: &[Axis {
            name: "by",
            sets: "the instruction",
            points: Points::Words(&["fence", "cpuid"]),
            default_points: Points::Words(&["fence", "cpuid"]),
        }],
        source: "Intel SDM volume 2, LFENCE, CPUID, and volume 3, instructions that cause VM \
                 exits; Arm Architecture Reference Manual, ISB",
        build: |params| {
            Ok(match params.word("by") {
                "cpuid" if instructions::HAS_CPUID => each(instructions::cpuid),
                "cpuid" => Work::unavailable("aarch64 has no CPUID: select by=fence"),
                _ => each(instructions::fence),
            })
        },
        ..DEFAULTS
    },
];

/// An instruction without operands.
fn each(execute: impl Fn() + 'static) -> Work {
    Work::repeat(move || {
        execute();
        Ok(())
    })
}

/// A chain that begins with `first`; the other operand is the same each time.
fn chain<T: Copy + 'static>(first: T, other: T, op: impl Fn(T, T) -> T + 'static) -> Work {
    let mut value = first;
    Work::repeat(move || {
        value = op(value, other);
        Ok(())
    })
}

fn integer(params: Params<'_>) -> Result<Work, Errno> {
    // The quotients of all ones by these alternate between two numbers of half their length.
    let (narrow, wide) = (65_521, 4_294_967_291);
    let (narrow_ones, wide_ones) = (opaque(u64::from(u32::MAX)) as u32, opaque(u64::MAX));
    Ok(match (params.word("op"), params.number("bits")) {
        ("xor", 32) => chain(narrow, narrow_ones, instructions::xor_32),
        ("xor", _) => chain(wide, wide_ones, instructions::xor_64),
        ("add", 32) => chain(narrow, narrow_ones, instructions::add_32),
        ("add", _) => chain(wide, wide_ones, instructions::add_64),
        ("multiply", 32) => chain(narrow, narrow_ones, instructions::multiply_32),
        ("multiply", _) => chain(wide, wide_ones, instructions::multiply_64),
        ("divide", 32) => chain(narrow, narrow_ones, instructions::divide_32),
        ("divide", _) => chain(wide, wide_ones, instructions::divide_64),
        _ => return Err(Errno::EINVAL),
    })
}

fn float(params: Params<'_>) -> Result<Work, Errno> {
    let narrow = |other: f32| f32::from_bits(opaque(u64::from(other.to_bits())) as u32);
    let wide = |other: f64| f64::from_bits(opaque(other.to_bits()));
    Ok(match (params.word("op"), params.number("bits")) {
        // The sum grows until nothing is added any more.
        ("add", 32) => chain(1.7, narrow(1.3), instructions::add_f32),
        ("add", _) => chain(1.7, wide(1.3), instructions::add_f64),
        // Other factors would lead to infinity or to 0.
        ("multiply", 32) => chain(1.7, narrow(-1.0), instructions::multiply_f32),
        ("multiply", _) => chain(1.7, wide(-1.0), instructions::multiply_f64),
        // The quotients alternate between two numbers.
        ("divide", 32) => chain(1.7, narrow(1.3), instructions::divide_f32),
        ("divide", _) => chain(1.7, wide(1.3), instructions::divide_f64),
        // It ends at the square of the factor.
        ("square-root", 32) => chain(1.7, narrow(1.3), instructions::root_f32),
        ("square-root", _) => chain(1.7, wide(1.3), instructions::root_f64),
        _ => return Err(Errno::EINVAL),
    })
}
