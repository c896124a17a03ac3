//! Jobs of a session: an order and its answer or failure, and the server processes of a remote
//! peer.

pub(super) mod job;
pub(super) mod process_watch;
pub(super) mod remote_peer;
pub(super) mod workers;
