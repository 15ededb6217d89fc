//! Cycles of dependencies.
//!
//! Whether a history shows an anomaly that a level proscribes is decided by strongly connected
//! components, in time that is proportional to the dependencies. Within a component a short cycle
//! is then searched, with a limit.

use super::anomaly::{Anomaly, AnomalyKind};
use super::graph::{Dependency, DependencyGraph, DependencyKind};
use super::versions::VersionIndex;
use std::collections::VecDeque;
use trueput_record::Phenomenon;

/// Dependencies from which the shortest cycle is searched, per family of cycles.
const MAX_SEARCHES: usize = 1_000;

/// Dependencies that these searches look at together. The first search always ends.
const MAX_STEPS: usize = 20_000_000;

/// A family of cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CycleFamily {
    /// Of writes alone: no level permits them.
    Writes,
    /// Of writes and reads, with a read: read-committed proscribes them.
    Flows,
    /// With anti-dependencies, never one right after another: snapshot proscribes them.
    Snapshots,
    /// With anti-dependencies of existing records: repeatable-read proscribes them.
    Items,
    /// With any anti-dependency: serializable proscribes them.
    All,
}

impl CycleFamily {
    const EACH: [Self; 5] = [
        Self::Writes,
        Self::Flows,
        Self::Snapshots,
        Self::Items,
        Self::All,
    ];

    /// Returns whether a cycle of the family may have a dependency of that kind.
    fn has(self, kind: DependencyKind) -> bool {
        match kind {
            DependencyKind::WriteWrite => true,
            DependencyKind::WriteRead => self != Self::Writes,
            DependencyKind::ReadWrite { is_predicate } => match self {
                Self::Writes | Self::Flows => false,
                Self::Items => !is_predicate,
                Self::Snapshots | Self::All => true,
            },
        }
    }

    /// Returns whether a cycle of the family must have a dependency of that kind.
    fn needs(self, kind: DependencyKind) -> bool {
        match self {
            Self::Writes => kind == DependencyKind::WriteWrite,
            Self::Flows => kind == DependencyKind::WriteRead,
            Self::Snapshots | Self::Items | Self::All => kind.is_read_write(),
        }
    }

    /// Returns the state after a dependency; `None` if it must not follow. A state is a
    /// transaction, doubled, plus 1 if an anti-dependency led to it and another must not follow.
    fn next(self, state: u32, dependency: &Dependency) -> Option<u32> {
        if !self.has(dependency.kind) {
            return None;
        }
        let is_read_write = dependency.kind.is_read_write() && self == Self::Snapshots;
        let is_after_another = state % 2 == 1;
        (!(is_read_write && is_after_another)).then(|| 2 * dependency.to + u32::from(is_read_write))
    }
}

/// Returns a short cycle of each family that there is, as an anomaly.
pub(super) fn find_cycles(versions: &VersionIndex<'_>, graph: &DependencyGraph) -> Vec<Anomaly> {
    let mut found: Vec<Anomaly> = Vec::new();
    for family in CycleFamily::EACH {
        if let Some(cycle) = CycleSearch::new(graph, family).shortest() {
            let kind = classify(&cycle);
            if found.iter().all(|one| one.kind != kind) {
                let text = describe(versions, &cycle);
                found.push(Anomaly { kind, text });
            }
        }
    }
    found
}

/// Names a cycle.
fn classify(cycle: &[Dependency]) -> AnomalyKind {
    let is_read_write = |at: usize| cycle[at % cycle.len()].kind.is_read_write();
    let count = (0..cycle.len()).filter(|at| is_read_write(*at)).count();
    let has = |kind| cycle.iter().any(|one: &Dependency| one.kind == kind);
    let has_read = has(DependencyKind::WriteRead);
    let has_predicate = has(DependencyKind::ReadWrite { is_predicate: true });
    let is_adjacent = (0..cycle.len()).any(|at| is_read_write(at) && is_read_write(at + 1));
    AnomalyKind::Phenomenon(match (count, has_predicate) {
        (0, _) if has_read => Phenomenon::CircularFlow,
        (0, _) => Phenomenon::DirtyWrite,
        (1, false) => Phenomenon::ReadSkew,
        (1, true) => Phenomenon::Phantom,
        _ if !is_adjacent => return AnomalyKind::NonadjacentSkew { has_predicate },
        (_, false) => Phenomenon::WriteSkew,
        (_, true) => Phenomenon::PredicateWriteSkew,
    })
}

/// Says what each transaction of a cycle read and wrote.
fn describe(versions: &VersionIndex<'_>, cycle: &[Dependency]) -> String {
    let clauses: Vec<String> = cycle
        .iter()
        .map(|one| {
            let (from, to) = (versions.transaction(one.from), versions.transaction(one.to));
            let (key, before, after) = (one.key, one.before, one.after);
            match one.kind {
                DependencyKind::WriteWrite => {
                    format!("{from} wrote key {key} = {before}, which {to} replaced by {after}")
                }
                DependencyKind::WriteRead => {
                    format!("{from} wrote key {key} = {before}, which {to} read")
                }
                DependencyKind::ReadWrite { .. } => {
                    format!("{from} read key {key} = {before}, which {to} replaced by {after}")
                }
            }
        })
        .collect();
    let count = cycle.len();
    format!("cycle of {count}: {}", clauses.join("; "))
}

/// The search for the cycles of a family.
struct CycleSearch<'g> {
    graph: &'g DependencyGraph,
    family: CycleFamily,
    /// The component of each state.
    components: Vec<u32>,
}

