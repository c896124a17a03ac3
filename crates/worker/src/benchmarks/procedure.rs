//! Function calls: what a system call is compared with.

use kernel::cpu::procedure::{self, FunctionPointer, TraitObject, Variables};

use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "procedure",
    about: "the cost of a function call in user space",
    benches: BENCHES,
};

const CHAIN: Axis = Axis {
    name: "chain",
    sets: "whether a call depends on the result of the previous one",
    points: Points::Words(&["independent", "dependent"]),
    default_points: Points::Words(&["independent"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "procedure/call",
        asks: "What does a call of a function with N integer arguments cost?",
        op: "constants loaded into the registers or stack slots of the C calling convention, a \
             direct call, an addition in the callee, and a return. Not included: loop overhead, \
             which the slope over unroll factors 1, 2, 4 and 8 removes. `chain=independent` is \
             throughput: calls may overlap in the core; `chain=dependent` is latency: the first \
             argument of each call is the result of the previous one. `code=plain` is what \
             compilers emit without optimisation: arguments are variables in memory, the callee \
             sets up a frame, stores its arguments there and reloads the first, the caller stores \
             the result; the loop counter is in memory too, and still not included.",
        expected: "about two core cycles; the seventh argument is passed on the stack and costs a \
                   store more; in a dependent chain one cycle more than that. Plain: six cycles, \
                   the frame pointer's path through memory and back, plus half a cycle per \
                   argument",
        why: "A call stores the return address and a return jumps to it, but the core waits for \
              neither: it keeps return addresses on a small internal stack, and a call that has \
              been executed before is predicted. What remains are two taken jumps, at one or two \
              cycles each. A core that issues four to eight instructions per cycle can execute a \
              dozen others in parallel, which hides most of the rest: loading constants into \
              registers, passing the seventh argument on the stack, even the memory traffic of \
              unoptimised code, as long as the core forwards a recently written stack slot. Older \
              cores do not: there each value that is read back at once takes four to five cycles, \
              and the frame pointer, which every callee saves and restores, makes each call depend \
              on the previous one. Study cse221-2014 saw one cycle more for every four arguments \
              and attributed it to the operating system copying 128 bits at a time; but no \
              operating system takes part in a function call, and four is what that core issued \
              per cycle.",
        axes: &[
            Axis {
                name: "args",
                sets: "number of integer arguments",
                points: Points::Numbers(&[0, 1, 2, 3, 4, 5, 6, 7]),
                default_points: Points::WithPriceList {
                    points: &Points::Numbers(&[0, 4, 7]),
                    price_list: &Points::Numbers(&[0, 7]),
                },
            },
            CHAIN,
            CODE,
        ],
        needs: &[Need::not_applicable(
            "a call without arguments cannot depend on the previous result",
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
        asks: "What does calling through a pointer add?",
        op: "one constant as the argument, a call through a pointer in a register that is opaque \
             to the compiler, an addition in the callee, and a return. Not included: loop \
             overhead, and loading the pointer.",
        expected: "the same as a direct call, within a quarter of a cycle: the target never \
                   changes",
        why: "The target of an indirect call is not in the instruction; the core predicts it from \
              history and continues there speculatively. This figure is for a prediction that is \
              always correct. A pointer that changes unpredictably costs a pipeline flush, 15 to \
              20 cycles, and so does every call where prediction is disabled on purpose \
              (retpolines, against Spectre v2): kernels pay that, most programs do not.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        in_price_list: false,
        source: "System V ABI for x86-64, section 3.2",
        build: |params| {
            let pointer = FunctionPointer::new();
            Ok(match Chain::of(params) {
                Chain::Independent => always(move || pointer.call()),
                Chain::Dependent => chained(move |last| pointer.call_after(last)),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/dyn",
        asks: "What does a call through a trait object add?",
        op: "a call of a method of a `Box<dyn Trait>` in memory: loads of the object's address, of \
             its vtable's address and of the method's address from the vtable, the call, an \
             addition in the method, and a return; and a register move that hides the object's \
             type from the compiler. Not included: loop overhead, and creating the object.",
        expected: "half a cycle more than through a pointer; in a dependent chain nothing more, \
                   since the three loads do not depend on an argument",
        why: "All three loads hit the first-level cache, and the core does not wait for them: it \
              has predicted the target and continues there, and the loads only confirm it. They \
              take issue slots and no time. The real cost of a dynamic call is that the compiler \
              can no longer inline the method.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        in_price_list: false,
        source: "The Rust Reference, trait objects",
        build: |params| {
            let object = TraitObject::new();
            Ok(match Chain::of(params) {
                Chain::Independent => always(move || object.call()),
                Chain::Dependent => chained(move |last| object.call_after(last)),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/stub",
        asks: "What does calling a function of a shared library add?",
        op: "one constant as the argument, a call of a stub, the stub's jump through a slot in \
             memory, an addition in the callee, and a return: what the procedure linkage table of \
             a dynamically linked program does once its slot is bound. Not included: loop \
             overhead, and binding the slot.",
        expected: "one core cycle more than a direct call: a third taken jump",
        why: "The load address of a shared library is not known at link time, so the linker calls \
              a stub that jumps through a slot filled by the loader (`jmp *slot`). Here the slot \
              is filled before the program runs, as with `-z now`. The worker itself is linked \
              statically and pays this nowhere else: a dynamically linked program adds about the \
              difference between this row and `procedure/call` to every figure with `via=libc`.",
        axes: &[CHAIN],
        floor: &[at_least(1, "timer/nothing")],
        in_price_list: false,
        source: "System V ABI for x86-64, section 5.2",
        build: |params| {
            Ok(match Chain::of(params) {
                Chain::Independent => always(procedure::call_stub),
                Chain::Dependent => chained(procedure::call_stub_after),
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "procedure/struct",
        asks: "What does passing a struct of N bytes by value cost?",
        op: "the struct copied from memory to where the C calling convention passes it, a direct \
             call, an addition to its first word in the callee, and a return. Up to 16 bytes are \
             passed in registers; larger structs are copied to the stack, 16 bytes at a time. (On \
             aarch64 the address of the copy is the argument.) Not included: loop overhead, and \
             creating the struct.",
        expected: "up to 16 bytes the same as a call with integers; from 32 bytes on one cycle per \
                   16 bytes, one store per cycle",
        why: "The convention splits a struct of up to two words into registers. The caller copies \
              a larger one at every call, even if the callee reads one word of it: a load and a \
              store per 16 bytes, of which a core does one or two per cycle. Passing a reference \
              avoids the copy.",
        axes: &[Axis {
            name: "size",
            sets: "size of the struct in bytes",
            points: Points::Numbers(&[8, 16, 32, 64, 128, 256]),
            default_points: Points::Numbers(&[16, 256]),
        }],
        floor: &[at_least(1, "timer/nothing")],
        in_price_list: false,
        source: "System V ABI for x86-64, section 3.2.3",
        build: |params| {
            Ok(match params.number("size") {
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
    fn of(params: Params<'_>) -> Self {
        if params.word("chain") == "dependent" { Self::Dependent } else { Self::Independent }
    }
}

#[derive(Clone, Copy)]
enum Code {
    Optimised,
    Plain,
}

fn call(params: Params<'_>) -> Result<Work, Errno> {
    let code = if params.word("code") == "plain" { Code::Plain } else { Code::Optimised };
    let chain = Chain::of(params);
    Ok(match params.number("args") {
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
    always(move || procedure::call_with_struct(&words))
}

/// Independent calls.
fn always(call: impl Fn() + 'static) -> Work {
    Work::repeat(move || {
        call();
        Ok(())
    })
}

/// Calls whose argument is the result of the previous one.
fn chained(call: impl Fn(u64) -> u64 + 'static) -> Work {
    let mut last = 0;
    Work::repeat(move || {
        last = call(last);
        Ok(())
    })
}

#[cfg(test)]
mod tests;
