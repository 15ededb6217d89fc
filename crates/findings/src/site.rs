//! A run among many, as a site of results lists it: each ranking with its storage and the versions
//! of its engines. Nothing here compares figures of two runs.

use crate::Findings;
use crate::answer::{
    AnswerRow, LeaderShare, RankingAnswer, RankingSubject, RankingVerdict, TrialCounts,
    UnrankedContender, UnrankedReason,
};
use crate::rankings::Ranking;
use crate::storage_models::StorageModels;
use serde::Serialize;
use trueput_record::storage_model::NO_MODEL;
use trueput_record::{Conditions, TrialRecord};

/// The longest part of [`SiteRun::id`] that comes from the plan's name, characters.
const MAX_SLUG: usize = 40;

/// Digits of the checksum in [`SiteRun::id`].
const ID_DIGITS: usize = 12;

/// A run of a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteRun {
    /// The plan's name and the beginning of the record's checksum: the run's permanent name.
    pub id: String,
    /// The run folder or bundle that it was read from, relative to the folder that was searched.
    pub source: String,
    /// The plan's name.
    pub name: String,
    /// A description of the plan.
    pub about: String,
    /// When the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine.
    pub host: SiteHost,
    /// The version of trueput that made it.
    pub trueput: String,
    /// The commit that this was built from.
    pub commit: String,
    /// The subcommand, if its trials were proposed by a search, so that they are in no ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Counts of the plan's trials by outcome.
    pub trials: TrialCounts,
    /// Its rankings, in the plan's order.
    pub rankings: Vec<SiteRanking>,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SiteHost {
    /// Host name.
    pub name: String,
    /// Processor model.
    pub cpu: String,
    /// Processors that the program could use.
    pub cores: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Hypervisor or container, else `none`.
    pub virtualization: String,
}

/// The contenders of one subject in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteRanking {
    /// Workload, level, settings and workers.
    pub subject: RankingSubject,
    /// The file system and the device, or the storage model: `ext4, vda, write back cache`.
    pub storage: String,
    /// Whether the lead is significant; `None` if there is only one contender.
    pub verdict: Option<RankingVerdict>,
    /// The leader's rate over the second's, with the interval of the verdict.
    pub lead: Option<LeaderShare>,
    /// Names of the contenders that are not shown to differ from the leader.
    pub tied: Vec<String>,
    /// The order and how certain it is; `None` if there is only one contender.
    #[serde(skip)]
    pub answer: Option<RankingAnswer>,
    /// Every contender that has figures, best first.
    pub contenders: Vec<SiteContender>,
}

/// A contender of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteContender {
    /// The version that the engine reported; empty if it reported none.
    pub version: String,
    /// Its figures.
    #[serde(flatten)]
    pub row: AnswerRow,
}

impl SiteRun {
    /// The run of these findings. `checksum` is the SHA-256 of its record in hexadecimal, `source`
    /// the place that it was read from.
    #[must_use]
    pub fn of(findings: &Findings<'_>, checksum: &str, source: &str) -> Self {
        let manifest = &findings.run.manifest;
        let host = &manifest.host;
        let answer = &findings.answer;
        let search = manifest.search.as_ref().filter(|_| !manifest.is_ranked());
        let ranking = |(index, ranking)| site_ranking(findings, index, ranking);
        let rankings = findings.rankings.iter().enumerate();
        Self {
            id: permanent_id(&manifest.name, checksum),
            source: source.to_owned(),
            name: manifest.name.clone(),
            about: manifest.about.clone(),
            started_at: manifest.started_at.clone(),
            host: SiteHost {
                name: host.host_name.clone(),
                cpu: host.cpu_model.clone(),
                cores: host.cores,
                memory_bytes: host.memory_bytes,
                virtualization: host.virtualization.clone(),
            },
            trueput: host.program.version.clone(),
            commit: host.program.commit.clone(),
            search: search.map(|search| search.command().to_owned()),
            trials: answer.trials,
            rankings: rankings.filter_map(ranking).collect(),
        }
    }

    /// The day on which it began; `None` if the record has no such date.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        let date = self.started_at.get(..10)?;
        let is_date = |(index, byte): (usize, u8)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        date.bytes().enumerate().all(is_date).then_some(date)
    }
}

