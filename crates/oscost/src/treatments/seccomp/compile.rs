//! Profiles to classic BPF.
//!
//! The shape is that of libseccomp's filters, since it is their cost that is asked for: the
//! processor's word, then the calls one after the other, a test each. The crate `seccompiler` makes
//! filters as well, but has one action for all rules of a filter, where OCI has one for each.

use std::collections::HashMap;

use oscost_model::call_names::Arch;

use super::profile::{Action, Condition, Op, Profile};

/// BPF_MAXINSNS: the kernel takes no longer program.
pub const MAX_INSTRUCTIONS: usize = 4_096;
/// As far as a conditional jump goes.
const MAX_JUMP: usize = 255;

/// BPF_LD | BPF_W | BPF_ABS, BPF_ALU | BPF_AND | BPF_K, BPF_RET | BPF_K.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;
/// BPF_JMP with BPF_JA, BPF_JEQ, BPF_JGT, BPF_JGE, all BPF_K.
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER: u16 = 0x25;
const IF_NOT_LESS: u16 = 0x35;

/// Where things stand in `struct seccomp_data`; of an argument it is the low word, both processors
/// being little-endian.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// __X32_SYSCALL_BIT: x32 calls have the processor's own word, and this in their number.
const X32: u32 = 0x4000_0000;

/// AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64.
fn audit_arch(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// A compiled profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Its program, an instruction each: the code in the highest 16 bits, then `jt`, `jf`, `k`.
    pub program: Vec<u64>,
    /// Names in it that are no call of this processor, or of a newer kernel than the table.
    pub unknown: usize,
}

/// A program would be longer than the kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramTooLong;

/// Where a jump goes within the test of one condition.
#[derive(Clone, Copy)]
enum JumpTarget {
    /// To the next instruction.
    On,
    /// To whatever follows a condition that is met.
    Met,
    /// To whatever follows a rule that is not.
    Unmet,
}

/// The rules of one call.
struct FilteredCall {
    number: u32,
    /// Conditions and their action; or alone and without any, what decides by itself.
    rules: Vec<(Vec<Condition>, Action)>,
}

impl FilteredCall {
    fn decided(&self) -> Option<Action> {
        self.rules.first().filter(|rule| rule.0.is_empty()).map(|rule| rule.1)
    }
}

/// Compiles a profile for a processor.
pub fn compile(profile: &Profile, arch: Arch) -> Result<Compiled, ProgramTooLong> {
    let (calls, unknown) = resolve(profile, arch)?;
    let otherwise = profile.default.returned();
    let foreign = if profile.foreign { otherwise } else { Action::KillThread.returned() };
    let mut code = Code::default();
    code.put(LOAD, 0, 0, ARCH_AT);
    code.put(IF_EQUAL, 1, 0, audit_arch(arch));
    code.put(RETURN, 0, 0, foreign);
    code.put(LOAD, 0, 0, NUMBER_AT);
    if arch == Arch::X86_64 {
        code.put(IF_NOT_LESS, 0, 1, X32);
        code.put(RETURN, 0, 0, foreign);
    }
    let mut rest = &calls[..];
    while let Some(first) = rest.first() {
        match first.decided() {
            Some(action) => {
                let alike = |call: &&FilteredCall| call.decided() == Some(action);
                let run = rest.iter().take(MAX_JUMP).take_while(alike).count();
                code.decided(&rest[..run], action);
                rest = &rest[run..];
            }
            None => {
                code.conditional(first, otherwise);
                rest = &rest[1..];
            }
        }
        if code.0.len() >= MAX_INSTRUCTIONS {
            return Err(ProgramTooLong);
        }
    }
    code.put(RETURN, 0, 0, otherwise);
    Ok(Compiled { program: code.0, unknown })
}

/// The rules by call, in the order in which the profile first names them; and how many names are no
/// call here.
fn resolve(profile: &Profile, arch: Arch) -> Result<(Vec<FilteredCall>, usize), ProgramTooLong> {
    let numbers: HashMap<&str, u32> = arch.calls().map(|(number, name)| (name, number)).collect();
    let mut targets: HashMap<u32, usize> = HashMap::new();
    let mut unknown = std::collections::HashSet::new();
    let mut calls: Vec<FilteredCall> = Vec::new();
    let mut conditional = 0;
    for rule in profile.rules.iter().filter(|rule| rule.action != profile.default) {
        for name in &rule.names {
            let Some(&number) = numbers.get(name.as_str()) else {
                unknown.insert(name.as_str());
                continue;
            };
            let target = *targets.entry(number).or_insert_with(|| {
                calls.push(FilteredCall { number, rules: Vec::new() });
                calls.len() - 1
            });
            let call = &mut calls[target];
            if call.decided().is_some() {
                continue;
            }
            if rule.conditions.is_empty() {
                call.rules.clear();
            } else {
                // Two instructions at least: more of them do not fit, whatever else there is.
                conditional += 1;
                if conditional > MAX_INSTRUCTIONS {
                    return Err(ProgramTooLong);
                }
            }
            call.rules.push((rule.conditions.clone(), rule.action));
        }
    }
    Ok((calls, unknown.len()))
}

