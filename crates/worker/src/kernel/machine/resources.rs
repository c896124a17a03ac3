//! What this machine provides of memory, disks and CPUs, and hints where something is missing.

use std::fs;
use std::path::{Path, PathBuf};

use oscost_model::resource::Resource as RequiredResource;
use rustix::fs::{Access, access, statfs, statvfs};
use rustix::process::{Resource, getrlimit};

use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::memory::region::{self, PAGE_BYTES, PageKind, Region};
use crate::kernel::memory::userfaultfd;

/// What is missing and how to provide it; `None` if the resource is available.
pub fn missing(resource: RequiredResource) -> Option<String> {
    match resource {
        RequiredResource::SmallPages => other_pages(),
        RequiredResource::TransparentHugePages => no_transparent_huge_pages(),
        RequiredResource::HugePages(mib) => too_few_huge_pages(mib),
        RequiredResource::Memory(mib) => too_little_memory(mib),
        RequiredResource::LockedMemory(mib) => too_little_locked(mib),
        RequiredResource::Userfaultfd => no_userfaultfd(),
        RequiredResource::Swap => no_swap(),
        RequiredResource::ScratchFile(mib) => no_scratch_file(mib),
        RequiredResource::ScratchOnDisk => scratch_without_disk(),
        RequiredResource::SecondCpu => {
            missing_second_cpu(&affinity::allowed_cpus(0).unwrap_or_default())
        }
    }
}

/// A small file's text, without the end of its last line.
fn read_trimmed(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn other_pages() -> Option<String> {
    let bytes = region::kernel_page_bytes();
    (bytes != PAGE_BYTES).then(|| {
        format!("pages have {bytes} bytes here: it needs a kernel with pages of {PAGE_BYTES}")
    })
}

fn no_transparent_huge_pages() -> Option<String> {
    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    match read_trimmed(ENABLED) {
        None => Some(format!(
            "this kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE): there is no \
             {ENABLED}"
        )),
        Some(text) if text.contains("[never]") => Some(format!(
            "transparent huge pages are switched off: `echo madvise | sudo tee {ENABLED}` enables \
             them on request"
        )),
        Some(_) => None,
    }
}

fn too_few_huge_pages(mib: u64) -> Option<String> {
    const POOL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let Some(free) = read_trimmed(&format!("{POOL}/free_hugepages")) else {
        return Some(format!("this kernel has no huge pages of 2 MiB: there is no {POOL}"));
    };
    let (free, wanted) = (free.parse::<u64>().unwrap_or(0), mib / 2);
    (free < wanted).then(|| {
        format!(
            "{free} huge pages are free, and {wanted} are needed: \
             `echo {wanted} | sudo tee {POOL}/nr_hugepages`"
        )
    })
}

/// What RLIMIT_AS leaves of the address space; `None` if it is unlimited.
pub(in crate::kernel) fn address_space_left_bytes() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let pages = read_trimmed("/proc/self/statm").unwrap_or_default();
    // The first field is the size.
    let pages: u64 = pages.split(' ').next().and_then(|pages| pages.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(pages * region::kernel_page_bytes() as u64))
}

fn too_little_memory(mib: u64) -> Option<String> {
    if let Some(left) = address_space_left_bytes().map(|bytes| bytes >> 20)
        && left < mib
    {
        return Some(format!(
            "RLIMIT_AS leaves {left} MiB of address space, and {mib} are needed: `ulimit -v \
             unlimited` in the shell that starts oscost"
        ));
    }
    let left = available_bytes()? >> 20;
    (left < mib).then(|| {
        format!(
            "{left} MiB of memory are available, and {mib} are needed: choose a smaller size, \
             raise the control group's memory limit, or end other programs"
        )
    })
}

/// The available memory: the machine's, or less by a control group's limit.
pub(in crate::kernel) fn available_bytes() -> Option<u64> {
    let mut left = meminfo("MemAvailable:")?;
    for group in memory_groups() {
        let used = if group.is_first_version { "memory.usage_in_bytes" } else { "memory.current" };
        let files = [group.limit_file(), used];
        if let [Some(limit), Some(used)] = files.map(|file| number(&group.folder, file)) {
            left = left.min(limit.saturating_sub(used));
        }
    }
    Some(left)
}

/// The total memory for programs and caches: the machine's, or less by a control group's limit.
pub(in crate::kernel) fn memory_bytes() -> Option<u64> {
    let machine = meminfo("MemTotal:")?;
    let limits =
        memory_groups().into_iter().filter_map(|group| number(&group.folder, group.limit_file()));
    Some(limits.fold(machine, u64::min))
}

fn meminfo(title: &str) -> Option<u64> {
    let meminfo = read_trimmed("/proc/meminfo")?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix(title))?;
    Some(line.trim().split(' ').next()?.parse::<u64>().ok()? << 10)
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    read_trimmed(folder.join(file).to_str()?)?.parse().ok()
}

/// A control group that limits this process's memory.
pub(in crate::kernel) struct MemoryGroup {
    pub(in crate::kernel) folder: PathBuf,
    pub(in crate::kernel) is_first_version: bool,
}

