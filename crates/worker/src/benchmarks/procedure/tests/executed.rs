use oscost_model::point::{Point, Value};

use crate::bench::{Context, Params, Work};
use crate::benchmarks::find;
use crate::kernel::cpu::black_box::{keep, opaque};
use crate::kernel::cpu::procedure::{self, Object, callee_at};
use crate::kernel::cpu::single_step::{Flow, flow, steps};

/// What one op must be.
struct Op {
    /// How the call gets to its function.
    way: Flow,
    /// The function.
    callee: String,
    /// Instructions, those of the callee included; `None` where a compiler writes some of them.
    instructions: Option<usize>,
}

impl Op {
    fn of(way: Flow, callee: &str, instructions: impl Into<Option<usize>>) -> Self {
        Self { way, callee: callee.to_owned(), instructions: instructions.into() }
    }
}

/// A batch as the processor went through it: its calls, each with the function where it ended, and
/// the number of its instructions.
fn executed(work: &mut Work, turns: u64, copies: u32) -> Option<(Vec<(Flow, String)>, usize)> {
    let mut done = Ok(());
    let at = steps(|| done = work.run(turns, copies))?;
    assert_eq!(done, Ok(()));
    let flows = at.windows(2).map(|pair| (flow(pair[0]), pair[1]));
    let mut calls: Vec<(Flow, String)> = Vec::new();
    for (flow, to) in flows.filter(|(flow, _)| *flow != Flow::On) {
        match calls.last_mut() {
            // A stub goes on to somewhere else: the call ends there.
            Some(call) if flow == Flow::Stub && call.1 == "oscost_stub" => {
                *call = (Flow::Stub, callee_at(to));
            }
            _ => calls.push((flow, callee_at(to))),
        }
    }
    Some((calls, at.len()))
}

/// In what a work is not `op` and nothing more, with each number of copies. `None` where
/// instructions cannot be followed.
fn wrong(work: &mut Work, op: &Op) -> Option<Vec<String>> {
    const TURNS: u64 = 3;
    let mut found = Vec::new();
    let mut turns = Vec::new();
    for copies in [1usize, 2, 4, 8] {
        let (fewer, instructions) = executed(work, TURNS, copies as u32)?;
        let (more, instructions_more) = executed(work, TURNS + 1, copies as u32)?;
        turns.push((copies, instructions_more - instructions));
        let right = more.iter().filter(|(way, to)| (*way, to) == (op.way, &op.callee)).count();
        let ops = (TURNS as usize + 1) * copies;
        if right != ops {
            found.push(format!("{right} calls in {ops} ops, {copies} in a turn: {more:?}"));
        }
        let of_a_turn = more.len() - fewer.len();
        if of_a_turn != copies {
            found.push(format!("{of_a_turn} calls in a turn of {copies}: {more:?}"));
        }
    }
    // A turn is a loop that costs the same whatever the copies are, and so many times the op: else
    // the slope over the copies would be something else than the op.
    let (one, two) = (turns[0].1, turns[1].1);
    let of_an_op = two.wrapping_sub(one);
    if turns.iter().any(|&(copies, turn)| turn != one.wrapping_add((copies - 1) * of_an_op)) {
        found.push(format!("instructions of turns with so many copies: {turns:?}"));
    }
    if op.instructions.is_some_and(|expected| expected != of_an_op) {
        found.push(format!("{of_an_op} instructions in an op"));
    }
    Some(found)
}

/// What the op of a case must be.
fn expected(benchmark: &str, at: Params<'_>) -> Op {
    match benchmark {
        "procedure/call" => {
            let args = at.number("args") as usize;
            // The seventh argument takes two instructions, and a third behind the call.
            let arguments = if args == 7 { 6 + 3 } else { args };
            if at.word("code") == "optimised" {
                // Call, addition, return.
                return Op::of(Flow::Call, "oscost_callee", arguments + 3);
            }
            // Call, two for the frame, the first argument's load and the addition, two back; and
            // the result into its variable. Without arguments a constant takes the place of two.
            let stores = args.min(6);
            let rest = if args == 0 { 7 } else { 8 };
            Op::of(Flow::Call, &format!("oscost_plain_{args}"), arguments + stores + rest)
        }
        "procedure/indirect" => Op::of(Flow::CallRegister, "oscost_callee", 4),
        "procedure/dyn" => Op::of(Flow::CallMemory, "a method", None),
        "procedure/stub" => Op::of(Flow::Stub, "oscost_callee", 5),
        "procedure/struct" => match at.number("size") as usize {
            size @ ..=16 => Op::of(Flow::Call, "oscost_callee", size / 8 + 3),
            // Room on the stack, two for each 16 bytes, call, three in the callee, and back.
            size => Op::of(Flow::Call, "oscost_callee_struct", size / 16 * 2 + 6),
        },
        other => panic!("{other} is new: what must its op be?"),
    }
}

/// Every point of a benchmark that has a meaning.
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
fn each_copy_of_each_op_is_its_call_and_nothing_more() {
    for bench in super::super::BENCHES {
        for point in points(bench.id) {
            let at = Params::new(&point, Context::DEFAULT);
            let mut work = (bench.build)(at).unwrap();
            let Some(found) = wrong(&mut work, &expected(bench.id, at)) else {
                eprintln!("not run here: the processor's steps bring no signals");
                return;
            };
            assert!(found.is_empty(), "{}:{point}: {}", bench.id, found.join("\n"));
        }
    }
}

#[test]
fn an_op_that_is_not_its_call_is_found_out() {
    let call = || Op::of(Flow::Call, "oscost_callee", 3);
    let one = |op: fn()| {
        Work::repeat(move || {
            op();
            Ok(())
        })
    };
    let mut every_second = 0;
    let mut inlined_at = 0;
    let object = Object::new();
    for (what, mut work, op) in [
        ("nothing", one(|| ()), call()),
        ("the callee's work without a call", one(|| keep(opaque(1) + 1)), call()),
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
            "an instruction beside the call",
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
            eprintln!("not run here: the processor's steps bring no signals");
            return;
        };
        assert!(!found.is_empty(), "{what} passes for a call");
    }
}
