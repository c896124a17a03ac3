//! Calling a function: what a system call is compared with.

use super::prelude::*;

pub(super) const FAMILY: Family = Family {
    name: "procedure",
    about: "what it costs to call a function of one's own",
    benches: BENCHES,
};

const BENCHES: &[Bench] = &[Bench {
    id: "procedure/call",
    asks: "What does a call of a function with N integer arguments cost?",
    op: "constants into the places that the C calling convention gives the arguments, a direct \
         call, an addition in the callee, and a return. Outside: the loop, which the slope over 1, \
         2, 4 and 8 copies takes out. `chain=independent` is throughput: calls may overlap in the \
         core; `chain=dependent` is latency: each call's first argument is the last one's result.",
    guess: "about two core cycles; the seventh argument goes by the stack and costs a store more; \
            in a dependent chain one cycle more than that",
    axes: &[
        Axis {
            name: "args",
            sets: "how many integer arguments the function takes",
            points: Points::Numbers(&[0, 1, 2, 3, 4, 5, 6, 7]),
            usual: Points::Numbers(&[0, 4, 7]),
        },
        Axis {
            name: "chain",
            sets: "whether a call waits for what the last one returned",
            points: Points::Words(&["independent", "dependent"]),
            usual: Points::Words(&["independent"]),
        },
    ],
    needs: &[Need::meaning("without arguments a call has nothing that it could wait for")
        .when(&[("args", "0"), ("chain", "dependent")])],
    floor: &[at_least(1, "timer/nothing")],
    source: "CSE 221 system measurement project 2014, section 3.2",
    build: call,
    ..Bench::PLAIN
}];

fn call(at: At<'_>) -> Result<Work, Errno> {
    let dependent = at.word("chain") == "dependent";
    Ok(match at.number("args") {
        0 => with::<0>(dependent),
        1 => with::<1>(dependent),
        2 => with::<2>(dependent),
        3 => with::<3>(dependent),
        4 => with::<4>(dependent),
        5 => with::<5>(dependent),
        6 => with::<6>(dependent),
        7 => with::<7>(dependent),
        _ => return Err(Errno::EINVAL),
    })
}

fn with<const ARGS: usize>(dependent: bool) -> Work {
    if !dependent {
        return Work::repeat(|| {
            sys::procedure::call::<ARGS>();
            Ok(())
        });
    }
    let mut last = 0;
    Work::repeat(move || {
        last = sys::procedure::call_after::<ARGS>(last);
        Ok(())
    })
}
