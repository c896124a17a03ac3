//! Functions to call that the compiler cannot see through. Each returns its first argument plus
//! one.
//!
//! Every kind of call exists twice: with constant arguments, independent of other calls, and
//! `after` another call, whose result is the argument.

use std::arch::asm;

use crate::kernel::arch::procedure as bare;
use crate::kernel::cpu::black_box::{consume, opaque};

/// Calls a function with `ARGS` (0 to 7) independent integer arguments.
#[inline(always)]
pub fn call<const ARGS: usize>() {
    consume(bare::call::<ARGS>());
}

/// Calls it with the result of the last call as its first argument, and returns its result.
#[inline(always)]
#[must_use]
pub fn call_after<const ARGS: usize>(last: u64) -> u64 {
    bare::call_after::<ARGS>(last)
}

/// The variables of an unoptimised function: they are in memory.
pub struct Variables {
    all: Box<[u64; 8]>,
    into: usize,
}

impl Variables {
    /// Seven arguments, the numbers 1 to 7, and an unread variable for the result.
    pub fn new() -> Self {
        Self { all: Box::new([1, 2, 3, 4, 5, 6, 7, 0]), into: 7 }
    }

    /// Seven arguments, of which the first also takes the result.
    pub fn chained() -> Self {
        Self { into: 0, ..Self::new() }
    }

    /// Calls an unoptimised function from unoptimised code: each of the `ARGS` arguments is loaded
    /// from its variable, and the result stored to another.
    #[inline(always)]
    pub fn call<const ARGS: usize>(&mut self) {
        // SAFETY: only `new` and `chained` create variables, and their index is one of the eight.
        unsafe { bare::call_unoptimised::<ARGS>(&mut self.all, self.into) };
    }
}

impl Default for Variables {
    fn default() -> Self {
        Self::new()
    }
}

/// A pointer to the function, hidden from the compiler.
#[derive(Clone, Copy)]
pub struct FunctionPointer(u64);

impl FunctionPointer {
    /// Creates the pointer.
    pub fn new() -> Self {
        Self(opaque(bare::callee()))
    }

    /// Calls through it with one argument.
    #[inline(always)]
    pub fn call(self) {
        // SAFETY: only `new` creates such a pointer, and `opaque` changes no value.
        consume(unsafe { bare::call_pointer(self.0) });
    }

    /// Calls through it with the result of the last call, and returns its own.
    #[inline(always)]
    #[must_use]
    pub fn call_after(self, last: u64) -> u64 {
        // SAFETY: as in `call`.
        unsafe { bare::call_pointer_after(self.0, last) }
    }
}

impl Default for FunctionPointer {
    fn default() -> Self {
        Self::new()
    }
}

/// The first instruction of a function that is to be probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInstruction {
    /// A NOP.
    Nop,
    /// A NOP as long as a call, five bytes; x86-64 alone has it.
    LongNop,
    /// One that computes the result.
    Arithmetic,
}

/// A function of its own, whose first instruction may be replaced by a breakpoint.
#[derive(Clone, Copy)]
pub struct ProbedFunction(u64);

impl ProbedFunction {
    /// The function that begins with this instruction, if this architecture has it.
    pub fn new(first: FirstInstruction) -> Option<Self> {
        let [nop, long_nop, arithmetic] = bare::probed_callees();
        let callee = match first {
            FirstInstruction::Nop => nop,
            FirstInstruction::LongNop => long_nop,
            FirstInstruction::Arithmetic => arithmetic,
        };
        callee.map(|callee| Self(opaque(callee)))
    }

    /// Its address.
    pub fn address(self) -> u64 {
        self.0
    }

    /// Calls it with one argument.
    #[inline(always)]
    pub fn call(self) {
        // SAFETY: only `new` creates such a value, and `opaque` changes no address.
        consume(unsafe { bare::call_pointer(self.0) });
    }
}

/// Calls, with one argument, a stub that jumps to the address in a memory slot.
#[inline(always)]
pub fn call_stub() {
    consume(bare::call_stub());
}

/// The same with the result of the last call; returns its own.
#[inline(always)]
#[must_use]
pub fn call_stub_after(last: u64) -> u64 {
    bare::call_stub_after(last)
}

