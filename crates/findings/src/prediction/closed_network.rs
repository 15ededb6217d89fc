//! A closed queueing network of one node and a delay: clients that think for no time, a node that
//! serves as fast as the scaling law says for the clients that are at it, and a wait elsewhere
//! during which a client uses nothing of the node.
//!
//! The node is a flow-equivalent server: a station whose rate depends on the clients at it. With a
//! delay station beside it the network has a product form, so the steady state is exact for
//! exponential service, and depends on the delay only by its mean. K. M. Chandy, U. Herzog,
//! L. Woo, Parametric analysis of queuing networks, IBM J. Res. Dev. 19 (1975); E. D. Lazowska et
//! al., Quantitative System Performance, Prentice-Hall 1984, chapters 5 and 8.

/// The steady state of the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// Operations per second of all clients together.
    pub per_s: f64,
    /// The mean time of an operation, the delay included, seconds. By Little's law the clients are
    /// the rate times this.
    pub response_s: f64,
    /// The mean number of clients at the node.
    pub active: f64,
    /// The share of the time in which more clients are at the node than were measured.
    pub beyond_measured: f64,
}

/// Solves the network for this many clients (1 at least) and a delay in seconds. `rate` is the
/// node's rate with that many clients at it, per second and above 0; `measured` is the largest
/// number for which it was measured.
///
/// ```
/// use trueput_findings::prediction::steady_state;
/// // A node that serves one client at a time in 1 ms, and a delay of 9 ms.
/// let alone = steady_state(1, 0.009, |_| 1000.0, 8.0);
/// assert!((alone.per_s - 100.0).abs() < 1e-9);
/// let many = steady_state(100, 0.009, |_| 1000.0, 8.0);
/// assert!((many.per_s - 1000.0).abs() < 1e-6 && (many.response_s - 0.1).abs() < 1e-9);
/// ```
#[must_use]
pub fn steady_state(
    clients: u32,
    delay_s: f64,
    rate: impl Fn(f64) -> f64,
    measured: f64,
) -> SteadyState {
    let total = f64::from(clients);
    let rates: Vec<f64> = (1..=clients)
        .map(|active| rate(f64::from(active)))
        .collect();
    // From one more client at the node to the next, the probability changes by the rate at which
    // the others come back over the rate at which it serves.
    let mut logarithms = vec![0.0];
    for (index, rate) in rates.iter().enumerate() {
        let away = total - index as f64;
        let change = (away / delay_s).ln() - rate.ln();
        logarithms.push(logarithms[index] + change);
    }
    let alone = |index: usize| if index == rates.len() { 1.0 } else { 0.0 };
    let most = logarithms.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = if delay_s > 0.0 {
        logarithms.iter().map(|one| (one - most).exp()).collect()
    } else {
        (0..=rates.len()).map(alone).collect()
    };
    let sum: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(usize) -> f64| {
        let weighted = weights.iter().enumerate();
        weighted.map(|(at, weight)| weight * of(at)).sum::<f64>() / sum
    };
    let per_s = mean(&|at| at.checked_sub(1).map_or(0.0, |index| rates[index]));
    SteadyState {
        per_s,
        response_s: total / per_s,
        active: mean(&|at| at as f64),
        beyond_measured: mean(&|at| f64::from(u8::from(at as f64 > measured))),
    }
}
