//! Reads the steps of an ablation.

use super::{Item, Key, Reader, current_name, keys, names, reader_of};
use crate::Error;
use crate::ablation::BASE;
use crate::plan::{CONDITIONS, ConditionLists, Origin, PlanFile, PlanStep};
use crate::value::{Settings, Value};
use std::collections::BTreeMap;
use toml::de::DeTable;

/// The longest name of a step, because it must fit in a table cell.
const MAX_NAME_CHARS: usize = 80;

keys! {
    /// The keys of a step besides the run conditions.
    KEYS: |reader, step: PlanStep, item|
    "name" => step.name = reader.step_name(item)?,
    "engines" => step.engines = reader.text_list(item)?,
    "durability" => step.durability = reader.parsed_list(item)?,
    "settings" => step.settings = reader.single_values(item)?,
    "knobs" => step.knobs = reader.single_knobs(item)?,
}

impl Reader<'_> {
    pub(super) fn steps(
        &self,
        item: &Item<'_>,
        origin: &mut Origin,
    ) -> Result<Vec<PlanStep>, Error> {
        let Some(blocks) = item.get_ref().as_array() else {
            return Err(self.error_at(item.span(), "write each step under a [[step]] heading"));
        };
        let mut steps: Vec<PlanStep> = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let line = self.line(block.span().start);
            origin.lines.insert(format!("step.{index}"), line);
            let step = self.step(block)?;
            if steps.iter().any(|other| other.name == step.name) {
                let message = format!(
                    "two steps are named '{}'; give each a different name",
                    step.name
                );
                return Err(self.error_at(block.span(), message));
            }
            steps.push(step);
        }
        Ok(steps)
    }

    /// Refuses a plan that sets `ablation` but has no steps.
    pub(super) fn check_ablation(&self, plan: &PlanFile, table: &DeTable<'_>) -> Result<(), Error> {
        let mut given = table
            .iter()
            .filter(|(key, _)| current_name(key.get_ref()) == "ablation");
        match given.next() {
            Some((_, item)) if plan.steps.is_empty() => Err(self.error_at(
                item.span(),
                "the plan sets how steps build on each other but has no [[step]]; add one",
            )),
            _ => Ok(()),
        }
    }

    fn step(&self, block: &Item<'_>) -> Result<PlanStep, Error> {
        let table = self.table(block)?;
        let conditions = CONDITIONS
            .iter()
            .filter(|condition| condition.is_changed_by_steps());
        let conditions = conditions.map(|condition| condition.parameter.name);
        let keys: Vec<_> = names(KEYS).chain(conditions).collect();
        let no_former_keys = |_: &str| false;
        self.check_keys(table, &keys, no_former_keys)?;
        if !table.contains_key("name") {
            return Err(self.error_at(block.span(), "[[step]] has no 'name'"));
        }
        let mut step = PlanStep::default();
        for (key, item) in table {
            match reader_of(KEYS, key.get_ref()) {
                Some(read) => read(self, &mut step, item)?,
                None => self.single_condition(&mut step.conditions, key.get_ref(), item)?,
            }
        }
        if step.is_empty() {
            let message = format!(
                "step '{}' changes nothing; give a durability, settings, knobs or a condition",
                step.name
            );
            return Err(self.error_at(block.span(), message));
        }
        Ok(step)
    }

    /// Refuses a name that is empty, too long, contains control characters or is the base's.
    fn step_name(&self, item: &Item<'_>) -> Result<String, Error> {
        let name = self.text(item)?;
        let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
            && !name.trim().is_empty()
            && !name.chars().any(char::is_control);
        let message = match name.as_str() {
            BASE => {
                format!("'{BASE}' names the configuration before any step; choose another name")
            }
            _ if fits => return Ok(name),
            _ => format!(
                "'{name}' is not a valid step name; write 1 to {MAX_NAME_CHARS} characters on one \
                 line"
            ),
        };
        Err(self.error_at(item.span(), message))
    }

    fn single_condition(
        &self,
        lists: &mut ConditionLists,
        key: &str,
        item: &Item<'_>,
    ) -> Result<(), Error> {
        if item.get_ref().is_array() {
            return Err(self.error_at(item.span(), format!("{key}: a step takes one value")));
        }
        self.condition(lists, key, item)
    }

    fn single_values(&self, item: &Item<'_>) -> Result<Settings, Error> {
        let mut settings = Settings::new();
        for (key, item) in self.table(item)? {
            let name = key.get_ref().to_string();
            let value = self.single_value(&name, item)?;
            settings.insert(name, value);
        }
        Ok(settings)
    }

    fn single_value(&self, name: &str, item: &Item<'_>) -> Result<Value, Error> {
        if item.get_ref().is_array() {
            return Err(self.error_at(item.span(), format!("{name}: a step takes one value")));
        }
        self.value(item)
    }

    /// Reads knobs, written as `"lmdb.map_size" = …` or in a table per engine.
    fn single_knobs(&self, item: &Item<'_>) -> Result<BTreeMap<String, Settings>, Error> {
        let mut knobs = BTreeMap::<String, Settings>::new();
        for (key, item) in self.table(item)? {
            let name = key.get_ref().to_string();
            let (engine, values) = if item.get_ref().is_table() {
                (name, self.single_values(item)?)
            } else if let Some((engine, knob)) = name.split_once('.') {
                let value = self.single_value(&name, item)?;
                (
                    engine.to_owned(),
                    Settings::from([(knob.to_owned(), value)]),
                )
            } else {
                let message = format!("knob '{name}' names no engine; write \"ENGINE.{name}\"");
                return Err(self.error_at(key.span(), message));
            };
            let engine_knobs = knobs.entry(engine.clone()).or_default();
            for (knob, value) in values {
                if engine_knobs.contains_key(&knob) {
                    let message = format!("knob '{engine}.{knob}' is set twice in this step");
                    return Err(self.error_at(key.span(), message));
                }
                engine_knobs.insert(knob, value);
            }
        }
        Ok(knobs)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;
    use crate::ablation::AblationKind;
    use crate::conditions::Start;
    use crate::{Durability, Value};
    use std::path::Path;

    fn read(text: &str) -> Result<PlanFile, Error> {
        plan(Path::new("plans/x.toml"), text)
    }

    #[test]
    fn a_knob_that_a_step_sets_twice_is_refused() {
        let text = "workload = \"micro\"\n[[step]]\nname = \"x\"\n[step.knobs]\n\
                    \"lmdb.map_size\" = \"2GiB\"\n[step.knobs.lmdb]\nmap_size = \"1GiB\"\n";
        let reason = read(text).unwrap_err().to_string();
        assert!(
            reason.ends_with("knob 'lmdb.map_size' is set twice in this step"),
            "{reason}"
        );
        // The control: another knob of the same engine.
        let other = text.replace("\nmap_size", "\nmap_async");
        let knobs = &read(&other).unwrap().steps[0].knobs["lmdb"];
        assert_eq!(knobs.len(), 2);
    }

    #[test]
    fn steps_read_as_written_and_in_their_order() {
        let text = r#"
workload = "micro"
ablation = "one-at-a-time"
[[step]]
name = "buffered logging"
engines = ["rocksdb", "sqlite"]
durability = ["buffered", "async"]
[[step]]
name = "more cache, cold"
start = "cold"
settings = { batch = 10 }
[step.knobs]
"lmdb.map_size" = "2GiB"
[step.knobs.rocksdb]
block_cache = "64MiB"
"#;
        let plan = read(text).unwrap();
        let former = read(&text.replace("ablation =", "ledger =")).unwrap();
        assert_eq!(former.ablation, plan.ablation);
        assert_eq!(plan.ablation, AblationKind::OneAtATime);
        let [buffered, cache] = plan.steps.as_slice() else {
            panic!("{:?}", plan.steps);
        };
        assert_eq!(
            buffered.durability,
            [Durability::Buffered, Durability::Async]
        );
        assert_eq!(buffered.engines, ["rocksdb", "sqlite"]);
        assert_eq!(cache.conditions.start, [Start::Cold]);
        assert_eq!(cache.settings["batch"], Value::Integer(10));
        assert_eq!(cache.knobs["lmdb"]["map_size"], Value::from("2GiB"));
        assert_eq!(cache.knobs["rocksdb"]["block_cache"], Value::from("64MiB"));
        assert_eq!(plan.origin.of("step.1").map(|place| place.line), Some(8));
    }

    #[test]
    fn steps_are_cumulative_where_the_plan_does_not_say() {
        let plan = read("workload = \"t\"\n[[step]]\nname = \"a\"\nstart = \"cold\"\n").unwrap();
        assert_eq!(plan.ablation, AblationKind::Cumulative);
    }

    #[test]
    fn two_steps_of_one_name_are_refused_with_the_line_of_the_second() {
        let step = "[[step]]\nname = \"a\"\nstart = \"cold\"\n";
        let refused = read(&format!("workload = \"t\"\n{step}{step}")).unwrap_err();
        let message = refused.to_string();
        assert!(
            message.starts_with("plans/x.toml:5: two steps are named 'a'"),
            "{message}"
        );
    }
}
