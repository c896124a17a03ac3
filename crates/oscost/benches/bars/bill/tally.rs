//! Whether a bar of so many programs holds.

/// All programs that are billed.
pub(super) const ALL: usize = 12;

/// How many of all programs were judged, and how many of these are within the bar.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    judged: usize,
    within: usize,
}

impl Tally {
    /// Adds a program.
    pub(super) fn add(&mut self, is_within: bool) {
        self.judged += 1;
        self.within += usize::from(is_within);
    }

    /// Prints whether so many of all programs are within; whether the bar has not failed.
    pub(super) fn print(&self, what: &str, wanted: usize) -> bool {
        let Self { judged, within } = *self;
        let fails = judged - within > ALL - wanted;
        let verdict = match (within >= wanted, fails) {
            (true, _) => "holds",
            (false, true) => "FAILS",
            (false, false) => "open: too few were judged",
        };
        println!("{what:<44} {within:>3} of {judged:<3} bar {wanted} of {ALL}  {verdict}");
        !fails
    }
}
