//! This machine: the supervisor as a child.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::definition::Catalog;
use oscost_model::hash;
use oscost_model::protocol::{Event, EventHead, Hello, MAX_LINE_BYTES, Order, PROTOCOL};

use super::{Interrupt, ReachError, Session};

/// A supervisor that has not said hello by then never will: it takes some 30 ms.
const HELLO_PATIENCE: Duration = Duration::from_secs(20);
/// How long a supervisor may take to end its groups and remove its files.
/// A folder of 100,000 files takes seconds.
const FAREWELL: Duration = Duration::from_secs(30);

/// The program that is timed, and what it can measure.
#[derive(Clone, Debug)]
pub struct CellProgram {
    /// Where it lies.
    pub path: PathBuf,
    /// What it can measure.
    pub catalog: Catalog,
    /// Content hash of its catalog.
    pub catalog_hash: String,
}

impl CellProgram {
    /// Finds the cell: where `OSCOST_CELL` says, beside the tool, or in `../libexec/oscost`.
    pub fn find() -> Result<Self, ReachError> {
        let mut looked = Vec::new();
        if let Some(named) = std::env::var_os("OSCOST_CELL").filter(|named| !named.is_empty()) {
            looked.push(PathBuf::from(named));
        } else if let Some(tool) = own_program()
            && let Some(folder) = tool.parent()
        {
            looked.push(folder.join("oscost-cell"));
            looked.push(folder.join("../libexec/oscost/oscost-cell"));
        }
        match looked.iter().find(|path| path.is_file()) {
            // Absolute: the supervisor starts its cells in a folder of their own.
            Some(path) => Self::ask(&std::path::absolute(path).unwrap_or(path.clone())),
            None => {
                let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
                Err(ReachError::NoCell { looked: looked.join(", ") })
            }
        }
    }

    /// Asks the program at `path` what it can measure.
    fn ask(path: &Path) -> Result<Self, ReachError> {
        let program = path.display().to_string();
        let cannot = |why: String| ReachError::CannotStart { program: program.clone(), why };
        let output = Command::new(path)
            .arg("catalog")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| cannot(error.to_string()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(cannot(format!("`catalog` failed: {}", words.trim())));
        }
        let catalog = serde_json::from_slice(&output.stdout).map_err(|error| {
            ReachError::Unequal { program, why: format!("its catalog is unknown to us: {error}") }
        })?;
        Ok(Self { path: path.to_owned(), catalog, catalog_hash: hash::content(&output.stdout) })
    }

    /// Whether a supervisor that says `hello` is this program and speaks our language.
    pub(super) fn expects(&self, hello: &Hello) -> Result<(), ReachError> {
        let program = self.path.display().to_string();
        let refuse = |why: String| Err(ReachError::Unequal { program: program.clone(), why });
        if hello.protocol != PROTOCOL {
            return refuse(format!("it speaks protocol {}, we speak {PROTOCOL}", hello.protocol));
        }
        if hello.catalog_hash != self.catalog_hash {
            return refuse("its catalog is not the one that it printed".to_owned());
        }
        let file = std::fs::read(&self.path).map_err(|error| ReachError::CannotStart {
            program: program.clone(),
            why: error.to_string(),
        })?;
        if hello.cell_hash != hash::content(&file) {
            return refuse("its file was replaced while it ran".to_owned());
        }
        Ok(())
    }
}

/// This program's own file; where /proc is not mounted, what it was started as.
fn own_program() -> Option<PathBuf> {
    std::env::current_exe().ok().or_else(|| std::env::args_os().next().map(PathBuf::from))
}

/// A supervisor on this machine, our child.
pub struct LocalSession<'a> {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    unread: Vec<u8>,
    hello: Hello,
    interrupt: &'a Interrupt,
}

