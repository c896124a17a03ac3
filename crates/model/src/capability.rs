//! Capabilities that a worker of root keeps for a case.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A capability that a case may need (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// To make maps and programs of bpf(2), since Linux 5.8.
    Bpf,
    /// To make network devices.
    NetAdmin,
    /// To make namespaces and mounts.
    SysAdmin,
    /// To handle faults that the kernel takes in the memory of the process.
    SysPtrace,
    /// To map the id of root in a user namespace.
    SetFcap,
}

impl fmt::Display for Capability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Capability::Bpf => "CAP_BPF",
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::SysPtrace => "CAP_SYS_PTRACE",
            Capability::SetFcap => "CAP_SETFCAP",
        })
    }
}
