//! The JSON Schemas of a plan and of a workload file. The reader takes them apart key by key, so
//! their keys are declared here once more, as types; a test compares the two.

use super::{AblationKind, CONDITIONS, Levels, MAX_REPEAT, MAX_WORKERS, UnsupportedPolicy};
use crate::conditions::Form;
use crate::parameter::Parameter;
use crate::schema::{of_file, one_or_many};
use crate::{Durability, VerifyLevel, WorkerKind};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The parameters of an engine or a workload, under its name.
pub type OwnedParameters<'v> = (&'v str, &'v [Parameter]);

/// The engines and workloads that a plan can name.
#[derive(Debug, Clone)]
pub struct PlanVocabulary<'v> {
    /// Engines, with their knobs.
    pub engines: Vec<OwnedParameters<'v>>,
    /// Workloads, with their settings.
    pub workloads: Vec<OwnedParameters<'v>>,
    /// The workload whose settings workload files give.
    pub custom: &'v str,
}

/// A plan: the dimensions of a matrix of trials.
#[derive(JsonSchema)]
#[schemars(rename = "Plan", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is made of it")]
struct PlanKeys {
    /// The plan's name: letters, digits, `-`, `_` and `.`, for it becomes part of a folder's name.
    /// Absent: the file's.
    name: String,
    /// A description of the plan, in a sentence or two.
    about: String,
    /// The workload: its name, or the name or path of a workload file.
    workload: String,
    /// The contenders: an engine's name, `ENGINE@LIBRARY-OR-ADDRESS`, or the path of a plug-in;
    /// `present` stands for every installed engine.
    #[schemars(schema_with = "many::<String>")]
    engines: (),
    /// The levels at which they compete.
    #[schemars(schema_with = "many::<Durability>")]
    durability: (),
    /// What a rate must keep: `p99<5ms`.
    objective: String,
    /// At which of the levels each engine competes.
    levels: Levels,
    /// The numbers of workers; absent: as many as each job needs.
    #[schemars(schema_with = "worker_counts")]
    workers: (),
    /// The kind of worker; absent: processes if the engine allows several, else threads.
    worker_kind: WorkerKind,
    /// The number of runs of each cell of the matrix.
    #[schemars(range(min = 1, max = MAX_REPEAT))]
    repeat: u32,
    /// The part within which contenders are equal, if the plan is to be repeated until its rankings
    /// are decided: `5%`.
    decide: String,
    /// The extent of verification after each trial.
    verify: VerifyLevel,
    /// Seed of every random choice.
    seed: u64,
    /// The treatment of a level or a kind of worker that an engine does not support.
    unsupported: UnsupportedPolicy,
    /// Settings of the workload; a list is a dimension.
    settings: Map<String, Value>,
    /// Knobs, as `ENGINE.KNOB` or in a table of their engine; a list is a dimension.
    knobs: Map<String, Value>,
    /// Exceptions for some cells, applied in order.
    when: Vec<ExceptionKeys>,
    /// The configuration to which each step applies its changes.
    ablation: AblationKind,
    /// The steps of an ablation.
    step: Vec<StepKeys>,
}

/// An exception: other settings for some cells.
#[derive(JsonSchema)]
#[schemars(rename = "Exception", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is made of it")]
struct ExceptionKeys {
    /// The levels that it is for; absent: all.
    #[schemars(schema_with = "many::<Durability>")]
    durability: (),
    /// The engines that it is for; absent: all.
    #[schemars(schema_with = "many::<String>")]
    engines: (),
    /// Settings of the workload that replace the plan's.
    settings: Map<String, Value>,
    /// The reason, in a few words for the table.
    note: String,
}

/// A step of an ablation: the changes that it makes, one value each.
#[derive(JsonSchema)]
#[schemars(rename = "Step", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is made of it")]
struct StepKeys {
    /// The name of the step.
    name: String,
    /// The engines that it is for; absent: all.
    #[schemars(schema_with = "many::<String>")]
    engines: (),
    /// The promise that commits make from then on: the first of these levels that the engine has.
    #[schemars(schema_with = "many::<Durability>")]
    durability: (),
    /// Settings of the workload.
    settings: Map<String, Value>,
    /// Knobs, as `ENGINE.KNOB` or in a table of their engine.
    knobs: Map<String, Value>,
}

/// Settings of the workload `custom` under a name.
#[derive(JsonSchema)]
#[schemars(rename = "WorkloadFile", deny_unknown_fields)]
#[allow(dead_code, reason = "only the schema is made of it")]
struct WorkloadKeys {
    /// The name of the workload; absent: the file's.
    name: String,
    /// A description of the workload, in a sentence or two.
    about: String,
    /// Settings; a list is a dimension.
    settings: Map<String, Value>,
}

