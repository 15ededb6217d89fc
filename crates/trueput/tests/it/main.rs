//! The built program as a user calls it, as one test program: a test's name begins with its file.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod ablation;
mod answers;
mod audit;
mod bad_files;
mod bad_input;
mod bundles;
mod caches;
mod capacities;
mod charts;
mod choices;
mod clusters;
mod compactions;
mod comparing;
mod crashes;
mod decisions;
mod doctor;
mod durability_table;
mod engine_builds;
mod engine_installation;
mod fault_condition;
mod faults;
mod filesystems;
mod fleet_runs;
mod fuzz;
mod galera;
mod gate;
mod gates;
mod generated_tables;
mod hangs;
mod histories;
mod hosts;
mod installed_engines;
mod late_kills;
mod launchers;
mod listings;
mod lying_nodes;
mod modelled_storage;
mod native;
mod own_workloads;
mod page;
mod plugins;
mod predictions;
mod published;
mod repeats;
mod replaced_libraries;
mod schemas;
mod secrets;
mod servers;
mod site;
mod site_browser;
mod steps;
mod storage_fits;
mod storage_models;
mod strangers;
mod support;
mod tidy;
mod time_slices;
mod traces;
mod trouble;
mod trust;
mod tunings;
mod version_1;
