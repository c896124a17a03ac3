//! Work that is slower by a known share, for the live test that asks whether that is found.

use oscost_model::channel::ChannelSeen;
use oscost_model::file::FileSeen;

use super::{AtOp, Run, Work};
use crate::sys::Errno;
use crate::sys::chain::dependent_chain;
use crate::sys::opaque::keep;

impl Work {
    /// This work, with a chain of known latency behind each batch: so many links for each op of its
    /// body.
    #[must_use]
    pub fn slowed(self, links_per_op: f64) -> Self {
        Self { body: Box::new(Slowed { body: self.body, links_per_op }), ..self }
    }
}

struct Slowed {
    body: Box<dyn Run>,
    links_per_op: f64,
}

impl Run for Slowed {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        self.body.run(turns, copies)?;
        let ops = (turns * u64::from(copies)) as f64;
        keep(dependent_chain((self.links_per_op * ops).round() as u64, 3));
        Ok(())
    }

    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.body.prepare(ops)
    }

    fn seen(&self) -> Option<FileSeen> {
        self.body.seen()
    }

    fn channel(&self) -> Option<ChannelSeen> {
        self.body.channel()
    }

    fn prove(&mut self) -> Result<(), Errno> {
        self.body.prove()
    }

    fn is_lost(&self) -> bool {
        self.body.is_lost()
    }

    fn brought(&self) -> i64 {
        self.body.brought()
    }

    fn moved(&self) -> Option<u64> {
        self.body.moved()
    }
}
