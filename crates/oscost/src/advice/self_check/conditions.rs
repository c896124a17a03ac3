//! The facts that the rules judge: plain data, so that a test can make up any machine.

use oscost_model::clock::ClockVerdict;
use oscost_model::facts::{Facts, Limit};

/// The conditions under which oscost works here.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// What a session with a worker shows, or why there is none.
    pub worker: Result<WorkerConditions, String>,
    /// What the tool sees by itself.
    pub host: HostConditions,
}

/// What a session with a worker shows.
#[derive(Clone, Debug)]
pub struct WorkerConditions {
    /// Facts that the worker has read.
    pub facts: Facts,
    /// Its clocks, best first.
    pub clocks: Vec<ClockVerdict>,
    /// Calls that were tried, or the run that is measuring and would be disturbed.
    pub trials: Result<Vec<CallTrial>, String>,
}

/// A system call that was tried by counting the calls of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTrial {
    /// Its name.
    pub call: &'static str,
    /// Why it does not work; `None` if it does.
    pub refused: Option<String>,
}

/// What the tool sees of its process and of the system by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostConditions {
    /// The state of this process.
    pub process: ProcessState,
    /// Whose processes /proc shows.
    pub proc: ProcView,
    /// `RLIMIT_FSIZE`, in bytes.
    pub file_size_bytes: Limit,
    /// How many user namespaces a user may make (`user.max_user_namespaces`).
    pub max_user_namespaces: Option<u64>,
    /// Whether /dev/null is the null device, and can be read and written.
    pub has_null_device: bool,
    /// The folder of POSIX shared memory.
    pub shared_memory: Folder,
    /// The folder of temporary files.
    pub temporary: Folder,
    /// The folder of the store; `None` if no variable names one.
    pub store: Option<Folder>,
    /// The file of the machine's lock, or why there is none.
    pub lock_file: LockFile,
}

/// The state of this process (`/proc/self/status`); unknown values are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// Its effective user.
    pub uid: Option<u32>,
    /// Its effective capabilities, a bit each.
    pub capabilities: Option<u64>,
    /// Whether its user namespace is not that of the machine.
    pub is_in_user_namespace: Option<bool>,
    /// 0 off, 1 strict, 2 filter.
    pub seccomp_mode: Option<u32>,
    /// The number of its seccomp filters.
    pub seccomp_filters: Option<u32>,
    /// Whether programs that it starts gain no privilege.
    pub no_new_privileges: Option<bool>,
}

impl ProcessState {
    /// Whether its effective user is root.
    pub fn is_root(&self) -> Option<bool> {
        self.uid.map(|uid| uid == 0)
    }

    /// Whether it has a capability, by its bit.
    pub fn has(&self, capability: u32) -> Option<bool> {
        self.capabilities.map(|bits| bits >> capability & 1 == 1)
    }
}

/// What /proc shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcView {
    /// There is none.
    #[default]
    Missing,
    /// It is mounted; whose processes it shows is unknown.
    Mounted,
    /// The processes of all users.
    AllUsers,
    /// The processes of this user alone (`hidepid`).
    OwnUser,
}

/// A folder that oscost uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Its path.
    pub path: String,
    /// How it can be used.
    pub access: FolderAccess,
    /// The space for this user on its file system; `None` if unknown.
    pub free_bytes: Option<u64>,
    /// Whether programs in it cannot be started (`noexec`).
    pub forbids_programs: bool,
}

/// How a folder can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FolderAccess {
    /// It is not there.
    #[default]
    Missing,
    /// It is not there, and can be made.
    Creatable,
    /// It is there, and files cannot be made in it.
    NotWritable,
    /// Files can be made in it.
    Writable,
}

/// The file of the machine's lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LockFile {
    /// No folder is open to all users.
    #[default]
    NoFolder,
    /// It cannot be used, for this reason.
    Unusable(String),
    /// It can be used, at this path.
    Usable(String),
}
