//! The first process of a machine that oscost has booted: it mounts what programs expect, lets a
//! supervisor do its work, and ends the machine.
//!
//! Where the orders were put into the machine before it was booted, nothing enters it from outside
//! while it lives: what depends on nothing else repeats itself to the last instruction. Else they
//! come over the serial line, as they are given.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use oscost_model::protocol::{EventHead, EventKind};

use crate::kernel::machine::init;
use crate::kernel::process::limits::{LimitKind, LoweredLimit};
use crate::kernel::{Errno, process};

/// What the kernel calls the program that it starts first.
pub const INIT_PATH: &str = "/init";
/// The orders, in the machine's memory: lines, and a zero byte between those that one last event
/// answers and the next.
const ORDERS_PATH: &str = "/orders";
/// The line that events leave by. The first one is the kernel's console.
const EVENTS_TTY: &str = "/dev/ttyS1";
/// What a supervisor's folder is called there, whatever its process and its time are: the names of
/// files are a part of what some calls cost.
const SESSION_NAME: &str = "oscost-1-1";
/// What a kernel begins when it has booted (it checks clocks, frees its own code, seeds its random
/// numbers) is over by then. Nobody waits: an idle machine that counts instructions skips the time.
const BOOT_SETTLING_TIME: Duration = Duration::from_secs(10);
/// The same for what a process leaves to be done when it has ended.
const ORDER_GAP: Duration = Duration::from_secs(1);

/// Does all that, and never comes back: the kernel would panic.
pub fn run_init() -> ! {
    let line = mount_filesystems();
    let served = match &line {
        Ok(line) => serve(line),
        Err(error) => Err(*error),
    };
    if let Err(error) = served {
        // Standard error is the console, whose last lines are shown where a machine says nothing.
        let _ = writeln!(std::io::stderr(), "oscost-worker: {error}");
    }
    init::drain_and_reboot(line.as_ref().ok());
    loop {
        std::thread::park();
    }
}

/// Mounts what programs expect, and opens the serial line.
fn mount_filesystems() -> Result<File, Errno> {
    for (kind, at) in [(c"devtmpfs", c"/dev"), (c"proc", c"/proc"), (c"sysfs", c"/sys")] {
        init::mount(kind, at)?;
    }
    // Beside what the kernel offers of itself: which of it a kernel lacks, a case will say.
    fs::create_dir_all("/dev/shm")?;
    for (kind, at) in [(c"tmpfs", c"/tmp"), (c"tmpfs", c"/dev/shm")] {
        let _ = init::mount(kind, at);
    }
    let _ = init::loopback_up();
    let line = File::options().read(true).write(true).open(EVENTS_TTY)?;
    init::set_raw_mode(&line)?;
    Ok(line)
}

/// Lets a supervisor serve, either way.
fn serve(line: &File) -> Result<(), Errno> {
    let Ok(orders) = fs::read(ORDERS_PATH) else {
        start_supervisor(line.try_clone()?.into(), line.try_clone()?.into())?.wait()?;
        return Ok(());
    };
    // A kernel that will not take it is another one than one that does, and no worse.
    let _ = File::open("/dev/random").map(|random| init::seed_random(&random));
    std::thread::sleep(BOOT_SETTLING_TIME);
    let mut child = start_supervisor(Stdio::piped(), Stdio::piped())?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Errno::EINVAL); // They were asked for above.
    };
    let mut events = BufReader::new(File::from(OwnedFd::from(output)));
    // The first event answers nothing.
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

/// Passes an event on; whether it is the last one of its job.
fn forward_event(events: &mut impl BufRead, mut line: &File) -> Result<bool, Errno> {
    let mut event = Vec::new();
    if events.read_until(b'\n', &mut event)? == 0 {
        return Err(Errno::EPROTO); // The supervisor is gone.
    }
    line.write_all(&event)?;
    let head = serde_json::from_slice::<EventHead>(&event);
    Ok(head.is_ok_and(|head| !matches!(head.event, EventKind::Ready | EventKind::BatchesDone)))
}

/// More than any machine has to say.
const MAX_FILE_MIB: u32 = 256;

/// Becomes a program that is killed when whoever started this one ends, however that ends.
pub fn exec_bound_to_parent() -> Result<(), Errno> {
    process::die_with_parent(process::parent_argument())?;
    // Nor may it write without end: what it writes to is memory of ours.
    std::mem::forget(LoweredLimit::new(LimitKind::File, MAX_FILE_MIB)?);
    let mut arguments = std::env::args_os().skip(3);
    let program = arguments.next().unwrap_or_default();
    Err(Command::new(program).args(arguments).exec().into())
}
