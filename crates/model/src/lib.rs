//! Plain data shared by the tool and the worker.
//!
//! This crate defines the project's terms as types, and the text forms in which they are exchanged:
//! the JSON lines between tool and supervisor, the record, the journal. It does not know how
//! anything is measured, stored or shown, and does no input or output.

pub mod batch;
pub mod bill;
pub mod bill_comparison;
pub mod call_classes;
pub mod call_flags;
pub mod call_form;
pub mod call_names;
pub mod calls;
pub mod capability;
pub mod case;
pub mod channel;
pub mod clock;
pub mod cool;
pub mod counters;
pub mod crossing;
pub mod curve;
pub mod definition;
pub mod descriptor_kind;
pub mod facts;
pub mod fault_injection;
pub mod file;
pub mod fleet;
pub mod hash;
pub mod journal;
pub mod machine_lock;
pub mod mark;
pub mod monitor_report;
pub mod noise_class;
pub mod one_way;
pub mod parameter;
pub mod point;
pub mod program;
pub mod program_calls;
pub mod protocol;
pub mod raw_call;
pub mod reach;
pub mod record;
pub mod resource;
pub mod seed;
pub mod steps;
pub mod study_method;
pub mod target;
pub mod treatment;
pub mod unit;
pub mod untrusted_text;
pub mod watch;
pub mod worker;
