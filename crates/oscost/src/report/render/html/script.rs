//! What a page runs: our few lines, and the script that draws its charts. And what keeps it from
//! running anything else, or from asking anybody for anything.

use std::io::Write as _;
use std::sync::{LazyLock, OnceLock};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, GzBuilder};
use plotly::Plot;
use sha2::{Digest as _, Sha256};

/// How a page looks.
pub(super) const STYLE: &str = include_str!("style.css");
/// What a page does: it unpacks, draws, sorts, filters, copies and explains.
pub(super) const GLUE: &str = include_str!("page.js");

/// The script that draws charts, out of the crate that is made for it. What stands behind it there
/// sets formulas, of which we have none.
pub(super) fn library() -> &'static str {
    static LIBRARY: LazyLock<String> = LazyLock::new(|| {
        let tags = Plot::offline_js_sources();
        let inside = tags.split_once('>').map_or("", |(_, rest)| rest);
        inside.split_once("</script>").map_or("", |(script, _)| script).to_owned()
    });
    &LIBRARY
}

/// The same as it stands in a page; nobody waits for it twice.
pub(super) fn library_packed() -> &'static str {
    static PACKED: LazyLock<String> =
        LazyLock::new(|| packed(library().as_bytes()).unwrap_or_default());
    &PACKED
}

/// How hard packing looks for what repeats: at 6 it takes twice as long, for a file that is 3 %
/// shorter.
const LEVEL: u32 = 4;

/// Bytes as text that a page unpacks: a third as long, or less. No time stands in it.
pub(super) fn packed(bytes: &[u8]) -> std::io::Result<String> {
    let mut packer = GzBuilder::new().write(Vec::new(), Compression::new(LEVEL));
    packer.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(packer.finish()?))
}

/// The content security policy of a page: these two scripts run and no other, whatever stands in the
/// text; and nothing is loaded from anywhere. Styles are free, since charts are styled as they are
/// drawn; pictures are what a chart is saved as.
pub(super) fn policy(draws: bool) -> String {
    let hash = |script: &str| BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    static LIBRARY: OnceLock<String> = OnceLock::new();
    let mut scripts = format!("'sha256-{}'", hash(GLUE));
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
    fn the_script_is_the_one_that_draws_and_keeps_its_licence() {
        let library = library();
        assert!(library.len() > 1_000_000 && library.len() < 5_000_000, "{}", library.len());
        assert!(library.contains("MIT license") && library.contains("plotly.js v"));
        assert!(!library.contains("MathJax-script") && !library.contains("</script"));
    }

    #[test]
    fn what_is_packed_comes_back_and_is_the_same_each_time() {
        let text = "a page is the same bytes each time ".repeat(50);
        let once = packed(text.as_bytes()).unwrap();
        assert_eq!(once, packed(text.as_bytes()).unwrap());
        let bytes = BASE64_STANDARD.decode(&once).unwrap();
        let mut back = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut back).unwrap();
        assert_eq!(back, text);
        assert!(once.len() < text.len() / 5);
    }
}
