//! Threads that run one pass together: every thread runs the same function, with barriers between its
//! phases, and takes units of work until a phase has none left.
//!
//! A barrier spins briefly, then yields, so that a machine with fewer cores than threads goes on; between
//! passes threads spin a little longer, then park. A panic on one thread ends the pass on all.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Turns of a barrier's spin before it gives the core away: some tens of
/// microseconds. Miri runs one thread at a time, where a turn is time lost.
const BARRIER_SPINS: u32 = if cfg!(miri) { 1 } else { 1_000 };
/// Turns of the spin between passes before a thread parks: up to a tenth of a millisecond.
const IDLE_SPINS: u32 = if cfg!(miri) { 1 } else { 2_000 };

/// What the names of the threads begin with: a panic on one becomes the pass's own.
const THREAD_NAME: &str = "engine";

type Work<'a> = dyn Fn(&Team) + Sync + 'a;

struct State {
    n_threads: usize,
    /// The pass to run. Set before `started` changes, and valid until `finished` counts all workers.
    work: Mutex<Option<&'static Work<'static>>>,
    /// Number of passes started; a worker runs one when it changes.
    started: AtomicUsize,
    /// Workers that have ended the current pass.
    finished: AtomicUsize,
    /// Threads that wait at the current barrier.
    arrived: AtomicUsize,
    /// Number of barriers passed.
    epoch: AtomicUsize,
    /// By thread: units of its part of the current phase that are taken.
    taken: Vec<Taken>,
    broken: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    ended: AtomicBool,
}

/// A count on a line of the cache of its own.
#[derive(Default)]
#[repr(align(128))]
struct Taken(AtomicUsize);

/// A number of threads, the caller's among them.
pub(super) struct Pool {
    state: Arc<State>,
    workers: Vec<JoinHandle<()>>,
}

/// One thread's view of a pass.
pub(super) struct Team<'a> {
    state: &'a State,
    /// This thread's number, from 0.
    pub index: usize,
}

/// What a thread panics with when another one has.
struct Broken;

impl Pool {
    /// A pool of `n_threads`, at least 1.
    pub fn new(n_threads: usize) -> std::io::Result<Self> {
        let state = Arc::new(State {
            n_threads: n_threads.max(1),
            work: Mutex::new(None),
            started: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            epoch: AtomicUsize::new(0),
            taken: (0..n_threads.max(1)).map(|_| Taken::default()).collect(),
            broken: AtomicBool::new(false),
            panic: Mutex::new(None),
            ended: AtomicBool::new(false),
        });
        let mut pool = Self {
            state,
            workers: Vec::new(),
        };
        for index in 1..pool.state.n_threads {
            let state = Arc::clone(&pool.state);
            let body = move || state.serve(index);
            pool.workers.push(
                std::thread::Builder::new()
                    .name(format!("{THREAD_NAME} {index}"))
                    .spawn(body)?,
            );
        }
        Ok(pool)
    }

    /// Runs `work` on every thread and returns when all have ended.
    pub fn run(&mut self, work: &Work) {
        let state = &*self.state;
        // SAFETY: only the lifetime changes. Workers use the reference until they count themselves in
        // `finished`, which is waited for below, whether or not the work panics.
        let work: &'static Work<'static> = unsafe { std::mem::transmute(work) };
        *state.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        state.finished.store(0, Ordering::Relaxed);
        state.put_back();
        state.arrived.store(0, Ordering::Relaxed);
        state.started.fetch_add(1, Ordering::Release);
        for worker in &self.workers {
            worker.thread().unpark();
        }
        state.run(work, 0);
        let mut spins = 0;
        while state.finished.load(Ordering::Acquire) < self.workers.len() {
            spin_or_yield(&mut spins);
        }
        *state.work.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if state.broken.swap(false, Ordering::Relaxed) {
            let panic = state
                .panic
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            resume_unwind(panic.unwrap_or_else(|| Box::new("a thread of the pass panicked")));
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        self.state.started.fetch_add(1, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A worker's panics were caught and reported in `run`.
            let _ = worker.join();
        }
    }
}

impl State {
    /// Nothing is taken of the next phase.
    fn put_back(&self) {
        for taken in &self.taken {
            taken.0.store(0, Ordering::Relaxed);
        }
    }

