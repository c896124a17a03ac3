//! The script of a page, and the data that it unpacks.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use super::markup::data;
use super::records::{page, record};
use crate::report::render::html::report as html;
use crate::report::view::document::heat_map::{HeatMap, HeatMapColumn, HeatMapRow};
use crate::report::view::document::{Block, Section, View};

#[test]
fn the_policy_names_the_script_by_its_hash() {
    let page = page(&record());
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1;
    let policy = policy.split_once("\">").unwrap().0;
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    // Quotes in an attribute are escaped.
    assert!(policy.contains(&format!("&#39;sha256-{hash}&#39;")), "{policy}");
    assert_eq!(policy.matches("sha256-").count(), 1);
    assert!(!policy.contains("unsafe-eval") && policy.starts_with("default-src &#39;none&#39;"));
}

#[test]
fn a_heat_map_is_packed_and_its_script_is_a_part_of_the_one_that_the_policy_names() {
    let map = HeatMap {
        id: "map".to_owned(),
        caption: "Ratios <i>".to_owned(),
        row_noun: "node",
        column_noun: "case",
        columns: vec![HeatMapColumn { name: "fault/cow".to_owned(), group: "fault".to_owned() }],
        rows: vec![HeatMapRow {
            name: "</script><b>".to_owned(),
            class: String::new(),
            ratio: Some(f64::NAN),
        }],
        ratios: vec![1.0],
        ..HeatMap::default()
    };
    let view = View::of(vec![Section::of("Map", [Block::HeatMap(Box::new(map))])]);
    let page = html(&view.as_page("Fleet", "")).unwrap();
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(script.contains("activateHeatMaps") && script.contains("oscost-ready"));
    let hash = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
    assert!(page.contains(&format!("&#39;sha256-{hash}&#39;")));
    assert_eq!(page.matches("<script").count(), 2);
    assert!(page.contains("Ratios &#60;i&#62;") || page.contains("Ratios &lt;i&gt;"));
    let packed = &data(&page)["maps"]["map"];
    assert_eq!(packed["rows"][0]["name"], "</script><b>");
    assert!(packed["rows"][0]["ratio"].is_null());
    assert_eq!(BASE64_STANDARD.decode(packed["cells"].as_str().unwrap()).unwrap(), [0, 128]);
    // A page without a map has neither.
    let plain = html(&View::of(Vec::new())).unwrap();
    assert!(!plain.contains("const activateHeatMaps") && data(&plain)["maps"].is_null());
}
