//! What the calls of this family are in the processor's own language: the instructions that it
//! executes, one by one, and no compiler's word for it.

#[cfg(target_arch = "x86_64")]
mod executed;

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn each_copy_of_each_op_is_its_call_and_nothing_more() {
    eprintln!("not run here: this test reads the instructions of x86-64");
}
