//! Counters that return what a test says: multiplexed, zero, constant, going backwards.

use oscost_model::counters::CounterEvent;

use super::source::{CounterSource, WindowCounts, WindowError};
use crate::engine::collect::CounterReads;
use crate::kernel::Errno;

/// A window by its number, from 0.
type Script = Box<dyn FnMut(u64) -> Result<WindowCounts, WindowError>>;

/// Counters whose windows are scripted.
pub struct ScriptedCounters {
    events: Vec<CounterEvent>,
    script: Script,
    windows: u64,
    last: Result<WindowCounts, WindowError>,
    /// The calls of [`CounterSource::enable`] and [`CounterSource::disable`].
    pub switched: [u32; 2],
    /// The answer of [`CounterSource::enable`].
    pub refusal: Option<Errno>,
}

impl ScriptedCounters {
    /// Counters of these events.
    pub fn new(
        events: &[CounterEvent],
        script: impl FnMut(u64) -> Result<WindowCounts, WindowError> + 'static,
    ) -> Self {
        Self {
            events: events.to_vec(),
            script: Box::new(script),
            windows: 0,
            last: Ok(WindowCounts::default()),
            switched: [0; 2],
            refusal: None,
        }
    }
}

impl CounterReads for ScriptedCounters {
    fn makes_syscalls(&self) -> bool {
        true
    }

    fn before(&mut self) {}

    fn after(&mut self) {
        self.last = (self.script)(self.windows);
        self.windows += 1;
    }
}

impl CounterSource for ScriptedCounters {
    fn events(&self) -> &[CounterEvent] {
        &self.events
    }

    fn is_inherited(&self) -> bool {
        false
    }

    fn enable(&mut self) -> Result<(), Errno> {
        self.switched[0] += 1;
        self.refusal.map_or(Ok(()), Err)
    }

    fn disable(&mut self) -> Result<(), Errno> {
        self.switched[1] += 1;
        Ok(())
    }

    fn window(&self) -> Result<WindowCounts, WindowError> {
        self.last.clone()
    }
}
