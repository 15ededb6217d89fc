//! Prints the known answers of the 3n+1 benchmark's published ranges, computed in memory, and the
//! time that it takes: `cargo run --release -p trueput-workloads --example oracle`.

use std::time::Instant;
use trueput_workloads::threen1::{Oracle, Overflow};

fn main() -> Result<(), Overflow> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    println!(
        "{:>10}  longest (start)  largest number (start)  elapsed s, {threads} threads",
        "1 to"
    );
    for finish in [100_000, 1_000_000, 10_000_000, 20_000_000, 40_000_000] {
        let began = Instant::now();
        let answers = Oracle::compute(1..=finish, threads)?.answers();
        let elapsed_s = began.elapsed().as_secs_f64();
        let (longest, largest) = (answers.longest, answers.largest);
        println!(
            "{finish:>10}  {} ({})  {} ({})  {elapsed_s:.2}",
            longest.value, longest.start, largest.value, largest.start
        );
    }
    Ok(())
}
