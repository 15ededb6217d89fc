//! The licences of what the page embeds, as they ask to be passed on.

use super::blocks::escaped;

const LICENCES: [(&str, &str); 5] = [
    ("D3", include_str!("../../assets/vendor/LICENSE-d3")),
    (
        "Observable Plot",
        include_str!("../../assets/vendor/LICENSE-plot"),
    ),
    (
        "interval-tree-1d, in Observable Plot",
        include_str!("../../assets/vendor/LICENSE-interval-tree-1d"),
    ),
    (
        "binary-search-bounds, in Observable Plot",
        include_str!("../../assets/vendor/LICENSE-binary-search-bounds"),
    ),
    (
        "isoformat, in Observable Plot",
        include_str!("../../assets/vendor/LICENSE-isoformat"),
    ),
];

/// All of them, folded.
pub(crate) fn html() -> String {
    let one = |(name, text): &(&str, &str)| {
        format!(
            "<p>{}</p>\n<pre>{}</pre>\n",
            escaped(name),
            escaped(text.trim())
        )
    };
    let all: String = LICENCES.iter().map(one).collect();
    format!(
        "<details class=\"licences\"><summary>Licences of the chart library</summary>\n{all}\
         </details>\n"
    )
}
