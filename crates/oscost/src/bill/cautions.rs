//! Why a program may behave otherwise while it is counted, or under its treatments.

use oscost_model::program_calls::ProgramCalls;

/// The counter that stops the program at its calls.
const TRACER: &str = "ptrace";
/// Treatments under which execve(2) gives a program no other user: filters need `no_new_privs`, and a
/// tracer without privileges has the same effect.
const RESTRICTING: [&str; 5] = ["seccomp", "seccomp-trace", "seccomp-notify", "ptrace", "ph"];

/// What is known of the file of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramFile {
    /// Whether its mode makes it run as another user or group.
    pub is_set_id: bool,
}

/// Why a program that did this may have done something else without its counter, or without its
/// treatments, as sentences. A counter that does not stop it changes nothing.
pub fn cautions(calls: &ProgramCalls, file: ProgramFile, treatments: &[String]) -> Vec<String> {
    let is_traced = calls.by == TRACER;
    let is_trace = |form: &str| form == "ptrace" || form.starts_with("ptrace ");
    let traces: u64 = calls.forms.iter().filter(|it| is_trace(&it.form)).map(|it| it.calls).sum();
    let of_trace = (is_traced && traces > 0).then(|| {
        format!(
            "it traces processes itself ({traces} x ptrace), and a process has one tracer: while \
             it is counted such calls fail"
        )
    });
    let set_id = || file.is_set_id.then_some("its file is set-user-ID or set-group-ID");
    let name_of = |text: &str| text.split('=').next().unwrap_or(text).to_owned();
    let mut names = treatments.iter().map(|it| name_of(it));
    let of_set_id = match names.find(|name| RESTRICTING.contains(&name.as_str())) {
        Some(name) => set_id().map(|why| format!("{why}: under {name} it may run as its caller")),
        None => set_id().filter(|_| is_traced).map(|why| {
            format!("{why}: while an unprivileged tracer counts it, it runs as its caller")
        }),
    };
    of_trace.into_iter().chain(of_set_id).collect()
}

/// What counting clock reads added to the time of a process that was watched, which has no untouched
/// trials: each call of these functions met a breakpoint in the kernel.
pub fn traps_in_watch(calls: &ProgramCalls) -> Option<String> {
    let reads = calls.events?.clock_reads?;
    let of_functions = [Some(reads.clock_gettime), reads.gettimeofday, reads.time];
    let traps = of_functions.into_iter().flatten().fold(0, u64::saturating_add);
    (traps > 0).then(|| {
        format!(
            "its measured system time contains the traps by which clock reads were counted: \
             {traps}, of 1 to 2 us each"
        )
    })
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::{ClockReads, FormCount, KernelEvents};

    use super::*;

    fn calls(by: &str, forms: &[(&str, u64)]) -> ProgramCalls {
        let count = |&(form, calls): &(&str, u64)| FormCount {
            form: form.to_owned(),
            calls,
            ..FormCount::default()
        };
        let forms = forms.iter().map(count).collect();
        ProgramCalls { by: by.to_owned(), forms, ..ProgramCalls::default() }
    }

    #[test]
    fn a_tracer_of_its_own_and_another_user_are_told_of_what_was_stopped() {
        let set_id = ProgramFile { is_set_id: true };
        let own = [("ptrace", 2), ("ptrace ESRCH", 3), ("ptracer", 9), ("read file", 1)];
        let found = cautions(&calls("ptrace", &own), set_id, &[]);
        assert!(found[0].contains("(5 x ptrace)"), "{found:?}");
        assert!(found[1].contains("set-user-ID") && found.len() == 2, "{found:?}");
        assert!(cautions(&calls("ptrace", &own[2..]), ProgramFile::default(), &[]).is_empty());
        assert!(cautions(&calls("ebpf", &own), set_id, &[]).is_empty(), "nothing is stopped");
    }

    #[test]
    fn a_filter_keeps_a_program_from_another_user_whatever_counts_it() {
        let set_id = ProgramFile { is_set_id: true };
        let treatments = ["nice=5", "seccomp=docker"].map(str::to_owned);
        for by in ["ptrace", "ebpf"] {
            let found = cautions(&calls(by, &[]), set_id, &treatments);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].ends_with("under seccomp it may run as its caller"), "{found:?}");
        }
        assert!(cautions(&calls("ebpf", &[]), set_id, &treatments[..1]).is_empty());
        assert!(cautions(&calls("ebpf", &[]), ProgramFile::default(), &treatments).is_empty());
    }

    #[test]
    fn traps_of_clock_reads_are_told_of_a_watch_alone_that_had_some() {
        let counted = |clock_reads| {
            let events = Some(KernelEvents { clock_reads, ..KernelEvents::default() });
            traps_in_watch(&ProgramCalls { events, ..calls("ebpf", &[]) })
        };
        // A trap at each function, also where one calls the other.
        let reads = ClockReads { clock_gettime: 10, gettimeofday: None, time: Some(3), nested: 3 };
        let told = counted(Some(reads)).unwrap();
        assert!(told.ends_with("were counted: 13, of 1 to 2 us each"), "{told}");
        assert_eq!(counted(Some(ClockReads::default())), None);
        assert_eq!(counted(None), None);
        assert_eq!(traps_in_watch(&calls("ptrace", &[])), None);
    }
}
