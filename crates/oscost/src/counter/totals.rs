//! What the programs have counted, as the calls of a program.

use std::collections::BTreeMap;

use oscost_model::call_form::FormKey;
use oscost_model::call_names::Arch;
use oscost_model::mark;
use oscost_model::program_calls::{FormCount, FormTime, KernelEvents, KernelTime, ProgramCalls};

use super::form_sum::FormSum;
use super::layout::{FormNames, read_u64s};

/// How this counter is named in what it has counted.
pub const COUNTER_NAME: &str = "ebpf";

/// A field of `struct state`, in its order: all are numbers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The token of the mark of the process that starts the program; 0 if nobody is to make one.
    Token,
    /// The option of a mark.
    MarkOption,
    /// The number of the mark.
    MarkNumber,
    /// Whether processes that a followed one creates are followed.
    Children,
    /// The process that has made the mark.
    Starter,
    /// The process whose calls are counted with those of its descendants; 0 before it has executed
    /// its program.
    Root,
    /// Whether it has ended: nothing is counted any more.
    HasEnded,
    /// When it executed its program, on the clock of the kernel (CLOCK_MONOTONIC), in nanoseconds.
    BeganNs,
    /// When it ended.
    EndedNs,
    /// Processes that were created.
    Forks,
    /// Threads that were created.
    Threads,
    /// Programs that were executed.
    Execs,
    /// Tasks that ended.
    Exits,
    /// Signals that were delivered.
    Signals,
    /// Calls that never returned.
    Unfinished,
    /// Arguments that could not be read.
    Unread,
    /// Events for which there was no room.
    Lost,
    /// Tasks outside of the root that were created and have not ended.
    Alive,
    /// Those when the root ended.
    Left,
    /// Whether a process that runs already is counted: its tasks have no entry at first.
    Watched,
    /// Whether all tracepoints are there that tell the kind of a fault.
    TellsKinds,
    /// Tasks that were woken while a task outside ran of which the kernel does not tell whether it was in
    /// a call (before Linux 5.15).
    HiddenWakers,
}

/// The number of fields.
const FIELDS: usize = Field::HiddenWakers as usize + 1;

/// `struct state`: what is followed, and what is counted that is no call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State([u64; FIELDS]);

impl State {
    /// Of a program that the process with this mark starts.
    pub fn of_program(token: u64) -> Self {
        Self([0; FIELDS])
            .with(Field::Token, token)
            .with(Field::MarkOption, mark::OPTION.into())
            .with(Field::MarkNumber, mark::PROGRAM_START.into())
            .with(Field::Children, 1)
    }

    /// Of a process that runs.
    pub fn of_process(process: u32, children: bool) -> Self {
        Self([0; FIELDS])
            .with(Field::Root, process.into())
            .with(Field::Children, children.into())
            .with(Field::Watched, 1)
    }

    /// From the value of a map.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(read_u64s(bytes))
    }

    /// As the value of a map.
    pub fn bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    /// A field.
    pub fn get(&self, field: Field) -> u64 {
        self.0[field as usize]
    }

    /// With another value of a field.
    #[must_use]
    pub fn with(mut self, field: Field, value: u64) -> Self {
        self.0[field as usize] = value;
        self
    }
}

/// What was counted, from the sums of the programs by their keys. Sums of keys that stand for the
/// same form are added.
pub fn program_calls(
    state: &State,
    sums: impl IntoIterator<Item = KeySum>,
    events: KernelEvents,
    arch: Arch,
) -> ProgramCalls {
    let names = FormNames::of(arch);
    let mut by_form: BTreeMap<FormKey, FormSum> = BTreeMap::new();
    let mut unknown = 0;
    for KeySum { key, sum } in sums {
        match names.form(&key) {
            Some(form) if sum.calls() > 0 => {
                let so_far = by_form.entry(form).or_default();
                *so_far = so_far.plus(sum);
            }
            // The entry of the forms without room has no calls, mostly.
            Some(_) => {}
            None => unknown += sum.calls(),
        }
    }
    let mut times: BTreeMap<&str, FormSum> = BTreeMap::new();
    for (key, &sum) in &by_form {
        let so_far = times.entry(&key.form).or_default();
        *so_far = so_far.plus(sum);
    }
    // Only calls that return have times: exits have none.
    let timed = times.into_iter().filter(|(_, sum)| sum.timed() > 0);
    let in_kernel = timed.map(|(form, sum)| FormTime {
        form: form.to_owned(),
        time: KernelTime {
            calls: sum.timed(),
            on_cpu_ns: sum.on_cpu_ns,
            off_cpu_ns: sum.off_cpu_ns,
        },
        on_cpu_histogram: sum.on_cpu_histogram(),
        off_cpu_histogram: sum.off_cpu_histogram(),
    });
    let in_kernel = in_kernel.collect();
    let forms = by_form.into_iter().map(|(key, sum)| {
        let FormKey { form, bytes, descriptors, mappings, messages, depth } = key;
        let (calls, moved, rare) = (sum.calls(), sum.moved, Some(sum.rare));
        FormCount { form, bytes, descriptors, mappings, messages, depth, calls, moved, rare }
    });
    let is_told = state.get(Field::HiddenWakers) == 0;
    let remote_wakes_by_outside = events.remote_wakes_by_outside.filter(|_| is_told);
    ProgramCalls {
        by: COUNTER_NAME.to_owned(),
        forms: forms.collect(),
        forks: state.get(Field::Forks),
        threads: state.get(Field::Threads),
        execs: state.get(Field::Execs),
        exits: state.get(Field::Exits),
        signals: state.get(Field::Signals),
        unfinished: state.get(Field::Unfinished),
        killed: state.get(Field::Left),
        unread: state.get(Field::Unread),
        real_ns: state.get(Field::EndedNs).saturating_sub(state.get(Field::BeganNs)),
        lost: state.get(Field::Lost) + unknown,
        in_kernel,
        events: Some(KernelEvents { remote_wakes_by_outside, ..events }),
    }
}

