//! Two judges of a call: the program that was compiled, and the profile that it was compiled from.

use oscost::treatments::seccomp::profile::{Action, Condition, Op, Profile};
use oscost_model::call_names::Arch;

/// A call, as a filter sees it (`struct seccomp_data`).
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

/// What the program returns: an interpreter with the checks of the kernel's verifier, as far as
/// they concern a path that is taken. Anything that the kernel would refuse is an error.
pub(crate) fn returned(program: &[u64], call: &Call) -> Result<u32, String> {
    if program.is_empty() || program.len() > 4_096 {
        return Err(format!("{} instructions", program.len()));
    }
    let (mut at, mut a) = (0usize, 0u32);
    loop {
        let Some(&packed) = program.get(at) else { return Err(format!("ran out at {at}")) };
        let k = packed as u32;
        let [met, unmet] = [(packed >> 40) as u8, (packed >> 32) as u8];
        at += 1;
        let is_so = match packed >> 48 {
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
        at += usize::from(if is_so { met } else { unmet });
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
        Op::MaskedEq(wanted) => argument & value == wanted,
    }
}

/// What the profile says, as its documentation puts it.
pub(crate) fn wanted(profile: &Profile, arch: Arch, call: &Call) -> u32 {
    let is_x32 = arch == Arch::X86_64 && call.number >= 1 << 30;
    if call.arch != audit_arch(arch) || is_x32 {
        let foreign = if profile.foreign { profile.default } else { Action::KillThread };
        return foreign.returned();
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
    alone.or_else(first).map_or(profile.default, |rule| rule.action).returned()
}

/// Calls worth asking about: each that the profile names and its neighbours, with arguments at and
/// beside each value that it compares with.
pub(crate) fn calls(profile: &Profile, arch: Arch, most: usize) -> Vec<Call> {
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
        let named = rule.names.iter().filter_map(|name| numbers.get(name.as_str()));
        for &number in named {
            let mut arguments = [0; 6];
            calls.push(Call { number, arch: native, arguments });
            // One after the other is made to meet its condition, and missed by a little first.
            for Condition { argument, op, value } in &rule.conditions {
                let hit = if let Op::MaskedEq(wanted) = op { wanted } else { value };
                let near = [hit.wrapping_sub(1), hit.wrapping_add(1), hit ^ (1 << 32), !hit, *hit];
                for value in near {
                    arguments[usize::from(*argument)] = value;
                    calls.push(Call { number, arch: native, arguments });
                }
            }
            if calls.len() > most {
                return calls;
            }
        }
    }
    calls
}
