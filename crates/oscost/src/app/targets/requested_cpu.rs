//! The CPU of this machine that a user names: it is tried before the machine is waited for.

use std::path::Path;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use oscost_model::target::Host;

use crate::app::error::UsageError;
use crate::run::RunError;

/// Where the kernel lists the CPUs of the machine, those beyond [`CpuSet`] as well.
const CPUS: &str = "/sys/devices/system/cpu";
/// The thread that calls.
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Refuses a CPU of this machine on which no worker could run. Those of another machine are known
/// when its supervisor has answered, and where nothing is known the run itself refuses.
pub(crate) fn check_cpu(host: &Host, cpu: Option<u32>) -> Result<(), UsageError> {
    match (host, cpu) {
        (Host::Local, Some(cpu)) if !exists(cpu) || !can_run_on(cpu) => {
            let error = RunError::UnavailableCpu { cpu, allowed: allowed_cpus() };
            Err(UsageError(error.to_string()))
        }
        _ => Ok(()),
    }
}

fn exists(cpu: u32) -> bool {
    let cpus = Path::new(CPUS);
    !cpus.is_dir() || cpus.join(format!("cpu{cpu}")).exists()
}

/// Whether a thread may be pinned to a CPU. The mask of this process does not say so: `isolcpus=` leaves
/// CPUs out of it that may be used. It is tried in a thread of its own, whose mask ends with it.
fn can_run_on(cpu: u32) -> bool {
    let cpu = cpu as usize;
    if cpu >= CpuSet::count() {
        return true;
    }
    let pin = move || {
        let mut mask = CpuSet::new();
        mask.set(cpu).and_then(|()| sched_setaffinity(THIS_THREAD, &mask))
    };
    let Ok(thread) = std::thread::Builder::new().spawn(pin) else { return true };
    // Any other error is that of a sandbox, which says nothing of the CPU.
    !matches!(thread.join(), Ok(Err(Errno::EINVAL)))
}

/// The CPUs of the mask of this process; empty if they are not known.
fn allowed_cpus() -> Vec<u32> {
    let mask = sched_getaffinity(THIS_THREAD).unwrap_or_default();
    let is_in = |cpu: &u32| mask.is_set(*cpu as usize).unwrap_or(false);
    (0..CpuSet::count() as u32).filter(is_in).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_of_the_mask_is_taken_and_a_missing_one_refused_with_those_of_the_mask() {
        let before = allowed_cpus();
        for &cpu in &before {
            assert!(check_cpu(&Host::Local, Some(cpu)).is_ok(), "{cpu}");
        }
        assert_eq!(allowed_cpus(), before, "the mask of the process is as it was");
        for missing in [4_095, u32::MAX] {
            let error = check_cpu(&Host::Local, Some(missing)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot measure on CPU {missing}\n  hint: ")));
            assert!(error.contains(&format!("this process: {}", before[0])), "{error}");
            assert!(check_cpu(&Host::Ssh("db1".to_owned()), Some(missing)).is_ok());
        }
        assert!(check_cpu(&Host::Local, None).is_ok());
    }
}
