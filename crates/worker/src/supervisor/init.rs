//! PID 1 of a virtual machine that oscost has booted: it mounts the usual file systems, runs a
//! supervisor, and powers the machine off.
//!
//! If the orders are in the initramfs, nothing enters the machine from outside while it runs, and a
//! deterministic emulator repeats it to the last instruction. Otherwise orders come over the serial
//! line.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oscost_model::protocol::{EventHead, EventKind};
use rustix::mount::{MountFlags, mount};
use rustix::process::Resource;
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcdrain, tcgetattr, tcsetattr};

use crate::kernel::machine::init;
use crate::kernel::process::limits::LoweredLimit;
use crate::kernel::{Errno, process};

/// The path by which the kernel starts the first program.
pub const INIT_PATH: &str = "/init";
/// The orders in the initramfs: lines, in blocks that are separated by a zero byte. The next block
/// follows when the last event of a block has been sent.
const ORDERS_PATH: &str = "/orders";
/// The serial line for events. The first serial line is the kernel's console.
const EVENTS_TTY: &str = "/dev/ttyS1";
/// The fixed name of the supervisor's directory in the machine: the lengths of file names are part
/// of the cost of some calls.
const SESSION_NAME: &str = "oscost-1-1";
/// By then the kernel's work after booting is done (checking clocks, freeing init code, seeding
/// random numbers). It costs no time: an emulator that counts instructions skips idle time.
const BOOT_SETTLING_TIME: Duration = Duration::from_secs(10);
/// The same for the kernel's deferred work after a process has exited.
const ORDER_GAP: Duration = Duration::from_secs(1);

/// Runs as PID 1 and never returns: the kernel would panic.
pub fn run_init() -> ! {
    let line = mount_filesystems();
    let served = match &line {
        Ok(line) => serve(line),
        Err(error) => Err(*error),
    };
    if let Err(error) = served {
        // Standard error is the console, whose last lines are shown if a machine sends no events.
        let _ = writeln!(std::io::stderr(), "oscost-worker: {error}");
    }
    // The reboot makes the emulator exit; the machine need not have a power switch. Errors cannot
    // be reported from here.
    let _ = line.as_ref().map(tcdrain);
    let _ = reboot(RebootCommand::Restart);
    loop {
        std::thread::park();
    }
}

/// Mounts the usual file systems, and opens the serial line.
fn mount_filesystems() -> Result<File, Errno> {
    let mount_type = |kind, at| mount(kind, at, kind, MountFlags::empty(), None);
    for (kind, at) in [(c"devtmpfs", c"/dev"), (c"proc", c"/proc"), (c"sysfs", c"/sys")] {
        mount_type(kind, at)?;
    }
    // Optional: cases that need what a kernel lacks will say so.
    fs::create_dir_all("/dev/shm")?;
    for (kind, at) in [(c"tmpfs", c"/tmp"), (c"tmpfs", c"/dev/shm")] {
        let _ = mount_type(kind, at);
    }
    let _ = init::loopback_up();
    let line = File::options().read(true).write(true).open(EVENTS_TTY)?;
    // No echo, no line-end conversion, no signals.
    let mut settings = tcgetattr(&line)?;
    settings.make_raw();
    tcsetattr(&line, OptionalActions::Now, &settings)?;
    Ok(line)
}

/// Runs a supervisor with the orders of the initramfs or of the serial line.
fn serve(line: &File) -> Result<(), Errno> {
    let Ok(orders) = fs::read(ORDERS_PATH) else {
        start_supervisor(line.try_clone()?.into(), line.try_clone()?.into())?.wait()?;
        return Ok(());
    };
    // Best effort: a kernel may refuse the seed.
    let _ = File::open("/dev/random").map(|random| init::seed_random(&random));
    std::thread::sleep(BOOT_SETTLING_TIME);
    let mut child = start_supervisor(Stdio::piped(), Stdio::piped())?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Errno::EINVAL); // Both are piped above.
    };
    let mut events = BufReader::new(File::from(OwnedFd::from(output)));
    // The first event is `hello`.
    forward_event(&mut events, line)?;
    for block in orders.split(|&byte| byte == 0) {
        input.write_all(block)?;
        while !forward_event(&mut events, line)? {}
        std::thread::sleep(ORDER_GAP);
    }
    drop(input);
    child.wait()?;
    Ok(())
}

fn start_supervisor(input: Stdio, output: Stdio) -> Result<Child, Errno> {
    let mut command = Command::new(process::own_executable());
    Ok(command.args(["supervise", SESSION_NAME]).stdin(input).stdout(output).spawn()?)
}

/// Forwards an event; returns whether it is the last one of its job.
fn forward_event(events: &mut impl BufRead, mut line: &File) -> Result<bool, Errno> {
    let mut event = Vec::new();
    if events.read_until(b'\n', &mut event)? == 0 {
        return Err(Errno::EPROTO); // The supervisor has exited.
    }
    line.write_all(&event)?;
    let head = serde_json::from_slice::<EventHead>(&event);
    Ok(head.is_ok_and(|head| !matches!(head.event, EventKind::Ready | EventKind::BatchesDone)))
}

/// More than the output of any virtual machine.
const MAX_FILE_MIB: u32 = 256;

/// Executes a program that is killed when the parent of this process dies.
pub fn die_with_parent() -> Result<(), Errno> {
    process::die_with_parent(process::parent_argument())?;
    // Its output goes to a file in memory, so its size is limited.
    std::mem::forget(LoweredLimit::new(Resource::Fsize, MAX_FILE_MIB)?);
    let mut arguments = std::env::args_os().skip(3);
    let program = arguments.next().unwrap_or_default();
    Err(Command::new(program).args(arguments).exec().into())
}
