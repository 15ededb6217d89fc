//! Workload files: settings of the workload `custom` under a name. Those in the repository's
//! `workloads/` are part of the program; users write their own.

use crate::failure::Failure;
use std::path::Path;
use trueput_record::Error;
use trueput_record::plan::{PlanFile, WorkloadFile, read_text};
use trueput_record::suggest::did_you_mean;
use trueput_runner::Registry;
use trueput_workloads::custom::{NAME, resolve_files};
use trueput_workloads::trace;

/// Optional prefix of a built-in workload file's name, as in its path.
const PREFIX: &str = "workloads/";

/// A workload file that is part of the program.
pub struct BuiltInWorkload {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// Its TOML.
    pub text: &'static str,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(BuiltInWorkload {
            name: $name,
            text: include_str!(concat!("../workloads/", $name, ".toml")),
        }),*]
    };
}

/// The built-in workload files.
pub static ALL: [BuiltInWorkload; 5] = embedded![
    "session-store",
    "order-table",
    "queue",
    "time-series",
    "social-graph",
];

impl BuiltInWorkload {
    /// Reads the workload file.
    ///
    /// # Errors
    /// As [`WorkloadFile::parse`].
    pub fn file(&self) -> Result<WorkloadFile, Error> {
        let path = format!("{PREFIX}{}.toml", self.name);
        WorkloadFile::parse(Path::new(&path), self.text)
    }
}

/// Finds a built-in workload file by name or path: `queue`, `workloads/queue` or
/// `workloads/queue.toml`.
pub fn named(given: &str) -> Option<&'static BuiltInWorkload> {
    ALL.iter().find(|file| file.name == stem(given, PREFIX))
}

/// A name without the folder and the ending of its file.
pub fn stem<'g>(given: &'g str, folder: &str) -> &'g str {
    let name = given.strip_prefix(folder).unwrap_or(given);
    name.strip_suffix(".toml").unwrap_or(name)
}

/// Whether a text is a path and not a name.
pub fn is_path(given: &str) -> bool {
    given.contains('/') || given.ends_with(".toml")
}

/// Reads the text of a plan or a workload file; the latter becomes a plan that has its settings.
///
/// # Errors
/// As [`PlanFile::parse`] and [`WorkloadFile::parse`], and as [`adopt`].
pub fn read(path: &Path, registry: &Registry) -> Result<PlanFile, Failure> {
    let text = read_text(path)?;
    if WorkloadFile::is_one(&text) {
        return Ok(plan_of(on_disk(path, &text)?));
    }
    let mut plan = PlanFile::parse(path, &text)?;
    if plan.workload == NAME {
        resolve_files(&mut plan.settings, folder(path));
    } else if plan.workload == trace::NAME {
        trace::resolve_files(&mut plan.settings, folder(path));
    }
    plan.conditions.resolve_model_files(folder(path));
    for step in &mut plan.steps {
        step.conditions.resolve_model_files(folder(path));
    }
    adopt(&mut plan, folder(path), registry)?;
    Ok(plan)
}

/// A plan for a workload file, with default values for all else.
pub fn plan_of(file: WorkloadFile) -> PlanFile {
    let mut plan = PlanFile::for_workload(NAME);
    plan.name.clone_from(&file.name);
    plan.about.clone_from(&file.about);
    plan.inherit(file);
    plan
}

/// If the workload of a plan is a workload file, by its path from `folder` or by the name of a
/// built-in one, gives the plan its settings. Those of the plan take precedence.
///
/// # Errors
/// If there is no file of that path, or it is not a workload file.
pub fn adopt(plan: &mut PlanFile, folder: &Path, registry: &Registry) -> Result<(), Failure> {
    if registry.workload(&plan.workload).is_ok() {
        return Ok(());
    }
    let path = folder.join(&plan.workload);
    let file = match named(&plan.workload) {
        Some(built_in) if !path.is_file() => built_in.file()?,
        _ if is_path(&plan.workload) => {
            let text = read_text(&path).map_err(|error| match plan.origin.of("workload") {
                Some(line) => Failure::usage(format!("{line}: the workload file {error}")),
                None => error.into(),
            })?;
            on_disk(&path, &text)?
        }
        _ => return check_name(plan),
    };
    NAME.clone_into(&mut plan.workload);
    resolve_files(&mut plan.settings, folder);
    plan.inherit(file);
    drop_replaced(plan);
    Ok(())
}

