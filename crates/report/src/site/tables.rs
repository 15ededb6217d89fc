//! The tables of the first page: leaders by level, every result by ranking, every run.

use super::entries::{
    Entry, Properties, contender_properties, host_text, run_properties, short_version,
};
use super::paths::page_path;
use crate::answer::table::{interval_text, rank_text, share_text};
use crate::answer::{subject, words};
use crate::formats::html::first_screen;
use maud::{Markup, html};
use trueput_findings::answer::TrialCounts;
use trueput_findings::site::{SiteContender, SiteRun};
use trueput_findings::units::{nanoseconds, number};

/// A table of the first page, in a frame that scrolls aside.
fn framed(caption: &str, class: &str, table: &Markup) -> Markup {
    html! {
        div class={ "table " (class) } {
            @if class == "wide" {
                label class="columns narrow" {
                    input type="checkbox";
                    " All columns" span class="unseen" { " of " (caption) }
                }
            }
            div class="scroll" role="group" tabindex="0" aria-label=(caption) { (table) }
        }
        p class="none" hidden { "Nothing here has the properties that the filters ask for." }
    }
}

/// The leader of each ranking; the levels apart.
pub(super) fn leaders(entries: &[Entry<'_>]) -> Markup {
    let ranked: Vec<_> = entries.iter().filter(|it| it.verdict().is_some()).collect();
    if ranked.is_empty() {
        return html! {
            p { "No run here has two contenders at the same settings, so nobody leads." }
        };
    }
    let titles = [
        "workload and machine",
        "leader",
        "ahead of the second",
        "verdict",
    ];
    let heading = |entry: &Entry<'_>| (entry.level(), subject::promise(&entry.ranking.subject));
    let levels = ranked.chunk_by(|one, other| heading(one) == heading(other));
    html! {
        table class="answer leaders" {
            caption { "Who leads" }
            thead { tr { @for title in titles { th scope="col" { (title) } } } }
            @for level in levels {
                tbody data-group="" {
                    @if let Some(first) = level.first() {
                        @let (name, promise) = heading(first);
                        tr class="level" {
                            th scope="rowgroup" colspan="4" { (name) ": " (promise) }
                        }
                    }
                    @for entry in level { (leader(entry)) }
                }
            }
        }
        p class="none" hidden { "No ranking has the properties that the filters ask for." }
    }
}

fn leader(entry: &Entry<'_>) -> Markup {
    let Some(answer) = &entry.ranking.answer else {
        return html! {};
    };
    html! {
        tr data-row="ranking" data-values=(entry.properties().json()) {
            th scope="row" {
                a href={ "#" (entry.anchor()) } { (subject::conditions(&answer.subject)) }
                " "
                small { (entry.circumstances()) }
            }
            (first_screen::figures(answer))
        }
    }
}

/// Every contender of every ranking, the rankings apart.
pub(super) fn results(entries: &[Entry<'_>]) -> Markup {
    if entries.is_empty() {
        return html! { p { "No trial of these runs counts." } };
    }
    let table = html! {
        table class="results" {
            caption { "Every result" }
            thead {
                tr {
                    th scope="col" class="rank" { span class="unseen" { "rank" } }
                    th scope="col" class="text" { "contender" }
                    th scope="col" class="figure" { "rate" }
                    th scope="col" class="figure" { "of leader" }
                    th scope="col" class="figure narrow" { "p99 latency" }
                    th scope="col" class="text narrow" { "version" }
                    th scope="col" class="figure narrow" { "repeats" }
                }
            }
            @for entry in entries { (ranking(entry)) }
        }
    };
    framed("Every result", "wide", &table)
}

fn ranking(entry: &Entry<'_>) -> Markup {
    let subject = &entry.ranking.subject;
    html! {
        tbody id=(entry.anchor()) data-group=(entry.shared_properties().json()) {
            tr class="level" {
                th scope="rowgroup" colspan="7" {
                    a href=(entry.page()) { (subject::short(subject)) }
                    @if entry.verdict().is_none() { " (only contender, not ranked)" }
                    " " small { (entry.circumstances()) }
                }
            }
            @for contender in &entry.ranking.contenders { (result(entry, contender)) }
        }
    }
}

fn result(entry: &Entry<'_>, contender: &SiteContender) -> Markup {
    let (row, subject) = (&contender.row, &entry.ranking.subject);
    let at_rate = subject.rate_per_s.is_some();
    let share = row.of_leader.map_or_else(String::new, |share| {
        format!(
            "{} {}",
            share_text(share, at_rate),
            interval_text(share, at_rate)
        )
    });
    let latency = row.latency.as_ref().map_or_else(String::new, |latency| {
        format!("{} {}", latency.kind, nanoseconds(latency.p99_ns))
    });
    let rate = format!("{} {}/s", number(row.rate_per_s), subject.unit);
    html! {
        tr data-row="result" data-values=(contender_properties(contender).json()) {
            td class="rank" { (rank_text(row)) }
            th scope="row" class="text short" { (row.contender) }
            td class="figure" { (rate) (words::work_note(row)) }
            td class="figure" { (share.trim_end()) }
            td class="figure narrow" { (latency) }
            td class="text narrow" { (short_version(&contender.version)) }
            td class="figure narrow" { (row.repeats) }
        }
    }
}

/// Every run, newest first, with its permanent link.
pub(super) fn runs(runs: &[SiteRun], entries: &[Entry<'_>]) -> Markup {
    let table = html! {
        table {
            caption { "Runs" }
            thead {
                tr {
                    th scope="col" class="text" { "run" }
                    th scope="col" class="text" { "date" }
                    th scope="col" class="text" { "host" }
                    th scope="col" class="text narrow" { "trials" }
                    th scope="col" class="text narrow" { "trueput" }
                    th scope="col" class="text narrow" { "read from" }
                }
            }
            tbody data-group="" { @for run in runs { (run_row(run, entries)) } }
        }
    };
    framed("Runs", "wide", &table)
}

fn run_row(run: &SiteRun, entries: &[Entry<'_>]) -> Markup {
    let mut properties: Properties = run_properties(run);
    for entry in entries.iter().filter(|entry| entry.run.id == run.id) {
        properties.merge(&entry.properties());
    }
    let search = run.search.as_ref();
    let search = search.map_or_else(String::new, |command| format!(" ({command})"));
    html! {
        tr data-row="run" data-values=(properties.json()) {
            th scope="row" class="text" {
                a href=(page_path(&run.id)) { (run.id) }
                (search)
                @if !run.about.is_empty() { " " small { (run.about) } }
            }
            td class="text" { (run.date().unwrap_or("no date")) }
            td class="text long" { (host_text(&run.host)) }
            td class="text narrow" { (trials(run.trials)) }
            td class="text narrow" { (run.trueput) }
            td class="text long narrow" { (run.source) }
        }
    }
}

/// Counts of trials by outcome: `12 valid, 1 failed`.
fn trials(counts: TrialCounts) -> String {
    let parts = [
        (counts.valid, "valid"),
        (counts.invalid, "invalid"),
        (counts.failed, "failed"),
        (counts.missing, "not run"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}
