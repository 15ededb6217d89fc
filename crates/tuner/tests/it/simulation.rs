//! Runs a search and its holdout on a simulated engine, with noise and a drifting machine.

use crate::landscape::Landscape;
use trueput_findings::tuning::{compare_holdout, is_claimed};
use trueput_record::search::TuningStrategy;
use trueput_record::value::Settings;
use trueput_tuner::holdout::{Holdout, Role};
use trueput_tuner::rounds::{
    ConfigurationId, Failure, FailureKind, Outcome, Preset, Rounds, SearchPlan,
};

/// The deviation of the noise of a single score.
pub const NOISE: f64 = 0.2;

/// A simulated machine: noise and drift from a seed.
pub struct Machine {
    state: u64,
    level: f64,
    trials: f64,
}

impl Machine {
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5EED,
            level: 1_000_f64.ln(),
            trials: 0.0,
        }
    }

    /// `SplitMix64` (Steele, Lea and Flood, 2014).
    pub fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// One trial of a configuration.
    pub fn run(&mut self, landscape: Landscape, search: &Rounds, settings: &Settings) -> Outcome {
        self.trials += 1.0;
        self.level += 0.02 * self.normal();
        let drift = self.level + 0.3 * (self.trials / 12.0).sin();
        match landscape.log_score(search.space(), settings) {
            Some(log) => Outcome::Score((log + drift + NOISE * self.normal()).exp()),
            None => Outcome::Failure(Failure {
                kind: FailureKind::Crash,
                reason: "killed by signal 11".to_owned(),
                score: None,
            }),
        }
    }
}

/// What a search found, and what is true of it.
pub struct SearchResult {
    /// The part of the optimum's gain that the winner has.
    pub part: f64,
    /// Whether the holdout claims that it is better than the default.
    pub is_claimed: bool,
}

pub fn search_of(
    landscape: Landscape,
    strategy: TuningStrategy,
    trials: usize,
    seed: u64,
) -> Rounds {
    let plan = SearchPlan {
        seed,
        trials,
        strategy,
        presets: presets(landscape),
    };
    Rounds::new(landscape.space(), plan).unwrap()
}

/// A preset that gains something: the compression of a guide.
fn presets(landscape: Landscape) -> Vec<Preset> {
    let settings = landscape
        .space()
        .admit(&Settings::from([("p01".to_owned(), "zstd".into())]));
    vec![Preset {
        name: "guide".to_owned(),
        settings: settings.unwrap(),
    }]
}

/// Runs the rounds of a search until it is over.
pub fn run_search(search: &mut Rounds, landscape: Landscape, machine: &mut Machine) {
    while let Some(round) = search.next_round() {
        let outcomes = round.entries.iter().map(|entry| {
            let settings = &search.configuration(entry.configuration).unwrap().settings;
            machine.run(landscape, search, settings)
        });
        let outcomes = outcomes.collect();
        search.record_round(outcomes).unwrap();
    }
}

/// Runs the holdout of a search, and judges it as a search of an engine is judged.
fn claims_winner(search: &Rounds, landscape: Landscape, machine: &mut Machine) -> bool {
    let Some(holdout) = Holdout::new(search) else {
        return false;
    };
    let (mut default, mut winner, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..holdout.pairs {
        let (mut of_default, mut of_winner) = (None, None);
        for entry in holdout.round(number) {
            let settings = &search.configuration(entry.configuration).unwrap().settings;
            let outcome = machine.run(landscape, search, settings);
            match (entry.role, outcome) {
                (Role::Default, outcome) => of_default = outcome.measured(),
                (Role::Winner, Outcome::Score(score)) => of_winner = Some(score),
                (Role::Winner, Outcome::Failure(failure)) => failures.push(failure.reason),
                (Role::Preset | Role::Random, _) => {}
            }
        }
        if let (Some(of_default), Some(of_winner)) = (of_default, of_winner) {
            default.push(of_default);
            winner.push(of_winner);
        }
    }
    is_claimed(compare_holdout(&default, &winner).as_ref(), &failures)
}

/// Searches and judges the winner.
pub fn find(
    landscape: Landscape,
    strategy: TuningStrategy,
    trials: usize,
    seed: u64,
) -> SearchResult {
    let mut search = search_of(landscape, strategy, trials, seed);
    let mut machine = Machine::new(seed);
    run_search(&mut search, landscape, &mut machine);
    let winner = search.winner().unwrap_or(ConfigurationId::DEFAULT);
    let settings = &search.configuration(winner).unwrap().settings;
    let part = landscape
        .part(search.space(), settings)
        .unwrap_or(f64::NEG_INFINITY);
    SearchResult {
        part,
        is_claimed: claims_winner(&search, landscape, &mut machine),
    }
}
