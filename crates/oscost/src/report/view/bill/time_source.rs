//! Where the system time of a bill comes from.

use oscost_model::bill::Bill;

/// The build option with which the kernel may count CPU time at each entry and return; it does so on
/// the CPUs that `nohz_full=` names.
const PRECISE_ACCOUNTING: &str = "VIRT_CPU_ACCOUNTING_GEN";
/// The one with which it takes interrupts and softirqs out of the CPU time of tasks.
const INTERRUPTS_APART: &str = "IRQ_TIME_ACCOUNTING";

/// Who tells the CPU time, which the scheduler counts exactly, and what divides it into the times of both
/// modes; `None` where control groups divide it, of which another note tells.
pub(super) fn note(bill: &Bill) -> Option<String> {
    if bill.trials.clock_ticks.is_some() {
        return None;
    }
    let source = match bill.trials.source.as_str() {
        "proc" => "/proc/PID/stat, in hundredths of a second",
        _ => "wait4(2) (rusage), with the teardown at exit",
    };
    let machine = &bill.machine;
    let frequency = machine.os.hz.map(|hz| format!("{hz} a second"));
    let has_tickless = machine.scheduling.nohz_full_cpus.as_ref().is_some_and(|it| !it.is_empty());
    let is_precise = has_tickless && has_option(bill, PRECISE_ACCOUNTING);
    let entries = is_precise.then(|| "on CPUs in nohz_full each entry".to_owned());
    let of_ticks: Vec<String> = frequency.into_iter().chain(entries).collect();
    let of_ticks = match of_ticks.is_empty() {
        true => String::new(),
        false => format!(" ({})", of_ticks.join("; ")),
    };
    Some(format!("system time: by {source}; clock ticks{of_ticks} divide exact CPU time"))
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
        let words = "system time: by wait4(2) (rusage), with the teardown at exit; clock ticks (250 a \
                     second) divide exact CPU time";
        assert_eq!(ticks, words);
        bill.machine.scheduling.nohz_full_cpus = Some(vec![3]);
        let text = note(&bill).unwrap();
        assert!(text.contains("(250 a second; on CPUs in nohz_full each entry) divide"), "{text}");
        // A kernel without the option has no such CPUs to count on.
        bill.machine.os.options = None;
        bill.machine.os.hz = None;
        bill.trials.source = "proc".to_owned();
        let words = "system time: by /proc/PID/stat, in hundredths of a second; clock ticks divide \
                     exact CPU time";
        assert_eq!(note(&bill).as_deref(), Some(words));
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
