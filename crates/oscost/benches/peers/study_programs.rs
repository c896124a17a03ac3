//! The C programs of `studies/`: each does what a study's text says, without anything of oscost.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use tempfile::TempDir;

/// Seconds after which an act of a C program makes no more ops; its line says how many it made. What
/// a study made in one go, such as a pass over a file, is never cut short.
const SECONDS: &str = "0.5";

/// The programs, and how they are compiled: as the texts say, or else as programs usually are.
const SOURCES: [(&str, &str, &[&str]); 6] = [
    ("sunos.c", "cc", &["-O2"]),
    ("cs161.cc", "c++", &["-O2"]),
    ("cse221.c", "cc", &["-O0", "-pthread"]),
    ("cs736.c", "cc", &["-O2"]),
    ("ph.c", "cc", &["-O2"]),
    // What `ph` starts.
    ("hello.c", "cc", &["-O2"]),
];

/// The CPUs of both ends of an act.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placement {
    pub(super) cpu: u32,
    pub(super) peer_cpu: u32,
}

/// What a C program printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedFigure {
    /// Nanoseconds of an op, or of a byte where the figure is a rate.
    pub(super) ns: f64,
    /// Ops of an experiment.
    pub(super) ops: u64,
    pub(super) experiments: u64,
}

/// The compiled programs.
pub(super) struct StudyPrograms(TempDir);

impl StudyPrograms {
    /// Compiles them into a folder of their own, where the file that they read will be as well.
    pub(super) fn compiled() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        for (source, compiler, flags) in SOURCES {
            compile(source, compiler, flags, folder.path())?;
        }
        Ok(Self(folder))
    }

    /// Performs an act in a fresh process.
    pub(super) fn figure(
        &self,
        program: &str,
        act: &str,
        placement: Placement,
    ) -> anyhow::Result<PrintedFigure> {
        let mut command = Command::new(self.0.path().join(program));
        let Placement { cpu, peer_cpu } = placement;
        command.args([cpu.to_string(), peer_cpu.to_string(), SECONDS.to_owned()]);
        let output = command.arg(self.0.path()).arg(act).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{act}: {}: {}", output.status, error.trim());
        let line = String::from_utf8(output.stdout)?;
        printed_figure(&line).with_context(|| format!("{act}: cannot read {line:?}"))
    }
}

/// Reads `figure 0.131 s deviation - op 131.2 ns ops 1000000 experiments 1`.
fn printed_figure(line: &str) -> Option<PrintedFigure> {
    let number = |name: &str| line.split_whitespace().skip_while(|&word| word != name).nth(1);
    Some(PrintedFigure {
        ns: number("op")?.parse().ok()?,
        ops: number("ops")?.parse().ok()?,
        experiments: number("experiments")?.parse().ok()?,
    })
}

/// Compiles a program, linked dynamically as the studies' were.
fn compile(source: &str, compiler: &str, flags: &[&str], folder: &Path) -> anyhow::Result<()> {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "benches/peers/studies", source].iter().collect();
    let program = folder.join(path.file_stem().context("a source has a name")?);
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra"]).args(flags).arg("-o").arg(program).arg(&path).arg("-lm");
    let status = command.status().with_context(|| format!("cannot start `{compiler}`"))?;
    ensure!(status.success(), "cannot compile {} ({flags:?}): {status}", path.display());
    Ok(())
}
