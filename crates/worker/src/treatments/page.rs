//! The page that a measured process shares with its monitors.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use crate::kernel::ipc::context_switch::SharedWords;
use crate::kernel::process::Termination;

/// What a measured process shares with its monitors: a page.
#[derive(Clone)]
pub struct MonitorPage(pub(super) Option<Rc<SharedWords>>);

/// Words of the page: the tracer is there.
pub(super) const TRACED: usize = 0;
/// The descriptor of the listener in the measured process, and 1.
pub(super) const LISTENER: usize = 1;
/// The measured process.
pub(super) const MEASURED: usize = 2;
/// How it ended.
pub(super) const ENDED: usize = 3;
/// Counters of the page: how often the tracer woke, and the listener.
pub(super) const TRACER_WAKEUPS: usize = 0;
pub(super) const LISTENER_WAKEUPS: usize = 1;

impl MonitorPage {
    /// The page of a process without a monitor.
    pub fn none() -> Self {
        MonitorPage(None)
    }

    /// How often the process and its descendants have woken the monitors; `None` without a monitor.
    /// It makes no system call. A wakeup by a call of the caller is counted before that call
    /// returns.
    pub fn wakeups(&self) -> Option<u64> {
        let page = self.0.as_ref()?;
        Some(
            [TRACER_WAKEUPS, LISTENER_WAKEUPS]
                .map(|line| page.word64(line).load(Ordering::Relaxed))
                .iter()
                .sum(),
        )
    }

    pub(super) fn set(&self, word: usize, value: u32) {
        if let Some(page) = &self.0 {
            page.word(word).store(value, Ordering::Release);
        }
    }

    pub(super) fn get(&self, word: usize) -> u32 {
        self.0.as_ref().map_or(0, |page| page.word(word).load(Ordering::Acquire))
    }

    /// Passes the listener's descriptor to the monitor. It makes no system call: any would wait for
    /// the monitor.
    pub(super) fn set_listener(&self, descriptor: i32) {
        self.set(LISTENER, descriptor as u32 + 1);
    }

    /// Stores how the measured process has ended.
    pub(super) fn set_end(&self, termination: Termination) {
        let code = match termination {
            Termination::Exited(status) => 1 << 16 | status & 0xFF,
            Termination::Killed(signal) => 2 << 16 | signal & 0xFF,
        };
        self.set(ENDED, code as u32);
    }

    pub(super) fn end(&self) -> Option<Termination> {
        let code = self.get(ENDED);
        let low = (code & 0xFF) as i32;
        match code >> 16 {
            1 => Some(Termination::Exited(low)),
            2 => Some(Termination::Killed(low)),
            _ => None,
        }
    }
}
