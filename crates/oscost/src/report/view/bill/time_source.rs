//! Where the system time of a bill comes from.

use oscost_model::bill::Bill;

/// The build option with which the kernel may count CPU time at each entry and return; it does so on
/// the CPUs that `nohz_full=` names.
const PRECISE_ACCOUNTING: &str = "VIRT_CPU_ACCOUNTING_GEN";
/// The one with which it takes interrupts and softirqs out of the CPU time of tasks.
const INTERRUPTS_APART: &str = "IRQ_TIME_ACCOUNTING";

/// Who counts the CPU time, and what divides it into the times of both modes; `None` where control
/// groups divide it, of which another note tells.
pub(super) fn note(bill: &Bill) -> Option<String> {
    if bill.trials.clock_ticks.is_some() {
        return None;
    }
    let source = match bill.trials.source.as_str() {
        "proc" => "/proc/PID/stat, in hundredths of a second",
        _ => "wait4(2) (rusage), with the teardown at exit",
    };
    let machine = &bill.machine;
    let frequency = machine.os.hz.map_or(String::new(), |hz| format!(", {hz} a second,"));
    let has_tickless = machine.scheduling.nohz_full_cpus.as_ref().is_some_and(|it| !it.is_empty());
    let entries = match has_tickless && has_option(bill, PRECISE_ACCOUNTING) {
        true => ", and on CPUs without ticks (nohz_full) each entry into the kernel,",
        false => "",
    };
    Some(format!(
        "the system time is that of {source}: the scheduler counts CPU time, and \
         clock ticks{frequency}{entries} tell how much of it is the kernel's"
    ))
}

/// What the kernel leaves out of the system time, and prices of elapsed time contain; `None` of nothing.
pub(super) fn left_out(bill: &Bill) -> Option<String> {
    has_option(bill, INTERRUPTS_APART).then(|| {
        format!(
            "the kernel accounts interrupts apart (CONFIG_{INTERRUPTS_APART}): softirqs are not in \
             the system time, but in prices that are elapsed time, as those of calls over loopback, \
             which are too high by as much"
        )
    })
}

/// Whether the kernel was built with an option.
fn has_option(bill: &Bill, name: &str) -> bool {
    let options = bill.machine.os.options.as_deref().unwrap_or_default();
    options.iter().any(|it| it == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::view::bill::made_up;

    #[test]
    fn the_source_is_named_with_what_divides_the_time() {
        let mut bill = made_up::find();
        let os = &mut bill.machine.os;
        (os.hz, os.options) = (Some(250), Some(vec![PRECISE_ACCOUNTING.to_owned()]));
        bill.machine.scheduling.nohz_full_cpus = Some(Vec::new());
        let ticks = note(&bill).unwrap();
        assert!(
            ticks.contains("wait4(2) (rusage), with the teardown at exit: the scheduler"),
            "{ticks}"
        );
        let end = "and clock ticks, 250 a second, tell how much of it is the kernel's";
        assert!(ticks.ends_with(end), "{ticks}");
        bill.machine.scheduling.nohz_full_cpus = Some(vec![3]);
        let text = note(&bill).unwrap();
        assert!(text.contains("(nohz_full) each entry into the kernel,"), "{text}");
        // A kernel without the option has no such CPUs to count on.
        bill.machine.os.options = None;
        bill.machine.os.hz = None;
        bill.trials.source = "proc".to_owned();
        let text = note(&bill).unwrap();
        assert!(text.contains("/proc/PID/stat, in hundredths of a second:"), "{text}");
        assert!(text.ends_with("and clock ticks tell how much of it is the kernel's"), "{text}");
        bill.trials.clock_ticks = Some(40.0);
        assert_eq!(note(&bill), None, "the ticks of groups");
    }

    #[test]
    fn what_a_kernel_that_accounts_interrupts_apart_leaves_out_is_told() {
        let mut bill = made_up::find();
        bill.machine.os.options = None;
        assert_eq!(left_out(&bill), None);
        bill.machine.os.options = Some(vec![PRECISE_ACCOUNTING.to_owned()]);
        assert_eq!(left_out(&bill), None);
        bill.machine.os.options = Some(vec![INTERRUPTS_APART.to_owned()]);
        let text = left_out(&bill).unwrap();
        assert!(text.contains("apart (CONFIG_IRQ_TIME_ACCOUNTING): softirqs are not in"), "{text}");
    }
}
