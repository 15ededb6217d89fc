//! What the pictures of a run show, from its answer: the words are those of the report.

use super::grid::max_panels;
use crate::answer::table::latency_title;
use crate::answer::{name_list, subject, words};
use crate::chart::{
    Chart, ChartColumn, ChartGroup, ChartKind, Panel, PanelRow, Panels, Unit, Word,
};
use crate::storage_words::{self, models_of};
use trueput_findings::Findings;
use trueput_findings::answer::{
    Answer, AnswerRow, RankingAnswer, RankingSubject, RankingVerdict, RowVerdict, UnrankedReason,
};
use trueput_findings::text::capitalized;
use trueput_findings::units::{bytes, counted, nanoseconds, number, per_cent};
use trueput_record::text::escape_line;

const SEARCH: &str = "search trials use different knobs and rates, so they are not ranked";
const NOTHING_VALID: &str = "no valid trials, so nothing is ranked";
const ONE_RATE: &str =
    "all were offered one rate, so only response times differ; the overview shows them";
const NO_LATENCIES: &str = "no latencies were measured";

const BOLD: &str = "Bold: the leader, and those not shown to differ from it.";

/// A ranking, or the only contender at its settings.
struct PanelSource<'a> {
    subject: &'a RankingSubject,
    /// `None` for an only contender.
    ranking: Option<&'a RankingAnswer>,
    rows: Vec<&'a AnswerRow>,
}

/// All rankings side by side; the reason if there is none.
pub(crate) fn overview(findings: &Findings<'_>) -> Result<Chart, &'static str> {
    let ranked = ranked(findings)?;
    let at_rate = |it: &PanelSource<'_>| it.subject.rate_per_s.is_some();
    let what = match (ranked.iter().all(at_rate), ranked.iter().any(at_rate)) {
        (true, _) => "99th percentile of response times".to_owned(),
        (false, true) => "rates and response times".to_owned(),
        (false, false) => common_unit(&ranked)
            .map_or_else(|| "rates".to_owned(), |unit| format!("{unit} per second")),
    };
    let content = ChartContent::new(findings, &what, ranked);
    let intervals = content.ranked.iter().flat_map(|it| &it.rows);
    let levels = intervals.filter_map(|row| Some(row.of_leader?.interval?.level));
    let notes = reading_note(levels);
    let unit = content.common_figure();
    Ok(Chart {
        columns: vec![
            ChartColumn::new("ranking", Unit::Word),
            ChartColumn::new("median", unit),
            ChartColumn::new("interval from", unit),
            ChartColumn::new("interval to", unit),
        ],
        groups: content.groups(|row| {
            let ends = row.interval;
            vec![Some(row.figure), ends.map(|it| it.0), ends.map(|it| it.1)]
        }),
        ..content.chart(ChartKind::Overview, notes)
    })
}

/// Rate against latency; the reason if there is none.
pub(crate) fn latency(findings: &Findings<'_>) -> Result<Chart, &'static str> {
    let mut ranked = ranked(findings)?;
    ranked.retain(|it| it.subject.rate_per_s.is_none());
    if ranked.is_empty() {
        return Err(ONE_RATE);
    }
    ranked.retain(|it| it.rows.iter().any(|row| row.latency.is_some()));
    if ranked.is_empty() {
        return Err(NO_LATENCIES);
    }
    let unit = common_unit(&ranked).unwrap_or("rate");
    let content = ChartContent::new(findings, &format!("{unit} per second and latency"), ranked);
    let untimed = content.ranked.iter().flat_map(|it| &it.rows);
    let untimed = untimed.filter(|row| row.latency.is_none());
    let mut untimed: Vec<_> = untimed.map(|row| row.plain_name.as_str()).collect();
    untimed.dedup();
    let mut notes = vec![format!("Best: lower right. Medians of repeats. {BOLD}")];
    if !untimed.is_empty() {
        notes.push(format!("Without latency: {}.", name_list::listed(&untimed)));
    }
    Ok(Chart {
        columns: vec![
            ChartColumn::new("ranking", Unit::Word),
            ChartColumn::new("per second", Unit::PerSecond),
            ChartColumn::new("p99 latency, ns", Unit::Nanoseconds),
        ],
        groups: content.groups(|row| vec![Some(row.figure), row.latency_ns]),
        ..content.chart(ChartKind::RateAndLatency, notes)
    })
}

/// The rankings with an order, or if there is none the only contenders.
fn ranked<'a>(findings: &'a Findings<'_>) -> Result<Vec<PanelSource<'a>>, &'static str> {
    if !findings.run.manifest.is_ranked() {
        return Err(SEARCH);
    }
    let answer = &findings.answer;
    let rankings = answer.rankings.iter().map(|ranking| PanelSource {
        subject: &ranking.subject,
        ranking: Some(ranking),
        rows: ranking.rows.iter().collect(),
    });
    let mut found: Vec<_> = rankings.collect();
    if found.is_empty() {
        let single = answer.not_ranked.iter();
        let single = single.filter(|one| one.reason == UnrankedReason::OnlyContender);
        found.extend(single.map(|one| PanelSource {
            subject: &one.subject,
            ranking: None,
            rows: vec![&one.row],
        }));
    }
    if found.is_empty() {
        return Err(NOTHING_VALID);
    }
    Ok(found)
}

/// The unit of all rankings' rates, if it is the same.
fn common_unit<'a>(ranked: &[PanelSource<'a>]) -> Option<&'a str> {
    let mut units = ranked.iter().map(|it| it.subject.unit.as_str());
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// The conditions that all rankings have in common.
fn common_conditions(ranked: &[PanelSource<'_>]) -> Vec<String> {
    let mut conditions = ranked.iter().map(|it| subject::condition_parts(it.subject));
    let mut common = conditions.next().unwrap_or_default();
    for others in conditions {
        common.retain(|part| others.contains(part));
    }
    common
}

/// How to read intervals, with their levels of confidence.
fn reading_note(levels: impl Iterator<Item = f64>) -> Vec<String> {
    let (least, most) = levels.fold((f64::MAX, f64::MIN), |(least, most), level| {
        (least.min(level), most.max(level))
    });
    let mut note = "Points: medians of repeats. Dashed: the leader. ".to_owned();
    if least <= most {
        let (least, most) = (per_cent(least), per_cent(most));
        let level = if least == most {
            least
        } else {
            format!("{least} to {most}")
        };
        note += &format!("Lines: intervals of the difference from the leader ({level}). ");
    }
    vec![note + BOLD]
}

/// The rankings of a chart with the panels made of them.
struct ChartContent<'a> {
    answer: &'a Answer,
    ranked: Vec<PanelSource<'a>>,
    /// The title without the name of the run.
    title: String,
    panels: Panels,
    /// The contenders with their marks, in the order in which they first appear.
    contenders: Vec<&'a str>,
}

