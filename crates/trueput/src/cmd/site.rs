//! `trueput site`: a static site of many runs.

mod output_folder;
mod progress;
mod sources;

use crate::bundle;
use crate::failure::{FAILED, Failure, INTERRUPTED};
use crate::output;
use crate::signals::stop_flag;
use crate::size_limit::SizeLimit;
use clap::Args;
use output_folder::OutputFolder;
use progress::SiteProgress;
use sources::{Source, find_sources};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use trueput_engine::panics;
use trueput_findings::Findings;
use trueput_findings::site::SiteRun;
use trueput_report::site::{INDEX, Site, SkippedSource, page_path, run_page};

const EXAMPLES: &str = "\
Examples:
  trueput site results --output public
  trueput site results first-look.tar.gz --output public --title 'Storage of our fleet'
  trueput site results --output public --json | jq '.runs[].id'

Runs are run folders and bundles (*.tar.gz, *.tgz), found below each folder; hidden folders and \
symbolic links are skipped. The site needs no server and no network: open public/index.html, or \
copy the folder to any static host. A run's page is runs/ID.html; ID is the plan's name and the \
beginning of the record's checksum, so the link stays as long as the record does. The same runs \
give the same bytes. A run that cannot be read, such as a damaged bundle, is named, the others \
are shown, and the exit code is 1. An earlier site is replaced in one step; a folder that is not \
a site is never overwritten.";

/// What may be left of a site whose program ended at once.
const LEFT_OF_SITE: &str = "a folder .trueput-site-* may be left beside the output";

const DEFAULT_TITLE: &str = "results";

/// The longest title, characters.
const MAX_TITLE: usize = 120;

/// The arguments of `trueput site`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folders to search for run folders and bundles, or such
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,
    /// Folder of the site: new, empty, or an earlier site
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Title of the first page
    #[arg(long, value_name = "TEXT", value_parser = parse_title, default_value = DEFAULT_TITLE)]
    title: String,
    /// Write the summary of the site as JSON, which the site has as trueput-site.json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeLimit,
}

/// Reads a title of one line.
fn parse_title(text: &str) -> Result<String, Failure> {
    let length = text.chars().count();
    let is_plain = !text.trim().is_empty() && !text.chars().any(char::is_control);
    if is_plain && length <= MAX_TITLE {
        Ok(text.to_owned())
    } else {
        Err(Failure::usage(format!(
            "must be one line of 1 to {MAX_TITLE} characters"
        )))
    }
}

/// Makes the site and prints its path.
///
/// # Errors
/// A usage error if the folders have no run, or the output is neither new, empty nor a site.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folder = OutputFolder::check(&arguments.output)?;
    let sources = find_sources(&arguments.folders)?;
    let stop = stop_flag(LEFT_OF_SITE)?;
    let mut made = folder.begin()?;
    let progress = SiteProgress::new(sources.len());
    let (mut runs, mut skipped) = (BTreeMap::<String, SiteRun>::new(), Vec::new());
    for source in &sources {
        if stop.load(Ordering::SeqCst) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        progress.begin(&source.shown);
        match read(source, arguments.size) {
            Ok((run, page)) => {
                if let Some(first) = runs.get(&run.id) {
                    let (shown, first) = (&source.shown, &first.source);
                    progress.note(&format!("note: {shown} is the same run as {first}"));
                } else {
                    made.write(&page_path(&run.id), page.as_bytes())?;
                    runs.insert(run.id.clone(), run);
                }
            }
            Err(reason) => {
                progress.note(&format!("skipped: {reason}"));
                skipped.push(source.skipped(&reason));
            }
        }
    }
    progress.finish();
    if runs.is_empty() {
        let reason = "no run could be read, so there is no site";
        return Err(Failure::Other(reason.to_owned()));
    }
    let is_whole = skipped.is_empty();
    let site = Site::new(
        arguments.title.clone(),
        runs.into_values().collect(),
        skipped,
    );
    made.write(INDEX, site.index().as_bytes())?;
    let summary = made.finish(&site)?;
    if arguments.json {
        output::json_lines(&summary)?;
    } else {
        let index = arguments.output.join(INDEX);
        output::line(&format!("site: {}", index.display()))?;
    }
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    })
}

/// A run and its page, or why it has none. A record that its reader cannot survive does not take
/// the others with it.
fn read(source: &Source, size: SizeLimit) -> Result<(SiteRun, String), String> {
    let made = panics::caught(|| {
        let opened = bundle::open(&source.path, size)?;
        let mut run = opened.report()?;
        // Paths of this machine say nothing to others, and the page's commands are for readers.
        run.shown_as = PathBuf::from(&source.shown);
        run.program = Some("trueput".to_owned());
        let findings = Findings::of(&run);
        let listed = SiteRun::of(&findings, &opened.checksum()?, &source.shown);
        let page = run_page(&findings, &listed.id);
        Ok::<_, Failure>((listed, page))
    });
    match made {
        Ok(made) => made.map_err(|failure| failure.to_string()),
        Err(panic) => Err(format!("{}: its reader {panic}", source.path.display())),
    }
}

impl Source {
    /// This source, left out of the site.
    fn skipped(&self, reason: &str) -> SkippedSource {
        // The message begins with the path on this machine.
        let path = self.path.display().to_string();
        let reason = reason.replace(&path, &self.shown);
        let begin = format!("{}: ", self.shown);
        SkippedSource {
            source: self.shown.clone(),
            reason: reason.strip_prefix(&begin).unwrap_or(&reason).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(parse_title("Our <fleet>").unwrap(), "Our <fleet>");
        for bad in ["", " ", "two\nlines", &"x".repeat(MAX_TITLE + 1)] {
            assert!(parse_title(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_skipped_source_has_no_path_of_this_machine() {
        let source = Source {
            path: PathBuf::from("/home/me/results/a.tar.gz"),
            shown: "a.tar.gz".to_owned(),
        };
        let skipped = source.skipped("/home/me/results/a.tar.gz: neither a run folder");
        assert_eq!(skipped.reason, "neither a run folder");
    }
}
