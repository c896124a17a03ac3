//! Calling a function: what a system call is compared with.

use kernel::cpu::procedure::{self, Object, Pointer, Variables};

use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "procedure",
    about: "what it costs to call a function of one's own",
    benches: BENCHES,
};

const CHAIN: Axis = Axis {
    name: "chain",
    sets: "whether a call waits for what the last one returned",
    points: Points::Words(&["independent", "dependent"]),
    default_points: Points::Words(&["independent"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "procedure/call",
        asks: "What does a call of a function with N integer arguments cost?",
        op: "constants into the places that the C calling convention gives the arguments, a direct \
             call, an addition in the callee, and a return. Outside: the loop, which the slope \
             over 1, 2, 4 and 8 copies takes out. `chain=independent` is throughput: calls may \
             overlap in the core; `chain=dependent` is latency: each call's first argument is the \
             last one's result. `code=plain` is what compilers write without optimisation: \
             arguments are variables in memory, the callee sets up a frame, stores its arguments \
             there and reads the first one back, the caller stores the result; the loop's counter \
             is in memory too, and still outside.",
        expected: "about two core cycles; the seventh argument goes by the stack and costs a store \
                more; in a dependent chain one cycle more than that. Plain: six cycles, the way of \
                the frame pointer through memory and back, and half a cycle more for each argument",
        why: "A call stores the return address and a return jumps to it, but the core waits for \
              neither: it keeps return addresses on a small stack of its own, and a call that went \
              there before is foretold. What is left are two taken jumps, at one or two cycles \
              each. A core that issues four to eight instructions a cycle has room for a dozen \
              others beside them, and that hides most of the rest: constants into registers, the \
              seventh argument's way over the stack, even the traffic of code without \
              optimisation, as long as the core knows a stack slot again that it wrote a moment \
              ago. Older cores do not: there each value that is read back at once is four to five \
              cycles on its way, and the frame pointer, which every callee saves and restores, \
              ties each call to the last. Study cse221-2014 saw one cycle more for every four \
              arguments and credited the operating system with copying 128 bits at once; but no \
              operating system takes part in a call, and four is what that core issued in a cycle.",
        axes: &[
            Axis {
                name: "args",
                sets: "how many integer arguments the function takes",
                points: Points::Numbers(&[0, 1, 2, 3, 4, 5, 6, 7]),
                default_points: Points::Numbers(&[0, 4, 7]),
            },
            CHAIN,
            CODE,
        ],
        needs: &[Need::not_applicable(
            "without arguments a call has nothing that it could wait for",
        )
        .when(&[("args", "0"), ("chain", "dependent")])],
        floor: &[at_least(1, "timer/nothing")],
        rev: 2,
        source: "study cse221-2014, section 3.2; System V ABI for x86-64, section 3.2",
        build: call,
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/indirect",
        asks: "What does it add to call through a pointer?",
        op: "one constant as the argument, a call through a pointer in a register that the \
             compiler knows nothing of, an addition in the callee, and a return. Outside: the \
             loop, and loading the pointer.",
        expected: "as a direct call, to a quarter of a cycle: the target never changes",
        why: "Where an indirect call leads is not in the instruction; the core guesses from where \
              it led before, and goes on there at once. The figure is that of a guess which always \
              holds. A pointer that keeps changing in ways that nothing foretells costs a flushed \
              pipeline, 15 to 20 cycles, and so does every call where the guess is forbidden on \
              purpose (retpolines, against Spectre 2): kernels pay that, programs mostly do not.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        source: "System V ABI for x86-64, section 3.2",
        build: |at| {
            let pointer = Pointer::new();
            Ok(match Chain::of(at) {
                Chain::Independent => always(move || pointer.call()),
                Chain::Dependent => chained(move |last| pointer.call_after(last)),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/dyn",
        asks: "What does it add to call a method of which only the trait is known?",
        op: "a call of a method of a `Box<dyn Trait>` that lies in memory: loads of the object's \
             address, of its table's address and of the method's address from the table, the call, \
             an addition in the method, and a return; and a move between registers, by which the \
             compiler forgets whose object it is. Outside: the loop, and making the object.",
        expected: "half a cycle more than through a pointer; in a dependent chain nothing more, since \
                the three loads wait for no argument",
        why: "All three loads hit the first cache, and the core does not wait for them: it has \
              guessed where the call leads, goes on there, and the loads only confirm it. They \
              take slots and no time. What a dynamic call really costs is what the compiler cannot \
              do any more: inline the method.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        source: "The Rust Reference, trait objects",
        build: |at| {
            let object = Object::new();
            Ok(match Chain::of(at) {
                Chain::Independent => always(move || object.call()),
                Chain::Dependent => chained(move |last| object.call_after(last)),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/stub",
        asks: "What does it add to call a function of a shared library?",
        op: "one constant as the argument, a call of a stub, the stub's jump to where a slot in \
             memory says, an addition in the callee, and a return: what the procedure linkage \
             table of a dynamically linked program does once its slot is bound. Outside: the loop, \
             and binding the slot.",
        expected: "one core cycle more than a direct call: a third taken jump",
        why: "A program does not know where a shared library will lie, so the linker calls a stub \
              of its own, which jumps through a slot that the loader fills (`jmp *slot`). Here the \
              slot is filled before the program runs, as with `-z now`. The worker itself is linked \
              statically and pays this nowhere else: to every figure of `via=libc` a dynamically \
              linked program adds about what this row is above `procedure/call`.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        source: "System V ABI for x86-64, section 5.2",
        build: |at| {
            Ok(match Chain::of(at) {
                Chain::Independent => always(procedure::call_stub),
                Chain::Dependent => chained(procedure::call_stub_after),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/struct",
        asks: "What does it cost to hand over a struct of N bytes by value?",
        op: "the struct from memory to where the C calling convention wants it, a direct call, an \
             addition to its first word in the callee, and a return. Up to 16 bytes go in \
             registers; more are copied onto the stack, 16 bytes at a time. (On aarch64 the copy's \
             address is the argument.) Outside: the loop, and making the struct.",
        expected: "to 16 bytes as a call with integers; from 32 bytes on a cycle for each 16 bytes, \
                one store a cycle",
        why: "The convention splits a struct of up to two words into registers. A larger one is \
              the caller's to copy, at every call, even if the callee reads one word of it: a load \
              and a store for each 16 bytes, of which a core does one or two a cycle. Hand over a \
              reference instead and the copy is gone.",
        axes: &[Axis {
            name: "size",
            sets: "how many bytes the struct has",
            points: Points::Numbers(&[8, 16, 32, 64, 128, 256]),
            default_points: Points::Numbers(&[16, 256]),
        }],
        floor: &[at_least(1, "timer/nothing")],
        source: "System V ABI for x86-64, section 3.2.3",
        build: |at| {
            Ok(match at.number("size") {
                8 => with_words::<1>(),
                16 => with_words::<2>(),
                32 => with_words::<4>(),
                64 => with_words::<8>(),
                128 => with_words::<16>(),
                256 => with_words::<32>(),
                _ => return Err(Errno::EINVAL),
            })
        },
        ..Bench::DEFAULT
    },
];

#[derive(Clone, Copy)]
enum Chain {
    Independent,
    Dependent,
}

impl Chain {
    fn of(at: Params<'_>) -> Self {
        if at.word("chain") == "dependent" { Self::Dependent } else { Self::Independent }
    }
}

#[derive(Clone, Copy)]
enum Code {
    Optimised,
    Plain,
}

fn call(at: Params<'_>) -> Result<Work, Errno> {
    let code = if at.word("code") == "plain" { Code::Plain } else { Code::Optimised };
    let chain = Chain::of(at);
    Ok(match at.number("args") {
        0 => with::<0>(chain, code),
        1 => with::<1>(chain, code),
        2 => with::<2>(chain, code),
        3 => with::<3>(chain, code),
        4 => with::<4>(chain, code),
        5 => with::<5>(chain, code),
        6 => with::<6>(chain, code),
        7 => with::<7>(chain, code),
        _ => return Err(Errno::EINVAL),
    })
}

fn with<const ARGS: usize>(chain: Chain, code: Code) -> Work {
    let plain = |mut variables: Variables| {
        Work::repeat_unoptimized(move || {
            variables.call::<ARGS>();
            Ok(())
        })
    };
    match (code, chain) {
        (Code::Optimised, Chain::Independent) => always(procedure::call::<ARGS>),
        (Code::Optimised, Chain::Dependent) => chained(procedure::call_after::<ARGS>),
        (Code::Plain, Chain::Independent) => plain(Variables::new()),
        (Code::Plain, Chain::Dependent) => plain(Variables::chained()),
    }
}

fn with_words<const N: usize>() -> Work {
    let words = [1; N];
    always(move || procedure::call_with(&words))
}

/// Calls that wait for nothing.
fn always(call: impl Fn() + 'static) -> Work {
    Work::repeat(move || {
        call();
        Ok(())
    })
}

/// Calls each of which gets what the last one handed back.
fn chained(call: impl Fn(u64) -> u64 + 'static) -> Work {
    let mut last = 0;
    Work::repeat(move || {
        last = call(last);
        Ok(())
    })
}

#[cfg(test)]
mod tests;
