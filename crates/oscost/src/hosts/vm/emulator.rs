//! QEMU: finding it, its command line, and the files of a machine.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::initrd::initrd;
use super::{Accel, Kernel, VmSpec};
use crate::files::null_device::null_device;
use crate::hosts::session::printable;
use crate::hosts::{HostError, WorkerBinary};

/// The Debian package of QEMU.
const PACKAGE: &str = "qemu-system-x86";
const PROGRAM: &str = "qemu-system-x86_64";
/// Kernel arguments of every machine: its console, few messages, and restart on panic, which ends
/// the emulator.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1";
/// Kernel arguments that make boots repeatable: no randomization of kernel, program and stack
/// addresses, no random numbers from the processor; and fixed sizes of the kernel's hash tables,
/// which depend on the memory left at boot: a path lookup takes a dozen instructions more if names
/// share a hash chain.
const REPEATABLE_ARGUMENTS: &str = "nokaslr norandmaps randomize_kstack_offset=off \
                                    random.trust_cpu=off dhash_entries=1048576 \
                                    ihash_entries=65536 mhash_entries=4096 mphash_entries=4096 \
                                    thash_entries=65536 uhash_entries=1024";
/// One instruction takes one nanosecond of the machine's time; when the machine is idle, its clock
/// advances to the next timer at once.
const ICOUNT: &str = "shift=0,sleep=off";
/// Record mode, with the recording discarded: in this mode the vCPU thread and the thread that
/// advances the clock of an idle machine are synchronised. In other modes the latter may read the
/// clock before the last instructions are counted, and two long boots differ (QEMU 7.2).
const RECORD_REPLAY: &str = "rr=record,rrfile=/dev/null";
/// The number of lines of a machine's console that are shown.
const MAX_CONSOLE_LINES: usize = 12;
const MAX_OUTPUT_BYTES: u64 = 16_384;
/// The kernel's message when it panics.
const PANIC: &str = "Kernel panic";

/// An installed QEMU.
#[derive(Clone, Debug)]
pub struct Emulator {
    program: OsString,
    /// Its name and version.
    pub version: String,
}

impl Emulator {
    /// Finds QEMU: the program that `OSCOST_QEMU` names, or the system's.
    pub fn find() -> Result<Self, String> {
        let variable = std::env::var_os("OSCOST_QEMU").filter(|program| !program.is_empty());
        let program = variable.unwrap_or(PROGRAM.into());
        let output = null_device()
            .and_then(|input| Command::new(&program).arg("--version").stdin(input).output());
        let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
        let text = printable(&String::from_utf8_lossy(&output.stdout));
        // Other programs print versions too, for instance of their licence.
        let version = text.split_once("QEMU emulator version ").map(|(_, version)| version);
        match version.and_then(|version| version.split_whitespace().next()) {
            Some(number) => Ok(Self { program, version: format!("QEMU {number}") }),
            None => Err(format!("{} is not QEMU", program.display())),
        }
    }

    /// The error for a host whose emulator was not found.
    pub fn missing(host: &str, why: String) -> HostError {
        let hint =
            format!("`sudo apt-get install {PACKAGE}`; OSCOST_QEMU names one at another path");
        HostError::Unavailable { host: host.to_owned(), why, hint }
    }
}

/// A machine to boot.
#[derive(Clone, Copy, Debug)]
pub struct VmSetup<'a> {
    /// The host as the user named it.
    pub host: &'a str,
    /// Its specification.
    pub spec: &'a VmSpec,
    /// The kernel to boot.
    pub kernel: &'a Kernel,
    /// The emulator that runs it.
    pub emulator: &'a Emulator,
    /// The program that is its first process.
    pub worker: &'a WorkerBinary,
}

impl VmSetup<'_> {
    /// The error for an emulator that cannot be started.
    pub(super) fn cannot_start(&self, error: &std::io::Error) -> HostError {
        let program = self.emulator.version.clone();
        HostError::CannotStart { program, why: error.to_string() }
    }
}

/// How a machine exchanges messages with the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VmMode {
    /// It has all its orders, counts instructions, and writes events to a file.
    Scripted,
    /// It takes orders and sends events through the emulator's pipes.
    Interactive,
}

/// The files of a machine, for booting and for its output: files in memory (memfd_create(2)), which
/// disappear with the last process that has them open.
pub(super) struct VmFiles {
    kernel: File,
    initrd: File,
    /// Its console output.
    console: File,
    /// Its events, unless they are sent through a pipe.
    pub(super) events: File,
    /// The emulator's standard error.
    pub(super) errors: File,
}

