//! The files of a site.

/// The first page's file.
pub const INDEX: &str = "index.html";

/// The folder of the runs' pages.
pub const PAGES: &str = "runs";

/// The file of a run's page, relative to the site's folder.
#[must_use]
pub fn page_path(id: &str) -> String {
    format!("{PAGES}/{id}.html")
}
