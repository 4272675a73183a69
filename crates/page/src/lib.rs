//! A run's report as one self-contained HTML page: `report.html`, made only from `report.json`.
//!
//! The page is built once, by `web/`, and is in `page.html` with its script and style. This crate inserts a report into
//! it. It does no I/O and knows nothing of the engine: every report makes a page, even one of an earlier version that
//! lacks parts.

mod embed;
mod fewer_steps;
mod with_list;

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

pub use with_list::WithList;

/// The page without a report.
const PAGE: &str = include_str!("../page.html");

/// The placeholder of the report in the page.
const PLACE: &str = "{{report}}";

/// Makes the page of a report.
pub fn page(report: &Value) -> String {
    let mut page = Vec::new();
    let written = write(&mut page, &*shortened(report));
    written.expect("writing to memory does not fail");
    String::from_utf8(page).expect("page and JSON are UTF-8")
}

/// Writes the page of a report whose member `name` is written from `list`, so that the page of a hundred thousand load
/// units is never completely in memory.
pub fn write_page(
    out: &mut impl Write,
    report: &Value,
    name: &str,
    list: &impl Serialize,
) -> io::Result<()> {
    let report = &shortened(report);
    write(out, &WithList { report, name, list })
}

fn shortened(report: &Value) -> Cow<'_, Value> {
    match fewer_steps::fewer_steps(report) {
        Some(shown) => Cow::Owned(shown),
        None => Cow::Borrowed(report),
    }
}

fn write(out: &mut impl Write, report: &impl Serialize) -> io::Result<()> {
    let (before, after) = PAGE
        .split_once(PLACE)
        .expect("page.html has a place for the report");
    out.write_all(before.as_bytes())?;
    embed::embed(out, report)?;
    out.write_all(after.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BEGIN: &str = r#"<script type="application/json" id="data">"#;

    /// The report in a page.
    fn data(page: &str) -> &str {
        let (_, rest) = page.split_once(BEGIN).expect("it has data");
        rest.split_once("</script>").expect("the data ends").0
    }

    #[test]
    fn a_report_comes_out_as_it_went_in() {
        for text in [
            "plain",
            "</script><script>alert(1)</script>",
            "</SCRIPT ><img src=x onerror=alert(1)>",
            "<!--<script>",
            "-->",
            "]]>",
            "&lt;/script&gt;",
            "'\"\\",
            "\u{2028}\u{2029}\u{0}\u{1b}\u{7f}\u{feff}",
            "{{report}} {{script}}",
            "\u{1f600} ä",
        ] {
            let report = json!({ "run": text, text: [text, { "value": text }] });
            let page = page(&report);
            let read: Value = serde_json::from_str(data(&page)).expect("the data is JSON");
            assert_eq!(read, report, "{text:?}");
        }
    }

    #[test]
    fn nothing_in_a_report_breaks_out_of_its_place() {
        let calm = page(&json!({ "run": "x" }));
        for text in [
            "</script>",
            "<script>",
            "<!--",
            "-->",
            "\u{2028}",
            "<style>",
        ] {
            let wild = page(&json!({ "run": text, text: text }));
            let data = data(&wild);
            for forbidden in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
                assert!(!data.contains(forbidden), "{forbidden:?} of {text:?}");
            }
            for tag in ["<script", "</script", "<style", "<!--", "-->"] {
                assert_eq!(
                    wild.matches(tag).count(),
                    calm.matches(tag).count(),
                    "{tag} with {text:?}"
                );
            }
        }
    }

    #[test]
    fn the_page_asks_nothing_of_anybody() {
        let (head, _) = PAGE.split_once(BEGIN).expect("it has data");
        assert!(head.contains("default-src 'none'; script-src 'sha256-"));
        assert!(!head.contains("script-src 'unsafe"));
        for part in [
            "connect-src",
            "<link rel=\"stylesheet",
            "<script src",
            "@import",
            "url(http",
        ] {
            assert!(!PAGE.contains(part), "{part}");
        }
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }

    #[test]
    fn what_is_no_report_still_makes_a_page() {
        for report in [
            json!(null),
            json!({}),
            json!([1, 2]),
            json!({ "measurements": 7 }),
        ] {
            let page = page(&report);
            let read: Value = serde_json::from_str(data(&page)).expect("the data is JSON");
            assert_eq!(read, report);
        }
    }
}
