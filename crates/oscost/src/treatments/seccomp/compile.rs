//! Compiling profiles to classic BPF.
//!
//! Filters have the structure of libseccomp's, since their cost is to be measured: the architecture
//! is checked, then the call numbers one after the other, with one test each. The crate
//! `seccompiler` does not fit; see docs/explanation/why/0007-own-system-calls.md.

use std::collections::HashMap;

use oscost_model::call_names::Arch;

use super::profile::{Action, Condition, Op, Profile};

/// BPF_MAXINSNS: the longest program that the kernel accepts.
pub const MAX_INSTRUCTIONS: usize = 4_096;
/// The longest conditional jump.
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

/// Offsets in `struct seccomp_data`. The low word of an argument comes first: both architectures
/// are little-endian.
const NUMBER_OFFSET: u32 = 0;
const ARCH_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// __X32_SYSCALL_BIT: x32 calls have the architecture x86-64, and this bit in their number.
const X32_BIT: u32 = 0x4000_0000;

/// AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64.
fn audit_arch(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// A compiled profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledProfile {
    /// Its instructions: the code in the highest 16 bits, then `jt`, `jf`, `k`.
    pub program: Vec<u64>,
    /// The number of its names that are not in the table of system calls.
    pub unknown: usize,
}

/// The program would be longer than [`MAX_INSTRUCTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramTooLong;

/// The target of a jump within the test of one condition.
#[derive(Clone, Copy)]
enum JumpTarget {
    /// The next instruction.
    Next,
    /// The instruction after the condition, which is met.
    Met,
    /// The instruction after the rule, which does not match.
    Unmet,
}

/// The rules of one call: one without conditions, or any number with conditions.
struct FilteredCall {
    number: u32,
    rules: Vec<CallRule>,
}

/// The action for a call whose arguments meet all conditions.
struct CallRule {
    conditions: Vec<Condition>,
    action: Action,
}

impl FilteredCall {
    /// The action, if it does not depend on the arguments.
    fn unconditional_action(&self) -> Option<Action> {
        self.rules.first().filter(|rule| rule.conditions.is_empty()).map(|rule| rule.action)
    }
}

/// Compiles a profile for an architecture.
pub fn compile(profile: &Profile, arch: Arch) -> Result<CompiledProfile, ProgramTooLong> {
    let ResolvedRules { calls, unknown } = resolve(profile, arch)?;
    let default = profile.default.return_value();
    let other_abi = match profile.other_abis_get_default {
        true => default,
        false => Action::KillThread.return_value(),
    };
    let mut code = Code::default();
    code.put(LOAD, 0, 0, ARCH_OFFSET);
    code.put(IF_EQUAL, 1, 0, audit_arch(arch));
    code.put(RETURN, 0, 0, other_abi);
    code.put(LOAD, 0, 0, NUMBER_OFFSET);
    if arch == Arch::X86_64 {
        code.put(IF_NOT_LESS, 0, 1, X32_BIT);
        code.put(RETURN, 0, 0, other_abi);
    }
    let mut rest = &calls[..];
    while let Some(first) = rest.first() {
        match first.unconditional_action() {
            Some(action) => {
                let is_same = |call: &&FilteredCall| call.unconditional_action() == Some(action);
                let run = rest.iter().take(MAX_JUMP).take_while(is_same).count();
                code.unconditional(&rest[..run], action);
                rest = &rest[run..];
            }
            None => {
                code.conditional(first, default);
                rest = &rest[1..];
            }
        }
        if code.0.len() >= MAX_INSTRUCTIONS {
            return Err(ProgramTooLong);
        }
    }
    code.put(RETURN, 0, 0, default);
    Ok(CompiledProfile { program: code.0, unknown })
}

/// The rules of a profile by call, in the order in which the profile first names the calls.
struct ResolvedRules {
    calls: Vec<FilteredCall>,
    /// The number of names that are not calls of the architecture.
    unknown: usize,
}

fn resolve(profile: &Profile, arch: Arch) -> Result<ResolvedRules, ProgramTooLong> {
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
            if call.unconditional_action().is_some() {
                continue;
            }
            if rule.conditions.is_empty() {
                call.rules.clear();
            } else {
                // Each has at least two instructions.
                conditional += 1;
                if conditional > MAX_INSTRUCTIONS {
                    return Err(ProgramTooLong);
                }
            }
            let conditions = rule.conditions.clone();
            call.rules.push(CallRule { conditions, action: rule.action });
        }
    }
    Ok(ResolvedRules { calls, unknown: unknown.len() })
}

/// A program.
#[derive(Default)]
struct Code(Vec<u64>);

