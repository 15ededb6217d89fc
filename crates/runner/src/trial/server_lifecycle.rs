//! The lifecycle of the server of a trial's engine. For an engine that is a library all of this
//! does nothing.

use crate::context::{RunContext, TrialError};
use crate::failure_reason::FailureReason;
use crate::plan::resolution::ResolvedTrial;
use crate::trial::kept_server::{self, KeptServer};
use crate::trial::phase_limit::{LimitedPhase, PhaseClock};
use crate::{Event, Phase};
use std::path::Path;
use std::time::{Duration, Instant};
use trueput_engine::{OpenSpec, Service};
use trueput_host::cgroup::MemoryGroup;
use trueput_host::count_cores;
use trueput_host::process_tree::ProcessTree;
use trueput_host::service::{Server, ServerEnd, ServerError, ServerSpec, kill_server};
use trueput_host::usage::ResourceUsage;
use trueput_record::TrialSpec;

/// Sessions that a server is made for in addition to those of the workers: those of the runner that
/// asks whether it is ready, and of databases' own connections.
const SPARE_SESSIONS: u32 = 8;

/// The interval of progress reports while a server is awaited.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The server of a trial, stopped when dropped.
pub(crate) struct ServerLifecycle<'a> {
    service: Option<Box<dyn Service>>,
    resolved: &'a ResolvedTrial,
    spec: &'a TrialSpec,
    directory: &'a Path,
    server: Option<Server>,
}

impl<'a> ServerLifecycle<'a> {
    /// Creates the lifecycle of a server that is not started yet. The database is in `directory`.
    pub fn new(resolved: &'a ResolvedTrial, spec: &'a TrialSpec, directory: &'a Path) -> Self {
        Self {
            service: resolved.engine.service(),
            resolved,
            spec,
            directory,
            server: None,
        }
    }

    /// Starts the server, in that control group if there is one, and creates its instance first
    /// where necessary. `phase` is reported meanwhile.
    ///
    /// # Errors
    /// [`TrialError`] as it says itself.
    pub fn start(
        &mut self,
        context: &mut RunContext<'_>,
        group: Option<&MemoryGroup>,
        phase: Phase,
    ) -> Result<(), TrialError> {
        if self.adopt_kept(context, phase)? {
            return Ok(());
        }
        let Some(service) = &self.service else {
            return Ok(());
        };
        let exclusive = count_cores().saturating_add(1);
        let sessions = self.resolved.job.sessions(self.spec.workers).max(exclusive);
        let entry = group.map(MemoryGroup::entry);
        let site = ServerSpec {
            service: &**service,
            database: &OpenSpec {
                directory: self.directory,
                durability: self.spec.durability,
                knobs: &self.resolved.knobs,
                sessions: sessions.saturating_add(SPARE_SESSIONS),
            },
            conditions: &self.spec.conditions,
            group_entry: entry.as_deref(),
        };
        let work = context.expected_work(self.spec);
        let limit = PhaseClock::begin(LimitedPhase::StartServer, &work, None).silence();
        let started =
            Server::start_within(&site, limit, &mut self.progress_callback(context, phase));
        self.server = Some(started.map_err(|error| self.trial_error(error))?);
        Ok(())
    }

    /// Takes the server that the last trial has left on the database; false if none runs that suits
    /// this one. Another one is stopped in good order.
    fn adopt_kept(
        &mut self,
        context: &mut RunContext<'_>,
        phase: Phase,
    ) -> Result<bool, TrialError> {
        let kept = &mut context.kept_servers;
        let Some(place) = kept
            .iter()
            .position(|kept| kept.directory == self.directory)
        else {
            return Ok(false);
        };
        let mut kept = kept.swap_remove(place);
        if kept.server.own_end().is_some() {
            return Ok(false);
        }
        let suits = kept.suits(self.spec);
        self.server = Some(kept.server);
        if suits {
            return Ok(true);
        }
        match self.stop(context, phase) {
            Err(TrialError::Interrupted) => Err(TrialError::Interrupted),
            // What does not stop is killed when it is dropped: not the fault of this trial.
            Ok(()) | Err(_) => Ok(false),
        }
    }

    /// Stops the server in good order. `phase` is reported meanwhile.
    ///
    /// # Errors
    /// [`TrialError::Failed`] if it does not stop, or had ended before; [`TrialError::Interrupted`]
    /// if the user did not wait for it.
    pub fn stop(&mut self, context: &mut RunContext<'_>, phase: Phase) -> Result<(), TrialError> {
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        let limit = context.begin_phase(LimitedPhase::StopServer, self.spec);
        let limit = stop_timeout(self.service.as_deref(), limit.silence());
        let wait = &mut self.progress_callback(context, phase);
        let stopped = server.stop_within(limit, wait);
        stopped.map_err(|error| self.trial_error(error))
    }