impl<'a> ChartContent<'a> {
    fn new(findings: &'a Findings<'_>, what: &str, mut ranked: Vec<PanelSource<'a>>) -> Self {
        let longest = ranked.iter().map(|it| it.rows.len()).max();
        let drawn = max_panels(longest.unwrap_or_default());
        let left_out = ranked.len().saturating_sub(drawn);
        ranked.truncate(drawn);
        let mut contenders: Vec<&str> = Vec::new();
        for row in ranked.iter().flat_map(|it| it.rows.iter().copied()) {
            if !contenders.contains(&row.contender.as_str()) {
                contenders.push(&row.contender);
            }
        }
        let common = common_conditions(&ranked);
        let panels = ranked.iter().map(|it| panel(it, &common, &contenders));
        let title = std::iter::once(capitalized(what)).chain(common.clone());
        let title = title.collect::<Vec<_>>().join(", ");
        let answer = &findings.answer;
        let mut conditions = vec![machine(findings)];
        conditions.extend(words::common(answer));
        conditions = conditions
            .iter()
            .map(|line| escape_line(line).into_owned())
            .collect();
        let mut notes = Vec::new();
        notes.extend(words::disturbed(&answer.disturbances));
        let late = answer.late_models.iter().map(storage_words::late);
        notes.extend(late.map(|text| format!("{text}.")));
        if left_out > 0 {
            let rankings = counted(left_out as u64, "more ranking");
            notes.push(format!("Not shown: {rankings}; trueput report has all."));
        }
        let panels = Panels {
            title: escape_line(&format!("{}: {}", answer.name, uncapitalized(&title))).into_owned(),
            conditions,
            panels: panels.collect(),
            notes,
        };
        Self {
            answer,
            ranked,
            title: escape_line(&title).into_owned(),
            panels,
            contenders,
        }
    }

