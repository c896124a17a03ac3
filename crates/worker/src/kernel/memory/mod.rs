//! Memory: mappings whose pages are the subject, their nodes, blocks that are read and copied,
//! faults and what handles them, and tables shared between processes.

pub mod allocation;
pub mod blocks;
pub mod library;
pub mod library_mappings;
pub mod many_mappings;
pub(in crate::kernel) mod mapping;
pub(in crate::kernel) mod memory_file;
pub mod nodes;
pub mod page_chase;
pub mod page_toucher;
pub mod protection_fault;
pub mod region;
pub mod relocated_pages;
pub mod repaired_fault;
pub mod resident;
pub mod shared_table;
pub mod stream;
pub mod synced_page;
pub mod userfaultfd;
