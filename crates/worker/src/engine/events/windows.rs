//! Windows of one set of events, and what was counted in them.

use oscost_model::counters::CountedBatch;
use oscost_model::worker::Sample;

use super::source::{CounterSource, WindowError};

/// Windows and their counts so far. Nothing is allocated while counters are enabled: memory that is
/// touched for the first time faults, and faults are counted.
pub(super) struct Windows {
    samples: Vec<Sample>,
    counts: Vec<u64>,
    times: Vec<[u64; 2]>,
    /// Why one of them has no counts.
    pub(super) error: Option<WindowError>,
}

impl Windows {
    pub(super) fn with_capacity(windows: usize, events: usize) -> Self {
        // Not of zeros, which the kernel provides without the pages.
        let mut counts = vec![1; windows * events];
        let (mut samples, mut times) = (vec![Sample::default(); windows], vec![[1; 2]; windows]);
        counts.clear();
        samples.clear();
        times.clear();
        Self { samples, counts, times, error: None }
    }

    /// Adds the last window of the source; one without counts is left out, and makes the set void.
    pub(super) fn add(&mut self, sample: Sample, source: &impl CounterSource) {
        match source.window() {
            Ok(window) if window.counts.len() != source.events().len() => {
                let (counts, events) = (window.counts.len() as u64, source.events().len());
                let _ = self.error.get_or_insert(WindowError::OtherGroup { counts, events });
            }
            Ok(window) => {
                self.samples.push(sample);
                self.counts.extend_from_slice(&window.counts);
                self.times.push([window.enabled_ns, window.counting_ns]);
            }
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    pub(super) fn into_batches(self) -> Vec<CountedBatch> {
        let events = self.counts.len() / self.samples.len().max(1);
        let counts = self.counts.chunks(events.max(1));
        self.samples
            .into_iter()
            .zip(self.times)
            .zip(counts)
            .map(|((sample, [enabled_ns, counting_ns]), counts)| CountedBatch {
                sample,
                counts: counts.to_vec(),
                enabled_ns,
                counting_ns,
            })
            .collect()
    }
}
