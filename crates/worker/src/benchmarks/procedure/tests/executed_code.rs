use oscost_model::point::{Point, Value};

use crate::bench::{Context, Params, Work};
use crate::benchmarks::find;
use crate::kernel::cpu::black_box::{consume, opaque};
use crate::kernel::cpu::procedure::{self, TraitObject, callee_name_at};
use crate::kernel::cpu::single_step::{Flow, executed_addresses, flow_at};

/// What one op must execute.
struct Op {
    /// How the call reaches its function.
    control_transfer: Flow,
    /// The function.
    callee: String,
    /// The number of instructions, including those of the callee; `None` if the compiler emits some
    /// of them.
    instructions: Option<usize>,
}

impl Op {
    fn of(control_transfer: Flow, callee: &str, instructions: impl Into<Option<usize>>) -> Self {
        Self { control_transfer, callee: callee.to_owned(), instructions: instructions.into() }
    }
}

/// A batch as executed: its calls, each with the function in which it ended, and the number of
/// instructions.
fn executed(work: &mut Work, iterations: u64, unroll: u32) -> Option<(Vec<(Flow, String)>, usize)> {
    let mut done = Ok(());
    let at = executed_addresses(|| done = work.run(iterations, unroll))?;
    assert_eq!(done, Ok(()));
    let flows = at.windows(2).map(|pair| (flow_at(pair[0]), pair[1]));
    let mut calls: Vec<(Flow, String)> = Vec::new();
    for (flow, to) in flows.filter(|(flow, _)| *flow != Flow::Next) {
        match calls.last_mut() {
            // A stub jumps on: the call ends where it leads.
            Some(call) if flow == Flow::Stub && call.1 == "oscost_stub" => {
                *call = (Flow::Stub, callee_name_at(to));
            }
            _ => calls.push((flow, callee_name_at(to))),
        }
    }
    Some((calls, at.len()))
}

/// How the work differs from `op`, for each unroll factor. `None` if single-stepping is not
/// available.
fn wrong(work: &mut Work, op: &Op) -> Option<Vec<String>> {
    const ITERATIONS: u64 = 3;
    let mut found = Vec::new();
    let mut iterations = Vec::new();
    for copies in [1usize, 2, 4, 8] {
        let (fewer, instructions) = executed(work, ITERATIONS, copies as u32)?;
        let (more, instructions_more) = executed(work, ITERATIONS + 1, copies as u32)?;
        iterations.push((copies, instructions_more - instructions));
        let right = more
            .iter()
            .filter(|(control_transfer, to)| {
                (*control_transfer, to) == (op.control_transfer, &op.callee)
            })
            .count();
        let ops = (ITERATIONS as usize + 1) * copies;
        if right != ops {
            found.push(format!("{right} calls in {ops} ops, unroll factor {copies}: {more:?}"));
        }
        let of_a_turn = more.len() - fewer.len();
        if of_a_turn != copies {
            found.push(format!("{of_a_turn} calls in an iteration of {copies} ops: {more:?}"));
        }
    }
    // An iteration must be a fixed overhead plus one op per unrolled copy: otherwise the slope over
    // the unroll factors would not be the op.
    let (one, two) = (iterations[0].1, iterations[1].1);
    let of_an_op = two.wrapping_sub(one);
    if iterations.iter().any(|&(copies, count)| count != one.wrapping_add((copies - 1) * of_an_op))
    {
        found.push(format!("instructions per iteration by unroll factor: {iterations:?}"));
    }
    if op.instructions.is_some_and(|expected| expected != of_an_op) {
        found.push(format!("{of_an_op} instructions in an op"));
    }
    Some(found)
}

