//! The stack's offset.

use std::hint::black_box;

/// Runs `work` with the stack `bytes` (rounded down to 64) deeper.
///
/// Address layout moves results by several per cent (Mytkowicz et al., ASPLOS 2009): each worker
/// uses another offset, so that one lucky layout is not mistaken for the op's cost.
pub fn with_stack_offset<R>(bytes: u64, work: &mut dyn FnMut() -> R) -> R {
    if bytes < 64 {
        return work();
    }
    descend(bytes, work)
}

#[inline(never)]
fn descend<R>(bytes: u64, work: &mut dyn FnMut() -> R) -> R {
    let frame = black_box([0u8; 64]);
    let result = with_stack_offset(bytes - 64, work);
    black_box(&frame);
    result
}
