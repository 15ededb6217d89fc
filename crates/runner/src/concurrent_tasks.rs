//! Tasks of a run that go on at the same time, because nothing is measured meanwhile: the suites of
//! several engines, the starts of servers, verifications.
//!
//! Each thread has a context of its own. Worker processes and servers end with the thread that
//! started them, so the threads live as long as the group whose processes they start.

use crate::Event;
use crate::context::{MAX_THREADS, RunContext, TaskThread};
use crate::knowledge::Knowledge;
use std::collections::VecDeque;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, available_parallelism};

/// There are two threads on one processor, too: much of a start or a flush is waiting.
const MIN_THREADS: usize = 2;

/// What a thread is to do.
type Task<'scope> = Box<dyn FnOnce() + Send + 'scope>;

/// What a thread says while it works.
enum Message<T> {
    /// An event for the observer of the run.
    Event(Box<Event>),
    /// The item at that place is done.
    Done(usize, T),
    /// There is nothing more to do; what the thread has found out.
    Ended(Box<Knowledge>),
}

/// Threads that wait for tasks until this is dropped.
pub(crate) struct TaskThreads<'scope> {
    threads: Vec<Sender<Task<'scope>>>,
}

impl<'scope> TaskThreads<'scope> {
    /// Starts as many threads as there are processors, within limits.
    pub fn start(scope: &'scope Scope<'scope, '_>) -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let threads = (0..processors.clamp(MIN_THREADS, MAX_THREADS)).map(|_| {
            let (sender, tasks) = channel::<Task<'scope>>();
            scope.spawn(move || tasks.into_iter().for_each(|task| task()));
            sender
        });
        let threads = threads.collect();
        Self { threads }
    }

    /// Does `act` for each item, for several at the same time, and returns the items in their
    /// order, in which they also begin.
    pub fn run<T: Send + 'scope>(
        &self,
        context: &mut RunContext<'_>,
        items: Vec<T>,
        act: impl Fn(&mut RunContext<'_>, &mut T) + Send + Sync + 'scope,
    ) -> Vec<T> {
        let mut done: Vec<Option<T>> = items.iter().map(|_| None).collect();
        let waiting: VecDeque<_> = items.into_iter().enumerate().collect();
        let shared = Arc::new((Mutex::new(waiting), act));
        let (sender, messages) = channel();
        for (index, thread) in self.threads.iter().enumerate() {
            let number = TaskThread {
                number: index + 1,
                of: self.threads.len(),
            };
            let task = bind_task(context, number, Arc::clone(&shared), sender.clone());
            // A thread that has panicked takes no task; the others do its share.
            let _ = thread.send(task);
        }
        drop(sender);
        for message in messages {
            match message {
                Message::Event(event) => context.emit(&event),
                Message::Done(place, item) => done[place] = Some(item),
                Message::Ended(found) => context.known.add(*found),
            }
        }
        let done: Option<Vec<T>> = done.into_iter().collect();
        // Its own message has been printed.
        done.unwrap_or_else(|| resume_unwind(Box::new("a thread of the run has panicked")))
    }
}

/// Items that wait, each with its place, and what is done for each.
type SharedWork<T, A> = (Mutex<VecDeque<(usize, T)>>, A);

/// Returns the task of a thread: it takes items until none is left.
fn bind_task<'scope, T: Send + 'scope>(
    context: &RunContext<'_>,
    thread: TaskThread,
    shared: Arc<SharedWork<T, impl Fn(&mut RunContext<'_>, &mut T) + Send + Sync + 'scope>>,
    sender: Sender<Message<T>>,
) -> Task<'scope> {
    let (registry, options) = (*context.registry, context.options.clone());
    let (area, faults) = (Arc::clone(&context.area), Arc::clone(&context.faults));
    let known = context.known.clone();
    Box::new(move || {
        let mut observer = |event: &Event| {
            // The run listens until all threads have nothing more to do.
            let _ = sender.send(Message::Event(Box::new(event.clone())));
        };
        let mut context = RunContext {
            registry: &registry,
            options: &options,
            observer: &mut observer,
            area,
            faults,
            reusable: Vec::new(),
            kept_servers: Vec::new(),
            thread: Some(thread),
            known,
        };
        let (waiting, act) = &*shared;
        let next = || {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.pop_front()
        };
        while let Some((place, mut item)) = next() {
            act(&mut context, &mut item);
            let _ = sender.send(Message::Done(place, item));
        }
        let _ = sender.send(Message::Ended(Box::new(context.known)));
    })
}
