//! `trueput predict`: the rate and latency that are expected for other numbers of clients, nodes
//! and delays of the network than were measured.

use crate::bundle;
use crate::failure::Failure;
use crate::output::{self, ChartsWhen};
use crate::prepared_run::program_name;
use crate::screen::Screen;
use crate::size_limit::SizeLimit;
use clap::Args;
use std::path::Path;
use std::process::ExitCode;
use trueput_findings::compare::{Error, Side};
use trueput_findings::prediction::{FollowerStep, MAX_CLIENTS, PredictionRequest, predict};
use trueput_record::value::parse_seconds;
use trueput_report::Format;
use trueput_report::prediction::render;

const EXAMPLES: &str = "\
Examples:
  trueput run micro --engine postgresql --durability sync --set test=overwrite --workers 1,2,4,8 \
--duration 5 --repeat 3
  trueput predict results/RUN --clients 16                 # more clients than were measured
  trueput predict results/RUN --clients 1,4,16,64          # a table
  trueput predict results/RUN --clients 64 --nodes 3 --network-delay 500us
  trueput predict results/RUN --nodes 3,5 --network-delay 0,1ms --followers 2 --follower-flush 2ms
  trueput predict results/RUN:lmdb,sync --fit-to 4         # predicts the cells above 4 workers, too
  trueput predict results/RUN --clients 64 --json

RUN is a run of a closed loop with four or more numbers of workers. After RUN: come words that \
select trials, as for 'trueput compare'. docs/PREDICT.md explains the model and what it has been \
compared with.

Exit codes:
  0    predicted
  2    bad input, or a fit is not possible: the message says what to run";

/// The arguments of `trueput predict`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A run folder or bundle, as RUN or RUN:WORDS
    #[arg(value_name = "RUN[:WORDS]")]
    run: String,
    /// Numbers of clients, comma-separated [default: the most that the law is fitted to]
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CLIENTS)))]
    clients: Vec<u32>,
    /// Numbers of nodes, comma-separated [default: as measured]
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Vec<u32>,
    /// Delays of the network between nodes, one way, comma-separated: seconds or a unit, as in
    /// 500us or 2ms [default: as measured]
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = parse_seconds)]
    network_delay: Vec<f64>,
    /// What a commit waits for on followers: local (nothing), remote-write, on (a flush),
    /// remote-apply [default: as measured; on for a run of one node]
    #[arg(long, value_name = "STEP")]
    cluster_commit: Option<FollowerStep>,
    /// Number of followers that a commit waits for, the fastest ones [default: as measured; 1 for a
    /// run of one node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=999))]
    followers: Option<u32>,
    /// Round trips between nodes that a commit waits for
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_round_trips)]
    round_trips: f64,
    /// Mean time of a follower's flush [default: the flush limit of the hardware at one worker]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    follower_flush: Option<f64>,
    /// Time in which a follower replays a commit [default: one client's commit less its flush]
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    follower_apply: Option<f64>,
    /// Fit the law to at most this many workers; the others check it
    #[arg(long, value_name = "N")]
    fit_to: Option<u32>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    screen: Screen,
    #[command(flatten)]
    size: SizeLimit,
}

/// Reads a number of round trips, which may be a mean.
fn parse_round_trips(text: &str) -> Result<f64, Failure> {
    let number = text.parse::<f64>().ok();
    let fits = number.filter(|number| (0.0..=1000.0).contains(number));
    fits.ok_or_else(|| Failure::usage("must be 0 to 1000"))
}

/// Predicts, and writes the prediction to standard output.
///
/// # Errors
/// A usage error if the folder is not a run, no trial is selected, or a term of the model is not
/// known.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (path, selector) = Side::split(&arguments.run)?;
    let run = bundle::open(Path::new(path), arguments.size)?.report()?;
    let side = Side::new(&arguments.run, run, selector);
    let side = side.map_err(|reason| Error::from(reason.called(&program_name())))?;
    let prediction = predict(&side, &arguments.request())?;
    let format = if arguments.json {
        Format::Json
    } else {
        Format::Terminal
    };
    let style = arguments.screen.style(ChartsWhen::Never);
    output::document(&render(&prediction, format, style), format)?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn request(&self) -> PredictionRequest {
        PredictionRequest {
            clients: self.clients.clone(),
            nodes: self.nodes.clone(),
            network_delays_s: self.network_delay.clone(),
            step: self.cluster_commit,
            followers: self.followers,
            round_trips: Some(self.round_trips),
            follower_flush_s: self.follower_flush,
            follower_apply_s: self.follower_apply,
            fit_to: self.fit_to,
        }
    }
}
