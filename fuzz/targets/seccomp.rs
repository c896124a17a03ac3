//! A seccomp profile from a stranger: it is refused in one line, or its program does what it says.

#![no_main]

#[path = "../../crates/oscost/tests/bpf/mod.rs"]
mod bpf;

use libfuzzer_sys::fuzz_target;
use oscost::treatments::seccomp::compile::compile;
use oscost::treatments::seccomp::profile::Profile;
use oscost_model::call_names::Arch;

fuzz_target!(|bytes: &[u8]| {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let profile = match Profile::read(bytes, arch) {
            Ok(profile) => profile,
            Err(told) => {
                assert!(!told.why.is_empty() && !told.why.contains(char::is_control), "{told:?}");
                continue;
            }
        };
        let Ok(compiled) = compile(&profile, arch) else { continue };
        for call in bpf::calls(&profile, arch, 200) {
            let is = bpf::returned(&compiled.program, &call);
            assert_eq!(is, Ok(bpf::wanted(&profile, arch, &call)), "{call:x?}");
        }
    }
});
