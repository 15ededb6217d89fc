//! The roles of nodes that choose their leader themselves.

use super::{CHECK_INTERVAL, ClusterError, ClusterHost};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use trueput_engine::Cluster;
use trueput_engine::cluster::{ClusterSite, NodeRole};

/// The time that new nodes may take to choose a leader.
const FIRST_LEADER_TIMEOUT: Duration = Duration::from_secs(60);

/// A node as it answers questions about its role.
#[derive(Default)]
pub(super) struct NodeAnswers {
    question: Option<Receiver<bool>>,
    asked: Option<Instant>,
    /// The time at which it said last that it leads; `None` if it has said since that it does not.
    led: Option<Instant>,
}

impl NodeAnswers {
    /// Takes an answer that has come, and asks again. A node that does not answer costs a thread.
    fn ask<'scope>(
        &mut self,
        number: u32,
        cluster: &'scope dyn Cluster,
        site: &ClusterSite,
        scope: &'scope Scope<'scope, '_>,
    ) {
        if let Some(answer) = self.question.take() {
            match answer.try_recv() {
                Ok(leads) => self.led = leads.then(Instant::now),
                Err(TryRecvError::Disconnected) => self.led = None,
                Err(TryRecvError::Empty) => self.question = Some(answer),
            }
        }
        let is_due = self.asked.is_none_or(|at| at.elapsed() >= CHECK_INTERVAL);
        if self.question.is_none() && is_due {
            self.asked = Some(Instant::now());
            let (sender, answer) = channel();
            let site = site.clone();
            scope.spawn(move || {
                let role = cluster.role(number, &site);
                // Nobody waits any more once the cluster is stopped.
                let _ = sender.send(role == Ok(NodeRole::Leader));
            });
            self.question = Some(answer);
        }
    }

    fn leads(&self, limit: Duration) -> bool {
        self.led.is_some_and(|at| at.elapsed() < limit)
    }
}

impl<'a> ClusterHost<'a> {
    /// Keeps the node that sessions use: the present one as long as it says that it leads, else
    /// another one that says so.
    pub(super) fn follow_election<'scope>(&mut self, scope: &'scope Scope<'scope, '_>)
    where
        'a: 'scope,
    {
        for (number, answers) in (1..).zip(&mut self.answers) {
            answers.ask(number, self.cluster, &self.site, scope);
        }
        let limit = self.failover_limit();
        let leads = |number: &u32| self.answers[*number as usize - 1].leads(limit);
        let present = self.state.leader.filter(leads);
        let leader = present.or_else(|| self.numbers().find(leads));
        if leader == self.state.leader {
            return;
        }
        match leader {
            Some(number) => self.log_event(&format!("node {number} leads")),
            None => self.log_event("no node says that it leads"),
        }
        if let Err(error) = self.set_leader(leader) {
            self.log_event(&error.to_string());
        }
    }

    /// Waits until the nodes have chosen a leader.
    ///
    /// # Errors
    /// [`ClusterError::NoneElected`], or [`ClusterError::Canceled`] if `stop` is set.
    pub(super) fn await_leader<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        stop: &AtomicBool,
    ) -> Result<(), ClusterError>
    where
        'a: 'scope,
    {
        let began = Instant::now();
        self.state.leader = None;
        while self.state.leader.is_none() {
            if stop.load(Ordering::SeqCst) {
                return Err(ClusterError::Canceled);
            }
            if began.elapsed() >= FIRST_LEADER_TIMEOUT {
                return Err(ClusterError::NoneElected(FIRST_LEADER_TIMEOUT));
            }
            self.follow_election(scope);
            std::thread::sleep(super::PAUSE);
        }
        Ok(())
    }
}
