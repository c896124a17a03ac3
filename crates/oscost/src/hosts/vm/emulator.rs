//! QEMU: where it is, how it is told what to do, and that it ends with whoever started it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::initrd::initrd;
use super::{Accel, Kernel, VmSpec};
use crate::hosts::session::printable;
use crate::hosts::{HostError, WorkerBinary};

/// The package that it comes with.
const PACKAGE: &str = "qemu-system-x86";
/// What it is called.
const PROGRAM: &str = "qemu-system-x86_64";
/// What the kernel is told of every machine: where its console is, to say little, and to restart at
/// once where it panics, which ends the emulator.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1";
/// And what would make two boots of one kernel two different machines: where the kernel, programs
/// and stacks lie, and random numbers from the processor; and the sizes of the kernel's hash tables,
/// which hang on how much memory is left at its boot. A path is looked up in a dozen instructions more
/// or less where the names of it share a chain.
const REPEATABLE_ARGUMENTS: &str = "nokaslr norandmaps randomize_kstack_offset=off random.trust_cpu=off \
                          dhash_entries=1048576 ihash_entries=65536 mhash_entries=4096 \
                          mphash_entries=4096 thash_entries=65536 uhash_entries=1024";
/// An instruction is a nanosecond of the machine's time; when it idles, its clock goes on to the next
/// timer at once.
const ICOUNT: &str = "shift=0,sleep=off";
/// As if it were to be played again. We want no recording, but what goes with one: the thread that
/// runs the machine and the one that moves its clock on while it idles take turns. Else the second may
/// look before the last instructions are counted, and two long boots do not end alike (QEMU 7.2).
const RECORD_REPLAY: &str = "rr=record,rrfile=/dev/null";
/// So much of what a machine says to people is shown.
const MAX_CONSOLE_LINES: usize = 12;
const MAX_OUTPUT_BYTES: u64 = 16_384;
/// What a kernel says when it gives up.
const PANIC: &str = "Kernel panic";

/// An emulator that was found.
#[derive(Clone, Debug)]
pub struct Emulator {
    program: OsString,
    /// As it calls itself, with its version.
    pub version: String,
}

impl Emulator {
    /// Finds QEMU: what `OSCOST_QEMU` names, or the system's.
    pub fn find() -> Result<Self, String> {
        let named = std::env::var_os("OSCOST_QEMU").filter(|named| !named.is_empty());
        let program = named.unwrap_or(PROGRAM.into());
        let asked = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
        let said = asked.map_err(|error| format!("{}: {error}", program.display()))?;
        let said = printable(&String::from_utf8_lossy(&said.stdout));
        // Programs of all kinds speak of versions, of their licence's for one.
        let told = said.split_once("QEMU emulator version ").map(|(_, told)| told);
        match told.and_then(|told| told.split_whitespace().next()) {
            Some(number) => Ok(Self { program, version: format!("QEMU {number}") }),
            None => Err(format!("{} tells no version of QEMU", program.display())),
        }
    }

    /// Why nothing can be booted here, in words with the way out.
    pub fn missing(host: &str, why: String) -> HostError {
        let hint = format!(
            "`sudo apt-get install {PACKAGE}`; OSCOST_QEMU names one that lies \
                            elsewhere"
        );
        HostError::Unavailable { host: host.to_owned(), why, hint }
    }
}

/// What a machine is booted from, and what it says: files in memory, which are gone with the last
/// process that holds them. None of them is ever on a disk.
pub(super) struct VmFiles {
    kernel: File,
    initrd: File,
    /// What it says to people.
    console: File,
    /// What it says to us, where that is not said through a pipe.
    pub(super) events: File,
    /// What the emulator says to people.
    pub(super) errors: File,
}

impl VmFiles {
    /// The files of a machine with this kernel and worker; with orders, if all of them are known.
    pub(super) fn create(
        kernel: &Kernel,
        program: &WorkerBinary,
        orders: Option<&[u8]>,
    ) -> std::io::Result<Self> {
        let worker = std::fs::read(&program.path)?;
        Ok(Self {
            kernel: in_memory(&kernel.image)?,
            initrd: in_memory(&initrd(&worker, orders))?,
            console: in_memory(&[])?,
            events: in_memory(&[])?,
            errors: in_memory(&[])?,
        })
    }