    /// The unit of all panels' figures; a plain number if they differ.
    fn common_figure(&self) -> Unit {
        let mut units = self.panels.panels.iter().map(|panel| panel.unit);
        let first = units.next().unwrap_or(Unit::Number);
        if units.all(|unit| unit == first) {
            first
        } else {
            Unit::Number
        }
    }

    /// A group for each contender, with a row for each panel that it is in: the panel's number
    /// and these figures.
    fn groups(&self, figures: impl Fn(&PanelRow) -> Vec<Option<f64>>) -> Vec<ChartGroup> {
        let group = |(number, name): (usize, &&str)| {
            let panels = self.panels.panels.iter().enumerate();
            let rows = panels.flat_map(|(panel, it)| {
                let rows = it.rows.iter().filter(|row| row.group == number);
                rows.map(move |row| (panel, row))
            });
            let rows = rows.map(|(panel, row)| {
                let mut cells = vec![Some(panel as f64)];
                cells.extend(figures(row));
                cells
            });
            ChartGroup {
                rows: rows.collect(),
                ..ChartGroup::new(*name, [])
            }
        };
        self.contenders.iter().enumerate().map(group).collect()
    }

    /// The chart without its figures.
    fn chart(mut self, kind: ChartKind, mut notes: Vec<String>) -> Chart {
        notes.append(&mut self.panels.notes);
        let rows = self.ranked.iter().flat_map(|it| it.rows.iter().copied());
        notes.extend(words::signed_marks(rows));
        notes.extend(not_ranked(self.answer));
        let safe = |notes: &[String]| -> Vec<String> {
            let notes = notes.iter().map(|note| escape_line(note).into_owned());
            notes.collect()
        };
        // The page has failures in a section of their own.
        let note = safe(&notes).join(" ");
        notes.extend(self.answer.failures.iter().map(words::failure));
        let notes = safe(&notes);
        let panels = self.panels.panels.iter();
        let says = panels.map(|panel| format!("{}: {}", panel.title, panel.sentence));
        let says = format!("{}. {}", self.title, says.collect::<Vec<_>>().join(" "));
        let words = self.panels.panels.iter().map(|panel| Word {
            text: panel.title.clone().into(),
            color: 0,
        });
        Chart {
            says: says.trim().to_owned(),
            note,
            words: words.collect(),
            title: self.title,
            panels: Panels {
                notes,
                ..self.panels
            },
            ..Chart::new(kind, "contender")
        }
    }
}

/// A title that follows a colon.
fn uncapitalized(title: &str) -> String {
    let mut characters = title.chars();
    let first = characters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(characters).collect()
}

/// The machine and the date.
fn machine(findings: &Findings<'_>) -> String {
    let manifest = &findings.run.manifest;
    let host = &manifest.host;
    let cpu = if host.cpu_model.is_empty() {
        "unknown processor"
    } else {
        &host.cpu_model
    };
    let date = manifest
        .started_at
        .get(..10)
        .unwrap_or(&manifest.started_at);
    let file_system = match (models_of(findings.run), host.file_system.kind.as_str()) {
        // Some databases may be on the machine's own storage, or have only their log on a model.
        (Some(models), _) => format!("; storage models: {models}"),
        (None, "") => String::new(),
        (None, kind) => format!(", databases on {kind}"),
    };
    let cores = counted(u64::from(host.cores), "core");
    let memory = bytes(host.memory_bytes as f64);
    format!("{cpu}, {cores}, {memory} of memory{file_system}; {date}")
}

/// The contenders that have figures and no place, with their marks.
fn not_ranked(answer: &Answer) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let unplaced = answer.rankings.iter().flat_map(|it| &it.not_comparable);
    let marked = |reason| {
        matches!(
            reason,
            UnrankedReason::NotComparable | UnrankedReason::UnsafeStorage
        )
    };
    let others = answer.not_ranked.iter().filter(|one| marked(one.reason));
    for row in unplaced.chain(others.map(|one| &one.row)) {
        if !names.contains(&row.contender.as_str()) {
            names.push(&row.contender);
        }
    }
    (!names.is_empty()).then(|| format!("Measured but not ranked: {}.", name_list::listed(&names)))
}

