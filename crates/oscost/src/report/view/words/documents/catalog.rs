//! The words of the catalog as a document.

use super::document::{Document, word};

pub(super) const CATALOG: Document = Document {
    source: "oscost list --json",
    words: &[
        word("asks", "the question that a benchmark answers"),
        word("axes", "the parameters of a benchmark"),
        word("bytes_axis", "the axis that gives the bytes of an op; empty for none"),
        word("capability", "the capability that a case needs, capabilities(7)"),
        word("compare_with", "cases of other benchmarks that the explanation refers to"),
        word("default_points", "the points of an axis that are measured by default"),
        word("exactly", "how often an op makes the call, no more and no less"),
        word("explanation", "why the op costs what it costs; empty if there is nothing to explain"),
        word("huge-pages", "the free huge pages of 2 MiB that a case needs, in MiB"),
        word("implied", "the point that a case without this axis means"),
        word("in_price_list", "whether `oscost run` measures it if nothing is named"),
        word("item", "what the numbers of an axis count; empty if its name says so"),
        word("locked-memory", "the memory that a case must be allowed to lock, in MiB"),
        word("needs", "what a case needs; one that lacks it is skipped"),
        word("parts", "where a large op may make more calls: the bytes of each"),
        word("peer_may_be_remote", "whether its other end may be on another machine"),
        word(
            "price_list_points",
            "the points of an axis in the price list; empty for the default points",
        ),
        word("readable", "the file that a case must be able to read"),
        word("requirement", "what a case needs of its target"),
        word("resource", "the memory, the disk or the CPU that a case needs"),
        word("scratch-file", "the free space that a case needs in the scratch folder, in MiB"),
        word("sets", "what an axis sets"),
        word("setup_us", "the longest time to prepare, in microseconds for each unit of an axis"),
        word(
            "thorough_points",
            "the points of an axis in a thorough run; empty for the default points",
        ),
        word("undefined", "why the point has no meaning, on any target"),
        word("up-to", "how often an op makes the call at most"),
        word("vdso-function", "the function of the vDSO that a case needs"),
        word("when", "the values of axes for which a rule or a need is; empty for all"),
    ],
};
