//! The options that set the run conditions: one for each condition that is declared.

use crate::failure::Failure;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Id};
use trueput_record::conditions::{CONDITIONS, Condition, ConditionError, Form};
use trueput_record::plan::PlanFile;

/// The group of these options, for other options that exclude them.
pub const GROUP: &str = "run conditions";

/// The conditions that options give, with the texts of their values.
#[derive(Debug, Clone, Default)]
pub struct ConditionOptions(Vec<(&'static Condition, Vec<String>)>);

impl ConditionOptions {
    /// Whether an option gives the condition of that name.
    pub fn is_given(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|(condition, _)| condition.parameter.name == name)
    }

    /// Replaces the plan's conditions by those of the command line.
    ///
    /// # Errors
    /// A usage error for an invalid value.
    pub fn apply(&self, plan: &mut PlanFile) -> Result<(), Failure> {
        for (condition, texts) in &self.0 {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            condition
                .set(&mut plan.conditions, &texts)
                .map_err(|reason| Failure::usage(format!("--{}: {reason}", condition.option())))?;
            plan.origin.forget(condition.parameter.name);
        }
        Ok(())
    }
}

fn argument(condition: &'static Condition) -> Arg {
    let values = move |text: &str| -> Result<Vec<String>, ConditionError> {
        let texts = condition.split(text)?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    };
    let argument = Arg::new(condition.parameter.name)
        .long(condition.option())
        .aliases(condition.former_name)
        .help(condition.help())
        .help_heading("Run conditions (override the plan)");
    if condition.is_flag() {
        return argument.action(ArgAction::SetTrue);
    }
    let action = match condition.form {
        Form::One | Form::Dimension => ArgAction::Set,
        Form::List(_) => ArgAction::Append,
    };
    argument
        .action(action)
        .value_name(condition.value_name)
        .value_parser(ValueParser::new(values))
        .allow_negative_numbers(true)
}

impl Args for ConditionOptions {
    fn group_id() -> Option<Id> {
        Some(Id::from(GROUP))
    }

    fn augment_args(command: Command) -> Command {
        let names = CONDITIONS.iter().map(|condition| condition.parameter.name);
        let group = ArgGroup::new(GROUP).multiple(true).args(names);
        command.args(CONDITIONS.iter().map(argument)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ConditionOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = CONDITIONS.iter().filter_map(|condition| {
            let name = condition.parameter.name;
            if condition.is_flag() {
                let is_set = matches.get_flag(name);
                return is_set.then(|| (condition, vec!["true".to_owned()]));
            }
            let each = matches.get_many::<Vec<String>>(name)?;
            Some((condition, each.flatten().cloned().collect()))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use trueput_record::Conditions;

    /// The conditions of the only trial of a plan that these options change.
    fn conditions_by(words: &[String]) -> Conditions {
        let mut plan = PlanFile::parse(Path::new("x.toml"), "workload = \"threen1\"\n").unwrap();
        let command = ConditionOptions::augment_args(Command::new("trueput"));
        let words = ["trueput".to_owned()].into_iter().chain(words.to_vec());
        let matches = command.try_get_matches_from(words).unwrap();
        let options = ConditionOptions::from_arg_matches(&matches).unwrap();
        options.apply(&mut plan).unwrap();
        let [conditions] = &plan.conditions.combinations()[..] else {
            panic!("{:?}", plan.conditions);
        };
        conditions.clone()
    }

    #[test]
    fn the_options_that_a_page_prints_for_a_trial_give_its_conditions() {
        let given = "--warm-up 500ms --duration 1.5s --rate 2500 --arrival poisson --hosts me@a,b \
                     --start cold --cpus 0,1 --numa interleave:0 --allocator jemalloc \
                     --memory 1500000001 --log-filesystem tmpfs --image 2GiB --crash-and-recover \
                     --at 1s:kill=leader,2s:heal --record-trace 65537 --compact \
                     --storage-model /home/me/my.toml@1a2b3c4d --log-storage-model hdd-7200 \
                     --fault any:stall=10s@5s";
        let mut words: Vec<_> = given.split_whitespace().map(str::to_owned).collect();
        let place = "ext4:mkfs=-O ^has_journal -b 1024;mount=noatime".to_owned();
        words.extend(["--filesystem".to_owned(), place]);
        let conditions = conditions_by(&words);
        let printed = conditions.options().into_iter();
        let printed: Vec<_> = printed
            .flat_map(|(name, value)| [format!("--{name}")].into_iter().chain(value))
            .collect();
        assert_eq!(conditions_by(&printed), conditions, "{printed:?}");
        // The control: every condition of a trial is among them, but for a time slice.
        let every = conditions.named().len() - 1;
        let arrival = 1;
        let options = printed.iter().filter(|word| word.starts_with("--"));
        assert_eq!(options.count(), every + arrival, "{printed:?}");
    }

    #[test]
    fn what_an_option_gives_is_no_longer_the_plan_s_line() {
        let text =
            "workload = \"threen1\"\nimage = \"1GiB\"\ncrash_and_recover = true\nturns = 1\n";
        let mut plan = PlanFile::parse(Path::new("x.toml"), text).unwrap();
        let command = ConditionOptions::augment_args(Command::new("trueput"));
        let words = ["trueput", "--image", "2GiB", "--crash-and-recover"];
        let matches = command.try_get_matches_from(words).unwrap();
        let options = ConditionOptions::from_arg_matches(&matches).unwrap();
        options.apply(&mut plan).unwrap();
        assert_eq!(plan.conditions.image_bytes, Some(2 << 30));
        for (key, line) in [
            ("image", None),
            ("crash_and_recover", None),
            ("time_slice", Some(4)),
        ] {
            let place = plan.origin.of(key);
            assert_eq!(place.map(|place| place.line), line, "{key}");
        }
        assert!(options.is_given("image") && !options.is_given("time_slice"));
    }
}