impl<'a> LocalSession<'a> {
    /// Starts the supervisor, and checks that it is the one that is expected.
    ///
    /// It has a process group of its own: a Ctrl-C in the terminal is ours to answer, and the cells
    /// that it ends are the supervisor's to end.
    pub fn start(program: &CellProgram, interrupt: &'a Interrupt) -> Result<Self, ReachError> {
        let path = program.path.display().to_string();
        let cannot = |why: String| ReachError::CannotStart { program: path.clone(), why };
        let mut child = Command::new(&program.path)
            .arg("supervise")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(cannot("it has no pipes".to_owned()));
        };
        let mut session = Self {
            child,
            input: Some(input),
            output,
            unread: Vec::new(),
            hello: Hello::default(),
            interrupt,
        };
        match session.next(HELLO_PATIENCE)? {
            Event::Hello(hello) => session.hello = *hello,
            other => return Err(ReachError::Nonsense(format!("no hello, but {other:?}"))),
        }
        program.expects(&session.hello)?;
        Ok(session)
    }

    /// Sleeps until the supervisor has said something; false when it has ended.
    fn wait(&mut self, until: Instant, patience: Duration) -> Result<bool, ReachError> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ReachError::Silent(patience));
            }
            let mut fds = [
                PollFd::new(self.output.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN),
            ];
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, timeout) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(ReachError::Gone(error.to_string())),
            }
            let ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
            if ready(&fds[1]) {
                return Err(ReachError::Interrupted);
            }
            if ready(&fds[0]) {
                let mut chunk = [0; 64 << 10];
                let read = self.output.read(&mut chunk);
                let read = read.map_err(|error| ReachError::Gone(error.to_string()))?;
                self.unread.extend_from_slice(&chunk[..read]);
                return Ok(read > 0);
            }
        }
    }

    /// How the supervisor ended.
    fn epitaph(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }
}

impl Session for LocalSession<'_> {
    fn hello(&self) -> &Hello {
        &self.hello
    }

    fn send(&mut self, order: &Order) -> Result<(), ReachError> {
        let gone = |why: String| ReachError::Gone(why);
        let mut line = serde_json::to_vec(order).map_err(|error| gone(error.to_string()))?;
        line.push(b'\n');
        match &mut self.input {
            Some(input) => input.write_all(&line).map_err(|error| gone(error.to_string())),
            None => Err(gone("the session is closed".to_owned())),
        }
    }

    fn next(&mut self, patience: Duration) -> Result<Event, ReachError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return understand(&line);
            }
            if self.unread.len() > MAX_LINE_BYTES {
                return Err(ReachError::Nonsense("a line without an end".to_owned()));
            }
            if !self.wait(until, patience)? {
                return Err(ReachError::Gone(self.epitaph()));
            }
        }
    }
}

/// Reads an event. A cell whose event has a head but no sense has failed; the session goes on.
fn understand(line: &[u8]) -> Result<Event, ReachError> {
    serde_json::from_slice(line).or_else(|error| {
        let why = format!("the cell spoke nonsense: {error}");
        match serde_json::from_slice::<EventHead>(line) {
            Ok(head) => Ok(Event::Failed { id: head.id, at_op: None, why }),
            Err(error) => Err(ReachError::Nonsense(error.to_string())),
        }
    })
}

impl Drop for LocalSession<'_> {
    /// Ends the session: the supervisor sees the end of its input, ends every group that it has
    /// started, and undoes the rest. One that does not is killed, and its folder removed for it.
    fn drop(&mut self) {
        self.input = None;
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // It has ended already, or it must now.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.remove_scratch();
    }
}

impl LocalSession<'_> {
    /// Removes the supervisor's folder where it could not do so itself (it was killed). Only a
    /// folder of its own making: in the temporary folder, with its name.
    fn remove_scratch(&self) {
        let Some(scratch) = self.hello.scratch.as_deref().map(Path::new) else { return };
        let ours = format!("oscost-{}-", self.child.id());
        let named = scratch.file_name().and_then(|name| name.to_str());
        let is_its_own = scratch.parent() == Some(&std::env::temp_dir())
            && named.is_some_and(|name| name.starts_with(&ours));
        if is_its_own && scratch.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            // There is nobody to tell, and the folder is in the temporary one.
            let _ = std::fs::remove_dir_all(scratch);
        }
    }
}
