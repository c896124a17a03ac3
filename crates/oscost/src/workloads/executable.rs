//! The files of programs, before anything is measured: another build of a program is another one.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use oscost_model::program::{ExecutableFile, Program};
use oscost_model::untrusted_text::is_control;
use sha2::{Digest as _, Sha256};

use super::requirements::program_file;
use crate::files::input_file;

/// Of a larger file the rest is not read, which would take longer than some trials. The build id of a
/// linker (`--build-id`), which depends on all of the file, lies near its beginning.
const MAX_HASHED_BYTES: u64 = 16 << 20;
const BUFFER_BYTES: usize = 64 << 10;

/// The files of the programs of this machine. Each is read once, however many rows run it.
#[derive(Debug, Default)]
pub struct ProgramFiles {
    known: BTreeMap<PathBuf, Option<ExecutableFile>>,
}

impl ProgramFiles {
    /// The file of a program as it is now; `None` if it is not found or not readable, if its name is
    /// another one in each trial, or if it is looked up in a PATH or a folder of its own.
    pub fn find(&mut self, program: &Program) -> Option<ExecutableFile> {
        let name = program.command.first().filter(|name| !name.contains('{'))?;
        if program.variables.contains_key("PATH") {
            return None;
        }
        let file = program_file(name)?;
        let folder = program.working_directory.as_deref().unwrap_or_default();
        let path = Path::new(folder).join(file);
        if !path.is_absolute() {
            return None;
        }
        let path = path.canonicalize().ok()?;
        self.known.entry(path).or_insert_with_key(|path| executable_file(path)).clone()
    }
}

fn executable_file(path: &Path) -> Option<ExecutableFile> {
    // Records have no control characters.
    let text = path.to_str().filter(|text| !text.chars().any(is_control))?;
    let file = input_file::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let sha256 = sha256(file.take(MAX_HASHED_BYTES)).ok()?;
    Some(ExecutableFile { path: text.to_owned(), bytes, sha256 })
}

fn sha256(mut source: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(words: &[&str], folder: Option<&Path>) -> Program {
        Program {
            command: words.iter().map(|&word| word.to_owned()).collect(),
            working_directory: folder.map(|it| it.to_str().unwrap().to_owned()),
            ..Program::default()
        }
    }

    #[test]
    fn a_program_that_is_built_anew_is_another_one_of_the_same_path() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let find = |text: &str| {
            std::fs::write(&script, text).unwrap();
            ProgramFiles::default().find(&program(&["./script", "x"], Some(folder.path()))).unwrap()
        };
        let first = find("#!/bin/sh\ntrue\n");
        assert_eq!(first.bytes, 15);
        assert_eq!(Path::new(&first.path), script.canonicalize().unwrap());
        assert_eq!(find("#!/bin/sh\ntrue\n"), first, "the same file");
        let other = find("#!/bin/sh\nfals\n");
        assert_eq!((&other.path, other.bytes), (&first.path, first.bytes));
        assert_ne!(other.sha256, first.sha256);
        // The published hash of no bytes.
        let empty = find("").sha256;
        assert!(empty.starts_with("e3b0c44298fc1c149afbf4c8996fb924"), "{empty}");
        assert_eq!(empty.len(), 64);
    }

    #[test]
    fn a_file_is_read_once_for_all_rows_that_run_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "one").unwrap();
        let mut files = ProgramFiles::default();
        let first = files.find(&program(&[script.to_str().unwrap(), "1"], None));
        assert!(first.is_some());
        std::fs::write(&script, "another").unwrap();
        assert_eq!(files.find(&program(&["./script", "2"], Some(folder.path()))), first);
    }

    #[test]
    fn a_program_that_is_looked_up_elsewhere_or_is_another_one_in_each_trial_has_no_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script"), "").unwrap();
        let find = |program: &Program| ProgramFiles::default().find(program);
        assert!(find(&program(&["./script"], Some(folder.path()))).is_some());
        assert_eq!(find(&program(&["./script"], None)), None, "in a fresh folder");
        assert_eq!(find(&program(&["./script-{n}"], Some(folder.path()))), None);
        assert_eq!(find(&program(&["./"], Some(folder.path()))), None, "a folder");
        assert_eq!(find(&program(&["/no/such/program"], None)), None);
        let variables = [("PATH".to_owned(), "/elsewhere".to_owned())].into();
        let own_path = Program { variables, ..program(&["./script"], Some(folder.path())) };
        assert_eq!(find(&own_path), None);
    }
}