fn panel(ranked: &PanelSource<'_>, common: &[String], contenders: &[&str]) -> Panel {
    let subject = ranked.subject;
    let mut title = vec![format!(
        "{}{}",
        subject.durability,
        subject::storage(subject)
    )];
    let parts = subject::condition_parts(subject).into_iter();
    title.extend(parts.filter(|part| !common.contains(part)));
    let promise = capitalized(subject::promise(subject)) + &subject::level_notes(subject);
    let at_rate = subject.rate_per_s.is_some();
    let label = if at_rate {
        "99th percentile of response time, shorter is better".to_owned()
    } else {
        format!("{} per second", subject.unit)
    };
    let timed = ranked.rows.iter().find_map(|row| row.latency.as_ref());
    let latency_label = timed.map_or_else(String::new, |it| latency_title(it, at_rate));
    let row = |row: &&AnswerRow| panel_row(ranked, row, contenders);
    let rows: Vec<_> = ranked.rows.iter().map(row).collect();
    let verdict = ranked.ranking.map(|ranking| ranking.verdict);
    let has_order = verdict.is_some_and(|verdict| {
        !matches!(
            verdict,
            RankingVerdict::NoOrder | RankingVerdict::RateNotKept
        )
    });
    let sentence = ranked.ranking.map_or_else(String::new, |ranking| {
        words::verdict_sentence(&with_signs(ranking))
    });
    Panel {
        title: escape_line(&title.join(", ")).into_owned(),
        promise: escape_line(&promise).into_owned(),
        verdict,
        sentence: escape_line(&sentence).into_owned(),
        label: escape_line(&label).into_owned(),
        unit: if at_rate {
            Unit::Nanoseconds
        } else {
            Unit::PerSecond
        },
        latency_label: escape_line(&latency_label).into_owned(),
        reference: rows.first().filter(|_| has_order).map(|row| row.figure),
        rows,
    }
}

fn panel_row(ranked: &PanelSource<'_>, row: &AnswerRow, contenders: &[&str]) -> PanelRow {
    let at_rate = ranked.subject.rate_per_s.is_some();
    let latency_ns = row.latency.as_ref().map(|latency| latency.p99_ns);
    let figure = if at_rate {
        latency_ns.unwrap_or_default()
    } else {
        row.rate_per_s
    };
    let leader = ranked.rows.first().and_then(|row| row.latency.as_ref());
    let interval = if at_rate {
        let share = row.of_leader.and_then(|share| share.interval);
        let share = share.filter(|_| row.verdict != RowVerdict::RateNotKept);
        let leader = leader.map(|latency| latency.p99_ns);
        share
            .zip(leader)
            .map(|(it, leader)| (it.low * leader, it.high * leader))
    } else {
        row.rate_interval.map(|it| (it.low, it.high))
    };
    let position = contenders.iter().position(|name| *name == row.contender);
    PanelRow {
        name: escape_line(&words::signed_name(row)).into_owned(),
        contender: row.contender.clone(),
        group: position.unwrap_or_default(),
        figure,
        text: match (at_rate, row.verdict) {
            (true, RowVerdict::RateNotKept) => "rate not kept".to_owned(),
            (true, _) => nanoseconds(figure),
            (false, _) => number(figure),
        },
        interval,
        is_first: row.verdict == RowVerdict::Leader || row.verdict.is_inconclusive(),
        latency_ns,
    }
}

/// The ranking with a sign in the place of each contender's marks.
fn with_signs(ranking: &RankingAnswer) -> RankingAnswer {
    let mut signed = ranking.clone();
    let name = |contender: &str| {
        let row = ranking.rows.iter().find(|row| row.contender == contender);
        row.map_or_else(|| contender.to_owned(), words::signed_name)
    };
    for row in &mut signed.rows {
        row.contender = name(&row.contender);
    }
    for other in &mut signed.inconclusive {
        *other = name(other);
    }
    signed
}
