//! Work on many things by a few threads.

use anyhow::{Result, anyhow};
use std::thread;

/// More buy nothing on two cores, nor with an Ironic that is one process.
const THREADS: usize = 4;

/// Does it to each, several at a time; the first failure of each thread ends that thread.
pub fn at_once<T: Sync>(things: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|first| {
                let work = &work;
                scope.spawn(move || things.iter().skip(first).step_by(THREADS).try_for_each(work))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a panic"))?)
    })
}
