//! The expected results of seccomp filters: an interpreter of compiled programs, and a direct
//! evaluation of profiles.

use oscost::treatments::seccomp::profile::{Action, Condition, Op, Profile};
use oscost_model::call_names::Arch;

/// A system call as a filter sees it (`struct seccomp_data`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) number: u32,
    pub(crate) arch: u32,
    pub(crate) arguments: [u64; 6],
}

/// AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64.
pub(crate) fn audit_arch(arch: Arch) -> u32 {
    match arch {
        Arch::X86_64 => 0xc000_003e,
        Arch::Aarch64 => 0xc000_00b7,
    }
}

/// The 32 bits at an offset of `struct seccomp_data`, on a little-endian machine.
fn loaded(call: &Call, offset: u32) -> Result<u32, String> {
    if !offset.is_multiple_of(4) {
        return Err(format!("a load at {offset}"));
    }
    match offset {
        0 => Ok(call.number),
        4 => Ok(call.arch),
        8 | 12 => Ok(0), // The instruction pointer.
        16..64 => {
            let argument = call.arguments[(offset as usize - 16) / 8];
            Ok(if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 })
        }
        _ => Err(format!("a load at {offset}")),
    }
}

/// Interprets a program, with the checks of the kernel's verifier on the executed path. Whatever the
/// kernel would refuse is an error.
pub(crate) fn return_value(program: &[u64], call: &Call) -> Result<u32, String> {
    if program.is_empty() || program.len() > 4_096 {
        return Err(format!("{} instructions", program.len()));
    }
    let (mut at, mut a) = (0usize, 0u32);
    loop {
        let Some(&packed) = program.get(at) else { return Err(format!("no instruction at {at}")) };
        let k = packed as u32;
        let [jt, jf] = [(packed >> 40) as u8, (packed >> 32) as u8];
        at += 1;
        let condition = match packed >> 48 {
            0x20 => {
                a = loaded(call, k)?;
                continue;
            }
            0x54 => {
                a &= k;
                continue;
            }
            0x06 => return Ok(k),
            0x05 => {
                at += k as usize;
                continue;
            }
            0x15 => a == k,
            0x25 => a > k,
            0x35 => a >= k,
            code => return Err(format!("the code {code:#x}")),
        };
        at += usize::from(if condition { jt } else { jf });
    }
}

fn is_met(condition: &Condition, call: &Call) -> bool {
    let argument = call.arguments[usize::from(condition.argument)];
    let value = condition.value;
    match condition.op {
        Op::Eq => argument == value,
        Op::Ne => argument != value,
        Op::Lt => argument < value,
        Op::Le => argument <= value,
        Op::Gt => argument > value,
        Op::Ge => argument >= value,
        Op::MaskedEq(masked) => argument & value == masked,
    }
}

/// Evaluates a profile as its documentation describes.
pub(crate) fn expected(profile: &Profile, arch: Arch, call: &Call) -> u32 {
    let is_x32 = arch == Arch::X86_64 && call.number >= 1 << 30;
    if call.arch != audit_arch(arch) || is_x32 {
        let action =
            if profile.other_abis_get_default { profile.default } else { Action::KillThread };
        return action.return_value();
    }
    let name = arch.calls().find(|(number, _)| *number == call.number).map(|(_, name)| name);
    let rules: Vec<_> = profile
        .rules
        .iter()
        .filter(|rule| rule.action != profile.default)
        .filter(|rule| name.is_some_and(|name| rule.names.iter().any(|it| it == name)))
        .collect();
    let alone = rules.iter().find(|rule| rule.conditions.is_empty());
    let first = || rules.iter().find(|rule| rule.conditions.iter().all(|it| is_met(it, call)));
    alone.or_else(first).map_or(profile.default, |rule| rule.action).return_value()
}

/// Calls to test a profile with: those that it names, with arguments at and next to each value that
/// it compares with.
pub(crate) fn calls(profile: &Profile, arch: Arch, max: usize) -> Vec<Call> {
    let native = audit_arch(arch);
    let numbers: std::collections::HashMap<&str, u32> =
        arch.calls().map(|(number, name)| (name, number)).collect();
    let mut calls = Vec::new();
    for number in [0, 1, 110, 172, 9_999, 1 << 30, (1 << 30) + 1, u32::MAX] {
        for arch in [native, 0x4000_0003, 0] {
            calls.push(Call { number, arch, arguments: [0; 6] });
        }
    }
    for rule in &profile.rules {
        let numbers_of_rule = rule.names.iter().filter_map(|name| numbers.get(name.as_str()));
        for &number in numbers_of_rule {
            let mut arguments = [0; 6];
            calls.push(Call { number, arch: native, arguments });
            // Each condition in turn is nearly met, then met.
            for Condition { argument, op, value } in &rule.conditions {
                let hit = if let Op::MaskedEq(masked) = op { masked } else { value };
                let near = [hit.wrapping_sub(1), hit.wrapping_add(1), hit ^ (1 << 32), !hit, *hit];
                for value in near {
                    arguments[usize::from(*argument)] = value;
                    calls.push(Call { number, arch: native, arguments });
                }
            }
            if calls.len() > max {
                return calls;
            }
        }
    }
    calls
}
