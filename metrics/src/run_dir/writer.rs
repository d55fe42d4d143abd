//! The thread that writes a run directory while the simulation goes on.
//!
//! Finished records travel over one bounded channel with one sender and one receiver, so they
//! arrive in order, and a disk that falls far behind slows the run instead of filling the memory.
//! The first error ends the thread; it comes back at the next call. Only a state that cannot be
//! saved ends nothing: the one before is there still, and no result needs it.

use super::error::WriteError;
use super::write::{RunResult, RunWriter};
use crate::ledger::Kind;
use crate::records::{MessageRow, RoundRow, ScoreRow};
use crate::trace::Event;
use crossbeam::channel::{Receiver, Sender, bounded};
use std::thread::JoinHandle;

/// How many records may wait for the disk.
const CAPACITY: usize = 1024;

/// Something that is finished and may be saved.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A finished round, added to `rounds.csv`.
    Round(RoundRow),
    /// A score, added to `scores.csv`.
    Score(ScoreRow),
    /// The whole of `messages.csv` so far: a message of an old round may still arrive, so its rows
    /// change.
    Messages(Vec<MessageRow>),
    /// Asks to bring the tables on the disk up to date. How often is the caller's choice; a run
    /// that is given up is up to date, too.
    Save,
}

/// The state of a run, in sections with their names.
type Sections = Vec<(String, Vec<u8>)>;

enum Job {
    Record(Record),
    Checkpoint(Sections),
    Events(Vec<Event>, Vec<Kind>),
    Finish(Box<RunResult>),
}

/// A [`RunWriter`] on its own thread. Dropping it before [`Writer::finish`] waits for what was sent
/// and then gives the run up as dropping a [`RunWriter`] does.
pub struct Writer {
    sender: Option<Sender<Job>>,
    /// What became of each checkpoint, and how many events were left out of a trace. The thread has
    /// the other end, so that nobody waits for it when it has ended.
    done: Receiver<Result<u64, WriteError>>,
    thread: Option<JoinHandle<Result<Option<String>, WriteError>>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] when the system gives no thread.
    pub fn spawn(run: RunWriter) -> Result<Self, WriteError> {
        let (sender, receiver) = bounded(CAPACITY);
        let (tell, done) = bounded(1);
        let dir = run.dir().to_owned();
        let thread = std::thread::Builder::new()
            .name("run-directory".to_owned())
            .spawn(move || serve(run, &receiver, &tell))
            .map_err(|source| WriteError::io(&dir, source))?;
        Ok(Writer {
            sender: Some(sender),
            done,
            thread: Some(thread),
        })
    }

    /// Hands a record over; waits only if many records wait for the disk already.
    ///
    /// # Errors
    ///
    /// What went wrong with an earlier record. The run cannot go on.
    pub fn send(&mut self, record: Record) -> Result<(), WriteError> {
        self.submit(Job::Record(record))
    }

    /// Hands over the state of the run and waits until it is on the disk: states are large, and
    /// none should wait behind another. Returns what became of it; where it could not be saved, the
    /// run can go on all the same.
    ///
    /// # Errors
    ///
    /// What went wrong earlier. The run cannot go on.
    pub fn save_checkpoint(&mut self, sections: Sections) -> Result<Result<(), WriteError>, WriteError> {
        self.submit(Job::Checkpoint(sections))?;
        Ok(self.wait()?.map(|_| ()))
    }

    /// Hands over what has happened and waits until it is written, so that a trace takes no more
    /// memory the slower the disk is. Returns how many events had no place in the trace so far.
    ///
    /// # Errors
    ///
    /// What went wrong now or earlier. The run cannot go on.
    pub fn add_events(&mut self, events: Vec<Event>, kinds: &[Kind]) -> Result<u64, WriteError> {
        self.submit(Job::Events(events, kinds.to_vec()))?;
        self.wait()?
    }

    fn wait(&mut self) -> Result<Result<u64, WriteError>, WriteError> {
        let done = self.done.recv();
        done.map_err(|_| self.join().err().unwrap_or(WriteError::WriterLost))
    }

    /// Writes the whole result, as [`RunWriter::finish`], and returns its fingerprint.
    ///
    /// # Errors
    ///
    /// What went wrong now or earlier.
    pub fn finish(mut self, result: RunResult) -> Result<String, WriteError> {
        self.submit(Job::Finish(Box::new(result)))?;
        self.join()?.ok_or(WriteError::WriterLost)
    }

    /// Ends the run early: waits for what was sent; the directory stays if it holds a finished
    /// round or a checkpoint.
    ///
    /// # Errors
    ///
    /// What went wrong earlier.
    pub fn abandon(mut self) -> Result<(), WriteError> {
        self.join().map(|_| ())
    }

    fn submit(&mut self, job: Job) -> Result<(), WriteError> {
        match &self.sender {
            Some(sender) if sender.send(job).is_ok() => Ok(()),
            // The thread only hangs up after an error, which it returns.
            _ => Err(self.join().err().unwrap_or(WriteError::WriterLost)),
        }
    }

    fn join(&mut self) -> Result<Option<String>, WriteError> {
        self.sender = None;
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or(Err(WriteError::WriterLost)),
            None => Err(WriteError::WriterLost),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever drops the writer has an error of their own to report.
            let _ = self.join();
        }
    }
}

fn serve(
    mut run: RunWriter,
    receiver: &Receiver<Job>,
    tell: &Sender<Result<u64, WriteError>>,
) -> Result<Option<String>, WriteError> {
    let (mut rounds, mut messages, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut n_saved = 0;
    for job in receiver {
        match job {
            Job::Record(Record::Round(row)) => rounds.push(row),
            Job::Record(Record::Score(row)) => scores.push(row),
            Job::Record(Record::Messages(rows)) => messages = rows,
            Job::Record(Record::Save) => {
                run.save_progress(&rounds, &messages, &scores)?;
                n_saved = rounds.len();
            }
            Job::Checkpoint(sections) => {
                // Whoever waits for it may have given up.
                let _ = tell.send(run.save_checkpoint(&sections).map(|()| 0));
            }
            Job::Events(events, kinds) => {
                let _ = tell.send(run.add_events(&events, &kinds));
            }
            Job::Finish(result) => return run.finish(&result).map(Some),
        }
    }
    if rounds.len() > n_saved {
        run.save_progress(&rounds, &messages, &scores)?;
    }
    Ok(None)
}
