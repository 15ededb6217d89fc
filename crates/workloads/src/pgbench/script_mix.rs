//! The grammar of `script`: built-in scripts with their weights.

use super::error::PgbenchError;
use super::kinds::{Script, Scripts};
use crate::keyed::kinds::KindCatalog;
use trueput_record::suggest::did_you_mean;

/// The number of built-in scripts.
pub(super) const SCRIPTS: usize = Script::ALL.len();

/// Scripts with weights, of which one at least is above 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ScriptMix {
    /// By the place of the script.
    weights: [u32; SCRIPTS],
}

impl ScriptMix {
    /// Reads scripts with spaces between, each with its weight or of weight 1, as pgbench's option
    /// `-b` takes them: `tpcb-like@2 select-only@8`.
    ///
    /// # Errors
    /// The first part that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, PgbenchError> {
        let (mut mix, mut given) = (Self::default(), Scripts::default());
        for part in text.split_whitespace() {
            let (name, weight) = part.split_once('@').unwrap_or((part, "1"));
            let script = named(name)?;
            if given.has(script) {
                let script = script.name();
                return Err(PgbenchError::Twice { script });
            }
            given = given.insert_if(true, script);
            mix.weights[script.place()] = weight.parse().map_err(|_| PgbenchError::Weight {
                weight: weight.to_owned(),
                script: script.name(),
            })?;
        }
        if mix.weights == [0; SCRIPTS] {
            return Err(PgbenchError::NoScript);
        }
        Ok(mix)
    }

    /// Whether a script is run at all.
    pub(super) fn has(&self, script: Script) -> bool {
        self.weights[script.place()] > 0
    }

    /// Whether any script writes.
    pub(super) fn writes(&self) -> bool {
        self.scripts().iter().any(Script::writes)
    }

    /// The scripts that are run.
    pub(super) fn scripts(&self) -> Scripts {
        let all = Script::ALL.iter();
        all.fold(Scripts::default(), |scripts, script| {
            scripts.insert_if(self.has(*script), *script)
        })
    }

    /// The share of each script, by its place; they add up to 1.
    pub(super) fn proportions(&self) -> [f64; SCRIPTS] {
        let sum: f64 = self.weights.iter().copied().map(f64::from).sum();
        self.weights.map(|weight| f64::from(weight) / sum)
    }
}

fn named(name: &str) -> Result<Script, PgbenchError> {
    let known = Script::ALL.iter().copied();
    let found = known.clone().find(|script| script.name() == name);
    found.ok_or_else(|| PgbenchError::UnknownScript {
        name: name.to_owned(),
        hint: did_you_mean(name, known.map(Script::name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_the_weights_that_they_are_given_and_1_without() {
        let proportions = |text| ScriptMix::parse(text).unwrap().proportions();
        assert_eq!(proportions("tpcb-like"), [1.0, 0.0, 0.0]);
        assert_eq!(proportions("select-only@3 tpcb-like"), [0.25, 0.0, 0.75]);
        assert_eq!(proportions("simple-update@2 tpcb-like@0"), [0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_mix_names_its_scripts_in_their_order_and_knows_whether_any_writes() {
        let mix = |text| ScriptMix::parse(text).unwrap();
        let both = mix("select-only@8 tpcb-like@2");
        assert_eq!(both.scripts().names(), ["tpcb-like", "select-only"]);
        assert!(both.writes() && !both.has(Script::SimpleUpdate));
        assert!(!mix("select-only").writes());
        assert!(mix("simple-update").writes());
    }

    #[test]
    fn what_is_no_mix_is_refused_with_the_part_that_is_wrong() {
        for (text, part) in [
            ("tpcb", "unknown script 'tpcb'"),
            ("tpcb-lik", "did you mean 'tpcb-like'"),
            ("tpcb-like@", "'' is not the weight of tpcb-like"),
            ("tpcb-like@0.5", "as in tpcb-like@2"),
            ("tpcb-like@-1", "'-1' is not the weight"),
            ("select-only select-only@2", "select-only is given twice"),
            ("select-only@0", "no script has a weight above 0"),
            ("", "no script has a weight above 0"),
        ] {
            let message = ScriptMix::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
