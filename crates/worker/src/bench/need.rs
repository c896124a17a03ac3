//! What the machine must offer for a benchmark to run.

use oscost_model::capability::Capability;
use oscost_model::definition;
use oscost_model::resource::Resource;

use super::point_filter::{PointFilter, partial_point};

/// Something that the machine must offer.
#[derive(Clone, Copy)]
pub struct Need {
    requirement: Requirement,
    when: PointFilter,
}

#[derive(Clone, Copy)]
enum Requirement {
    Readable(&'static str),
    VdsoFunction(&'static str),
    Counter,
    IoUring,
    Time,
    Resource(Resource),
    Capability(Capability),
    NotApplicable(&'static str),
}

impl Need {
    /// A file that can be opened for reading.
    pub const fn readable(path: &'static str) -> Self {
        Self { requirement: Requirement::Readable(path), when: &[] }
    }

    /// A function in the vDSO, by its C name.
    pub const fn vdso(function: &'static str) -> Self {
        Self { requirement: Requirement::VdsoFunction(function), when: &[] }
    }

    /// A cycle counter that programs can read and that the kernel keeps time by.
    pub const fn counter() -> Self {
        Self { requirement: Requirement::Counter, when: &[] }
    }

    /// io_uring_setup(2) is allowed.
    pub const fn io_uring() -> Self {
        Self { requirement: Requirement::IoUring, when: &[] }
    }

    /// Time that passes while the CPU is idle: for an op that sleeps or that measures a time
    /// itself.
    pub const fn time() -> Self {
        Self { requirement: Requirement::Time, when: &[] }
    }

    /// A resource: memory, a disk, a second CPU.
    pub const fn resource(resource: Resource) -> Self {
        Self { requirement: Requirement::Resource(resource), when: &[] }
    }

    /// A capability, which the worker of root keeps: it drops those that its case does not need.
    pub const fn capability(capability: Capability) -> Self {
        Self { requirement: Requirement::Capability(capability), when: &[] }
    }

    /// The points that [`Self::when`] names do not apply, for this reason.
    pub const fn not_applicable(reason: &'static str) -> Self {
        Self { requirement: Requirement::NotApplicable(reason), when: &[] }
    }

    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    pub(super) fn data(&self) -> definition::Need {
        let requirement = match self.requirement {
            Requirement::Readable(path) => definition::Requirement::Readable(path.to_owned()),
            Requirement::VdsoFunction(name) => {
                definition::Requirement::VdsoFunction(name.to_owned())
            }
            Requirement::Counter => definition::Requirement::Counter,
            Requirement::IoUring => definition::Requirement::IoUring,
            Requirement::Time => definition::Requirement::WallTime,
            Requirement::Resource(resource) => definition::Requirement::Resource(resource),
            Requirement::Capability(capability) => definition::Requirement::Capability(capability),
            Requirement::NotApplicable(reason) => {
                definition::Requirement::Undefined(reason.to_owned())
            }
        };
        definition::Need { requirement, when: partial_point(self.when) }
    }
}
