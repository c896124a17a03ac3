//! A kernel to boot, a permit to boot it, and fake emulators.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Condvar, Mutex};

use serde_json::Value;

use crate::common::{Ran, Sandbox};

/// A kernel, and the permits to boot it that this test holds.
pub(crate) struct Kernel {
    /// The file, as `vm:` takes it.
    pub(crate) file: String,
    permits: usize,
}

/// How many machines may run at a time: each uses a CPU.
const MOST: usize = 2;
/// How many more may be started.
static FREE: Mutex<usize> = Mutex::new(MOST);
static FREED: Condvar = Condvar::new();

impl Kernel {
    /// A kernel for one machine; where it or QEMU is missing, prints why and returns `None`.
    pub(crate) fn some() -> Option<Kernel> {
        Self::of(1)
    }

    /// The same for comparisons, which run as many machines at a time as allowed.
    pub(crate) fn of_all() -> Option<Kernel> {
        Self::of(MOST)
    }

    fn of(permits: usize) -> Option<Kernel> {
        let qemu = Command::new("qemu-system-x86_64").arg("--version").output();
        if let Err(error) = qemu {
            eprintln!("no machine can be booted here: qemu-system-x86_64: {error}");
            return None;
        }
        let named = std::env::var_os("OSCOST_TEST_KERNEL").filter(|named| !named.is_empty());
        let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vm-kernel/vmlinuz");
        let file = named.map_or(fetched, PathBuf::from);
        match file.canonicalize() {
            Ok(file) => {
                let free = FREE.lock().unwrap();
                let mut free = FREED.wait_while(free, |free| *free < permits).unwrap();
                *free -= permits;
                let file = file.into_os_string().into_string().unwrap();
                Some(Kernel { file, permits })
            }
            Err(error) => {
                eprintln!("no kernel to boot here: {}: {error}; see `make vm`", file.display());
                None
            }
        }
    }

    /// A target with this kernel and these parameters: `,append=...`.
    pub(crate) fn target(&self, words: &str) -> String {
        // The cases touch little memory, and other tests need the rest.
        format!("vm:{},mem=256{words}", self.file)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        *FREE.lock().unwrap() += self.permits;
        FREED.notify_all();
    }
}

/// What a shell does in new namespaces: the lock's file is in a folder of its own. Where there is no
/// such folder, the file would be in /tmp: it is made, and stays.
const TAKE_LOCK_FOLDER: &str =
    r#"mkdir -p /run/lock && mount -t tmpfs none /run/lock && exec "$@""#;

/// The tool in namespaces of its own. The lock of a run is a name in the network namespace and a
/// file in /run/lock, so this run waits for no other one, and counts are not disturbed by others.
/// Where namespaces are forbidden it waits.
pub(crate) fn in_own_namespaces(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let plain = sandbox.command(arguments);
    let enter = ["-n", "-m", "sh", "-c", TAKE_LOCK_FOLDER, "sh"];
    let can = Command::new("unshare").args(enter).arg("true").stderr(Stdio::null()).status();
    if !can.is_ok_and(|can| can.success()) {
        return plain;
    }
    let mut command = Command::new("unshare");
    command.args(enter).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// A kernel of a header and one instruction, a jump to itself.
pub(crate) fn spinning() -> Vec<u8> {
    let mut image = vec![0; 4 << 10];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x1f1, &[1]);
    // The setup is entered at its second sector: `jmp .`
    put(0x200, &[0xeb, 0xfe]);
    put(0x1fe, &[0x55, 0xaa]);
    put(0x202, b"HdrS");
    put(0x206, &[0x0f, 0x02]);
    put(0x20e, &[0x80, 0x00]);
    put(0x211, &[1]);
    put(0x22c, &0x7fff_ffff_u32.to_le_bytes());
    put(0x236, &[1]);
    put(0x280, b"6.99.0-1-amd64");
    image
}

/// A target with such a kernel and these parameters.
pub(crate) fn spinning_target(sandbox: &Sandbox, words: &str) -> String {
    let file = sandbox.file("bzImage");
    fs::write(&file, spinning()).unwrap();
    format!("vm:{}{words}", file.display())
}

/// An emulator that reports a version and otherwise runs a script. Another process writes it: a
/// file open for writing here is inherited for a moment by the children of other tests, and then
/// cannot be executed (ETXTBSY).
pub(crate) fn emulator(sandbox: &Sandbox, script: &str) -> PathBuf {
    let path = sandbox.file("qemu");
    let whole = format!(
        "#!/bin/bash\n[ \"$1\" = --version ] && {{ echo QEMU emulator version 9.9.9; exit; }}\n\
         {script}\n"
    );
    let written = Command::new("sh")
        .args(["-c", r#"printf %s "$2" > "$1"; chmod 755 "$1""#, "sh"])
        .args([path.as_os_str(), whole.as_ref()])
        .status();
    assert!(written.unwrap().success());
    path
}

/// Runs the tool with another emulator.
pub(crate) fn with(sandbox: &Sandbox, emulator: &Path, arguments: &[&str]) -> Ran {
    Ran::of(in_own_namespaces(sandbox, arguments).env("OSCOST_QEMU", emulator))
}

/// The machines that a tool runs: its children that have executed an emulator.
pub(crate) fn machines_of(sandbox: &Sandbox, tool: u32) -> Vec<u32> {
    let is_machine = |&pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.lines().any(|line| line.split_whitespace().eq(["PPid:", &tool.to_string()]))
            && arguments.contains("\0-nodefaults\0")
            && !arguments.contains("\0die-with-parent\0")
    };
    sandbox.processes().into_iter().filter(is_machine).collect()
}

/// The kinds of the events that a machine has sent so far.
pub(crate) fn events_sent(machine: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{machine}/cmdline")).unwrap_or_default();
    let file = line.split('\0').find_map(|word| word.strip_prefix("file,id=events,path="));
    let Some(file) = file else { return Vec::new() };
    let output = fs::read_to_string(file).unwrap_or_default();
    let events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter_map(|event| event["event"].as_str().map(str::to_owned)).collect()
}

/// The values of a row's repetitions.
pub(crate) fn values(row: &Value) -> Vec<f64> {
    let repetitions = row["repetitions"].as_array().unwrap();
    repetitions.iter().map(|it| it["value"].as_f64().unwrap()).collect()
}
