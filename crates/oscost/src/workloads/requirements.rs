//! What a workload requires, and what of it this machine lacks.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wildmatch::WildMatch;

use super::files::quoting::display_text;
use super::files::spec::{Need, Origin, RequiredItem, Spec};

/// Directories of programs that are not in every user's PATH: games, and administration.
const EXTRA_PATH: [&str; 6] =
    ["/usr/local/games", "/usr/games", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/// What a workload lacks on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingItems {
    /// The missing items: `no program sqlite3`.
    pub lacks: Vec<String>,
    /// The Debian packages that contain them, as far as known.
    pub packages: Vec<String>,
    /// The command that fills its cache directory, if that is missing.
    pub prepare: Option<String>,
}

impl MissingItems {
    pub(super) fn is_empty(&self) -> bool {
        self.lacks.is_empty()
    }

    /// What to do about it; `None` if that is unknown.
    pub fn hint(&self) -> Option<String> {
        let install = (!self.packages.is_empty()).then(|| {
            let packages = self.packages.join(" ");
            format!("sudo apt-get install --no-install-recommends {packages}")
        });
        match (install, &self.prepare) {
            (Some(install), Some(prepare)) => Some(format!("{install}, then {prepare}")),
            (install, prepare) => install.or_else(|| prepare.clone()),
        }
    }
}

impl fmt::Display for MissingItems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is {}", self.lacks.join(", "))?;
        match self.hint() {
            Some(hint) => write!(out, ": {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for MissingItems {}

impl Spec {
    /// The requirements that this machine lacks, in the order of the file.
    pub(super) fn missing_needs(&self) -> MissingItems {
        let mut missing = MissingItems::default();
        for need in self.needs.iter().filter(|need| !exists(&need.item)) {
            missing.lacks.push(match &need.item {
                RequiredItem::Program(name) => format!("no program {name}"),
                RequiredItem::File(path) | RequiredItem::Glob(path) => format!("no file {path}"),
            });
            if let Some(package) = need.package.as_ref().filter(|it| !missing.packages.contains(it))
            {
                missing.packages.push(package.clone());
            }
        }
        missing
    }

    /// Adds the program of a command if it is missing. Programs named by a path are not checked:
    /// the commands before the trial may create them. With a PATH of its own, a workload finds
    /// others.
    pub(super) fn check_program(&self, command: &[String], missing: &mut MissingItems) {
        // A name with a parameter that is sampled is another one in each trial.
        let is_checked = |name: &&String| !name.contains(['/', '{']);
        let Some(name) = command.first().filter(is_checked) else { return };
        let is_listed = |need: &Need| need.item == RequiredItem::Program(name.clone());
        let own_path = self.variables.contains_key("PATH");
        // Literal words are not replaced by a path outside of PATH.
        let is_usable = |it: &ProgramLocation| {
            self.origin != Origin::CommandLine || *it == ProgramLocation::OnPath
        };
        let is_found = find_program(name).is_some_and(|it| is_usable(&it));
        if !own_path && !self.needs.iter().any(is_listed) && !is_found {
            missing.lacks.push(format!("no program {}", display_text(name, 80)));
        }
    }
}

fn exists(item: &RequiredItem) -> bool {
    match item {
        RequiredItem::Program(name) => find_program(name).is_some(),
        RequiredItem::File(path) => Path::new(path).exists(),
        RequiredItem::Glob(path) => {
            let (folder, pattern) = path.rsplit_once('/').unwrap_or(("", path));
            let pattern = WildMatch::new(pattern);
            let folder = if folder.is_empty() { "/" } else { folder };
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name());
            names.any(|name| pattern.matches(&name.to_string_lossy()))
        }
    }
}

/// Why the program of a command cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is none of that name.
    #[error("cannot measure `{0}`: no such program\n  hint: give its path, or install it")]
    NotFound(String),
    /// It is no program.
    #[error(
        "cannot measure `{0}`: it is not executable\n  hint: `chmod +x` makes a script a program"
    )]
    NotExecutable(String),
}

/// Checks that the program of a command can be started, as a shell would.
pub fn check_command_program(name: &str) -> Result<(), CommandError> {
    let shown = display_text(name, 80);
    if !name.contains('/') {
        let is_found = matches!(find_program(name), Some(ProgramLocation::OnPath));
        return if is_found { Ok(()) } else { Err(CommandError::NotFound(shown)) };
    }
    match std::fs::metadata(name) {
        Err(_) => Err(CommandError::NotFound(shown)),
        Ok(it) if !it.is_file() || it.permissions().mode() & 0o111 == 0 => {
            Err(CommandError::NotExecutable(shown))
        }
        Ok(_) => Ok(()),
    }
}

/// Whether the program of a command runs as the user or the group of its file; `false` if there is no
/// such program.
pub fn is_set_id(name: &str) -> bool {
    const SET_ID: u32 = 0o6000;
    program_file(name).is_some_and(|file| has_mode(&file, SET_ID))
}

/// The file of the program of a command, as a shell finds it: `None` if PATH has none of that name. A
/// path is taken as it is.
pub fn program_file(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    files.find(|file| has_mode(file, 0o111))
}

/// Whether a path is a regular file with one of these bits in its mode.
fn has_mode(path: &Path, bits: u32) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & bits != 0)
}

/// The location of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProgramLocation {
    /// In a directory of PATH.
    OnPath,
    /// In another directory.
    At(PathBuf),
}

/// Finds a program by its name.
pub(super) fn find_program(name: &str) -> Option<ProgramLocation> {
    find_program_in(std::env::var_os("PATH").as_deref(), name)
}

fn find_program_in(path: Option<&OsStr>, name: &str) -> Option<ProgramLocation> {
    let is_executable = |path: &PathBuf| has_mode(path, 0o111);
    let mut folders = path.into_iter().flat_map(std::env::split_paths);
    if folders.any(|folder| is_executable(&folder.join(name))) {
        return Some(ProgramLocation::OnPath);
    }
    EXTRA_PATH
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(is_executable)
        .map(ProgramLocation::At)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_files_of_one_directory() {
        let folder = tempfile::tempdir().unwrap();
        let glob = RequiredItem::Glob(format!("{}/source-*.tar", folder.path().display()));
        assert!(!exists(&glob));
        std::fs::write(folder.path().join("source-1.zip"), "").unwrap();
        assert!(!exists(&glob));
        std::fs::write(folder.path().join("source-1.tar"), "").unwrap();
        assert!(exists(&glob));
    }

    #[test]
    fn a_set_user_id_file_is_one_for_each_user() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "").unwrap();
        let name = program.to_str().unwrap();
        // On file systems that are mounted nosuid the bit is there, too.
        for (mode, is_set) in [(0o755, false), (0o4755, true), (0o2755, true), (0o1755, false)] {
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_set_id(name), is_set, "{mode:o}");
        }
        assert!(!is_set_id("/no/such/program") && !is_set_id("no-such-program"));
    }

    #[test]
    fn a_program_is_found_in_path_if_it_is_executable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().as_os_str();
        std::fs::write(folder.path().join("not-executable"), "").unwrap();
        assert_eq!(find_program_in(Some(path), "not-executable"), None);
        let program = folder.path().join("executable");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = find_program_in(Some(path), "executable");
        assert_eq!(found, Some(ProgramLocation::OnPath));
        assert_eq!(find_program_in(None, "executable"), None);
    }
}
