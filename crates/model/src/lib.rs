//! Plain data that the tool and the measuring worker both speak.
//!
//! What this room is for: the words of the project as types, and the text forms in which they
//! travel (JSON lines between tool and supervisor, the record, the journal). What it may not know:
//! how anything is measured, stored or shown. It does no input or output.

pub mod call_names;
pub mod calls;
pub mod case;
pub mod channel;
pub mod clock;
pub mod crossing;
pub mod curve;
pub mod definition;
pub mod facts;
pub mod fault_injection;
pub mod file;
pub mod hash;
pub mod journal;
pub mod mark;
pub mod monitor_report;
pub mod noise_class;
pub mod one_way;
pub mod point;
pub mod program;
pub mod protocol;
pub mod record;
pub mod resource;
pub mod seed;
pub mod steps;
pub mod study_method;
pub mod target;
pub mod treatment;
pub mod unit;
pub mod untrusted;
pub mod watch;
pub mod worker;