impl MemoryGroup {
    /// The name of the file with its limit.
    pub(in crate::kernel) fn limit_file(&self) -> &'static str {
        if self.is_first_version { "memory.limit_in_bytes" } else { "memory.max" }
    }
}

/// The control groups that limit this process's memory, innermost first.
pub(in crate::kernel) fn memory_groups() -> Vec<MemoryGroup> {
    let lines = read_trimmed("/proc/self/cgroup").unwrap_or_default();
    let is_of_memory = |line: &&str| {
        line.split(':').nth(1).is_some_and(|of| of.split(',').any(|of| of == "memory"))
    };
    let first = lines.lines().find(is_of_memory);
    let root = if first.is_some() { "/sys/fs/cgroup/memory" } else { "/sys/fs/cgroup" };
    let Some(line) = first.or_else(|| lines.lines().find(|line| line.starts_with("0::"))) else {
        return Vec::new();
    };
    let path = line.splitn(3, ':').nth(2).unwrap_or_default();
    // In a container the path may be the host's and missing, while its ancestors may exist.
    let own = Path::new(root).join(path.trim_start_matches('/'));
    own.ancestors()
        .take_while(|group| group.starts_with(root))
        .filter(|group| group.is_dir())
        .map(|group| MemoryGroup { folder: group.to_owned(), is_first_version: first.is_some() })
        .collect()
}

/// RLIMIT_FSIZE; `None` if unlimited.
pub(in crate::kernel) fn file_size_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

fn too_little_locked(mib: u64) -> Option<String> {
    // The limit does not apply with CAP_IPC_LOCK: trying is more reliable than reading it.
    let tried = Region::anonymous((mib as usize) << 20, PageKind::Small);
    let error = tried.and_then(|region| region.lock()).err()?;
    let limit = getrlimit(Resource::Memlock).current.map_or_else(
        || "there is no RLIMIT_MEMLOCK".to_owned(),
        |bytes| format!("RLIMIT_MEMLOCK is {} KiB", bytes >> 10),
    );
    Some(format!(
        "{mib} MiB cannot be locked into memory ({error}; {limit}): `ulimit -l unlimited` in the \
         shell that starts oscost, as root"
    ))
}

fn no_userfaultfd() -> Option<String> {
    let error = userfaultfd::open().err()?;
    Some(match error {
        Errno::ENOSYS => {
            "this kernel has no userfaultfd(2): it needs CONFIG_USERFAULTFD".to_owned()
        }
        _ => format!(
            "userfaultfd(2) is refused here ({error}): \
             `sudo sysctl vm.unprivileged_userfaultfd=1`, or in a container a seccomp profile that \
             allows it (docker run --security-opt seccomp=unconfined)"
        ),
    })
}

fn no_swap() -> Option<String> {
    const ZRAM: &str = "`sudo sh -c 'd=$(zramctl -f -s 256M) && mkswap $d && swapon $d'`";
    // A header line, then one line per area.
    let areas =
        read_trimmed("/proc/swaps").map_or(0, |text| text.lines().count().saturating_sub(1));
    if areas == 0 {
        return Some(format!("there is no swap space here: {ZRAM} makes some in memory"));
    }
    match leaves_memory() {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "a page that is swapped out here stays in memory too (in the swap cache), for as long \
             as memory is not short: it takes a device that has written when it says so: {ZRAM}, \
             or `echo Y | sudo tee /sys/module/zswap/parameters/enabled`"
        )),
        Err(error) => Some(format!("no page can be swapped out here: {error}")),
    }
}

/// Whether a swapped-out page leaves memory.
fn leaves_memory() -> Result<bool, Errno> {
    let region = Region::anonymous(PAGE_BYTES, PageKind::Small)?;
    region.touch_all(region::Access::Write);
    region.advise(libc::MADV_PAGEOUT)?;
    Ok(region.resident_pages()? == 0)
}

/// The working folder: the scratch folder of a worker.
fn user_folder_name() -> String {
    std::env::current_dir().map_or_else(|_| ".".to_owned(), |path| path.display().to_string())
}

fn no_scratch_file(mib: u64) -> Option<String> {
    let hint = "`TMPDIR=FOLDER oscost run ...` names another one";
    if let Err(error) = access(".", Access::WRITE_OK).map_err(Errno::from) {
        return Some(format!("{} is not writable ({error}): {hint}", user_folder_name()));
    }
    let space = statvfs(".").ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize) >> 20;
    if free >= mib {
        return None;
    }
    Some(format!("{} has space for {free} MiB, and {mib} are needed: {hint}", user_folder_name()))
}

fn scratch_without_disk() -> Option<String> {
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    let kind = statfs(".").ok()?.f_type;
    (kind == libc::TMPFS_MAGIC || kind == RAMFS_MAGIC).then(|| {
        format!(
            "{} lies in memory (tmpfs), with no disk behind it: `TMPDIR=/var/tmp oscost run ...` \
             takes a folder on a disk",
            user_folder_name()
        )
    })
}

/// The same for a second CPU, of a process that was allowed these before it was pinned.
pub fn missing_second_cpu(allowed: &[u32]) -> Option<String> {
    (allowed.len() < 2).then(|| {
        "only one CPU is available, and two are needed: choose a machine, container or cpuset \
         with two"
            .to_owned()
    })
}
