use std::os::unix::fs::symlink;

use super::*;
use crate::workloads::parse;

struct Try {
    _root: tempfile::TempDir,
    here: RunEnvironment,
    spec: Spec,
}

impl Try {
    /// A workload whose preparation is this script.
    fn new(script: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let here = RunEnvironment {
            cpus: 2,
            start_folder: "/".into(),
            cache: root.path().join("cache"),
            quick: false,
            skip_checks: false,
        };
        Self { _root: root, here, spec: Self::spec(script) }
    }

    fn spec(script: &str) -> Spec {
        let text = format!(
            "command = [\"cat\", \"{{cache}}/words\"]\nvariables = {{ N = \"{{cpus}}\" }}\n\
             prepare = {{ commands = [[\"sh\", \"-ec\", {script:?}]], marker = \"words\" }}\n"
        );
        parse(text.as_bytes(), "mine").unwrap()
    }

    fn prepare(&self) -> (Result<Prepared, CacheError>, String) {
        let mut output = Vec::new();
        let done = prepare(&self.spec, &self.here, &mut output);
        (done, String::from_utf8(output).unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.here.cache_of(&self.spec)
    }

    /// What lies beside the cache folders.
    fn beside(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.here.cache.join("workload")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn is_ready(&self) -> bool {
        self.spec.workload(&Point::none(), &self.here).is_ok()
    }
}

#[test]
fn a_folder_is_filled_once_and_given_back() {
    let it = Try::new("echo to it; echo to them >&2; echo $N > words");
    assert!(!it.is_ready());
    let (done, output) = it.prepare();
    assert_eq!((done.unwrap(), output.as_str()), (Prepared::Now, "to it\nto them\n"));
    assert_eq!(std::fs::read_to_string(it.folder().join("words")).unwrap(), "2\n");
    assert!(it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), Prepared::Already);
    assert_eq!(it.beside(), [".mine.lock", "mine"]);
    assert!(clean(&it.spec, &it.here).unwrap());
    assert!(!clean(&it.spec, &it.here).unwrap());
    assert!(!it.is_ready());
}

#[test]
fn a_preparation_that_fails_leaves_nothing_and_says_which_command() {
    let it = Try::new("echo half > words; exit 3");
    let why = it.prepare().0.unwrap_err().to_string();
    assert_eq!(why, "`sh -ec 'echo half > words; exit 3'` ended with exit status: 3");
    assert_eq!(it.beside(), [".mine.lock"]);
    let it = Try::new("true");
    assert!(it.prepare().0.unwrap_err().to_string().contains("\"words\" is not there"));
    assert_eq!(it.beside(), [".mine.lock"]);
}

#[test]
fn what_a_killed_preparation_left_is_not_taken_for_a_folder() {
    let it = Try::new("test ! -e half; echo > words");
    let left = it.here.cache.join("workload/.mine.new");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("half"), "").unwrap();
    assert!(!it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), Prepared::Now);
    assert!(it.is_ready() && !left.exists());
    // Nor is a folder in its place that nobody finished.
    clean(&it.spec, &it.here).unwrap();
    std::fs::create_dir_all(it.folder()).unwrap();
    std::fs::write(it.folder().join("words"), "").unwrap();
    assert!(!it.is_ready());
    assert_eq!(it.prepare().0.unwrap(), Prepared::Now);
}

#[test]
fn a_folder_that_other_commands_have_filled_is_filled_anew() {
    let mut it = Try::new("echo old > words");
    it.prepare().0.unwrap();
    it.spec = Try::spec("echo new > words");
    let missing = it.spec.workload(&Point::none(), &it.here).unwrap_err();
    assert!(missing.to_string().contains("one that was filled otherwise"), "{missing}");
    assert_eq!(it.prepare().0.unwrap(), Prepared::Now);
    assert_eq!(std::fs::read_to_string(it.folder().join("words")).unwrap(), "new\n");
}

#[test]
fn two_at_once_are_one_and_a_refusal() {
    let it = Try::new("echo > words");
    let lock = CachePaths::of(&it.spec, &it.here).lock().unwrap();
    assert!(matches!(it.prepare().0, Err(CacheError::Locked)));
    assert!(matches!(clean(&it.spec, &it.here), Err(CacheError::Locked)));
    drop(lock);
    assert_eq!(it.prepare().0.unwrap(), Prepared::Now);
}

#[test]
fn commands_hold_the_lock_for_as_long_as_they_last() {
    let it = Try::new("echo > words");
    let target = CachePaths::of(&it.spec, &it.here);
    drop(target.lock().unwrap());
    let file = File::options().read(true).write(true).open(&target.lock).unwrap();
    file.try_lock().unwrap();
    let mut left =
        Command::new("sleep").arg("60").stdin(file.try_clone().unwrap()).spawn().unwrap();
    // What had the lock is gone without a word, as if it had been killed.
    drop(file);
    assert!(matches!(it.prepare().0, Err(CacheError::Locked)));
    left.kill().unwrap();
    left.wait().unwrap();
}

#[test]
fn links_are_removed_and_never_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept");
    std::fs::write(&kept, "dear").unwrap();
    let script = format!(
        "ln -s {} out; mkdir d; ln -s ../out d/in; echo > words",
        elsewhere.path().display()
    );
    let it = Try::new(&script);
    it.prepare().0.unwrap();
    assert!(clean(&it.spec, &it.here).unwrap());
    assert!(kept.exists() && !it.folder().exists());
    // The folder itself may have become a link, and so may what is beside it.
    symlink(elsewhere.path(), it.folder()).unwrap();
    symlink(elsewhere.path(), it.here.cache.join("workload/.mine.new")).unwrap();
    assert!(clean(&it.spec, &it.here).unwrap());
    assert!(kept.exists() && std::fs::symlink_metadata(it.folder()).is_err());
    // A lock that is a link is refused.
    let lock = it.here.cache.join("workload/.mine.lock");
    std::fs::remove_file(&lock).unwrap();
    symlink(elsewhere.path().join("made"), &lock).unwrap();
    assert!(matches!(clean(&it.spec, &it.here), Err(CacheError::File(..))));
    assert!(!elsewhere.path().join("made").exists());
}

#[test]
fn what_needs_none_or_lacks_something_is_not_prepared() {
    let it = Try::new("true");
    let none = parse(b"command = [\"true\"]", "none").unwrap();
    let told = prepare(&none, &it.here, &mut Vec::new()).unwrap_err();
    assert_eq!(told.to_string(), "workload/none needs no preparation");
    let mut lacking = it.spec.clone();
    lacking.needs =
        parse(b"command = [\"true\"]\nneed = [{ program = \"no-such\", package = \"p\" }]", "x")
            .unwrap()
            .needs;
    let told = prepare(&lacking, &it.here, &mut Vec::new()).unwrap_err().to_string();
    let wanted = "there is no program no-such: sudo apt-get install --no-install-recommends p";
    assert_eq!(told, wanted);
    assert!(!it.here.cache.exists());
}