/// What one op of a case must execute.
fn expected(benchmark: &str, params: Params<'_>) -> Op {
    match benchmark {
        "procedure/call" => {
            let args = params.number("args") as usize;
            // The seventh argument takes two instructions, and a third one after the call.
            let arguments = if args == 7 { 6 + 3 } else { args };
            if params.word("code") == "optimised" {
                // Call, addition, return.
                return Op::of(Flow::Call, "oscost_callee", arguments + 3);
            }
            // Call, two for the frame, the load of the first argument and the addition, two to
            // return; and storing the result. Without arguments a constant replaces two of them.
            let stores = args.min(6);
            let rest = if args == 0 { 7 } else { 8 };
            Op::of(Flow::Call, &format!("oscost_plain_{args}"), arguments + stores + rest)
        }
        "procedure/indirect" => Op::of(Flow::CallRegister, "oscost_callee", 4),
        "procedure/dyn" => Op::of(Flow::CallMemory, "a method", None),
        "procedure/stub" => Op::of(Flow::Stub, "oscost_callee", 5),
        "procedure/struct" => match params.number("size") as usize {
            size @ ..=16 => Op::of(Flow::Call, "oscost_callee", size / 8 + 3),
            // Stack adjustment, two per 16 bytes, call, three in the callee, and back.
            size => Op::of(Flow::Call, "oscost_callee_struct", size / 16 * 2 + 6),
        },
        other => panic!("{other} is new: add its expected op here"),
    }
}

/// Every applicable point of a benchmark.
fn points(benchmark: &str) -> Vec<Point> {
    let definition = find(benchmark).unwrap().definition();
    let all = definition.axes.iter().fold(vec![Point::none()], |points, axis| {
        let with = |point: &Point, value: &Value| point.clone().with(&*axis.name, value.clone());
        points
            .iter()
            .flat_map(|point| axis.points.iter().map(move |value| with(point, value)))
            .collect()
    });
    let meaningless =
        |point: &Point| definition.needs.iter().any(|need| point.includes(&need.when));
    all.into_iter().filter(|point| !meaningless(point)).collect()
}

#[test]
fn each_unrolled_op_is_its_call_and_nothing_more() {
    for bench in super::super::BENCHES {
        for point in points(bench.id) {
            let at = Params::new(&point, Context::DEFAULT);
            let mut work = (bench.build)(at).unwrap();
            let Some(found) = wrong(&mut work, &expected(bench.id, at)) else {
                eprintln!("skipped: single-stepping raises no signals here");
                return;
            };
            assert!(found.is_empty(), "{}:{point}: {}", bench.id, found.join("\n"));
        }
    }
}

#[test]
fn an_op_that_is_not_its_call_is_detected() {
    let call = || Op::of(Flow::Call, "oscost_callee", 3);
    let one = |op: fn()| {
        Work::repeat(move || {
            op();
            Ok(())
        })
    };
    let mut every_second = 0;
    let mut inlined_at = 0;
    let object = TraitObject::new();
    for (what, mut work, op) in [
        ("nothing", one(|| ()), call()),
        ("the callee's work without a call", one(|| consume(opaque(1) + 1)), call()),
        ("a call with an argument too many", one(procedure::call::<1>), call()),
        (
            "two calls",
            one(|| [(), ()].map(|()| procedure::call::<0>()).into_iter().collect()),
            call(),
        ),
        ("a call through a stub", one(procedure::call_stub), call()),
        (
            "a call in every second op",
            Work::repeat(move || {
                every_second += 1;
                if opaque(every_second).is_multiple_of(2) {
                    procedure::call::<0>();
                }
                Ok(())
            }),
            call(),
        ),
        (
            "another instruction besides the call",
            Work::repeat(move || {
                inlined_at = opaque(inlined_at) + 1;
                procedure::call::<0>();
                Ok(())
            }),
            call(),
        ),
        (
            "a method",
            Work::repeat(move || {
                object.call();
                Ok(())
            }),
            call(),
        ),
    ] {
        let Some(found) = wrong(&mut work, &op) else {
            eprintln!("skipped: single-stepping raises no signals here");
            return;
        };
        assert!(!found.is_empty(), "{what} passes for a call");
    }
}
