//! Functions to call, of which the compiler knows nothing.

mod callee {
    // SAFETY: each of them (see arch/) reads at most its first argument and writes the register of
    // the result; nothing else is touched.
    unsafe extern "C" {
        pub(super) safe fn oscost_callee0() -> u64;
        pub(super) safe fn oscost_callee1(_: u64) -> u64;
        pub(super) safe fn oscost_callee2(_: u64, _: u64) -> u64;
        pub(super) safe fn oscost_callee3(_: u64, _: u64, _: u64) -> u64;
        pub(super) safe fn oscost_callee4(_: u64, _: u64, _: u64, _: u64) -> u64;
        pub(super) safe fn oscost_callee5(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64;
        pub(super) safe fn oscost_callee6(_: u64, _: u64, _: u64, _: u64, _: u64, _: u64) -> u64;
        pub(super) safe fn oscost_callee7(
            _: u64,
            _: u64,
            _: u64,
            _: u64,
            _: u64,
            _: u64,
            _: u64,
        ) -> u64;
    }
}

/// Calls a function with the first `ARGS` of `args` (0 to 7), each where the C calling convention
/// wants it, and hands back what it returns: its first argument.
#[inline(always)]
pub fn call<const ARGS: usize>([a, b, c, d, e, f, g]: [u64; 7]) -> u64 {
    match ARGS {
        0 => callee::oscost_callee0(),
        1 => callee::oscost_callee1(a),
        2 => callee::oscost_callee2(a, b),
        3 => callee::oscost_callee3(a, b, c),
        4 => callee::oscost_callee4(a, b, c, d),
        5 => callee::oscost_callee5(a, b, c, d, e),
        6 => callee::oscost_callee6(a, b, c, d, e, f),
        _ => callee::oscost_callee7(a, b, c, d, e, f, g),
    }
}
