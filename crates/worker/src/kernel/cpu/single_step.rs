//! The instructions that a piece of code executes, single-stepped: for tests that must know what an
//! op is in machine code.

use std::arch::asm;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::kernel::Errno;

/// More steps than any test takes; longer code is refused.
const MAX_STEPS: usize = 1 << 16;

/// The address of each step. A signal handler may only write to atomics.
static STEPS: [AtomicU64; MAX_STEPS] = [const { AtomicU64::new(0) }; MAX_STEPS];
static STEP_COUNT: AtomicUsize = AtomicUsize::new(0);
/// The handler belongs to the whole process: one test at a time.
static LOCK: Mutex<()> = Mutex::new(());

/// The addresses of all instructions that `code` executes, in order, with some of the caller's own
/// before and after them. `None` if the trap flag raises no signals (an emulator, or a debugger
/// that takes them).
pub(crate) fn executed_addresses(code: impl FnOnce()) -> Option<Vec<u64>> {
    let _alone = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    STEP_COUNT.store(0, Relaxed);
    // SAFETY: all-zero bits are a valid sigaction, and both pointers are to one; the handler is
    // async-signal-safe.
    let old = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = record_step;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        let mut old = std::mem::zeroed();
        Errno::check(libc::sigaction(libc::SIGTRAP, &raw const action, &raw mut old)).ok()?;
        old
    };
    // SAFETY: the flag makes the processor trap after each instruction, and the handler is
    // installed.
    unsafe { asm!("pushfq", "or dword ptr [rsp], 0x100", "popfq") };
    code();
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and dword ptr [rsp], 0xfffffeff", "popfq") };
    // SAFETY: restores the previous handler.
    unsafe { libc::sigaction(libc::SIGTRAP, &raw const old, std::ptr::null_mut()) };
    let count = STEP_COUNT.load(Relaxed);
    (count > 0 && count <= MAX_STEPS)
        .then(|| STEPS[..count].iter().map(|step| step.load(Relaxed)).collect())
}

/// Records the instruction pointer.
extern "C" fn record_step(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the context of the interrupted code.
    let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let count = STEP_COUNT.fetch_add(1, Relaxed);
    if let Some(step) = STEPS.get(count) {
        step.store(at[libc::REG_RIP as usize] as u64, Relaxed);
    }
}

/// An instruction's effect on control flow.
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
    /// The next instruction, or a direct jump or return.
    Next,
}

/// The effect on control flow of the executed instruction at an address: decoded from its prefixes and
/// opcode.
pub(crate) fn flow_at(address: u64) -> Flow {
    // SAFETY: executed code may be read, and the last instruction of all is followed by more of the
    // program or the rest of its page.
    let bytes: [u8; 4] = unsafe { std::ptr::read_unaligned(address as *const [u8; 4]) };
    // A REX prefix comes before a register from r8 on.
    let bytes = if bytes[0] & 0xf0 == 0x40 { &bytes[1..] } else { &bytes[..] };
    // In ModRM the two highest bits are 3 for a register; the next three distinguish call from
    // jump.
    match (bytes[0], bytes[1] >> 6, bytes[1] >> 3 & 7) {
        (0xe8, ..) => Flow::Call,
        (0xff, 3, 2) => Flow::CallRegister,
        (0xff, _, 2) => Flow::CallMemory,
        (0xff, 0..3, 4) => Flow::Stub,
        _ => Flow::Next,
    }
}