    /// Why a machine has no more to say, with what it said to people last.
    pub(super) fn explain(&self, why: &str) -> String {
        match self.console_tail().as_str() {
            "" => format!("{why}; its console is empty"),
            said if said.contains(PANIC) => format!("its kernel panicked: {said}"),
            said => format!("{why}; the last lines of its console: {said}"),
        }
    }

    /// The last lines that the machine has said to people; if its kernel has panicked, from there on.
    fn console_tail(&self) -> String {
        let text = tail(&self.console);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        // A trace of many lines follows.
        let panicked = lines.iter().position(|line| line.contains(PANIC));
        let first = panicked.unwrap_or(lines.len().saturating_sub(MAX_CONSOLE_LINES));
        printable(&lines[first..lines.len().min(first + MAX_CONSOLE_LINES)].join("\n"))
    }

    /// What the emulator has said to people, the end of it.
    pub(super) fn emulator_stderr(&self) -> String {
        printable(&tail(&self.errors))
    }
}

/// The end of a file; nothing of one that cannot be read.
fn tail(file: &File) -> String {
    let length = file.metadata().map_or(0, |it| it.len());
    let from = length.saturating_sub(MAX_OUTPUT_BYTES);
    let mut bytes = vec![0; (length - from) as usize];
    if file.read_exact_at(&mut bytes, from).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A file in memory, which a child may open by the name that our descriptor has.
fn in_memory(content: &[u8]) -> std::io::Result<File> {
    // Other children do not get it with everything else.
    let mut file = File::from(memfd_create(c"oscost", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(content)?;
    Ok(file)
}

/// What QEMU, our child, opens for this file.
fn fd_path(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// The command that boots a machine. QEMU is killed when the thread that started it ends, however
/// that ends: a program of the worker's sees to it.
///
/// `repeats` is for one that has all its orders and is to repeat itself; another one takes them, and
/// gives its answers, through the child's pipes.
pub(super) fn command(
    (emulator, program): (&Emulator, &WorkerBinary),
    (wanted, repeats): (&VmSpec, bool),
    files: &VmFiles,
) -> Command {
    let mut command = Command::new(&program.path);
    command.arg("die-with-parent").arg(std::process::id().to_string()).arg(&emulator.program);
    let mut say = |words: &[&str]| {
        command.args(words.iter().map(OsStr::new));
    };
    // Nothing but what is named here; one CPU, since two that count instructions wait for each other.
    say(&["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-smp", "1"]);
    say(&["-machine", "q35", "-accel", wanted.accel.text(), "-cpu", &wanted.cpu]);
    say(&["-m", &wanted.mem_mib.to_string()]);
    say(&["-kernel", &fd_path(&files.kernel), "-initrd", &fd_path(&files.initrd)]);
    // Who only looks at such a machine is to see the one on which instructions are counted.
    let known = if wanted.accel == Accel::Tcg {
        format!("{KERNEL_ARGUMENTS} {REPEATABLE_ARGUMENTS}")
    } else {
        KERNEL_ARGUMENTS.to_owned()
    };
    let line = wanted.append.iter().fold(known, |line, words| format!("{line} {words}"));
    say(&["-append", &line]);
    say(&["-chardev", &format!("file,id=console,path={}", fd_path(&files.console))]);
    say(&["-device", "isa-serial,chardev=console"]);
    if repeats {
        say(&["-icount", &format!("{ICOUNT},{RECORD_REPLAY}")]);
        say(&["-rtc", "clock=vm,base=2024-01-01", "-seed", "1"]);
        say(&["-chardev", &format!("file,id=events,path={}", fd_path(&files.events))]);
    } else {
        say(&["-chardev", "stdio,id=events,signal=off"]);
    }
    say(&["-device", "isa-serial,chardev=events"]);
    command
}

/// Whether this processor may run machines for us.
pub(super) fn check_kvm() -> Result<(), String> {
    let device = Path::new("/dev/kvm");
    let opened = File::options().read(true).write(true).open(device);
    opened.map(drop).map_err(|error| format!("{}: {error}", device.display()))
}
