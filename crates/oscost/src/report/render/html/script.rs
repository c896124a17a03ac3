//! The scripts of a page: page.js and the library that draws charts; and the content security policy,
//! which forbids all other scripts and all requests.

use std::io::Write as _;
use std::sync::{LazyLock, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, GzBuilder};
use plotly::Plot;
use sha2::{Digest as _, Sha256};

/// The style sheet of a page.
pub(in crate::report::render) const STYLE: &str = include_str!("style.css");
/// The page's own script: it unpacks, draws, sorts, filters, copies and explains.
pub(super) const PAGE_SCRIPT: &str = include_str!("page.js");

/// The library that draws charts, from the crate `plotly`. The second script of the crate, MathJax,
/// typesets formulas, which these charts do not have.
pub(super) fn library() -> &'static str {
    static LIBRARY: LazyLock<String> = LazyLock::new(|| {
        let tags = Plot::offline_js_sources();
        let inside = tags.split_once('>').map_or("", |(_, rest)| rest);
        inside.split_once("</script>").map_or("", |(script, _)| script).to_owned()
    });
    &LIBRARY
}

/// The library as it is packed in a page; it is packed once per process.
pub(super) fn packed_library() -> &'static str {
    static PACKED: LazyLock<String> =
        LazyLock::new(|| pack(library().as_bytes()).unwrap_or_default());
    &PACKED
}

/// The compression level: level 6 takes twice as long, for a file that is 3 % smaller.
const LEVEL: u32 = 4;

/// Gzip in base64: at most a third of the size. It has no time stamp, so that equal reports are equal
/// files.
pub(super) fn pack(bytes: &[u8]) -> std::io::Result<String> {
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::new(LEVEL));
    packer.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(packer.finish()?))
}

/// The content security policy of a page: only these two scripts run, whatever the text contains, and
/// nothing is loaded. Inline styles are allowed because plotly.js sets them, and images because charts
/// are saved as images.
pub(super) fn policy(draws: bool) -> String {
    let hash = |script: &str| BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    static LIBRARY: OnceLock<String> = OnceLock::new();
    let mut scripts = format!("'sha256-{}'", hash(PAGE_SCRIPT));
    if draws {
        scripts.push_str(&format!(" 'sha256-{}'", LIBRARY.get_or_init(|| hash(library()))));
    }
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_library_is_plotly_with_its_licence_and_without_mathjax() {
        let library = library();
        assert!(library.len() > 1_000_000 && library.len() < 5_000_000, "{}", library.len());
        assert!(library.contains("MIT license") && library.contains("plotly.js v"));
        assert!(!library.contains("MathJax-script") && !library.contains("</script"));
    }

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
}
