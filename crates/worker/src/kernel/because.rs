//! What an error number cannot say: words that go with [`Errno::LACKING`] and [`Errno::UNFIT`].
//!
//! An error is a plain number, so that it costs nothing to hand one through a timed loop. The words
//! are those of the thread's last such error.

use std::cell::RefCell;

use super::Errno;

thread_local! {
    static WORDS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Something is lacking here: the row is skipped, and says this. The words name the way out.
pub fn lacking(words: String) -> Errno {
    keep(words);
    Errno::LACKING
}

/// Something is not as it must be: the row has failed, and says this.
pub fn unfit(words: String) -> Errno {
    keep(words);
    Errno::UNFIT
}

fn keep(words: String) {
    WORDS.with(|kept| *kept.borrow_mut() = words);
}

/// The words of the last one.
pub fn words() -> String {
    WORDS.with(|kept| kept.borrow().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_the_words_that_were_kept_for_it() {
        assert_eq!(lacking("no room".into()).to_string(), "no room");
        assert_eq!(unfit("not cold".into()).to_string(), "not cold");
        assert_ne!(Errno::ENOSPC.to_string(), "not cold");
    }
}