impl Code {
    /// Appends an instruction, with the fields of `struct sock_filter`.
    fn put(&mut self, code: u16, jt: u8, jf: u8, k: u32) {
        let [code, jt, jf, k] = [code.into(), jt.into(), jf.into(), u64::from(k)];
        self.0.push(code << 48 | jt << 40 | jf << 32 | k);
    }

    /// Appends calls with the same action: one test each, and one return after the last.
    fn unconditional(&mut self, calls: &[FilteredCall], action: Action) {
        for (index, call) in calls.iter().enumerate() {
            let to_return = calls.len() - 1 - index; // Below MAX_JUMP.
            self.put(IF_EQUAL, to_return as u8, u8::from(to_return == 0), call.number);
        }
        self.put(RETURN, 0, 0, action.return_value());
    }

    /// Appends a call whose arguments are checked.
    fn conditional(&mut self, call: &FilteredCall, default: u32) {
        let mut body = Code::default();
        for rule in &call.rules {
            body.rule(rule);
        }
        body.put(RETURN, 0, 0, default);
        match u8::try_from(body.0.len()) {
            Ok(length) => self.put(IF_EQUAL, 0, length, call.number),
            Err(_) => {
                self.put(IF_EQUAL, 1, 0, call.number);
                self.put(JUMP, 0, 0, body.0.len() as u32);
            }
        }
        self.0.append(&mut body.0);
    }

    /// Appends a rule: returns its action if all conditions are met, and falls through otherwise.
    fn rule(&mut self, rule: &CallRule) {
        let tests: Vec<Vec<Instruction>> = rule.conditions.iter().map(condition_test).collect();
        // At most six conditions of six instructions: the end is within MAX_JUMP.
        let end = tests.iter().map(Vec::len).sum::<usize>() + 1;
        let mut at = 0;
        for test in tests {
            let met = at + test.len();
            for Instruction { code, k, if_true, if_false } in test {
                at += 1;
                let distance = |target| match target {
                    JumpTarget::Next => 0,
                    JumpTarget::Met => met - at,
                    JumpTarget::Unmet => end - at,
                };
                self.put(code, distance(if_true) as u8, distance(if_false) as u8, k);
            }
        }
        self.put(RETURN, 0, 0, rule.action.return_value());
    }
}

/// An instruction of the test of a condition.
#[derive(Clone, Copy)]
struct Instruction {
    code: u16,
    k: u32,
    if_true: JumpTarget,
    if_false: JumpTarget,
}

impl Instruction {
    fn new(code: u16, k: u32) -> Self {
        Self { code, k, if_true: JumpTarget::Next, if_false: JumpTarget::Next }
    }

    /// The same with a jump if the comparison is true.
    fn if_true(self, target: JumpTarget) -> Self {
        Self { if_true: target, ..self }
    }

    /// The same with a jump if the comparison is false.
    fn if_false(self, target: JumpTarget) -> Self {
        Self { if_false: target, ..self }
    }
}

/// The test of one condition: of the high word first, then of the low word.
fn condition_test(condition: &Condition) -> Vec<Instruction> {
    use JumpTarget::{Met, Unmet};
    let Condition { argument, op, value } = *condition;
    let offset = ARGUMENTS_OFFSET + 8 * u32::from(argument);
    let load_low = Instruction::new(LOAD, offset);
    let load_high = Instruction::new(LOAD, offset + 4);
    let (high, low) = ((value >> 32) as u32, value as u32);
    let equals = |word| Instruction::new(IF_EQUAL, word);
    let ordered = |greater: JumpTarget, less: JumpTarget, compare_low: Instruction| {
        vec![
            load_high,
            Instruction::new(IF_GREATER, high).if_true(greater),
            equals(high).if_false(less),
            load_low,
            compare_low,
        ]
    };
    let greater = Instruction::new(IF_GREATER, low);
    let not_less = Instruction::new(IF_NOT_LESS, low);
    match op {
        Op::Eq => {
            vec![load_high, equals(high).if_false(Unmet), load_low, equals(low).if_false(Unmet)]
        }
        Op::Ne => {
            vec![load_high, equals(high).if_false(Met), load_low, equals(low).if_true(Unmet)]
        }
        Op::Gt => ordered(Met, Unmet, greater.if_false(Unmet)),
        Op::Ge => ordered(Met, Unmet, not_less.if_false(Unmet)),
        Op::Lt => ordered(Unmet, Met, not_less.if_true(Unmet)),
        Op::Le => ordered(Unmet, Met, greater.if_true(Unmet)),
        Op::MaskedEq(masked) => vec![
            load_high,
            Instruction::new(AND, high),
            equals((masked >> 32) as u32).if_false(Unmet),
            load_low,
            Instruction::new(AND, low),
            equals(masked as u32).if_false(Unmet),
        ],
    }
}
