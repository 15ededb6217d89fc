//! Statistics and reports, made from a run folder alone: no engine and no runner is needed.
