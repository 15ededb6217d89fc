//! The closed network of a prediction against formulas and simulations that are written without it.

use trueput_findings::prediction::steady_state;

/// The share of the time in which the one server of a machine-repairman model is busy: Erlang's
/// formula, with clients that are away for `ratio` times the time of a service.
fn busy_share(clients: u32, ratio: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for waiting in 0..clients {
        term *= f64::from(clients - waiting) / ratio;
        sum += term;
    }
    1.0 - 1.0 / sum
}

#[test]
fn a_node_that_serves_one_at_a_time_is_erlangs_machine_repairman() {
    let service_s = 0.001;
    for ratio in [0.5, 4.0, 30.0] {
        for clients in [1, 2, 5, 20, 80] {
            let state = steady_state(clients, ratio * service_s, |_| 1.0 / service_s, 8.0);
            let expected = busy_share(clients, ratio) / service_s;
            let error = state.per_s / expected - 1.0;
            assert!(error.abs() < 1e-9, "{clients}, {ratio}: {error}");
            // Little's law for the node and for the whole network.
            let away = state.per_s * ratio * service_s;
            assert!((state.active + away - f64::from(clients)).abs() < 1e-6);
            assert!((state.response_s * state.per_s - f64::from(clients)).abs() < 1e-6);
        }
    }
}

#[test]
fn without_a_delay_the_rate_is_the_laws() {
    let law = |active: f64| 1_000.0 * active / (1.0 + 0.1 * (active - 1.0));
    for clients in [1, 7, 64] {
        let state = steady_state(clients, 0.0, law, 8.0);
        assert_eq!(state.per_s, law(f64::from(clients)));
        assert_eq!(state.active, f64::from(clients));
        assert_eq!(state.beyond_measured, f64::from(u8::from(clients > 8)));
    }
}

/// Clients whose service and delay always take the same time, one served after the other.
fn deterministic_per_s(clients: usize, service_s: f64, delay_s: f64) -> f64 {
    const OPERATIONS: usize = 20_000;
    let mut arrivals: std::collections::VecDeque<f64> = vec![0.0; clients].into();
    let mut free_s = 0.0_f64;
    for _ in 0..OPERATIONS {
        let arrival_s = arrivals.pop_front().unwrap();
        free_s = free_s.max(arrival_s) + service_s;
        arrivals.push_back(free_s + delay_s);
    }
    OPERATIONS as f64 / free_s
}

#[test]
fn of_times_that_never_vary_the_rate_is_too_low_by_a_quarter_at_most() {
    let (service_s, delay_s) = (0.001, 0.009);
    let error = |clients: u32| {
        let exact = deterministic_per_s(clients as usize, service_s, delay_s);
        steady_state(clients, delay_s, |_| 1.0 / service_s, 8.0).per_s / exact - 1.0
    };
    for clients in 1..=40 {
        let error = error(clients);
        assert!(
            (-0.25..0.001).contains(&error),
            "{clients} clients: {error}"
        );
    }
    // The error is that of the knee, where 10 clients would just fill the server.
    assert!(error(10) < -0.15);
    for clients in [1, 20, 40] {
        assert!(error(clients).abs() < 0.02, "{clients} clients");
    }
}

/// Numbers from 0 to 1, always the same ones.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// Simulates clients of a node whose rate depends on how many are at it. The delay never varies,
/// unlike in the Markov chain behind the formula: only its mean may matter.
fn simulated_per_s(clients: usize, delay_s: f64, law: impl Fn(f64) -> f64) -> f64 {
    const OPERATIONS: usize = 400_000;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut away = std::collections::VecDeque::<f64>::new();
    let (mut now_s, mut active, mut done) = (0.0, clients, 0);
    while done < OPERATIONS {
        let service_s = match active {
            0 => f64::INFINITY,
            _ => -random.next().ln() / law(active as f64),
        };
        match away.front() {
            // An exponential time has no memory, so the next one is drawn anew.
            Some(&back_s) if back_s < now_s + service_s => {
                now_s = back_s;
                away.pop_front();
                active += 1;
            }
            _ => {
                now_s += service_s;
                active -= 1;
                done += 1;
                away.push_back(now_s + delay_s);
            }
        }
    }
    OPERATIONS as f64 / now_s
}

#[test]
fn a_node_that_follows_the_law_does_as_a_simulation_of_it() {
    let law = |n: f64| 3_000.0 * n / (1.0 + 0.1 * (n - 1.0) + 0.002 * n * (n - 1.0));
    for clients in [1, 4, 16, 64] {
        let delay_s = 0.002;
        let expected = simulated_per_s(clients as usize, delay_s, law);
        let error = steady_state(clients, delay_s, law, 8.0).per_s / expected - 1.0;
        assert!(error.abs() < 0.01, "{clients} clients: {error}");
    }
}