fn many<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    schema(one_or_many(&generator.subschema_for::<T>().to_value()))
}

fn worker_counts(_: &mut SchemaGenerator) -> Schema {
    let count = json!({ "type": "integer", "minimum": 1, "maximum": MAX_WORKERS });
    schema(one_or_many(&count))
}

/// A schema of a value that is an object.
fn schema(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

/// The number of values that a key takes.
#[derive(Clone, Copy, PartialEq)]
enum Multiplicity {
    One,
    OneOrMany,
}

impl PlanVocabulary<'_> {
    /// Returns the schema of a plan.
    #[must_use]
    pub fn plan_schema(&self) -> Schema {
        let mut root = of_file::<PlanKeys>().to_value();
        root["required"] = json!(["workload"]);
        root["$defs"]["Exception"]["required"] = json!(["note", "settings"]);
        root["$defs"]["Step"]["required"] = json!(["name"]);
        for (owner, parameters) in self.engines.iter().chain(&self.workloads) {
            for parameter in *parameters {
                root["$defs"][definition(owner, parameter)] = parameter.schema();
            }
        }
        add_conditions(&mut root);
        root["properties"]["knobs"]["properties"] = self.knobs(Multiplicity::OneOrMany);
        let steps = &mut root["$defs"]["Step"]["properties"];
        steps["knobs"]["properties"] = self.knobs(Multiplicity::One);
        root["allOf"] = self.rules().into();
        schema(root)
    }

    /// Returns the schema of a workload file.
    #[must_use]
    pub fn workload_schema(&self) -> Schema {
        let mut root = of_file::<WorkloadKeys>().to_value();
        root["required"] = json!(["settings"]);
        let named = |workload: &&OwnedParameters<'_>| workload.0 == self.custom;
        if let Some(custom) = self.workloads.iter().find(named) {
            for parameter in custom.1 {
                root["$defs"][definition(custom.0, parameter)] = parameter.schema();
            }
            root["properties"]["settings"] = values(custom, Multiplicity::OneOrMany);
        }
        schema(root)
    }

    /// Knobs of each engine in a table of the engine, and under their whole names.
    fn knobs(&self, multiplicity: Multiplicity) -> Value {
        let mut properties = Map::new();
        for engine in &self.engines {
            properties.insert(engine.0.to_owned(), values(engine, multiplicity));
            for parameter in engine.1 {
                let name = definition(engine.0, parameter);
                properties.insert(name, value(engine.0, parameter, multiplicity));
            }
        }
        Value::Object(properties)
    }

    /// The rules between keys: the settings are those of the workload, and the knobs those of known
    /// engines, unless the plan names a plug-in by its path.
    fn rules(&self) -> Vec<Value> {
        let mut rules: Vec<Value> = Vec::new();
        let mut others = Vec::new();
        for workload in &self.workloads {
            let is_named = json!({ "properties": { "workload": { "const": workload.0 } } });
            rules.push(json!({ "if": is_named, "then": settings_of(workload) }));
            others.push(workload.0);
            if workload.0 == self.custom {
                let of_file = json!({ "properties": { "workload": { "not": { "enum": self.workloads
                    .iter().map(|one| one.0).collect::<Vec<_>>() } } } });
                rules.push(json!({ "if": of_file, "then": settings_of(workload) }));
            }
        }
        let path = json!({ "type": "string", "pattern": "/" });
        let engines = json!({ "anyOf": [path, { "type": "array", "contains": path }] });
        let names_plugin = json!({ "properties": { "engines": engines }, "required": ["engines"] });
        let names: Vec<_> = self.engines.iter().map(|engine| engine.0).collect();
        let pattern = format!("^({})(\\.|$)", names.join("|"));
        let known = json!({ "propertyNames": { "pattern": pattern } });
        let known_in_steps = json!({ "items": { "properties": { "knobs": known } } });
        let keys = json!({ "properties": { "knobs": known, "step": known_in_steps } });
        rules.push(json!({ "if": names_plugin, "else": keys }));
        // A whole name is that of a knob that the engine has.
        let whole = format!("^({})\\.", names.join("|"));
        let knobs: Vec<_> = self
            .engines
            .iter()
            .flat_map(|engine| {
                engine
                    .1
                    .iter()
                    .map(|parameter| definition(engine.0, parameter))
            })
            .collect();
        let is_whole = json!({ "pattern": whole });
        let exists = json!({ "propertyNames": { "if": is_whole, "then": { "enum": knobs } } });
        let in_steps = json!({ "items": { "properties": { "knobs": exists } } });
        rules.push(json!({ "properties": { "knobs": exists, "step": in_steps } }));
        rules
    }
}

