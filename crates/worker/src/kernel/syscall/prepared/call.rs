//! A raw system call prepared for a timed loop: the number and six arguments in registers, the
//! instruction, and one comparison that tells whether it succeeded.
//!
//! Every raw call is the same instruction, so one timed loop serves them all. They differ in their
//! arguments, what they own, and which results are successes; the other files of this folder set
//! these up by theme.

use std::any::Any;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use crate::kernel::{Errno, arch};

/// Any result that is not an error.
pub(super) const ANY_SUCCESS: RangeInclusive<i64> = 0..=i64::MAX;

/// A raw system call and everything it needs.
pub struct Call(Box<Parts>);

struct Parts {
    number: i64,
    args: [u64; 6],
    lowest: i64,
    span: u64,
    /// What the arguments refer to, for as long as the call may be made.
    owned: Vec<Box<dyn Any>>,
}

// Out of line, since every call is built with them: it keeps the worker small.
impl Call {
    /// The call of that number; success is 0.
    ///
    /// # Safety
    /// The call, repeated from anywhere in this thread, must have no effect on other parts of the
    /// program than its caller expects. What its arguments point to must live as long as the value,
    /// which [`Self::with_owned`] ensures, or for ever.
    #[inline(never)]
    pub(super) unsafe fn new(number: i64, given: &[u64]) -> Self {
        let mut args = [0; 6];
        for (arg, given) in args.iter_mut().zip(given) {
            *arg = *given;
        }
        Self(Box::new(Parts { number, args, lowest: 0, span: 0, owned: Vec::new() }))
    }

    /// Sets the results that count as success.
    #[inline(never)]
    pub(super) fn with_results(mut self, good: RangeInclusive<i64>) -> Self {
        let (lowest, highest) = good.into_inner();
        self.0.lowest = lowest;
        self.0.span = highest.wrapping_sub(lowest) as u64;
        self
    }

    /// Sets the error that the call must fail with.
    pub(super) fn with_error(self, error: i32) -> Self {
        let result = -i64::from(error);
        self.with_results(result..=result)
    }

    /// Makes the call own something that its arguments refer to.
    pub(super) fn with_owned(self, thing: impl Any) -> Self {
        self.owning_boxed(Box::new(thing))
    }

    #[inline(never)]
    fn owning_boxed(mut self, thing: Box<dyn Any>) -> Self {
        self.0.owned.push(thing);
        self
    }

    /// The call as plain values.
    pub fn ready(&self) -> ReadyCall<'_> {
        let &Parts { number, args, lowest, span, .. } = &*self.0;
        ReadyCall { number, args, lowest, span, lifetime: PhantomData }
    }
}

/// A call as plain values, to be held in registers.
#[derive(Clone, Copy)]
pub struct ReadyCall<'a> {
    number: i64,
    args: [u64; 6],
    lowest: i64,
    span: u64,
    lifetime: PhantomData<&'a Call>,
}

impl ReadyCall<'_> {
    /// Makes the call: its result if that is a success, otherwise the error.
    #[inline(always)]
    pub fn make(self) -> Result<i64, Errno> {
        self.make_by::<false>()
    }

    /// The same, by the instruction in the loop or, with `FUNCTION`, by a call of a function around
    /// it.
    #[inline(always)]
    pub fn make_by<const FUNCTION: bool>(self) -> Result<i64, Errno> {
        // SAFETY: the constructor of the call guarantees its arguments (`Call::new`), and the
        // borrow keeps alive what they refer to.
        let result = unsafe { arch::syscall_by::<FUNCTION>(self.number, self.args) };
        if result.wrapping_sub(self.lowest) as u64 <= self.span {
            Ok(result)
        } else {
            unexpected_result(result)
        }
    }
}

/// Converts a result that is not a success to an error.
#[cold]
fn unexpected_result(result: i64) -> Result<i64, Errno> {
    /// The lowest error that the kernel returns.
    const LOWEST_ERROR: i64 = -4_095;
    Err(match result {
        LOWEST_ERROR..0 => Errno(-result as i32),
        // It returned, but did not do its work.
        _ => Errno::EPROTO,
    })
}

/// Two raw calls, one after the other.
pub struct CallPair {
    pub(super) first: Call,
    pub(super) second: Call,
    /// Whether the second call's first argument is the first one's result.
    pub(super) pass_result: bool,
}

impl CallPair {
    /// This pair, after it was made once; an error that skips the row where the kernel or a filter
    /// refuses `name`.
    pub fn tried(self, name: &str) -> Result<Self, Errno> {
        let made = self.ready().make();
        match made {
            Ok(()) => Ok(self),
            Err(error) if error.is_unavailable() => {
                Err(Errno::unavailable(format!("{name}(2) is refused here: {error}")))
            }
            Err(error) => Err(error),
        }
    }

    /// Both calls as plain values.
    pub fn ready(&self) -> ReadyCallPair<'_> {
        let (first, second) = (self.first.ready(), self.second.ready());
        ReadyCallPair { first, second, pass_result: self.pass_result }
    }
}

/// A pair as plain values.
#[derive(Clone, Copy)]
pub struct ReadyCallPair<'a> {
    first: ReadyCall<'a>,
    second: ReadyCall<'a>,
    pass_result: bool,
}

impl ReadyCallPair<'_> {
    /// Makes both calls.
    #[inline(always)]
    pub fn make(self) -> Result<(), Errno> {
        self.make_by::<false>()
    }

    /// The same, each as [`ReadyCall::make_by`] makes it.
    #[inline(always)]
    pub fn make_by<const FUNCTION: bool>(mut self) -> Result<(), Errno> {
        let result = self.first.make_by::<FUNCTION>()?;
        if self.pass_result {
            self.second.args[0] = result as u64;
        }
        self.second.make_by::<FUNCTION>().map(drop)
    }
}

/// Memory that calls read or write: zeroed, aligned for any plain type.
pub(super) struct Buffer(Box<[UnsafeCell<u64>]>);

impl Buffer {
    /// A zeroed buffer of this many bytes.
    #[inline(never)]
    pub(super) fn zeroed(bytes: usize) -> Self {
        Self((0..bytes.div_ceil(8)).map(|_| UnsafeCell::new(0)).collect())
    }

    /// A buffer that contains a value, whose padding must not matter.
    pub(super) fn containing<T: Copy>(value: T) -> Self {
        let room = Self::zeroed(size_of::<T>());
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        // SAFETY: the buffer is as large as the value and aligned for it, and nothing borrows from
        // it.
        unsafe { (room.address() as *mut T).write(value) };
        room
    }

    /// Its address, which is stable when the value is moved.
    pub(super) fn address(&self) -> u64 {
        self.0.first().map_or(0, |word| word.get() as u64)
    }
}
