//! An untrusted seccomp profile: it is refused in one line, or its filter decides as the profile.

#![no_main]

#[path = "../../crates/oscost/tests/bpf/mod.rs"]
mod bpf;
#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::treatments::seccomp::compile::compile;
use oscost::treatments::seccomp::profile::Profile;
use oscost_model::call_names::Arch;

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

fn check(bytes: &[u8]) {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let profile = match Profile::parse(bytes, arch) {
            Ok(profile) => profile,
            Err(error) => {
                assert!(
                    !error.why.is_empty() && !error.why.contains(char::is_control),
                    "{error:?}"
                );
                continue;
            }
        };
        let Ok(compiled) = compile(&profile, arch) else { continue };
        for call in bpf::calls(&profile, arch, 200) {
            let actual = bpf::return_value(&compiled.program, &call);
            assert_eq!(actual, Ok(bpf::expected(&profile, arch, &call)), "{call:x?}");
        }
    }
}
