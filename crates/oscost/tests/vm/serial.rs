//! Machines that receive their orders one by one over a serial line.

use std::fs::File;
use std::path::PathBuf;

use serde_json::json;

use crate::common::{Ran, Sandbox, row};
use crate::machines::{Kernel, emulator, in_own_namespaces, values, with};

/// An emulator that is asked for KVM and emulates instead, since test machines have no /dev/kvm.
fn pretends_kvm(sandbox: &Sandbox) -> Option<PathBuf> {
    let device = File::options().read(true).write(true).open("/dev/kvm");
    if let Err(error) = device {
        eprintln!("cannot run here: /dev/kvm: {error}");
        return None;
    }
    let script = "words=(\"$@\")\nfor at in \"${!words[@]}\"; do case ${words[at]} in\n\
                  kvm) words[at]=tcg;; host) words[at]=max;;\nesac; done\n\
                  exec qemu-system-x86_64 \"${words[@]}\"";
    Some(emulator(sandbox, script))
}

#[test]
fn a_kvm_machine_measures_time_over_its_serial_line() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let Some(qemu) = pretends_kvm(&sandbox) else { return };
    let target = kernel.target(",accel=kvm");
    let arguments = ["run", "--quick", "--at", &target, "syscall/getppid:via=raw", "--json", "-"];
    let record = with(&sandbox, &qemu, &arguments).exits(0).json();
    let getppid = row(&record, "syscall/getppid:via=raw");
    assert_eq!((&getppid["outcome"], &getppid["unit"]), (&json!("measured"), &json!("ns/op")));
    assert_eq!(values(getppid).len(), 6);
    assert_eq!(getppid["calls"]["per_op"]["getppid"], 1.0, "counted there as well");
    assert_eq!(getppid["target"]["host"], target.as_str());
    sandbox.nothing_is_left();
}

#[test]
fn a_machine_that_counts_instructions_can_be_surveyed() {
    let Some(kernel) = Kernel::some() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["machine", "--json", "--at", &kernel.target("")];
    let machine = Ran::of(&mut in_own_namespaces(&sandbox, &arguments)).exits(0).json();
    assert!(machine["os"]["release"].is_string(), "{machine}");
    let line = machine["os"]["cmdline"].as_str().unwrap();
    assert!(line.contains("nokaslr"), "{line}");
    let arguments = ["explain", "syscall/getppid", "--at", &kernel.target("")];
    let output = Ran::of(&mut in_own_namespaces(&sandbox, &arguments)).exits(0).stdout;
    assert!(output.contains("1 kernel entry per op: getppid"), "{output}");
    sandbox.nothing_is_left();
}
