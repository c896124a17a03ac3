//! What an attack is, and how those of a table are made.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::Sandbox;
use crate::oracles::check_store;
use crate::page::check_listed;

/// Which attacks are made: `all`, or those of `make test`.
const WHICH: &str = "OSCOST_ATTACKS";

/// How an attack ended. One that got through panics.
pub(crate) enum Outcome {
    /// The tool withstood it; what is worth saying about that.
    Withstood(String),
    /// It cannot be made on this machine, for this reason.
    NotHere(String),
}

/// When an attack is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Also by `make test`: it takes a fraction of a second.
    Short,
    /// By `make attacks` alone: it measures, waits, or looks at all of the machine.
    Long,
}

/// An attack on the tool.
pub(crate) struct Attack {
    name: String,
    effort: Effort,
    attempt: Box<dyn Fn() -> Outcome>,
}

impl Attack {
    pub(crate) fn new(
        name: impl Into<String>,
        effort: Effort,
        attempt: impl Fn() -> Outcome + 'static,
    ) -> Self {
        Self { name: name.into(), effort, attempt: Box::new(attempt) }
    }

    /// An attack with folders of its own, of which the store is whole afterwards, while no process
    /// and no temporary file is left.
    pub(crate) fn in_sandbox(
        name: impl Into<String>,
        effort: Effort,
        attempt: impl Fn(&Sandbox) -> Outcome + 'static,
    ) -> Self {
        Self::new(name, effort, move || {
            let sandbox = Sandbox::new();
            let outcome = attempt(&sandbox);
            sandbox.nothing_is_left();
            check_store(&sandbox);
            outcome
        })
    }
}

/// The outcome of an attack of which nothing more is to be said.
pub(crate) fn withstood() -> Outcome {
    Outcome::Withstood(String::new())
}

/// Whether all attacks are made.
pub(crate) fn all_are_made() -> bool {
    std::env::var_os(WHICH).is_some_and(|which| which == "all")
}

/// A number that the environment may give, such as the number of kills.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
        Err(_) => default,
    }
}

/// Makes the attacks of a table, all of which its page lists, one after the other, and prints a line for
/// each.
#[track_caller]
pub(crate) fn make(table: &str, attacks: impl IntoIterator<Item = Attack>) {
    let attacks: Vec<Attack> = attacks.into_iter().collect();
    let names: Vec<&str> = attacks.iter().map(|attack| attack.name.as_str()).collect();
    check_listed(table, &names);
    attempt_all(attacks);
}

/// Makes all, also if one gets through.
#[track_caller]
fn attempt_all(attacks: impl IntoIterator<Item = Attack>) {
    let mut through = Vec::new();
    let is_made = |attack: &Attack| attack.effort == Effort::Short || all_are_made();
    for attack in attacks.into_iter().filter(is_made) {
        let outcome = match catch_unwind(AssertUnwindSafe(&attack.attempt)) {
            Ok(Outcome::Withstood(words)) if words.is_empty() => "withstood".to_owned(),
            Ok(Outcome::Withstood(words)) => format!("withstood: {words}"),
            Ok(Outcome::NotHere(why)) => format!("not made here: {why}"),
            Err(panic) => {
                let words = words_of(panic.as_ref());
                through.push(format!("{}: {words}", attack.name));
                format!("GOT THROUGH: {}", words.lines().next().unwrap_or_default())
            }
        };
        println!("attack {}: {outcome}", attack.name);
    }
    assert!(through.is_empty(), "{} got through:\n{}", through.len(), through.join("\n"));
}

/// What a panic says.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
    text.unwrap_or_else(|| "it panicked".to_owned())
}

#[test]
fn an_attack_that_gets_through_fails_its_table_after_the_others_were_made() {
    use std::rc::Rc;
    let made = Rc::new(std::cell::Cell::new(0));
    let count = made.clone();
    let attacks = [
        Attack::new("one that gets through", Effort::Short, || panic!("it broke")),
        Attack::new("one after it", Effort::Short, move || {
            count.set(count.get() + 1);
            withstood()
        }),
    ];
    let failure = catch_unwind(AssertUnwindSafe(|| attempt_all(attacks))).unwrap_err();
    assert_eq!(words_of(failure.as_ref()), "1 got through:\none that gets through: it broke");
    assert_eq!(made.get(), 1);
}