    /// A worker's life: run each pass as it starts.
    fn serve(&self, index: usize) {
        let mut seen = 0;
        loop {
            let mut spins = 0;
            while self.started.load(Ordering::Acquire) == seen {
                spins += 1;
                if spins < IDLE_SPINS {
                    std::hint::spin_loop();
                } else {
                    std::thread::park();
                }
            }
            seen += 1;
            if self.ended.load(Ordering::Relaxed) {
                return;
            }
            let work = *self.work.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(work) = work {
                self.run(work, index);
            }
            self.finished.fetch_add(1, Ordering::Release);
        }
    }

    /// Runs one pass on this thread; a panic is kept for [`Pool::run`] and breaks the barriers.
    fn run(&self, work: &Work, index: usize) {
        let team = Team { state: self, index };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&team))) {
            if !panic.is::<Broken>() {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            self.broken.store(true, Ordering::Release);
        }
    }
}

impl Team<'_> {
    /// Waits until every thread of the pass is here: the end of a phase.
    pub fn barrier(&self) {
        let state = self.state;
        let epoch = state.epoch.load(Ordering::Relaxed);
        if state.arrived.fetch_add(1, Ordering::AcqRel) + 1 == state.n_threads {
            state.arrived.store(0, Ordering::Relaxed);
            state.put_back();
            state.epoch.store(epoch + 1, Ordering::Release);
            return;
        }
        let mut spins = 0;
        while state.epoch.load(Ordering::Acquire) == epoch {
            if state.broken.load(Ordering::Acquire) {
                resume_unwind(Box::new(Broken));
            }
            spin_or_yield(&mut spins);
        }
    }

    /// Runs `unit` on ranges that together are `0..n`, at most `chunk` long; then waits for all. Each
    /// thread takes one part in order, so that what it reads lies in a row, then helps the others with
    /// theirs. Every thread calls it with the same numbers.
    pub fn share(&self, n: usize, chunk: usize, mut unit: impl FnMut(Range<usize>)) {
        let n_threads = self.state.n_threads;
        let start_of = |part: usize| n.div_ceil(chunk) * part / n_threads * chunk;
        for turn in 0..n_threads {
            let part = (self.index + turn) % n_threads;
            let (first, end) = (start_of(part), start_of(part + 1).min(n));
            let taken = &self.state.taken[part].0;
            loop {
                let start = first + taken.fetch_add(chunk, Ordering::Relaxed);
                if start >= end {
                    break;
                }
                unit(start..end.min(start + chunk));
            }
        }
        self.barrier();
    }
}

fn spin_or_yield(spins: &mut u32) {
    *spins += 1;
    if *spins < BARRIER_SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_every_phase_is_done_once_and_phases_do_not_mix() {
        for n_threads in 1..=4 {
            let mut pool = Pool::new(n_threads).unwrap();
            for _ in 0..if cfg!(miri) { 2 } else { 50 } {
                let counts: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
                pool.run(&|team| {
                    for phase in 0..20 {
                        team.share(counts.len(), 7, |range| {
                            for count in &counts[range] {
                                assert_eq!(count.fetch_add(1, Ordering::Relaxed), phase);
                            }
                        });
                    }
                });
                assert!(
                    counts
                        .iter()
                        .all(|count| count.load(Ordering::Relaxed) == 20)
                );
            }
        }
    }

    #[test]
    fn a_panic_on_any_thread_ends_the_pass_and_the_pool_goes_on() {
        let mut pool = Pool::new(3).unwrap();
        for index in 0..3 {
            let failed = catch_unwind(AssertUnwindSafe(|| {
                pool.run(&|team| {
                    assert_ne!(team.index, index, "as told");
                    team.barrier();
                });
            }));
            assert!(failed.is_err());
            let ran = AtomicUsize::new(0);
            pool.run(&|team| {
                team.barrier();
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(ran.load(Ordering::Relaxed), 3);
        }
    }
}
