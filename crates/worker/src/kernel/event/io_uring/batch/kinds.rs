//! The kinds of transfers and timeouts of a batch.

/// How a file and a buffer are named in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// By a descriptor and an address.
    Descriptor,
    /// By the index of a registered file, and an address.
    FixedFile,
    /// By a descriptor, and an address in a registered buffer.
    FixedBuffer,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// From the start of an unnamed file in the user's folder, whose one page is cached.
    Read,
    /// To /dev/null.
    Write,
}

/// How a timeout ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutEnd {
    /// It is over as soon as it starts.
    Over,
    /// It is removed by the entry that follows it.
    Removed,
    /// Another operation completes, after which it was to end too.
    Counted,
    /// The operation before, which it limits, completes at once.
    Linked,
    /// It is over as soon as it starts, and cancels the operation before.
    LinkedOver,
}