impl<'g> CycleSearch<'g> {
    fn new(graph: &'g DependencyGraph, family: CycleFamily) -> Self {
        Self {
            graph,
            family,
            components: find_components(graph, family),
        }
    }

    /// Returns the shortest cycle that is found before a limit is reached; `None` only if there is
    /// none at all.
    fn shortest(&self) -> Option<Vec<Dependency>> {
        let mut shortest: Option<Vec<Dependency>> = None;
        let mut visits = Visits::new(self.components.len());
        let mut steps = 0;
        let starts = self.graph.all().iter().filter(|one| self.is_in_cycle(one));
        for start in starts.take(MAX_SEARCHES) {
            let most = shortest.as_ref().map_or(usize::MAX, Vec::len);
            if let Some(cycle) = self.cycle_from(start, most, &mut visits, &mut steps) {
                shortest = Some(cycle);
            }
            let is_shortest = shortest.as_ref().is_some_and(|cycle| cycle.len() == 2);
            if is_shortest || steps > MAX_STEPS {
                break;
            }
        }
        shortest
    }

    /// Returns whether the dependency is one that the family needs, and is part of a cycle.
    fn is_in_cycle(&self, one: &Dependency) -> bool {
        let state = 2 * one.from;
        let next = self.family.next(state, one);
        let component = |state: u32| self.components[state as usize];
        self.family.needs(one.kind) && next.is_some_and(|next| component(next) == component(state))
    }

    /// Returns a shortest cycle that begins with a dependency and has fewer than `most`.
    fn cycle_from(
        &self,
        start: &Dependency,
        most: usize,
        visits: &mut Visits,
        steps: &mut usize,
    ) -> Option<Vec<Dependency>> {
        let (goal, first) = (2 * start.from, self.family.next(2 * start.from, start)?);
        visits.begin(first);
        while let Some((state, length)) = visits.queue.pop_front() {
            if length + 1 >= most {
                return None;
            }
            let (place, dependencies) = self.graph.on(state / 2);
            for (at, dependency) in dependencies.iter().enumerate() {
                *steps += 1;
                let Some(next) = self.family.next(state, dependency) else {
                    continue;
                };
                if self.components[next as usize] != self.components[goal as usize] {
                    continue;
                }
                if visits.visit(next, state, place + at, length + 1) && next == goal {
                    return Some(self.path(start, first, goal, visits));
                }
            }
        }
        None
    }

    /// Returns the dependencies of a cycle, from the first on.
    fn path(&self, start: &Dependency, first: u32, goal: u32, visits: &Visits) -> Vec<Dependency> {
        let mut path = Vec::new();
        let mut state = goal;
        while state != first {
            let (before, place) = visits.from[state as usize];
            path.push(self.graph.all()[place]);
            state = before;
        }
        path.push(*start);
        path.reverse();
        path
    }
}

/// The states that a search has visited.
struct Visits {
    /// The number of the search that visited a state last.
    marks: Vec<u32>,
    search: u32,
    /// The state from which a state was reached, and the place of the dependency.
    from: Vec<(u32, usize)>,
    /// The states to go on from, with the dependencies up to there.
    queue: VecDeque<(u32, usize)>,
}

impl Visits {
    fn new(states: usize) -> Self {
        Self {
            marks: vec![0; states],
            search: 0,
            from: vec![(0, 0); states],
            queue: VecDeque::new(),
        }
    }

    fn begin(&mut self, state: u32) {
        self.search += 1;
        self.queue.clear();
        self.marks[state as usize] = self.search;
        self.queue.push_back((state, 1));
    }

    /// Notes a visit; returns whether it is the first of this search.
    fn visit(&mut self, state: u32, before: u32, place: usize, length: usize) -> bool {
        let at = state as usize;
        let is_new = self.marks[at] != self.search;
        if is_new {
            self.marks[at] = self.search;
            self.from[at] = (before, place);
            self.queue.push_back((state, length));
        }
        is_new
    }
}

/// Returns the strongly connected component of each state: R. Tarjan, "Depth-First Search and
/// Linear Graph Algorithms", 1972, without recursion.
fn find_components(graph: &DependencyGraph, family: CycleFamily) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let states = 2 * graph.transactions();
    let (mut orders, mut lows) = (vec![NONE; states], vec![NONE; states]);
    let mut components = vec![NONE; states];
    let (mut open, mut calls) = (Vec::new(), Vec::new());
    let (mut entered, mut finished) = (0, 0);
    for root in 0..states as u32 {
        if orders[root as usize] == NONE {
            calls.push((root, 0));
        }
        while let Some((state, position)) = calls.pop() {
            let at = state as usize;
            if orders[at] == NONE {
                (orders[at], lows[at]) = (entered, entered);
                entered += 1;
                open.push(state);
            }
            let (_, dependencies) = graph.on(state / 2);
            let rest = dependencies.iter().enumerate().skip(position);
            let child = rest.into_iter().find_map(|(place, dependency)| {
                let after = family.next(state, dependency)?;
                if orders[after as usize] != NONE && components[after as usize] == NONE {
                    lows[at] = lows[at].min(lows[after as usize]);
                }
                (orders[after as usize] == NONE).then_some((place, after))
            });
            if let Some((place, after)) = child {
                // The same dependency is looked at again when the child has ended.
                calls.extend([(state, place), (after, 0)]);
            } else if lows[at] == orders[at] {
                while let Some(member) = open.pop() {
                    components[member as usize] = finished;
                    if member == state {
                        break;
                    }
                }
                finished += 1;
            }
        }
    }
    components
}
