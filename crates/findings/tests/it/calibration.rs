//! Simulates, with fixed seeds, how often a difference is claimed between equals, and how often a
//! true one is found. Run with `--nocapture` to see the rates.

use trueput_findings::statistics::{
    Verdict, change_points, claim_level, compare, compare_among, compare_together, level_changes,
    log_ratio_paired, log_ratio_unpaired, looks_slower, suspicion_level,
};

/// The distribution of rates around an engine's true rate.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Normal, of that standard deviation.
    Normal(f64),
    /// Log-normal, of that deviation of the logarithm.
    LogNormal(f64),
    /// Student's t of two degrees of freedom, which has no variance, times that scale.
    HeavyTailed(f64),
    /// Normal, but one repeat in ten is disturbed and a fifth slower.
    Disturbed(f64),
    /// Normal, on a machine whose speed walks by that much from repeat to repeat.
    Drifting(f64),
}

const ALL: [Noise; 6] = [
    Noise::Normal(0.01),
    Noise::Normal(0.05),
    Noise::LogNormal(0.10),
    Noise::HeavyTailed(0.02),
    Noise::Disturbed(0.01),
    Noise::Drifting(0.01),
];

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t of two degrees of freedom, from its quantile function.
    fn heavy(&mut self) -> f64 {
        let part = self.uniform();
        (2.0 * part - 1.0) / (2.0 * part * (1.0 - part)).sqrt()
    }

    /// Interleaved repeats of `contenders` equals, of which the last is `factor` times as fast.
    fn run(
        &mut self,
        noise: Noise,
        contenders: usize,
        repeats: usize,
        factor: f64,
    ) -> Vec<Vec<f64>> {
        let mut speed = 1_000.0;
        let mut rates = vec![Vec::new(); contenders];
        for _ in 0..repeats {
            if let Noise::Drifting(step) = noise {
                speed *= (3.0 * step * self.normal()).exp();
            }
            for (index, rates) in rates.iter_mut().enumerate() {
                let own = if index + 1 == contenders { factor } else { 1.0 };
                rates.push(speed * own * self.scatter(noise));
            }
        }
        rates
    }

    fn scatter(&mut self, noise: Noise) -> f64 {
        match noise {
            Noise::Normal(deviation) | Noise::Drifting(deviation) => {
                (1.0 + deviation * self.normal()).max(0.01)
            }
            Noise::LogNormal(deviation) => (deviation * self.normal()).exp(),
            Noise::HeavyTailed(scale) => (1.0 + scale * self.heavy()).clamp(0.01, 100.0),
            Noise::Disturbed(deviation) => {
                let disturbed = if self.uniform() < 0.1 { 0.8 } else { 1.0 };
                disturbed * (1.0 + deviation * self.normal()).max(0.01)
            }
        }
    }
}