/// Refuses a name that is nearly that of a built-in workload file; others are not known here.
fn check_name(plan: &PlanFile) -> Result<(), Failure> {
    let hint = did_you_mean(&plan.workload, ALL.iter().map(|file| file.name));
    let line = plan.origin.of("workload");
    match line.filter(|_| !hint.is_empty()) {
        None => Ok(()),
        Some(line) => Err(Failure::usage(format!(
            "{line}: unknown workload '{}'{hint}; 'trueput workloads' lists them",
            plan.workload
        ))),
    }
}

/// Leaves out the size of a workload file's data where the plan or the command line has it in
/// another setting: a size or a number of records. A file that has both contradicts itself; both
/// are left to be refused.
pub fn drop_replaced(plan: &mut PlanFile) {
    let size = "size";
    let numbers = ["records", "large_values"];
    let pairs = numbers.map(|number| [(number, size), (size, number)]);
    for (one, other) in pairs.into_iter().flatten() {
        let key = format!("settings.{one}");
        let is_replaced = plan.settings.contains_key(other)
            && !plan.origin.is_inherited(&format!("settings.{other}"));
        if is_replaced && plan.origin.is_inherited(&key) {
            plan.settings.remove(one);
            plan.origin.forget(&key);
        }
    }
}

/// Reads a workload file that the user has; the files that it names are in its folder.
fn on_disk(path: &Path, text: &str) -> Result<WorkloadFile, Error> {
    let mut file = WorkloadFile::parse(path, text)?;
    resolve_files(&mut file.settings, folder(path));
    Ok(file)
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use trueput_record::Value;

    #[test]
    fn every_workload_file_of_the_repository_is_built_in_and_names_itself_as_its_file() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        });
        let built_in: BTreeSet<_> = ALL.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(built_in, files.collect());
        for built_in in &ALL {
            let file = built_in.file().unwrap();
            assert_eq!(file.name, built_in.name);
            assert!(!file.about.is_empty(), "{}", built_in.name);
            assert!(crate::registry().workload(built_in.name).is_err());
        }
    }

    #[test]
    fn a_size_of_the_plan_replaces_the_number_of_records_of_the_file_and_the_other_way_round() {
        for (of_file, of_plan) in [
            ("size", "records"),
            ("records", "size"),
            ("size", "large_values"),
            ("large_values", "size"),
        ] {
            let text = format!("about = \"A file.\"\n[settings]\n{of_file} = 10\n");
            let mut plan = PlanFile::for_workload("micro");
            let given = vec![Value::Integer(5)];
            plan.settings.insert(of_plan.to_owned(), given);
            plan.inherit(WorkloadFile::parse(Path::new("a.toml"), &text).unwrap());
            assert_eq!(plan.settings.len(), 2);
            drop_replaced(&mut plan);
            let left: Vec<_> = plan.settings.keys().collect();
            assert_eq!(left, [of_plan]);
        }
    }

    #[test]
    fn a_file_with_a_size_and_a_number_of_records_is_left_to_be_refused() {
        let text = "about = \"A file.\"\n[settings]\nsize = 10\nrecords = 10\n";
        let mut plan = plan_of(WorkloadFile::parse(Path::new("a.toml"), text).unwrap());
        drop_replaced(&mut plan);
        assert_eq!(plan.settings.len(), 2);
        // The command line takes the place of the size, and the contradiction is gone.
        plan.origin.forget("settings.records");
        drop_replaced(&mut plan);
        let left: Vec<_> = plan.settings.keys().collect();
        assert_eq!(left, ["records"]);
    }

    #[test]
    fn a_built_in_workload_file_may_be_written_as_its_path() {
        for given in ["queue", "workloads/queue", "workloads/queue.toml"] {
            assert_eq!(named(given).unwrap().name, "queue");
        }
        assert!(named("other/queue.toml").is_none());
    }
}
