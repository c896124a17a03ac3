use std::fs::File;
use std::os::unix::fs::symlink;

use super::*;
use crate::workloads::files::parser::parse;

struct Sandbox {
    _root: tempfile::TempDir,
    environment: RunEnvironment,
    spec: Spec,
}

impl Sandbox {
    /// A workload whose preparation is this script.
    fn new(script: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let environment = RunEnvironment {
            cpus: 2,
            start_folder: "/".into(),
            cache: root.path().join("cache"),
            quick: false,
            skip_checks: false,
        };
        Self { _root: root, environment, spec: Self::spec(script) }
    }

    fn spec(script: &str) -> Spec {
        let text = format!(
            "command = [\"cat\", \"{{cache}}/words\"]\nvariables = {{ N = \"{{cpus}}\" }}\n\
             prepare = {{ commands = [[\"sh\", \"-ec\", {script:?}]], marker = \"words\" }}\n"
        );
        parse(text.as_bytes(), "mine").unwrap()
    }

    fn prepare(&self) -> (Result<PreparationOutcome, CacheError>, String) {
        let mut output = Vec::new();
        let done = prepare(&self.spec, &self.environment, &mut output);
        (done, String::from_utf8(output).unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.environment.cache_of(&self.spec)
    }

    /// The names in the directory of the cache directories.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.environment.cache.join("workload")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn is_ready(&self) -> bool {
        self.spec.workload(&Point::none(), &self.environment).is_ok()
    }
}

#[test]
fn a_directory_is_filled_once_and_deleted() {
    let it = Sandbox::new("echo to it; echo to them >&2; echo $N > words");
    assert!(!it.is_ready());
    let (done, output) = it.prepare();
    assert_eq!((done.unwrap(), output.as_str()), (PreparationOutcome::Now, "to it\nto them\n"));
    assert_eq!(std::fs::read_to_string(it.folder().join("words")).unwrap(), "2\n");
    assert!(it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Already);
    assert_eq!(it.names(), [".mine.lock", "mine"]);
    assert!(clean(&it.spec, &it.environment).unwrap());
    assert!(!clean(&it.spec, &it.environment).unwrap());
    assert!(!it.is_ready());
}

#[test]
fn a_failed_preparation_leaves_nothing_and_names_the_command() {
    let it = Sandbox::new("echo half > words; exit 3");
    let why = it.prepare().0.unwrap_err().to_string();
    assert_eq!(why, "`sh -ec 'echo half > words; exit 3'` ended with exit status: 3");
    assert_eq!(it.names(), [".mine.lock"]);
    let it = Sandbox::new("true");
    assert!(it.prepare().0.unwrap_err().to_string().contains("did not create \"words\""));
    assert_eq!(it.names(), [".mine.lock"]);
}

#[test]
fn leftovers_of_a_killed_preparation_are_not_used() {
    let it = Sandbox::new("test ! -e half; echo > words");
    let leftover = it.environment.cache.join("workload/.mine.new");
    std::fs::create_dir_all(&leftover).unwrap();
    std::fs::write(leftover.join("half"), "").unwrap();
    assert!(!it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Now);
    assert!(it.is_ready() && !leftover.exists());
    // An unfinished directory in its place is not used either.
    clean(&it.spec, &it.environment).unwrap();
    std::fs::create_dir_all(it.folder()).unwrap();
    std::fs::write(it.folder().join("words"), "").unwrap();
    assert!(!it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Now);
}

#[test]
fn a_directory_that_other_commands_filled_is_filled_again() {
    let mut it = Sandbox::new("echo old > words");
    it.prepare().0.unwrap();
    it.spec = Sandbox::spec("echo new > words");
    let missing = it.spec.workload(&Point::none(), &it.environment).unwrap_err();
    assert!(missing.to_string().contains("one that was filled by other commands"), "{missing}");
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Now);
    assert_eq!(std::fs::read_to_string(it.folder().join("words")).unwrap(), "new\n");
}

#[test]
fn a_second_preparation_at_the_same_time_is_refused() {
    let it = Sandbox::new("echo > words");
    let lock = CachePaths::of(&it.spec, &it.environment).lock().unwrap();
    assert!(matches!(it.prepare().0, Err(CacheError::Locked)));
    assert!(matches!(clean(&it.spec, &it.environment), Err(CacheError::Locked)));
    drop(lock);
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Now);
}

#[test]
fn commands_hold_the_lock_until_they_end() {
    let it = Sandbox::new("echo > words");
    let paths = CachePaths::of(&it.spec, &it.environment);
    drop(paths.lock().unwrap());
    let file = File::options().read(true).write(true).open(&paths.lock).unwrap();
    file.try_lock().unwrap();
    let mut command =
        Command::new("sleep").arg("60").stdin(file.try_clone().unwrap()).spawn().unwrap();
    // As if the process that took the lock had been killed.
    drop(file);
    assert!(matches!(it.prepare().0, Err(CacheError::Locked)));
    command.kill().unwrap();
    command.wait().unwrap();
}

#[test]
fn links_are_removed_and_never_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept");
    std::fs::write(&kept, "content").unwrap();
    let script = format!(
        "ln -s {} out; mkdir d; ln -s ../out d/in; echo > words",
        elsewhere.path().display()
    );
    let it = Sandbox::new(&script);
    it.prepare().0.unwrap();
    assert!(clean(&it.spec, &it.environment).unwrap());
    assert!(kept.exists() && !it.folder().exists());
    // The directory itself and the staging directory may be links.
    symlink(elsewhere.path(), it.folder()).unwrap();
    symlink(elsewhere.path(), it.environment.cache.join("workload/.mine.new")).unwrap();
    assert!(clean(&it.spec, &it.environment).unwrap());
    assert!(kept.exists() && std::fs::symlink_metadata(it.folder()).is_err());
    // A lock file that is a link is refused.
    let lock = it.environment.cache.join("workload/.mine.lock");
    std::fs::remove_file(&lock).unwrap();
    symlink(elsewhere.path().join("made"), &lock).unwrap();
    assert!(matches!(clean(&it.spec, &it.environment), Err(CacheError::File(..))));
    assert!(!elsewhere.path().join("made").exists());
}

#[test]
fn a_workload_without_a_preparation_or_with_missing_needs_is_not_prepared() {
    let it = Sandbox::new("true");
    let none = parse(b"command = [\"true\"]", "none").unwrap();
    let error = prepare(&none, &it.environment, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "workload/none needs no preparation");
    let mut lacking = it.spec.clone();
    lacking.needs =
        parse(b"command = [\"true\"]\nneed = [{ program = \"no-such\", package = \"p\" }]", "x")
            .unwrap()
            .needs;
    let error = prepare(&lacking, &it.environment, &mut Vec::new()).unwrap_err().to_string();
    let expected = "there is no program no-such: sudo apt-get install --no-install-recommends p";
    assert_eq!(error, expected);
    assert!(!it.environment.cache.exists());
}

#[test]
fn a_pipe_in_the_place_of_the_record_is_not_waited_for() {
    let it = Sandbox::new("echo > words");
    it.prepare().0.unwrap();
    let record = it.folder().join(FILL_RECORD);
    std::fs::remove_file(&record).unwrap();
    nix::unistd::mkfifo(&record, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(state(&it.spec, &it.environment), State::Absent);
    assert_eq!(it.prepare().0.unwrap(), PreparationOutcome::Now);
    assert!(it.is_ready());
}