    /// Stops the server after a trial that ended so, unless the next one may need it. The server of
    /// one that exceeded a limit may hang itself: it is killed.
    ///
    /// # Errors
    /// As [`ServerLifecycle::stop`].
    pub fn stop_after<T>(
        &mut self,
        context: &mut RunContext<'_>,
        ended: &Result<T, TrialError>,
    ) -> Result<(), TrialError> {
        if matches!(ended, Err(TrialError::Overrun(_))) {
            self.kill();
        }
        if ended.is_ok() && kept_server::is_wanted(context.options, self.spec) {
            let kept = self.server.take().map(|server| KeptServer {
                directory: self.directory.to_owned(),
                server,
                spec: self.spec.clone(),
            });
            context.kept_servers.extend(kept);
            return Ok(());
        }
        self.stop(context, Phase::Verify)
    }

    /// Kills the server with its processes.
    pub fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            // What is left of it is killed when it is dropped.
            let _ = kill_server(server.pid());
        }
    }

    /// Returns a function that reports progress while the server is awaited, and says whether to go
    /// on.
    fn progress_callback<'b>(
        &'b self,
        context: &'b mut RunContext<'_>,
        phase: Phase,
    ) -> impl FnMut() -> bool {
        let mut reported = Instant::now();
        move || {
            if reported.elapsed() >= PROGRESS_INTERVAL {
                reported = Instant::now();
                context.emit(&Event::TrialProgress {
                    id: self.spec.id.clone(),
                    phase,
                    fraction: 0.0,
                    rate_per_s: 0.0,
                });
            }
            !context.stopped()
        }
    }

    fn trial_error(&self, error: ServerError) -> TrialError {
        let ended = |end: &ServerEnd, then: &str| {
            let engine = &self.spec.engine;
            let reason = reason_of_end(end).preceded_by(&format!("{engine}: "));
            TrialError::Failed(reason.followed_by(then))
        };
        match error {
            ServerError::Canceled => TrialError::Interrupted,
            ServerError::Ended(end) => ended(&end, ""),
            ServerError::EndedWhileStarting(end) => ended(&end, " (while starting)"),
            error => format!("{}: {error}", self.spec.engine).into(),
        }
    }

    /// Forgets a server that was killed.
    pub fn forget_killed(&mut self) {
        self.server = None;
    }

    /// Returns its main process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().map(Server::pid)
    }

    /// Returns the resources that its processes have used so far; `None` if it is not running.
    pub fn usage(&self) -> Option<ResourceUsage> {
        self.pid().map(|pid| ProcessTree::new(pid).last())
    }

    /// Adds to a failure that the server had ended, or that processes of it do not run, if so.
    pub fn explain_failure(&mut self, error: TrialError) -> TrialError {
        let Some(server) = &mut self.server else {
            return error;
        };
        let engine = &self.spec.engine;
        let end = server.own_end().as_ref().map(reason_of_end);
        if let Some(end) = end.or_else(|| Some(server.as_stopped()?.to_string().into())) {
            let cause = end.preceded_by(&format!("{engine}: "));
            return error.map_reason(|reason| reason.caused_by(cause));
        }
        // Planned faults stop nodes of a cluster.
        let has_faults = !self.spec.conditions.faults.is_empty();
        let stuck = match error {
            TrialError::Overrun(_) => server.describe_stuck(),
            _ => server.describe_stopped(),
        };
        match stuck.filter(|_| !has_faults) {
            Some(stuck) => {
                error.map_reason(|reason| reason.followed_by(&format!("; {engine}: {stuck}")))
            }
            None => error,
        }
    }
}

fn reason_of_end(end: &ServerEnd) -> FailureReason {
    FailureReason::of_end(end.status)
        .preceded_by(&format!("{} ", end.describe_server()))
        .followed_by(&end.quote.to_string())
}

/// Returns the time that a server may take to stop: what it may wait for others first does not
/// count as silence.
fn stop_timeout(service: Option<&dyn Service>, silence: Duration) -> Duration {
    silence.saturating_add(service.map_or(Duration::ZERO, Service::stop_delay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trueput_engine::cluster::{ANSWER_TIMEOUT, CATCH_UP_TIMEOUT, ClusterService};

    #[test]
    fn a_cluster_with_a_silent_node_has_the_whole_limit_to_stop() {
        let silence = Duration::from_secs(1);
        let cluster = ClusterService {
            engine: "etcd",
            library: None,
        };
        let timeout = stop_timeout(Some(&cluster), silence);
        assert!(timeout > CATCH_UP_TIMEOUT + ANSWER_TIMEOUT + silence);
        assert_eq!(stop_timeout(None, silence), silence);
    }
}