/// Adds the run conditions to the keys of a plan and of a step, also by their former names.
fn add_conditions(root: &mut Value) {
    for condition in CONDITIONS {
        let name = condition.parameter.name;
        let one = condition.parameter.schema();
        let given = match condition.form {
            Form::One => one.clone(),
            Form::Dimension | Form::List(_) => described(one_or_many(&one), &one),
        };
        if let Some(former) = condition.former_name {
            root["properties"][former] = deprecated(given.clone());
        }
        root["properties"][name] = given;
        if condition.is_changed_by_steps() {
            root["$defs"]["Step"]["properties"][name] = one;
        }
    }
    // The value's name in plans of earlier versions.
    let present = root["properties"]["unsupported"].clone();
    let former = deprecated(json!({ "const": "leave-out" }));
    root["properties"]["unsupported"] = described(json!({ "anyOf": [present, former] }), &present);
    root["properties"]["ledger"] = deprecated(root["properties"]["ablation"].clone());
}

/// The keys of a plan whose settings are those of a workload.
fn settings_of(workload: &OwnedParameters<'_>) -> Value {
    let one = json!({ "properties": { "settings": values(workload, Multiplicity::One) } });
    json!({ "properties": {
        "settings": values(workload, Multiplicity::OneOrMany),
        "when": { "items": one },
        "step": { "items": one },
    } })
}

/// A table of the parameters of an engine or a workload, and no others.
fn values((owner, parameters): &OwnedParameters<'_>, multiplicity: Multiplicity) -> Value {
    let entries = parameters.iter().map(|parameter| {
        let value = value(owner, parameter, multiplicity);
        (parameter.name.to_owned(), value)
    });
    let properties: Map<String, Value> = entries.collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn value(owner: &str, parameter: &Parameter, multiplicity: Multiplicity) -> Value {
    let one = json!({ "$ref": format!("#/$defs/{}", definition(owner, parameter)) });
    match multiplicity {
        Multiplicity::One => one,
        Multiplicity::OneOrMany => one_or_many(&one),
    }
}

/// The name under which a parameter is defined, and by which plans call a knob.
fn definition(owner: &str, parameter: &Parameter) -> String {
    format!("{owner}.{}", parameter.name)
}

/// Gives a schema the description of another.
fn described(mut schema: Value, by: &Value) -> Value {
    schema["description"] = by["description"].clone();
    schema
}

fn deprecated(mut schema: Value) -> Value {
    schema["deprecated"] = true.into();
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlanFile;
    use std::collections::BTreeSet;
    use std::path::Path;

    const VOCABULARY: PlanVocabulary<'static> = PlanVocabulary {
        engines: Vec::new(),
        workloads: Vec::new(),
        custom: "custom",
    };

    /// The keys that the reader says it knows, where a text has one that it does not.
    fn keys_of_reader(text: &str) -> BTreeSet<String> {
        let refused = PlanFile::parse(Path::new("x.toml"), text).unwrap_err();
        let message = refused.to_string();
        let keys = message.split_once("; keys are ").unwrap().1;
        keys.split(", ").map(str::to_owned).collect()
    }

    fn keys_of_schema(schema: &Value) -> BTreeSet<String> {
        let properties = schema["properties"].as_object().unwrap().iter();
        let present = properties.filter(|(_, schema)| schema["deprecated"] != true);
        present.map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_takes() {
        let schema = VOCABULARY.plan_schema().to_value();
        let plan = "workload = \"t\"\n";
        assert_eq!(
            keys_of_schema(&schema),
            keys_of_reader(&format!("{plan}unknown-key = 1\n"))
        );
        let step = format!("{plan}[[step]]\nunknown-key = 1\n");
        assert_eq!(
            keys_of_schema(&schema["$defs"]["Step"]),
            keys_of_reader(&step)
        );
        let exception = format!("{plan}[[when]]\nunknown-key = 1\n");
        assert_eq!(
            keys_of_schema(&schema["$defs"]["Exception"]),
            keys_of_reader(&exception)
        );
    }

    #[test]
    fn the_schema_of_a_workload_file_has_the_keys_that_its_reader_takes() {
        let text = "unknown-key = 1\n[settings]\nx = 1\n";
        let refused = super::super::WorkloadFile::parse(Path::new("x.toml"), text).unwrap_err();
        let message = refused.to_string();
        let keys = message.split_once("; keys are ").unwrap().1;
        let keys: BTreeSet<_> = keys.split(", ").map(str::to_owned).collect();
        let schema = VOCABULARY.workload_schema().to_value();
        assert_eq!(keys_of_schema(&schema), keys);
    }
}