/// Instructions, as they come.
#[derive(Default)]
struct Code(Vec<u64>);

impl Code {
    fn put(&mut self, code: u16, met: u8, unmet: u8, k: u32) {
        let [code, met, unmet, k] = [code.into(), met.into(), unmet.into(), u64::from(k)];
        self.0.push(code << 48 | met << 40 | unmet << 32 | k);
    }

    /// Calls with one action: a test each, and one return behind the last.
    fn decided(&mut self, calls: &[FilteredCall], action: Action) {
        for (index, call) in calls.iter().enumerate() {
            let to_return = calls.len() - 1 - index; // Below 255: so many are in a run.
            self.put(IF_EQUAL, to_return as u8, u8::from(to_return == 0), call.number);
        }
        self.put(RETURN, 0, 0, action.returned());
    }

    /// A call whose arguments are looked at.
    fn conditional(&mut self, call: &FilteredCall, otherwise: u32) {
        let mut body = Code::default();
        for (conditions, action) in &call.rules {
            body.rule(conditions, *action);
        }
        body.put(RETURN, 0, 0, otherwise);
        match u8::try_from(body.0.len()) {
            Ok(over) => self.put(IF_EQUAL, 0, over, call.number),
            Err(_) => {
                self.put(IF_EQUAL, 1, 0, call.number);
                self.put(JUMP, 0, 0, body.0.len() as u32);
            }
        }
        self.0.append(&mut body.0);
    }

    /// Returns its action if all conditions are met, and falls through otherwise.
    fn rule(&mut self, conditions: &[Condition], action: Action) {
        let tests: Vec<Vec<Step>> = conditions.iter().map(steps).collect();
        // At most six conditions of six steps: all of it within a jump's reach.
        let end = tests.iter().map(Vec::len).sum::<usize>() + 1;
        let mut at = 0;
        for test in tests {
            let met = at + test.len();
            for (code, k, then, otherwise) in test {
                at += 1;
                let over = |to| match to {
                    JumpTarget::On => 0,
                    JumpTarget::Met => met - at,
                    JumpTarget::Unmet => end - at,
                };
                self.put(code, over(then) as u8, over(otherwise) as u8, k);
            }
        }
        self.put(RETURN, 0, 0, action.returned());
    }
}

/// An instruction of a condition: its code and value, and where it goes if that is so or not.
type Step = (u16, u32, JumpTarget, JumpTarget);

/// The test of one condition: the high word first, then the low one.
fn steps(condition: &Condition) -> Vec<Step> {
    use JumpTarget::{Met, On, Unmet};
    let Condition { argument, op, value } = *condition;
    let at = ARGUMENTS_AT + 8 * u32::from(argument);
    let load = |offset| (LOAD, offset, On, On);
    let (high, low) = ((value >> 32) as u32, value as u32);
    let by_size = |above: JumpTarget, below: JumpTarget, last: (u16, JumpTarget, JumpTarget)| {
        vec![
            load(at + 4),
            (IF_GREATER, high, above, On),
            (IF_EQUAL, high, On, below),
            load(at),
            (last.0, low, last.1, last.2),
        ]
    };
    match op {
        Op::Eq => {
            vec![load(at + 4), (IF_EQUAL, high, On, Unmet), load(at), (IF_EQUAL, low, On, Unmet)]
        }
        Op::Ne => {
            vec![load(at + 4), (IF_EQUAL, high, On, Met), load(at), (IF_EQUAL, low, Unmet, On)]
        }
        Op::Gt => by_size(Met, Unmet, (IF_GREATER, On, Unmet)),
        Op::Ge => by_size(Met, Unmet, (IF_NOT_LESS, On, Unmet)),
        Op::Lt => by_size(Unmet, Met, (IF_NOT_LESS, Unmet, On)),
        Op::Le => by_size(Unmet, Met, (IF_GREATER, Unmet, On)),
        Op::MaskedEq(wanted) => vec![
            load(at + 4),
            (AND, high, On, On),
            (IF_EQUAL, (wanted >> 32) as u32, On, Unmet),
            load(at),
            (AND, low, On, On),
            (IF_EQUAL, wanted as u32, On, Unmet),
        ],
    }
}
