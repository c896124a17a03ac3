//! The programs of the studies, in C: compiled by the build script with the options that each study
//! names, and carried in the tool.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::Mutex;

use nix::errno::Errno;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A program of a study.
#[derive(Debug)]
pub struct StudyProgram {
    /// Its name, which is that of its file without `.c`.
    pub name: &'static str,
    /// The command that compiled it.
    pub command: &'static str,
    /// Its text.
    pub source: &'static str,
    /// The compiled program.
    bytes: &'static [u8],
}

/// All of them, as the build script lists them.
static ALL: &[StudyProgram] = include!(concat!(env!("OUT_DIR"), "/programs/table.rs"));

/// The program of that name.
pub fn find(name: &str) -> Option<&'static StudyProgram> {
    ALL.iter().find(|it| it.name == name)
}

/// The files of programs that were started, by name. They are open as long as this process runs: a
/// path is needed in each trial.
static FILES: Mutex<Vec<(&str, File)>> = Mutex::new(Vec::new());

/// Linux 6.3 may refuse to execute a file in memory that was not created to be executed.
const MFD_EXEC: MFdFlags = MFdFlags::from_bits_retain(0x10);

impl StudyProgram {
    /// The path at which it can be started while this process runs: a file in memory
    /// (memfd_create(2)), so that nothing is left behind, however this process ends.
    pub(super) fn path(&'static self) -> io::Result<String> {
        // A panic between two lines leaves the list as it was.
        let mut files = FILES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = match files.iter().position(|(name, _)| *name == self.name) {
            Some(at) => at,
            None => {
                files.push((self.name, self.in_memory()?));
                files.len() - 1
            }
        };
        let fd = files.get(at).map_or(-1, |(_, file)| file.as_raw_fd());
        Ok(format!("/proc/{}/fd/{fd}", std::process::id()))
    }

    fn in_memory(&self) -> io::Result<File> {
        // Other children do not inherit it.
        let created = match memfd_create(self.name, MFdFlags::MFD_CLOEXEC | MFD_EXEC) {
            // A kernel that does not know the flag lets every such file be executed.
            Err(Errno::EINVAL) => memfd_create(self.name, MFdFlags::MFD_CLOEXEC),
            created => created,
        };
        let mut file = File::from(created?);
        file.write_all(self.bytes)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    fn run(name: &str, arguments: &[&str]) -> Output {
        let path = find(name).unwrap().path().unwrap();
        Command::new(path).args(arguments).stdin(std::process::Stdio::null()).output().unwrap()
    }

    fn text(output: &Output) -> String {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout.clone()).unwrap()
    }

    #[test]
    fn a_program_is_one_file_that_can_be_started_repeatedly() {
        let hello = find("hello").unwrap();
        assert_eq!(hello.path().unwrap(), hello.path().unwrap());
        assert_eq!(text(&run("hello", &[])), "hello world\n");
        assert_eq!(text(&run("hello", &[])), "hello world\n");
        assert!(find("no-such").is_none());
    }

    #[test]
    fn all_programs_are_linked_dynamically() {
        for program in ALL {
            let needs_libc = program.bytes.windows(4).any(|name| name == b"libc");
            assert!(program.bytes.starts_with(b"\x7fELF") && needs_libc, "{}", program.name);
            assert!(
                program.command.ends_with(&format!("{}.c", program.name))
                    || program.command.contains(&format!("{}.c ", program.name))
            );
        }
    }

    #[test]
    fn each_act_passes_the_check_of_its_program() {
        for call in ["-0", "-t", "-s", "-C", "-c", "-P", "-p", "-b", "-x", "-o"] {
            assert!(text(&run("cs161", &[call])).contains(" ns a call\n"), "{call}");
        }
        for act in [
            "getticks",
            "elapsed",
            "loop",
            "getppid",
            "thread",
            "thread-run",
            "process-switch",
            "thread-switch",
        ] {
            assert!(text(&run("cse221", &[act])).contains("\nmean "), "{act}");
        }
        for arguments in 0..8 {
            let said = text(&run("cse221", &["call", &arguments.to_string()]));
            assert!(said.starts_with("100 times 1000 ops, "), "{said}");
        }
        let hello = find("hello").unwrap().path().unwrap();
        assert!(text(&run("ph2000", &["null", &hello])).starts_with("1000 processes, "));
        // A program that does not print hello world is no process that succeeded.
        assert_eq!(run("ph2000", &["simple", "/no/such"]).status.code(), Some(1));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("records");
        for via in ["write", "fwrite"] {
            let said = text(&run("output", &[via, "8", file.to_str().unwrap()]));
            assert!(said.starts_with("500000 records, "), "{said}");
            assert_eq!(std::fs::metadata(&file).unwrap().len(), 4_000_000);
        }
    }

    #[test]
    fn what_a_program_does_not_know_is_refused() {
        for (name, arguments) in [
            ("cs161", &["-z"][..]),
            ("cse221", &["call", "8"]),
            ("cse221", &["calls"]),
            ("ph2000", &["simple"]),
            ("output", &["write", "0", "x"]),
        ] {
            let refused = run(name, arguments);
            assert_eq!(refused.status.code(), Some(2), "{name}: {refused:?}");
            assert!(refused.stderr.starts_with(b"Usage: ") || name == "cs161", "{refused:?}");
        }
    }

    #[test]
    fn a_preloaded_library_keeps_the_process_id() {
        let [program, library] =
            ["cs161", "cs161-pid"].map(|name| find(name).unwrap().path().unwrap());
        let started = Command::new(program)
            .arg("-p")
            .env("LD_PRELOAD", library)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = started.id();
        let said = text(&started.wait_with_output().unwrap());
        assert!(said.starts_with(&format!("result: {pid}000000 in ")), "{pid}: {said}");
    }
}
