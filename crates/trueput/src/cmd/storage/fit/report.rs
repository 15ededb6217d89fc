//! The report of a fit: measured against modeled, and what a server of the model costs here.

use crate::table;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use trueput_faultfs::device_measurement::DeviceMeasurement;
use trueput_faultfs::fit_comparison::{FitFigure, FitLine, TOLERANCE};
use trueput_faultfs::modelled_image::{SERVER_COMMAND, ServedImage, check_speed};
use trueput_faultfs::storage_model::StorageModel;
use trueput_findings::units::{nanoseconds, number, whole};
use trueput_record::service_report::{OwnCost, ServiceReport};

/// A model that no server refuses: it is slower than any.
const SLOW_MODEL: &str = "hdd-7200-no-cache";

/// The size of the image of the server whose cost is measured, bytes.
const IMAGE_BYTES: u64 = 8 << 20;

/// The file of that server's report.
const REPORT: &str = "report.json";

/// A model, and how near it is to what was measured.
pub(super) struct FitReport<'a> {
    pub(super) output: &'a Path,
    pub(super) measured: &'a DeviceMeasurement,
    pub(super) model: &'a StorageModel,
    pub(super) lines: Vec<FitLine>,
    /// The server's own cost, or the reason why it is not known.
    pub(super) server_cost: Result<OwnCost, String>,
}

impl FitReport<'_> {
    /// The report for people.
    pub(super) fn text(&self, width: usize) -> String {
        let header = ["load", "figure", "measured", "modeled", "ratio"];
        let rows: Vec<_> = self.lines.iter().map(row).collect();
        let mut text = table::align(header, &rows);
        for note in self.notes() {
            text.push('\n');
            text += &table::paragraph_lines(&note, "", width);
        }
        text
    }

    /// The report for programs.
    pub(super) fn document(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            json!({
                "load": line.load.to_string(),
                "figure": line.figure,
                "measured": line.measured,
                "modeled": line.modeled,
                "ratio": line.ratio(),
                "is_off": line.is_off(),
            })
        });
        json!({
            "file": self.output.display().to_string(),
            "model": self.model,
            "lines": lines.collect::<Vec<_>>(),
            "server_cost": self.server_cost.as_ref().ok(),
            "notes": self.notes(),
            "measurement": self.measured,
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let off = self.lines.iter().filter(|line| line.is_off()).count();
        if off > 0 {
            notes.push(format!(
                "* More than {} % off: {off} of {} figures. The device was busy, or does what no \
                 model says (docs/STORAGE_MODELS.md).",
                whole(TOLERANCE * 100.0),
                self.lines.len()
            ));
        }
        match &self.server_cost {
            Ok(cost) => {
                let trips = cost.client_trips();
                let [read, write, flush] = trips.map(|trip| nanoseconds(trip.median_ns as f64));
                let way = match cost.through_loop {
                    Some(_) => "with the loop device of a trial",
                    None => "without the loop device of a trial",
                };
                notes.push(format!(
                    "On this machine the server of a model itself, {way}, takes {read} for a read \
                     of 4 KiB, {write} for a write and {flush} for a flush (medians). That is part \
                     of the modeled time of a trial: what takes longer than the model, is late."
                ));
                let refused = check_speed(cost, self.model).err();
                notes.extend(
                    refused.map(|reason| format!("This machine is too slow for it: {reason}.")),
                );
            }
            Err(reason) => notes.push(format!(
                "What the server of a model itself takes on this machine is not known: {reason}."
            )),
        }
        let file = self.output.display();
        notes.push(format!(
            "Written: {file}. 'trueput storage show {file}' prints it, '--storage-model {file}' \
             runs trials on it."
        ));
        notes
    }
}

fn row(line: &FitLine) -> [String; 5] {
    let mark = if line.is_off() { " *" } else { "" };
    [
        line.load.to_string(),
        figure_name(line.figure).to_owned(),
        with_unit(line.figure, line.measured),
        with_unit(line.figure, line.modeled),
        format!("{:.2}{mark}", line.ratio()),
    ]
}

fn figure_name(figure: FitFigure) -> &'static str {
    match figure {
        FitFigure::MedianNs => "median",
        FitFigure::P99Ns => "p99",
        FitFigure::PerSecond => "rate",
        FitFigure::MibPerSecond => "bandwidth",
        FitFigure::FirstPerSecond => "first tenth",
        FitFigure::LastPerSecond => "last tenth",
    }
}

fn with_unit(figure: FitFigure, value: f64) -> String {
    match figure {
        FitFigure::MedianNs | FitFigure::P99Ns => nanoseconds(value),
        FitFigure::MibPerSecond => format!("{} MiB/s", number(value)),
        FitFigure::PerSecond | FitFigure::FirstPerSecond | FitFigure::LastPerSecond => {
            format!("{}/s", number(value))
        }
    }
}

/// Measures what a server of a model itself takes on this machine.
///
/// # Errors
/// If there is no FUSE, or the server cannot be started.
pub(super) fn server_cost() -> Result<OwnCost, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [backing, mount_point] = ["image", "served"].map(|name| folder.path().join(name));
    std::fs::create_dir(&mount_point)?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(SERVER_COMMAND)
        .args([&backing, &mount_point])
        .arg(folder.path().join(REPORT))
        .arg(IMAGE_BYTES.to_string())
        .args([SLOW_MODEL, "1"]);
    ServedImage::start(command, &mount_point)?.stop()?;
    let report = ServiceReport::read(folder.path(), Path::new(REPORT))?;
    Ok(report.own_cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_faultfs::device_measurement::{LoadKind, ProbeLoad};
    use trueput_record::service_report::RoundTrip;

    fn report(model: &StorageModel, server_cost: Result<OwnCost, String>) -> String {
        let line = |figure, modeled| FitLine {
            load: ProbeLoad {
                kind: LoadKind::Appends,
                depth: 1,
                requests: 1,
            },
            figure,
            measured: 2_000.0,
            modeled,
        };
        let report = FitReport {
            output: Path::new("my.toml"),
            measured: &DeviceMeasurement { loads: Vec::new() },
            model,
            lines: vec![
                line(FitFigure::MedianNs, 2_100.0),
                line(FitFigure::PerSecond, 3_000.0),
            ],
            server_cost,
        };
        report.text(1_000)
    }

    #[test]
    fn the_report_marks_what_is_off_and_says_what_the_server_costs() {
        let model = StorageModel::built_in("nvme-datacenter").unwrap();
        let trip = |ns| RoundTrip {
            lowest_tenth_ns: ns,
            median_ns: ns,
            p99_ns: ns,
        };
        let cost = |ns| OwnCost {
            read: trip(ns),
            write: trip(ns),
            flush: trip(ns),
            ..OwnCost::default()
        };
        let quick = report(&model, Ok(cost(1_000)));
        assert!(quick.contains("2.00 µs   2.10 µs  1.05\n"), "{quick}");
        assert!(quick.contains("2,000/s   3,000/s  1.50 *\n"), "{quick}");
        assert!(quick.contains("More than 20 % off: 1 of 2"), "{quick}");
        assert!(quick.contains("1.00 µs for a flush"), "{quick}");
        assert!(!quick.contains("too slow"), "{quick}");
        let slow = report(&model, Ok(cost(100_000)));
        let refused = "This machine is too slow for it: nvme-datacenter makes a write";
        assert!(slow.contains(refused), "{slow}");
        let unknown = report(&model, Err("no FUSE".to_owned()));
        assert!(unknown.contains("is not known: no FUSE."), "{unknown}");
    }
}
