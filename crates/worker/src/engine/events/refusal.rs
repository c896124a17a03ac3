//! Why an event cannot be counted, and what would change that.

use crate::kernel::Errno;

/// What decides about counters on a machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// `perf_event_paranoid`, if it could be read.
    pub paranoid: Option<i32>,
    /// Whether a filter restricts the system calls of this process.
    pub is_filtered: bool,
    /// The hypervisor, if the machine is its guest.
    pub hypervisor: Option<&'a str>,
}

impl Circumstances<'_> {
    /// Why the kernel's part is not visible.
    pub(super) fn hidden_kernel(&self) -> String {
        match self.paranoid {
            Some(level) if level <= 1 => format!(
                "a security module hides the kernel's part, although perf_event_paranoid is {level}"
            ),
            Some(level) => {
                format!("perf_event_paranoid is {level}: needs 1 or less, or CAP_PERFMON")
            }
            None => "the kernel's part is hidden: needs CAP_PERFMON".to_owned(),
        }
    }

    fn filter_note(&self) -> &'static str {
        match self.is_filtered {
            true => {
                "; a seccomp filter restricts system calls here (with docker: --security-opt \
                 seccomp=unconfined, or --cap-add PERFMON)"
            }
            false => "",
        }
    }
}

/// An error of perf_event_open(2), as one looks it up in its manual.
pub fn open_error(error: Errno) -> String {
    let name = match error {
        Errno::ENOENT => "ENOENT",
        Errno::EPERM => "EPERM",
        Errno::EACCES => "EACCES",
        Errno::ENOSYS => "ENOSYS",
        Errno::EOPNOTSUPP => "EOPNOTSUPP",
        Errno::EBUSY => "EBUSY",
        Errno::EINVAL => "EINVAL",
        Errno::EMFILE => "EMFILE",
        Errno::ENOSPC => "ENOSPC",
        Errno::E2BIG => "E2BIG",
        Errno(libc::ENODEV) => "ENODEV",
        other => return format!("perf_event_open: {other}"),
    };
    format!("perf_event_open: {name}")
}

/// What the driver of counters means that cannot exclude a mode (PERF_PMU_CAP_NO_EXCLUDE), or that does
/// not know an event.
const ONE_MODE: &str = "; the driver of the processor's counters refuses it: it does not know the \
                        event, or cannot count one mode of the processor alone";

/// Why an event cannot be counted, by the error of perf_event_open(2).
pub(super) fn refusal(error: Errno, circumstances: &Circumstances<'_>) -> String {
    let note = match error {
        Errno::ENOENT => "; this processor or this virtual machine has no counter for it",
        Errno::EBUSY => "; another user has the counters",
        Errno::EOPNOTSUPP => "; the processor's counters do not support it",
        Errno::EINVAL => ONE_MODE,
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS => circumstances.filter_note(),
        _ => "",
    };
    open_error(error) + note
}

/// Why instructions and cycles cannot be counted, in a line.
pub(super) fn unavailable(error: Errno, circumstances: &Circumstances<'_>) -> String {
    /// From here on the kernel refuses ordinary users (a patch of Debian, Ubuntu and Android).
    const NO_USERS: i32 = 3;
    let act = format!("instructions and cycles cannot be counted: {}", open_error(error));
    let level = circumstances.paranoid;
    let filter = circumstances.filter_note();
    let remedy = match (error, level) {
        (Errno::EPERM | Errno::EACCES, Some(level)) if level >= NO_USERS => format!(
            "; perf_event_paranoid is {level}: needs 2 or less (1 or less to see the kernel's \
             part), or CAP_PERFMON"
        ),
        (Errno::EPERM | Errno::EACCES, _) if filter.is_empty() => {
            "; a security module or a container forbids perf_event_open(2): needs CAP_PERFMON"
                .to_owned()
        }
        (Errno::EPERM | Errno::EACCES | Errno::ENOSYS, _) if !filter.is_empty() => {
            filter.to_owned()
        }
        (Errno::ENOSYS, _) => "; the kernel has no perf_event_open(2) (CONFIG_PERF_EVENTS)".into(),
        (Errno::ENOENT | Errno::EOPNOTSUPP | Errno(libc::ENODEV), _) => {
            match circumstances.hypervisor {
                Some(name) => format!(
                    "; the hypervisor ({name}) shows no counters to this guest: needs a virtual \
                     PMU (QEMU: `-cpu host,pmu=on`)"
                ),
                None => "; the kernel has no driver for this processor's counters".to_owned(),
            }
        }
        (Errno::EINVAL, _) => ONE_MODE.to_owned(),
        (Errno::EBUSY, _) => {
            "; another user has the counters (the NMI watchdog, a profiler)".into()
        }
        _ => String::new(),
    };
    act + &remedy
}

/// Why they cannot, where those of the kernel cannot be counted by themselves, although they may be.
pub(super) fn one_mode(refused: &str) -> String {
    format!(
        "instructions and cycles cannot be counted: those in kernel mode cannot be told from those in \
         user mode: {refused}"
    )
}

/// Why they cannot, where each can be counted, but only so many events at once.
pub(super) fn too_few(simultaneous: Option<u32>) -> String {
    format!(
        "instructions and cycles cannot be counted: of the two that are needed {} can be counted at \
         once; another user may have the other counters (the NMI watchdog, a profiler)",
        simultaneous.unwrap_or(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: Circumstances<'_> =
        Circumstances { paranoid: Some(2), is_filtered: false, hypervisor: Some("kvm") };

    #[test]
    fn each_cause_is_told_apart_and_has_its_remedy() {
        let shown = |error, circumstances: Circumstances<'_>| unavailable(error, &circumstances);
        assert!(shown(Errno::ENOENT, GUEST).contains("the hypervisor (kvm) shows no counters"));
        let own = Circumstances { hypervisor: None, ..GUEST };
        assert!(shown(Errno::ENOENT, own).ends_with("no driver for this processor's counters"));
        let strict = Circumstances { paranoid: Some(4), ..GUEST };
        assert!(shown(Errno::EACCES, strict).contains("perf_event_paranoid is 4: needs 2 or less"));
        let filtered = Circumstances { is_filtered: true, ..GUEST };
        for error in [Errno::EPERM, Errno::ENOSYS] {
            assert!(shown(error, filtered).contains("--cap-add PERFMON"), "{error}");
        }
        assert!(shown(Errno::EPERM, GUEST).contains("security module"));
        assert!(shown(Errno::ENOSYS, GUEST).contains("CONFIG_PERF_EVENTS"));
        assert!(shown(Errno::EBUSY, GUEST).contains("NMI watchdog"));
        assert!(
            shown(Errno::EINVAL, GUEST).ends_with("cannot count one mode of the processor alone")
        );
        assert!(shown(Errno(libc::EIO), GUEST).contains(": perf_event_open: Input/output error"));
        assert!(refusal(Errno::EBUSY, &GUEST).starts_with("perf_event_open: EBUSY; another user"));
    }

    #[test]
    fn the_kernels_part_is_hidden_by_the_level_of_the_sysctl() {
        let reason = GUEST.hidden_kernel();
        assert_eq!(reason, "perf_event_paranoid is 2: needs 1 or less, or CAP_PERFMON");
        assert!(Circumstances::default().hidden_kernel().contains("CAP_PERFMON"));
        let low = Circumstances { paranoid: Some(1), ..GUEST };
        assert!(low.hidden_kernel().starts_with("a security module hides"));
    }
}
