mod adya;
mod brute_force;
mod engines;
mod faults;
mod harness;
mod notation;
mod phenomena;
mod simulation;
