//! Where in a program a treatment costs time.

/// What of a program a treatment reaches: of several treatments that counts which reaches the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Each system call, and nothing else: a call that begins or ends a task as any other. What is added to
    /// one tells what is added to others; a page fault, which is no call, pays nothing.
    Calls,
    /// The same, and more where a task begins, executes a program or ends.
    CallsAndTasks,
    /// Anything: what it adds to one call says nothing of another one.
    Anything,
}

impl Reach {
    /// Whether it does the same at each call, and nothing at a page fault.
    pub fn is_at_each_call(self) -> bool {
        self != Self::Anything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_treatments_the_farthest_reach_counts() {
        let of = |all: &[Reach]| all.iter().copied().max();
        assert_eq!(of(&[Reach::Calls, Reach::CallsAndTasks]), Some(Reach::CallsAndTasks));
        assert_eq!(of(&[Reach::Anything, Reach::Calls]), Some(Reach::Anything));
        assert!(Reach::CallsAndTasks.is_at_each_call() && !Reach::Anything.is_at_each_call());
    }
}
