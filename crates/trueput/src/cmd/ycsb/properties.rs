//! Translates YCSB's properties to a plan.

use crate::failure::Failure;
use std::fmt;
use std::path::{Path, PathBuf};
use trueput_engine::parameter::resolve;
use trueput_engine::{Parameter, ValueKind};
use trueput_record::Value;
use trueput_record::plan::{Condition, ConditionLists, MAX_WORKERS, PlanFile, check_count};
use trueput_record::suggest::did_you_mean;
use trueput_record::value::Settings;
use trueput_workloads::Workload;
use trueput_workloads::ycsb::{Ycsb, decode_properties, parse_boolean, parse_properties};

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

/// The word for it here and in go-ycsb.
const CORE: &str = "core";

/// The setting with the number of records.
const RECORDS: &str = "recordcount";

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
    insert_count: Option<i64>,
    /// Whether there are properties, or files of them.
    is_given: bool,
    name: Option<String>,
    /// Ignored properties, one line each.
    pub warnings: Vec<String>,
}

/// Reads `NAME=VALUE` of `-p`.
pub fn parse_one(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(Failure::usage(
            "write NAME=VALUE, as in recordcount=1000000",
        )),
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
            is_given: !files.is_empty() || !properties.is_empty(),
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
            if !(taken.map_err(|error| Failure::usage(format!("{place}: {error}")))?) {
                asked.warnings.push(format!(
                    "{place}: '{}' is not a property of the workload and is ignored{}",
                    given.name,
                    did_you_mean(&given.name, Ycsb.settings().iter().map(|knob| knob.name))
                ));
            }
        }
        let of_count = all.iter().find(|given| given.name == "insertcount");
        asked.check_insert_count().map_err(|reason| {
            let place = of_count.map_or(PropertySource::CommandLine, |it| it.place.clone());
            Failure::usage(format!("{place}: {reason}"))
        })?;
        if !without_meaning.is_empty() {
            asked.warnings.push(format!(
                "ignored, because they have no meaning here: {}",
                without_meaning.join(", ")
            ));
        }
        Ok(asked)
    }

    /// Applies a property; `false` if it is unknown.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, Failure> {
        match name {
            "workload" if value == CORE || value.rsplit('.').next() == Some(CORE_WORKLOAD) => {}
            "workload" => {
                return Err(Failure::usage(format!(
                    "workload={value} is not supported; only {CORE_WORKLOAD} is, or {CORE}"
                )));
            }
            "threadcount" => {
                let number = number(name, value)?;
                self.workers =
                    Some(check_count(name, number, MAX_WORKERS).map_err(Failure::usage)?);
            }
            "target" => {
                let _: f64 = number(name, value)?;
                self.take_condition("rate", name, value)?;
            }
            "maxexecutiontime" => {
                let _: u32 = number(name, value)?;
                self.take_condition("duration", name, value)?;
            }
            "dotransactions" if !parse_boolean(value) => {
                return Err(Failure::usage(
                    "each run includes its load: remove dotransactions",
                ));
            }
            "dotransactions" => {}
            "insertstart" if value != "0" => {
                return Err(Failure::usage(format!(
                    "insertstart={value}: the load starts at record 0; remove it"
                )));
            }
            "insertstart" => {}
            "insertcount" => self.insert_count = Some(number(name, value)?),
            _ => return self.take_setting(name, value),
        }
        Ok(true)
    }

    fn take_condition(&mut self, key: &str, name: &str, value: &str) -> Result<(), Failure> {
        let set = |condition: &Condition| condition.set(&mut self.conditions, &[value]);
        let set = Condition::named(key).map_or(Ok(()), set);
        set.map_err(|reason| Failure::usage(format!("{name}: {reason}")))
    }

    /// A partial load is not supported; a full one may be stated, before or after the records.
    fn check_insert_count(&self) -> Result<(), Failure> {
        let Some(given) = self.insert_count else {
            return Ok(());
        };
        let default = || {
            let mut settings = Ycsb.settings().iter();
            let records = settings.find(|setting| setting.name == RECORDS);
            records.map(|setting| setting.kind.default_value())
        };
        let records = self.settings.get(RECORDS).cloned().or_else(default);
        if records == Some(Value::Integer(given)) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "insertcount={given}: all records are loaded; use {RECORDS}={given} instead"
        )))
    }

    fn take_setting(&mut self, name: &str, value: &str) -> Result<bool, Failure> {
        if !Ycsb.settings().iter().any(|knob| knob.name == name) {
            return Ok(false);
        }
        let is_boolean =
            |knob: &&Parameter| knob.name == name && matches!(knob.kind, ValueKind::Boolean { .. });
        let value = match Ycsb.settings().iter().find(is_boolean) {
            Some(_) => java_boolean(value),
            None => Value::parse(value),
        };
        let setting = (name.to_owned(), value);
        let alone = Settings::from([setting.clone()]);
        resolve("ycsb", Ycsb.settings(), &alone).map_err(Failure::usage)?;
        self.settings.extend([setting]);
        Ok(true)
    }

    /// Applies the properties to a plan. Defaults are YCSB's: one thread, and those of
    /// `CoreWorkload`.
    pub fn apply(&self, plan: &mut PlanFile) {
        plan.about = "YCSB's core workload".to_owned();
        plan.workers = vec![self.workers.unwrap_or(1)];
        if self.is_given {
            plan.settings
                .insert("workload".to_owned(), vec![CORE.into()]);
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

/// Reads a Boolean as Java does, or one of our own words.
fn java_boolean(value: &str) -> Value {
    match value {
        "on" => true.into(),
        other => parse_boolean(other).into(),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Failure> {
    value
        .parse()
        .map_err(|_| Failure::usage(format!("{name}={value} is not a valid number")))
}

fn read_file(path: &Path) -> Result<Vec<Property>, Failure> {
    let name = path.display();
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|error| {
        Failure::usage(format!(
            "-P {name}: the file of properties cannot be read: {error}; give its path, as in -P \
             workloads/workloada"
        ))
    })?;
    let found = parse_properties(&decode_properties(&bytes));
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

    fn plan(text: &str, properties: &[(&str, &str)]) -> PlanFile {
        let mut plan = PlanFile::for_workload(WORKLOAD_NAME);
        asked(text, properties).unwrap().apply(&mut plan);
        plan
    }

    #[test]
    fn properties_of_the_command_line_alone_have_the_defaults_of_core_workload() {
        let given = [("readproportion".to_owned(), "1".to_owned())];
        let asked = PlanProperties::read(&[], &given).unwrap();
        let mut plan = PlanFile::for_workload(WORKLOAD_NAME);
        asked.apply(&mut plan);
        assert_eq!(plan.settings["workload"], ["core".into()]);
        // The control: without any property our own defaults hold.
        let mut plan = PlanFile::for_workload(WORKLOAD_NAME);
        PlanProperties::read(&[], &[]).unwrap().apply(&mut plan);
        assert!(!plan.settings.contains_key("workload"));
    }

    #[test]
    fn the_word_core_and_a_stated_load_are_accepted_in_any_order() {
        for text in [
            "workload=core\nrecordcount=9\ninsertcount=9",
            "workload=site.ycsb.workloads.CoreWorkload\ninsertcount=9\nrecordcount=9",
            "insertcount=1000",
        ] {
            assert!(asked(text, &[]).is_ok(), "{text}");
        }
        for text in ["insertcount=5\nrecordcount=9", "insertcount=999"] {
            let message = asked(text, &[]).unwrap_err();
            assert!(message.contains("workloadx:1: insertcount="), "{message}");
        }
    }

    #[test]
    fn a_boolean_is_read_as_java_does() {
        for (value, expected) in [
            ("TRUE", true),
            ("True", true),
            ("on", true),
            ("false", false),
            ("FALSE", false),
            ("off", false),
            ("yes", false),
        ] {
            let plan = plan(&format!("readallfields={value}"), &[]);
            assert_eq!(plan.settings["readallfields"], [expected.into()], "{value}");
        }
        assert!(asked("dotransactions=TRUE", &[]).is_ok());
        assert!(asked("dotransactions=no", &[]).is_err());
    }

    #[test]
    fn a_file_in_latin_1_or_with_a_byte_order_mark_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workloadx");
        let texts: [&[u8]; 2] = [
            b"# Lastprofil f\xfcr die Messung\nrecordcount=7\n",
            b"\xef\xbb\xbfrecordcount=7\n",
        ];
        for text in texts {
            std::fs::write(&path, text).unwrap();
            let mut plan = PlanFile::for_workload(WORKLOAD_NAME);
            let asked = PlanProperties::read(std::slice::from_ref(&path), &[]).unwrap();
            assert!(asked.warnings.is_empty(), "{:?}", asked.warnings);
            asked.apply(&mut plan);
            assert_eq!(plan.settings["recordcount"], [7_i64.into()]);
        }
    }

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