/// The sum of a key over all CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySum {
    /// The key, a `struct form`.
    pub key: Vec<u8>,
    /// The sum.
    pub sum: FormSum,
}

#[cfg(test)]
mod tests {
    use oscost_model::program_calls::{OutsideWakesByCall, TimeBucket};

    use super::*;
    use crate::counter::form_sum::BUCKETS;
    use crate::counter::layout::{FORM_BYTES, other_key};

    fn exits(calls: u64) -> FormSum {
        FormSum { untimed: calls, ..FormSum::default() }
    }

    /// Calls that took 64 ns to 128 ns each, of which `blocked` were off the CPU.
    fn timed(calls: u64, blocked: u64) -> FormSum {
        let mut sum = FormSum { moved: 10 * calls, on_cpu_ns: 100 * calls, ..FormSum::default() };
        sum.off_cpu_ns = 3_000 * blocked;
        sum.on_cpu[1] = calls;
        sum.off_cpu[BUCKETS - 1] = blocked;
        sum
    }

    /// The key of a call without more than its number.
    fn key(number: u32) -> Vec<u8> {
        let mut key = number.to_ne_bytes().to_vec();
        key.resize(FORM_BYTES, 0);
        key
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state = State::of_program(7).with(Field::Left, 3);
        assert_eq!(State::from_bytes(&state.bytes()), state);
        assert_eq!((state.get(Field::Token), state.get(Field::Left)), (7, 3));
        let state = State::of_process(9, false);
        let fields = [Field::Root, Field::Children, Field::Token].map(|field| state.get(field));
        assert_eq!(fields, [9, 0, 0]);
    }

    #[test]
    fn sums_of_all_cpus_and_keys_are_added_by_form() {
        let state = State::of_program(7)
            .with(Field::Forks, 2)
            .with(Field::Lost, 5)
            .with(Field::BeganNs, 100)
            .with(Field::EndedNs, 400);
        let of_cpus = timed(1, 0).plus(timed(2, 1));
        let getppid = 110;
        let exit_group = 231;
        let sums = [
            KeySum { key: key(getppid), sum: of_cpus },
            KeySum { key: key(exit_group), sum: exits(1) },
            KeySum { key: key(0x4000_0000), sum: timed(1, 0) },
            KeySum { key: other_key(), sum: FormSum::default() },
            KeySum { key: vec![1], sum: exits(4) },
        ];
        let calls = program_calls(&state, sums, KernelEvents::default(), Arch::X86_64);
        let forms: Vec<(&str, u64, u64)> =
            calls.forms.iter().map(|it| (it.form.as_str(), it.calls, it.moved)).collect();
        let expected = [("exit_group", 1, 0), ("getppid", 3, 30), ("syscall_1073741824", 1, 10)];
        assert_eq!(forms, expected);
        let time = KernelTime { calls: 3, on_cpu_ns: 300, off_cpu_ns: 3_000 };
        // An exit does not return.
        let expected = FormTime {
            form: "getppid".to_owned(),
            time,
            on_cpu_histogram: vec![TimeBucket { below_ns: Some(128), calls: 3 }],
            off_cpu_histogram: vec![TimeBucket { below_ns: None, calls: 1 }],
        };
        assert_eq!(calls.in_kernel[0], expected);
        assert_eq!(calls.in_kernel.len(), 2);
        assert_eq!((calls.forks, calls.real_ns, calls.by.as_str()), (2, 300, COUNTER_NAME));
        assert_eq!(calls.lost, 5 + 4, "what has no form is lost");
    }

    #[test]
    fn who_was_woken_from_outside_is_unknown_where_a_waker_could_not_be_looked_at() {
        let wakes = Some(OutsideWakesByCall::default());
        let events = KernelEvents {
            remote_wakes_of_outside: wakes,
            remote_wakes_by_outside: wakes,
            ..KernelEvents::default()
        };
        let found = |hidden| {
            let state = State::of_program(7).with(Field::HiddenWakers, hidden);
            let calls = program_calls(&state, Vec::new(), events, Arch::X86_64);
            let events = calls.events.unwrap();
            [events.remote_wakes_of_outside, events.remote_wakes_by_outside]
        };
        assert_eq!(found(0), [wakes; 2]);
        assert_eq!(found(1), [wakes, None]);
    }
}
