//! The script of a page, and the content security policy, which forbids all other scripts and all
//! requests.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};

/// The style sheet of a page.
pub(in crate::report::render) const STYLE: &str = include_str!("style.css");
/// The page's own script: it sorts, filters, zooms, copies and explains.
const PAGE_SCRIPT: &str = include_str!("page.js");
/// The same on a page with heat maps, after the function that draws them.
const MAP_SCRIPT: &str = concat!(include_str!("heat_map.js"), include_str!("page.js"));

/// The compression level: level 6 takes twice as long, for a file that is 3 % smaller.
const LEVEL: u32 = 4;

/// Gzip in base64: at most a third of the size. It has no time stamp, so that equal reports are equal
/// files.
pub(super) fn pack(bytes: &[u8]) -> std::io::Result<String> {
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::new(LEVEL));
    packer.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(packer.finish()?))
}

/// The script of a page.
pub(super) fn page_script(has_maps: bool) -> &'static str {
    if has_maps { MAP_SCRIPT } else { PAGE_SCRIPT }
}

/// The content security policy of a page: only its own script runs, whatever the text contains, and
/// nothing is loaded. Inline styles are allowed for the widths of bars and the zoom of charts.
pub(super) fn policy(script: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn packed_text_is_unpacked_unchanged_and_packing_is_deterministic() {
        let text = "a page is the same bytes each time ".repeat(50);
        let once = pack(text.as_bytes()).unwrap();
        assert_eq!(once, pack(text.as_bytes()).unwrap());
        let bytes = BASE64_STANDARD.decode(&once).unwrap();
        let mut back = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut back).unwrap();
        assert_eq!(back, text);
        assert!(once.len() < text.len() / 5);
    }

    #[test]
    fn the_script_has_nothing_that_ends_it_or_sets_markup() {
        for word in ["</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("] {
            assert!(!MAP_SCRIPT.contains(word), "{word}");
        }
    }
}
