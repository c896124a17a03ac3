//! Notes which compiler and which commit the tool is built from; the record says so. Compiles the
//! programs of pH (feature `ebpf`).

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (name, value) in [
        ("OSCOST_RUSTC", said(&rustc, &["--version"])),
        ("OSCOST_COMMIT", said("git", &["rev-parse", "HEAD"])),
    ] {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    if env::var_os("CARGO_FEATURE_EBPF").is_some()
        && let Err(why) = compile_ph()
    {
        println!("cargo::error={why}");
    }
}

const SOURCE: &str = "src/ph/bpf/ph.bpf.c";

/// Compiles the programs of pH for the kernel's machine; libbpf fits them to the kernel that runs.
fn compile_ph() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let variable = |name: &str| env::var(name).map_err(|_| format!("cargo sets no {name}"));
    let arch = variable("CARGO_CFG_TARGET_ARCH")?;
    let output = Path::new(&variable("OUT_DIR")?).join("ph.bpf.o");
    let (define, triple) = match arch.as_str() {
        "x86_64" => ("-D__TARGET_ARCH_x86", "x86_64-linux-gnu"),
        "aarch64" => ("-D__TARGET_ARCH_arm64", "aarch64-linux-gnu"),
        _ => return Err(format!("the feature `ebpf` knows no {arch}")),
    };
    let run = Command::new(&clang)
        // Version 3 of the instructions has those that fetch and add (Linux 5.12). -g is for the
        // types, which libbpf fits to the kernel's.
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", define])
        .args(["-I", &variable("DEP_BPF_INCLUDE")?])
        // Debian has the headers of an architecture in a folder of its own.
        .args(["-idirafter", "/usr/include", "-idirafter", &format!("/usr/include/{triple}")])
        .args(["-c", SOURCE, "-o"])
        .arg(&output)
        .output();
    match run {
        Ok(run) if run.status.success() => Ok(()),
        Ok(run) => {
            let said = String::from_utf8_lossy(&run.stderr).into_owned();
            said.lines().for_each(|line| println!("cargo::warning={line}"));
            Err(format!("{clang} cannot compile {SOURCE} ({})", run.status))
        }
        Err(error) => Err(format!(
            "cannot run {clang}: {error}; the feature `ebpf` takes clang, libelf-dev and \
             zlib1g-dev (apt-get install), or set CLANG"
        )),
    }
}
