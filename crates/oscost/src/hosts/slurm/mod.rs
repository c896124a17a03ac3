//! Nodes that Slurm allocates: a supervisor as the only task of a job, or of a step of the job that
//! the tool was started in.

mod hostlist;
mod node_address;
mod queue_guard;
mod session;
mod slurm_options;
mod slurm_spec;
mod srun_variables;

pub use node_address::node_address;
pub use session::{SlurmJob, SlurmSession};
pub use slurm_options::{SLURM_OPTIONS, SlurmOptionError, SlurmOptions};
pub use slurm_spec::{SlurmSpec, SlurmSpecError};
