//! Translates YCSB's properties to a plan.

use crate::failure::Failure;
use std::fmt;
use std::path::{Path, PathBuf};
use trueput_engine::parameter::resolve;
use trueput_record::Value;
use trueput_record::plan::{Condition, ConditionLists, MAX_WORKERS, PlanFile, check_count};
use trueput_record::suggest::did_you_mean;
use trueput_record::trial::Settings;
use trueput_workloads::Workload;
use trueput_workloads::ycsb::{Ycsb, parse_properties};

/// Properties of YCSB's client and core workload without an effect here: YCSB's own measurement and
/// reports, options of other bindings, and behavior that is always on in trueput (every read is
/// checked). One line names all of them.
const WITHOUT_MEANING: [&str; 33] = [
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "dataintegrity",
    "db",
    "debug.pause",
    "discardscannedrecord",
    "exporter",
    "exportfile",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "hdrhistogram.fileoutput",
    "hdrhistogram.output.path",
    "hdrhistogram.percentiles",
    "histogram.buckets",
    "keylengthdistribution",
    "label",
    "maxscanrate",
    "measurement.histogram.verbose",
    "measurement.interval",
    "measurement.raw.no_summary",
    "measurement.raw.output_file",
    "measurement.trackjvm",
    "measurementtype",
    "readallfieldsbyname",
    "reportlatencyforeacherror",
    "scanoptimelimit",
    "status",
    "status.interval",
    "statusinterval",
    "table",
    "timeseries.granularity",
    "jdbc.fetchsize",
    "latencytrackederrors",
];

/// The workload class of YCSB that this is.
const CORE_WORKLOAD: &str = "CoreWorkload";

/// The source of a property: a file and line, or the command line.
#[derive(Debug, Clone)]
enum PropertySource {
    Line(PathBuf, usize),
    CommandLine,
}

impl fmt::Display for PropertySource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(path, line) => write!(formatter, "{}:{line}", path.display()),
            Self::CommandLine => formatter.write_str("-p"),
        }
    }
}

struct Property {
    name: String,
    value: String,
    place: PropertySource,
}

/// The plan and options that the properties describe.
#[derive(Debug, Default)]
pub struct PlanProperties {
    settings: Settings,
    workers: Option<u32>,
    conditions: ConditionLists,
    from_files: bool,
    name: Option<String>,
    /// Ignored properties, one line each.
    pub warnings: Vec<String>,
}

/// Reads `NAME=VALUE` of `-p`.
pub fn parse_one(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME=VALUE, as in recordcount=1000000".to_owned()),
    }
}

impl PlanProperties {
    /// Reads the files, then the properties of the command line.
    ///
    /// # Errors
    /// A usage error that names the file and line of the error.
    pub fn read(files: &[PathBuf], properties: &[(String, String)]) -> Result<Self, Failure> {
        let mut all: Vec<Property> = Vec::new();
        let mut set = |given: Property| {
            all.retain(|earlier| earlier.name != given.name);
            all.push(given);
        };
        for path in files {
            read_file(path)?.into_iter().for_each(&mut set);
        }
        for (name, value) in properties {
            let (name, value) = (name.clone(), value.clone());
            let place = PropertySource::CommandLine;
            set(Property { name, value, place });
        }
        let mut asked = Self {
            from_files: !files.is_empty(),
            name: files.last().and_then(|path| plan_name(path)),
            ..Self::default()
        };
        let mut without_meaning = Vec::new();
        for given in &all {
            if WITHOUT_MEANING.contains(&given.name.as_str()) {
                without_meaning.push(given.name.as_str());
                continue;
            }
            let place = &given.place;
            let taken = asked.take(&given.name, &given.value);
            match taken.map_err(|why| Failure::usage(format!("{place}: {why}")))? {
                true => {}
                false => asked.warnings.push(format!(
                    "{place}: '{}' is not a property of the workload and is ignored{}",
                    given.name,
                    did_you_mean(&given.name, Ycsb.settings().iter().map(|knob| knob.name))
                )),
            }
        }
        if !without_meaning.is_empty() {
            asked.warnings.push(format!(
                "ignored, because they have no meaning here: {}",
                without_meaning.join(", ")
            ));
        }
        Ok(asked)
    }