impl VmFiles {
    /// Creates the files of a machine; with its orders, if all are known.
    pub(super) fn create(setup: &VmSetup<'_>, orders: Option<&[u8]>) -> std::io::Result<Self> {
        let worker = std::fs::read(&setup.worker.path)?;
        Ok(Self {
            kernel: in_memory(&setup.kernel.image)?,
            initrd: in_memory(&initrd(&worker, orders)?)?,
            console: in_memory(&[])?,
            events: in_memory(&[])?,
            errors: in_memory(&[])?,
        })
    }

    /// Adds the end of the console to the reason why a machine ended.
    pub(super) fn explain(&self, why: &str) -> String {
        match self.console_tail().as_str() {
            "" => format!("{why}; its console is empty"),
            text if text.contains(PANIC) => format!("its kernel panicked: {text}"),
            text => format!("{why}; the last lines of its console: {text}"),
        }
    }

    /// The last lines of the console; after a kernel panic, from the panic on.
    fn console_tail(&self) -> String {
        let text = tail(&self.console);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        // A long stack trace follows the panic.
        let panicked = lines.iter().position(|line| line.contains(PANIC));
        let first = panicked.unwrap_or(lines.len().saturating_sub(MAX_CONSOLE_LINES));
        printable(&lines[first..lines.len().min(first + MAX_CONSOLE_LINES)].join("\n"))
    }

    /// The end of the emulator's standard error.
    pub(super) fn emulator_stderr(&self) -> String {
        printable(&tail(&self.errors))
    }
}

/// The end of a file; empty if it cannot be read.
fn tail(file: &File) -> String {
    let length = file.metadata().map_or(0, |it| it.len());
    let from = length.saturating_sub(MAX_OUTPUT_BYTES);
    let mut bytes = vec![0; (length - from) as usize];
    if file.read_exact_at(&mut bytes, from).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A file in memory, which a child can open through /proc.
fn in_memory(content: &[u8]) -> std::io::Result<File> {
    // Other children do not inherit it.
    let mut file = File::from(memfd_create(c"oscost", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(content)?;
    Ok(file)
}

/// The path by which QEMU, a child of this process, opens this file.
fn fd_path(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// The command that boots a machine. It runs QEMU through a subcommand of the worker, so that QEMU
/// is killed when the thread that started it ends.
pub(super) fn command(setup: &VmSetup<'_>, mode: VmMode, files: &VmFiles) -> Command {
    let spec = setup.spec;
    let mut command = Command::new(&setup.worker.path);
    command.arg("die-with-parent").arg(std::process::id().to_string());
    command.arg(&setup.emulator.program);
    let mut add = |arguments: &[&str]| {
        command.args(arguments.iter().map(OsStr::new));
    };
    // Only the devices named here; one CPU, since several that count instructions wait for each
    // other.
    add(&["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-smp", "1"]);
    add(&["-machine", "q35", "-accel", spec.accel.text(), "-cpu", &spec.cpu]);
    add(&["-m", &spec.mem_mib.to_string()]);
    add(&["-kernel", &fd_path(&files.kernel), "-initrd", &fd_path(&files.initrd)]);
    // An inspected machine has the same arguments as the one on which instructions are counted.
    let own_arguments = if spec.accel == Accel::Tcg {
        format!("{KERNEL_ARGUMENTS} {REPEATABLE_ARGUMENTS}")
    } else {
        KERNEL_ARGUMENTS.to_owned()
    };
    let line = spec.append.iter().fold(own_arguments, |line, words| format!("{line} {words}"));
    add(&["-append", &line]);
    add(&["-chardev", &format!("file,id=console,path={}", fd_path(&files.console))]);
    add(&["-device", "isa-serial,chardev=console"]);
    if mode == VmMode::Scripted {
        add(&["-icount", &format!("{ICOUNT},{RECORD_REPLAY}")]);
        add(&["-rtc", "clock=vm,base=2024-01-01", "-seed", "1"]);
        add(&["-chardev", &format!("file,id=events,path={}", fd_path(&files.events))]);
    } else {
        add(&["-chardev", "stdio,id=events,signal=off"]);
    }
    add(&["-device", "isa-serial,chardev=events"]);
    command
}

/// Whether KVM is usable.
pub(super) fn check_kvm() -> Result<(), String> {
    let device = Path::new("/dev/kvm");
    let opened = File::options().read(true).write(true).open(device);
    opened.map(drop).map_err(|error| format!("{}: {error}", device.display()))
}