/// The plan's name in small letters, digits and hyphens, and the beginning of the checksum.
fn permanent_id(name: &str, checksum: &str) -> String {
    let mut slug = String::new();
    for character in name.chars() {
        match character.to_ascii_lowercase() {
            plain if plain.is_ascii_alphanumeric() => slug.push(plain),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
        if slug.len() == MAX_SLUG {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    let digits = checksum.get(..ID_DIGITS).unwrap_or(checksum);
    if slug.is_empty() {
        format!("run-{digits}")
    } else {
        format!("{slug}-{digits}")
    }
}

/// A ranking of the run; `None` if no contender of it has figures.
fn site_ranking(findings: &Findings<'_>, index: usize, ranking: &Ranking) -> Option<SiteRanking> {
    let answer = findings.answer.ranking(index).cloned();
    let is_listed = |one: &&UnrankedContender| {
        one.subject.index == index && one.reason != UnrankedReason::Harness
    };
    let unranked = findings.answer.not_ranked.iter().filter(is_listed);
    let subject = answer.as_ref().map(|it| &it.subject);
    let subject = subject.or_else(|| unranked.clone().next().map(|it| &it.subject))?;
    let ranked = answer.iter();
    let ranked = ranked.flat_map(|it| it.rows.iter().chain(&it.not_comparable));
    let contender = |row: &AnswerRow| SiteContender {
        version: version(ranking, row.cell),
        row: row.clone(),
    };
    let rows = ranked.chain(unranked.map(|it| &it.row));
    Some(SiteRanking {
        subject: subject.clone(),
        storage: storage(findings, ranking),
        contenders: rows.map(contender).collect(),
        verdict: answer.as_ref().map(|it| it.verdict),
        lead: answer.as_ref().and_then(|it| it.lead),
        tied: answer
            .as_ref()
            .map_or_else(Vec::new, |it| it.inconclusive.clone()),
        answer,
    })
}

fn version(ranking: &Ranking, cell: u32) -> String {
    let mut cells = ranking.contenders();
    let found = cells.find(|one| one.cell == cell);
    found.map_or_else(String::new, |one| one.version.clone())
}

/// The storage of every cell of a ranking, each once, in their order.
fn storage(findings: &Findings<'_>, ranking: &Ranking) -> String {
    let mut labels: Vec<String> = Vec::new();
    for cell in ranking.contenders() {
        let mut trials = findings.run.trials.iter();
        let trial = trials.find(|trial| trial.spec.cell == cell.cell);
        let own = &findings.run.manifest.host.file_system.kind;
        let label = storage_label(&cell.conditions, trial, own);
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.join("; ")
}

/// The file system and device of a cell, or its storage model, its log's if that is apart, and the
/// fault of its storage. `own` is the type of the run's file system.
fn storage_label(conditions: &Conditions, trial: Option<&TrialRecord>, own: &str) -> String {
    let models = StorageModels::of(conditions);
    let mut label = if models.data == NO_MODEL {
        let image = conditions.file_system.as_ref();
        let image = image.map(|image| format!("{image} image"));
        image.unwrap_or_else(|| file_system_and_device(trial, own))
    } else {
        format!("model {}", models.data)
    };
    let log_model = models.log.as_ref().filter(|log| *log != NO_MODEL);
    let log_image = conditions.log_file_system.as_ref();
    let log = log_model.map(|log| format!("model {log}"));
    if let Some(log) = log.or_else(|| log_image.map(|image| format!("{image} image"))) {
        label += &format!(", log on {log}");
    }
    if let Some(fault) = &models.fault {
        label += &format!(", with fault {fault}");
    }
    label
}

fn file_system_and_device(trial: Option<&TrialRecord>, own: &str) -> String {
    let mounted = trial.and_then(|trial| trial.file_system.as_ref());
    let kind = mounted.map_or(own, |mounted| mounted.mounted.kind.as_str());
    let kind = if kind.is_empty() {
        "unknown file system"
    } else {
        kind
    };
    let layers = trial.and_then(|trial| trial.storage.as_ref());
    let mut layers = layers.into_iter().flat_map(|stack| &stack.layers);
    let device = layers.find_map(|layer| layer.strip_prefix("device "));
    device.map_or_else(|| kind.to_owned(), |device| format!("{kind}, {device}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_file_name_whatever_the_plan_is_called() {
        let checksum = "0123456789abcdef";
        for (name, expected) in [
            ("First look!", "first-look-0123456789ab"),
            ("../../etc/passwd", "etc-passwd-0123456789ab"),
            ("<script>", "script-0123456789ab"),
            ("Ω", "run-0123456789ab"),
            ("", "run-0123456789ab"),
        ] {
            assert_eq!(permanent_id(name, checksum), expected);
        }
        let long = permanent_id(&"a".repeat(200), checksum);
        assert_eq!(long.len(), MAX_SLUG + 1 + ID_DIGITS);
        assert_eq!(permanent_id("x", "12"), "x-12");
    }
}
