//! The instructions that a piece of code executes, one by one, as the processor goes through them:
//! for tests that must know what an op really is in the machine's own language.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::kernel::Errno;

/// More steps than any test takes; a code that takes more is cut off, and its steps are refused.
const MAX_STEPS: usize = 1 << 16;

/// Where each step stood. A signal handler may write into atomics and into nothing else.
static STEPS: [AtomicU64; MAX_STEPS] = [const { AtomicU64::new(0) }; MAX_STEPS];
static STEP_COUNT: AtomicUsize = AtomicUsize::new(0);
/// The handler is the whole process's: one test at a time.
static LOCK: Mutex<()> = Mutex::new(());

/// The addresses of all instructions that `code` executes, in order, some of the caller's own
/// before and behind them. `None` where the processor's trap flag brings no signals (an emulator, a
/// debugger that takes them).
pub(crate) fn executed_addresses(code: impl FnOnce()) -> Option<Vec<u64>> {
    let _alone = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    STEP_COUNT.store(0, Relaxed);
    // SAFETY: all-zero bits are a valid sigaction, and both pointers lead to one; the handler does
    // nothing but what a handler may.
    let old = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = record_step;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        let mut old = std::mem::zeroed();
        Errno::check(libc::sigaction(libc::SIGTRAP, &raw const action, &raw mut old)).ok()?;
        old
    };
    // SAFETY: the flag makes the processor trap after each instruction, and the handler is there.
    unsafe { asm!("pushfq", "or dword ptr [rsp], 0x100", "popfq") };
    code();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and dword ptr [rsp], 0xfffffeff", "popfq") };
    // SAFETY: what was there before comes back.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const old, std::ptr::null_mut()) };
    let taken = STEP_COUNT.load(Relaxed);
    (taken > 0 && taken <= MAX_STEPS)
        .then(|| STEPS[..taken].iter().map(|step| step.load(Relaxed)).collect())
}

/// Notes where the processor stands.
extern "C" fn record_step(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over the context of the interrupted code.
    let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let taken = STEP_COUNT.fetch_add(1, Relaxed);
    if let Some(step) = STEPS.get(taken) {
        step.store(at[libc::REG_RIP as usize] as u64, Relaxed);
    }
}

/// What an instruction does to the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// `call rel32`.
    Call,
    /// `call reg`.
    CallRegister,
    /// `call [mem]`.
    CallMemory,
    /// `jmp [mem]`, as in a stub.
    Stub,
    /// On to the next instruction, or a jump or return that is in it.
    Next,
}

/// What the instruction at `at`, which was executed, does to the flow of control: read from its
/// bytes, prefixes and opcode.
pub(crate) fn flow_at(at: u64) -> Flow {
    // SAFETY: code that was executed may be read; and behind the last instruction of all there is
    // more of the program, or the rest of its page.
    let bytes: [u8; 4] = unsafe { std::ptr::read_unaligned(at as *const [u8; 4]) };
    // A REX prefix comes before a register from r8 on.
    let bytes = if bytes[0] & 0xf0 == 0x40 { &bytes[1..] } else { &bytes[..] };
    // In ModRM the two highest bits are 3 for a register, the three below tell call from jump.
    match (bytes[0], bytes[1] >> 6, bytes[1] >> 3 & 7) {
        (0xe8, ..) => Flow::Call,
        (0xff, 3, 2) => Flow::CallRegister,
        (0xff, _, 2) => Flow::CallMemory,
        (0xff, 0..3, 4) => Flow::Stub,
        _ => Flow::Next,
    }
}
