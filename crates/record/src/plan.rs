//! placeholder until the plan file is written below
