//! Notes which compiler and which commit the tool is built from; the record says so.

use std::process::Command;

fn main() {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (name, value) in [
        ("OSCOST_RUSTC", said(&rustc, &["--version"])),
        ("OSCOST_COMMIT", said("git", &["rev-parse", "HEAD"])),
    ] {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
}