    /// Applies a property; `false` if it is unknown.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "workload" if value.rsplit('.').next() == Some(CORE_WORKLOAD) => {}
            "workload" => {
                return Err(format!(
                    "workload={value} is not supported; only {CORE_WORKLOAD} is"
                ));
            }
            "threadcount" => {
                let number = number(name, value)?;
                self.workers = Some(check_count(name, number, MAX_WORKERS)?);
            }
            "target" => {
                let _: f64 = number(name, value)?;
                self.take_condition("rate", name, value)?;
            }
            "maxexecutiontime" => {
                let _: u32 = number(name, value)?;
                self.take_condition("duration", name, value)?;
            }
            "dotransactions" if value != "true" => {
                return Err("each run includes its load: remove dotransactions".into());
            }
            "dotransactions" => {}
            "insertstart" if value != "0" => {
                return Err(format!(
                    "insertstart={value}: the load starts at record 0; remove it"
                ));
            }
            "insertstart" | "insertcount" => self.take_count(name, value)?,
            _ => return self.take_setting(name, value),
        }
        Ok(true)
    }

    fn take_condition(&mut self, key: &str, name: &str, value: &str) -> Result<(), String> {
        let set = |condition: &Condition| condition.set(&mut self.conditions, &[value]);
        let set = Condition::named(key).map_or(Ok(()), set);
        set.map_err(|why| format!("{name}: {why}"))
    }

    /// A partial load is not supported; a full one may be stated.
    fn take_count(&mut self, name: &str, value: &str) -> Result<(), String> {
        let given: i64 = number(name, value)?;
        let records = self.settings.get("recordcount");
        let whole = records == Some(&Value::Integer(given));
        if name == "insertcount" && !whole {
            return Err(format!(
                "insertcount={value}: all records are loaded; use recordcount={value} instead"
            ));
        }
        Ok(())
    }

    fn take_setting(&mut self, name: &str, value: &str) -> Result<bool, String> {
        if !Ycsb.settings().iter().any(|knob| knob.name == name) {
            return Ok(false);
        }
        let setting = (name.to_owned(), Value::parse(value));
        resolve("ycsb", Ycsb.settings(), &Settings::from([setting.clone()]))?;
        self.settings.extend([setting]);
        Ok(true)
    }

    /// Applies the properties to a plan. Defaults are YCSB's: one thread, and those of
    /// `CoreWorkload`.
    pub fn apply(&self, plan: &mut PlanFile) {
        plan.about = "YCSB's core workload".to_owned();
        plan.workers = vec![self.workers.unwrap_or(1)];
        if self.from_files {
            plan.settings
                .insert("workload".to_owned(), vec!["core".into()]);
        }
        for (name, value) in &self.settings {
            plan.settings.insert(name.clone(), vec![value.clone()]);
        }
        if let Some(name) = &self.name {
            plan.name.clone_from(name);
        }
        if !self.conditions.rate_per_s.is_empty() {
            let rates = &self.conditions.rate_per_s;
            plan.conditions.rate_per_s.clone_from(rates);
        }
        let duration_s = self.conditions.duration_s;
        plan.conditions.duration_s = duration_s.or(plan.conditions.duration_s);
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{name}={value} is not a valid number"))
}

fn read_file(path: &Path) -> Result<Vec<Property>, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let found = parse_properties(&text);
    let found = found.map_err(|error| Failure::usage(format!("{name}, {error}")))?;
    let given = found.into_iter().map(|property| Property {
        name: property.name,
        value: property.value,
        place: PropertySource::Line(path.to_owned(), property.line),
    });
    Ok(given.collect())
}

/// The run is named after the file, if that is a valid folder name.
fn plan_name(path: &Path) -> Option<String> {
    let name = format!("ycsb-{}", path.file_stem()?.to_str()?);
    trueput_record::plan::check_name(&name)
        .is_ok()
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, properties: &[(&str, &str)]) -> Result<PlanProperties, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workloadx");
        std::fs::write(&path, text).unwrap();
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let properties: Vec<_> = properties.iter().map(owned).collect();
        PlanProperties::read(&[path], &properties).map_err(|failure| failure.to_string())
    }

    #[test]
    fn threads_target_and_time_become_workers_rate_and_duration() {
        let text = "threadcount=3\ntarget=500\nmaxexecutiontime=60\nreadproportion=1\n";
        let mut plan = PlanFile::for_workload(WORKLOAD_NAME);
        asked(text, &[("threadcount", "5")])
            .unwrap()
            .apply(&mut plan);
        assert_eq!(plan.workers, [5]);
        assert_eq!(plan.conditions.rate_per_s, [500.0]);
        assert_eq!(plan.conditions.duration_s, Some(60.0));
        assert_eq!(plan.settings["workload"], ["core".into()]);
        assert_eq!(plan.settings["readproportion"], [Value::Integer(1)]);
        assert_eq!(plan.name, "ycsb-workloadx");
    }

    const WORKLOAD_NAME: &str = "ycsb";

    #[test]
    fn what_is_passed_over_is_named_once() {
        let text = "table=t\nmeasurementtype=raw\nmongodb.url=x\nrecordcont=4\n";
        let warnings = asked(text, &[]).unwrap().warnings;
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].contains(":3: 'mongodb.url' is not a property"));
        assert!(warnings[1].contains("did you mean 'recordcount'"));
        assert!(warnings[2].ends_with("have no meaning here: table, measurementtype"));
    }

    #[test]
    fn a_bad_value_is_refused_with_its_file_and_line() {
        for (text, words) in [
            (
                "\nreadproportion=2\n",
                ":2: ycsb.readproportion: 2 is out of range (0 to 1, or preset)",
            ),
            (
                "requestdistribution=zipf",
                ":1: ycsb.requestdistribution: unknown value",
            ),
            (
                "threadcount=none",
                ":1: threadcount=none is not a valid number",
            ),
            (
                "target=-5",
                ":1: target: -5 is out of range (0 to 1000000000)",
            ),
            (
                "workload=site.ycsb.workloads.RestWorkload",
                "only CoreWorkload is",
            ),
            ("insertstart=5", "the load starts at record 0"),
            ("recordcount=9\ninsertcount=5", "use recordcount=5 instead"),
            ("a=\\u12", "line 1: "),
        ] {
            let message = asked(text, &[]).unwrap_err();
            assert!(message.contains(words), "{message}");
            assert!(message.contains("workloadx"), "{message}");
        }
        let message = asked("", &[("fieldcount", "no")]).unwrap_err();
        assert!(message.starts_with("-p: ycsb.fieldcount"), "{message}");
    }
}
