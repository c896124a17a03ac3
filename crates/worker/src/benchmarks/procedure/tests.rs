//! What the calls of this family are at the machine level: the instructions that the processor
//! executes, single-stepped, independent of what the compiler was meant to emit.

#[cfg(target_arch = "x86_64")]
mod executed_code;

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn each_unrolled_op_is_its_call_and_nothing_more() {
    eprintln!("skipped: this test decodes x86-64 instructions");
}