fn claims(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

#[test]
#[ignore = "slow: make test runs it"]
fn equals_are_claimed_to_differ_less_than_once_in_twenty_whatever_the_noise() {
    const ROUNDS: usize = 2_000;
    for repeats in [3, 5, 10] {
        for paired in [true, false] {
            for noise in ALL {
                let mut random = Random(7);
                let claimed = (0..ROUNDS).filter(|_| {
                    let rates = random.run(noise, 2, repeats, 1.0);
                    claims(compare(&rates[0], &rates[1], paired).verdict)
                });
                let rate = claimed.count() as f64 / ROUNDS as f64;
                println!("{repeats} repeats, paired {paired}, {noise:?}: {rate:.4} false claims");
                // Half as much again as intended would be more than 0.015; chance adds 0.0045.
                assert!(rate <= 0.02, "{repeats} {paired} {noise:?}: {rate}");
            }
        }
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn ten_equals_together_are_claimed_to_differ_less_than_once_in_twenty() {
    const ROUNDS: usize = 2_000;
    for noise in ALL {
        let mut random = Random(8);
        let claimed = (0..ROUNDS).filter(|_| {
            let rates = random.run(noise, 11, 5, 1.0);
            let compared = compare_together(10, |place, left| {
                Some(compare_among(&rates[0], &rates[place + 1], true, left))
            });
            let mut compared = compared.iter().flatten();
            compared.any(|one| claims(one.verdict))
        });
        let rate = claimed.count() as f64 / ROUNDS as f64;
        println!("ten comparisons, {noise:?}: {rate:.4} of the runs claim one or more");
        assert!(rate <= 0.05, "{noise:?}: {rate}");
    }
}

#[test]
fn a_slowdown_of_a_twentieth_is_found_nine_times_in_ten_where_repeats_scatter_by_a_hundredth() {
    const ROUNDS: usize = 2_000;
    for (noise, paired) in [
        (Noise::Normal(0.01), true),
        (Noise::Normal(0.01), false),
        (Noise::LogNormal(0.01), true),
        (Noise::Drifting(0.01), true),
    ] {
        let mut random = Random(9);
        let found = (0..ROUNDS).filter(|_| {
            let rates = random.run(noise, 2, 5, 0.95);
            compare(&rates[0], &rates[1], paired).verdict == Verdict::Slower
        });
        let rate = found.count() as f64 / ROUNDS as f64;
        println!("5 repeats, paired {paired}, {noise:?}, 5 % slower: found {rate:.4}");
        assert!(rate >= 0.9, "{noise:?}: {rate}");
    }
}

/// The share of runs in which a gate of this many results fails if the contenders run at `factor`
/// of the first's rate.
fn gate_fails(noise: Noise, count: usize, repeats: usize, part: f64, factor: f64) -> [f64; 2] {
    const ROUNDS: usize = 4_000;
    let level = suspicion_level(count);
    [true, false].map(|paired| {
        let mut random = Random(14);
        let failed = (0..ROUNDS).filter(|_| {
            let mut results = (0..count).map(|_| random.run(noise, 2, repeats, factor));
            results.any(|rates| {
                let looks = looks_slower(&rates[0], &rates[1], paired, part, level);
                let claimed = claim_level(count);
                let interval = if paired {
                    log_ratio_paired(&rates[0], &rates[1], claimed)
                } else {
                    log_ratio_unpaired(&rates[0], &rates[1], claimed)
                };
                looks || interval.unwrap().high < 1.0 - part
            })
        });
        failed.count() as f64 / ROUNDS as f64
    })
}

#[test]
#[ignore = "slow: make test runs it"]
fn equals_look_slower_to_a_gate_less_than_once_in_twenty() {
    for results in [1, 10] {
        for repeats in [3, 5, 10] {
            for part in [0.03, 0.05] {
                for scatter in [0.02, 0.05, 0.10] {
                    let noise = Noise::LogNormal(scatter);
                    let rates = gate_fails(noise, results, repeats, part, 1.0);
                    println!(
                        "gate of {results} results at {part}, {repeats} repeats that scatter by \
                         {scatter}: equals fail {:.4} in pairs, {:.4} apart",
                        rates[0], rates[1]
                    );
                    assert!(rates.iter().all(|rate| *rate <= 0.05), "{rates:?}");
                }
            }
        }
    }
    for noise in ALL {
        let rates = gate_fails(noise, 1, 3, 0.03, 1.0);
        println!("gate of 1 result at 0.03, 3 repeats, {noise:?}: equals fail {rates:.4?}");
        assert!(
            rates.iter().all(|rate| *rate <= 0.05),
            "{noise:?}: {rates:?}"
        );
    }
}

#[test]
fn a_gate_can_tell_of_equals_on_a_quiet_machine_with_enough_repeats() {
    const ROUNDS: usize = 2_000;
    for (results, repeats, scatter) in [(1, 5, 0.005), (1, 10, 0.01), (10, 10, 0.005)] {
        let mut random = Random(15);
        let level = claim_level(results);
        let told = (0..ROUNDS).filter(|_| {
            let mut all =
                (0..results).map(|_| random.run(Noise::LogNormal(scatter), 2, repeats, 1.0));
            all.all(|rates| {
                let interval = log_ratio_paired(&rates[0], &rates[1], level).unwrap();
                1.0 - interval.low <= 0.03
            })
        });
        let rate = told.count() as f64 / ROUNDS as f64;
        println!("{results} results, {repeats} repeats, scatter {scatter}: told {rate:.4}");
        assert!(rate >= 0.95, "{results} {repeats} {scatter}: {rate}");
    }
}

#[test]
fn what_runs_at_half_the_rate_fails_a_gate_of_three_repeats() {
    let noise = Noise::LogNormal(0.10);
    let rates = gate_fails(noise, 1, 3, 0.03, 0.5);
    println!("gate of 1 result at 0.03, 3 repeats, {noise:?}, half the rate: fails {rates:.4?}");
    assert!(rates.iter().all(|rate| *rate >= 0.9), "{rates:?}");
}

#[test]
fn the_smallest_difference_that_could_have_been_shown_is_shown_about_four_times_in_five() {
    const ROUNDS: usize = 2_000;
    for paired in [true, false] {
        let mut random = Random(10);
        let smallest: Vec<f64> = (0..ROUNDS)
            .filter_map(|_| {
                let rates = random.run(Noise::LogNormal(0.02), 2, 5, 1.0);
                compare(&rates[0], &rates[1], paired).smallest_ratio
            })
            .collect();
        let typical = trueput_findings::statistics::median(smallest).unwrap();
        let found = (0..ROUNDS).filter(|_| {
            let rates = random.run(Noise::LogNormal(0.02), 2, 5, typical);
            claims(compare(&rates[0], &rates[1], paired).verdict)
        });
        let rate = found.count() as f64 / ROUNDS as f64;
        println!("paired {paired}: a ratio of {typical:.4} is found {rate:.3}");
        assert!((0.72..0.88).contains(&rate), "{rate}");
    }
}

/// A history: runs of the same level, and from `at` on of `factor` times that.
fn series(random: &mut Random, noise: Noise, runs: usize, at: usize, factor: f64) -> Vec<f64> {
    let rate = |run| (if run < at { 1_000.0 } else { 1_000.0 * factor }) * random.scatter(noise);
    (0..runs).map(rate).collect()
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_flat_history_shows_a_step_less_than_once_in_twenty_however_short_it_is() {
    const ROUNDS: usize = 1_000;
    let noises = [
        Noise::Normal(0.01),
        Noise::Normal(0.10),
        Noise::LogNormal(0.05),
        Noise::HeavyTailed(0.01),
        Noise::HeavyTailed(0.10),
        Noise::Disturbed(0.02),
    ];
    for runs in [6, 7, 8, 9, 10, 12, 15, 20, 30] {
        for noise in noises {
            let mut random = Random(11);
            let stepped = (0..ROUNDS).filter(|_| {
                let rates = series(&mut random, noise, runs, 0, 1.0);
                !level_changes(&rates, 1).is_empty()
            });
            let rate = stepped.count() as f64 / ROUNDS as f64;
            println!("{runs} flat runs, {noise:?}: {rate:.4} show a step");
            // One in fifty is intended; long series that are often disturbed show some more.
            assert!(rate < 0.05, "{runs} {noise:?}: {rate}");
        }
    }
}

#[test]
fn candidates_alone_show_a_step_in_a_flat_history_too_often() {
    const ROUNDS: usize = 2_000;
    for runs in [6, 12, 20] {
        let mut random = Random(11);
        let stepped = (0..ROUNDS).filter(|_| {
            let rates = series(&mut random, Noise::Normal(0.05), runs, 0, 1.0);
            !change_points(&rates).is_empty()
        });
        let rate = stepped.count() as f64 / ROUNDS as f64;
        println!("{runs} flat runs: {rate:.4} have a candidate");
        assert!(rate > 0.05, "{runs}: {rate}");
    }
}

#[test]
fn twenty_flat_histories_together_show_a_step_less_than_once_in_twenty() {
    const ROUNDS: usize = 500;
    for (runs, noise) in [
        (8, Noise::Normal(0.05)),
        (20, Noise::Normal(0.05)),
        (20, Noise::HeavyTailed(0.05)),
    ] {
        let mut random = Random(12);
        let stepped = (0..ROUNDS).filter(|_| {
            let all: Vec<_> = (0..20)
                .map(|_| series(&mut random, noise, runs, 0, 1.0))
                .collect();
            all.iter().any(|rates| !level_changes(rates, 20).is_empty())
        });
        let rate = stepped.count() as f64 / ROUNDS as f64;
        println!("20 histories of {runs} runs, {noise:?}: {rate:.4} show a step in any");
        assert!(rate <= 0.05, "{runs} {noise:?}: {rate}");
    }
}

#[test]
#[ignore = "slow: make test runs it"]
fn a_step_of_a_tenth_among_a_dozen_runs_is_found_nine_times_in_ten() {
    const ROUNDS: usize = 300;
    for (runs, at, noise) in [
        (12, 6, Noise::Normal(0.02)),
        (12, 3, Noise::Normal(0.02)),
        (12, 9, Noise::Normal(0.02)),
        (12, 6, Noise::LogNormal(0.02)),
        (30, 20, Noise::Normal(0.02)),
    ] {
        for (factor, together) in [(0.9, 1), (1.1, 1), (0.9, 10)] {
            let mut random = Random(13);
            let found = (0..ROUNDS).filter(|_| {
                let rates = series(&mut random, noise, runs, at, factor);
                let near = |found: &usize| found.abs_diff(at) <= 1;
                level_changes(&rates, together).iter().any(near)
            });
            let rate = found.count() as f64 / ROUNDS as f64;
            println!(
                "{runs} runs, {factor} after {at}, {noise:?}, {together} together: \
                 found {rate:.3}"
            );
            assert!(
                rate >= 0.9 || together > 1,
                "{runs} {at} {factor} {noise:?}: {rate}"
            );
        }
    }
}
