//! Notes which compiler and which commit the tool is built from; the record says so. Compiles the
//! programs of the studies, and those that are loaded into the kernel (feature `ebpf`).

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let first_line = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    for (name, value) in [
        ("OSCOST_RUSTC", first_line(&rustc, &["--version"])),
        ("OSCOST_COMMIT", first_line("git", &["rev-parse", "HEAD"])),
    ] {
        println!("cargo::rustc-env={name}={}", value.unwrap_or_default());
    }
    println!("cargo::rerun-if-changed=build.rs");
    // A path that does not exist makes cargo run this each time. In a further worktree `.git` is a
    // file, and git knows where the files are.
    let of_git = |name: &str| first_line("git", &["rev-parse", "--git-path", name]);
    let existing = |name: &str| of_git(name).filter(|path| Path::new(path).exists());
    // The log of HEAD grows with each commit and checkout; without logs, branches change.
    let branches = || existing("refs/heads");
    for path in existing("HEAD").into_iter().chain(existing("logs/HEAD").or_else(branches)) {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Err(why) = compile_study_programs() {
        println!("cargo::error={why}");
    }
    if env::var_os("CARGO_FEATURE_EBPF").is_some() {
        for program in KERNEL_PROGRAMS {
            if let Err(why) = compile_for_kernel(program) {
                println!("cargo::error={why}");
            }
        }
    }
}

/// A program of a study: a file in `programs/`, and how it is compiled. All are linked with the C
/// library dynamically, as the programs of the studies were.
struct StudyProgram {
    name: &'static str,
    /// Options before the file, and libraries behind it.
    options: &'static [&'static str],
    libraries: &'static [&'static str],
}

const STUDY_PROGRAMS: &[StudyProgram] = &[
    StudyProgram { name: "cs161", options: &["-O2"], libraries: &[] },
    StudyProgram { name: "cs161-pid", options: &["-O2", "-shared", "-fPIC"], libraries: &[] },
    StudyProgram { name: "cse221", options: &["-O0", "-pthread"], libraries: &["-lm"] },
    StudyProgram { name: "hello", options: &["-O2"], libraries: &[] },
    StudyProgram { name: "output", options: &["-O2"], libraries: &[] },
    StudyProgram { name: "ph2000", options: &["-O2"], libraries: &[] },
];

/// Compiles the programs of the studies by the C compiler of the machine, and writes the table of
/// them that the tool includes.
fn compile_study_programs() -> Result<(), String> {
    println!("cargo::rerun-if-changed=programs");
    let cc = c_compiler()?;
    let folder = PathBuf::from(variable("OUT_DIR")?).join("programs");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {folder:?}: {error}"))?;
    let mut table = "&[\n".to_owned();
    for StudyProgram { name, options, libraries } in STUDY_PROGRAMS {
        let source = std::path::absolute(format!("programs/{name}.c"))
            .map_err(|error| format!("cannot find {name}.c: {error}"))?;
        let output = folder.join(name);
        let mut command = Command::new(&cc);
        command.args(*options).arg("-o").arg(&output).arg(&source).args(*libraries);
        run_compiler(&mut command, &source).map_err(|why| {
            format!("{why}; the programs of the studies take a C compiler (apt-get install gcc libc6-dev), or set CC")
        })?;
        let file = format!("{name}.c");
        let command = [&["cc"], *options, &[file.as_str()], *libraries].concat().join(" ");
        let _ = writeln!(
            table,
            "StudyProgram {{ name: {name:?}, command: {command:?}, source: include_str!({source:?}), \
             bytes: include_bytes!({output:?}) }},"
        );
    }
    table.push(']');
    let path = folder.join("table.rs");
    std::fs::write(&path, table).map_err(|error| format!("cannot write {path:?}: {error}"))
}

/// The C compiler for the target: as the crate `cc` chooses it for SQLite.
fn c_compiler() -> Result<String, String> {
    let target = variable("TARGET")?;
    let names =
        [format!("CC_{target}"), format!("CC_{}", target.replace('-', "_")), "CC".to_owned()];
    let set = names.iter().find_map(|name| {
        println!("cargo::rerun-if-env-changed={name}");
        env::var(name).ok().filter(|value| !value.trim().is_empty())
    });
    Ok(set.unwrap_or_else(|| "cc".to_owned()))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo sets no {name}"))
}

/// Runs a compiler; what it says is shown only if it fails.
fn run_compiler(command: &mut Command, source: &Path) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(run) if run.status.success() => Ok(()),
        Ok(run) => {
            let warnings = String::from_utf8_lossy(&run.stderr).into_owned();
            warnings.lines().for_each(|line| println!("cargo::warning={line}"));
            Err(format!("{program} cannot compile {} ({})", source.display(), run.status))
        }
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}

/// Programs that are loaded into the kernel.
struct KernelProgram {
    source: &'static str,
    object: &'static str,
}

/// Those of pH, and those that count calls.
const KERNEL_PROGRAMS: &[KernelProgram] = &[
    KernelProgram { source: "src/ph/bpf/ph.bpf.c", object: "ph.bpf.o" },
    KernelProgram { source: "src/counter/bpf/count.bpf.c", object: "count.bpf.o" },
];

/// Compiles programs for the kernel's machine; libbpf fits them to the kernel that runs.
fn compile_for_kernel(program: &KernelProgram) -> Result<(), String> {
    let KernelProgram { source, object } = program;
    // With the headers beside it.
    let folder = Path::new(source).parent().unwrap_or(Path::new(source));
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let arch = variable("CARGO_CFG_TARGET_ARCH")?;
    let output = Path::new(&variable("OUT_DIR")?).join(object);
    let (define, triple) = match arch.as_str() {
        "x86_64" => ("-D__TARGET_ARCH_x86", "x86_64-linux-gnu"),
        "aarch64" => ("-D__TARGET_ARCH_arm64", "aarch64-linux-gnu"),
        _ => return Err(format!("the feature `ebpf` knows no {arch}")),
    };
    let mut command = Command::new(&clang);
    command
        // Version 3 of the instructions has those that fetch and add (Linux 5.12). -g is for the
        // types, which libbpf fits to the kernel's.
        .args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", define])
        .args(["-I", &variable("DEP_BPF_INCLUDE")?])
        // Debian has the headers of an architecture in a folder of its own.
        .args(["-idirafter", "/usr/include", "-idirafter", &format!("/usr/include/{triple}")])
        .args(["-c", source, "-o"])
        .arg(&output);
    run_compiler(&mut command, Path::new(source)).map_err(|why| {
        format!(
            "{why}; the feature `ebpf` takes clang, libelf-dev and zlib1g-dev (apt-get install), or \
             set CLANG"
        )
    })
}