/// Calls a function with `N` words by value (1, 2 or a multiple of 4 up to 32).
#[inline(always)]
pub fn call_with_struct<const N: usize>(words: &[u64; N]) {
    consume(bare::call_with(words));
}

trait Callee {
    fn call(&self, value: u64) -> u64;
}

struct PlusOne;

impl Callee for PlusOne {
    // Never inlined, although only a vtable refers to it: a future compiler may devirtualise.
    #[inline(never)]
    fn call(&self, value: u64) -> u64 {
        value.wrapping_add(1)
    }
}

/// A trait object.
pub struct TraitObject(Box<dyn Callee>);

impl TraitObject {
    /// Creates the object.
    pub fn new() -> Self {
        Self(Box::new(PlusOne))
    }

    /// Calls its method with one argument.
    #[inline(always)]
    pub fn call(&self) {
        consume(self.opaque_self().0.call(1));
    }

    /// Calls its method with the result of the last call, and returns its own.
    #[inline(always)]
    #[must_use]
    pub fn call_after(&self, last: u64) -> u64 {
        self.opaque_self().0.call(last)
    }

    /// The same object, hidden from the compiler, so that it must load the method from the vtable
    /// again.
    #[inline(always)]
    fn opaque_self(&self) -> &Self {
        let mut object: *const Self = self;
        // SAFETY: there is no instruction, so the pointer is still that of `self`, which is
        // borrowed.
        unsafe {
            asm!("/* {0} */", inout(reg) object, options(nostack, preserves_flags));
            &*object
        }
    }
}

impl Default for TraitObject {
    fn default() -> Self {
        Self::new()
    }
}

/// The name of the function at an address, if it is one of these.
#[cfg(test)]
pub(crate) fn callee_name_at(address: u64) -> String {
    if address == <PlusOne as Callee>::call as *const () as u64 {
        return "a method".to_owned();
    }
    /// A callee, and the name before it, each begin on a cache line.
    const LINE: u64 = 64;
    if !address.is_multiple_of(LINE) {
        return "another function".to_owned();
    }
    // SAFETY: code that is called may be read, and so may the line before it: only the first line
    // of the text segment has none, and the program does not begin with a callee.
    let before: [u8; LINE as usize] = unsafe { std::ptr::read((address - LINE) as *const _) };
    let name =
        before.strip_prefix(b"callee:").and_then(|name| name.split(|&byte| byte == 0).next());
    name.map_or("another function".into(), |name| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callee_returns_its_first_argument_plus_one_however_it_is_called() {
        assert_eq!((call_after::<1>(41), call_after::<7>(41)), (42, 42));
        assert_eq!((bare::call::<1>(), bare::call::<7>()), (2, 2));
        assert_eq!(FunctionPointer::new().call_after(41), 42);
        assert_eq!(call_stub_after(41), 42);
        assert_eq!(bare::call_stub(), 2);
        assert_eq!(TraitObject::new().call_after(41), 42);
        for callee in bare::probed_callees().into_iter().flatten() {
            // SAFETY: it is one of the callees.
            assert_eq!(unsafe { bare::call_pointer_after(callee, 41) }, 42);
        }
    }

    #[test]
    fn a_call_without_optimisation_reads_and_writes_its_variables() {
        fn results<const ARGS: usize>() -> (u64, u64) {
            let (mut apart, mut chained) = (Variables::new(), Variables::chained());
            for variables in [&mut apart, &mut chained] {
                variables.all[0] = 41;
                variables.call::<ARGS>();
                assert_eq!(variables.all[1..7], [2, 3, 4, 5, 6, 7]);
            }
            assert_eq!(apart.all[0], 41);
            (apart.all[7], chained.all[0])
        }
        assert_eq!(results::<0>(), (1, 1));
        let all = [results::<1>(), results::<2>(), results::<3>(), results::<4>()];
        assert_eq!(all, [(42, 42); 4]);
        assert_eq!([results::<5>(), results::<6>(), results::<7>()], [(42, 42); 3]);
    }

    #[test]
    fn words_by_value_arrive() {
        fn with<const N: usize>() -> u64 {
            let mut words = [7; N];
            words[0] = 41;
            bare::call_with(&words)
        }
        let all = [with::<1>(), with::<2>(), with::<4>(), with::<8>(), with::<16>(), with::<32>()];
        assert_eq!(all, [42; 6]);
    }
}
