//! Worker processes: started, asked, and ended with the run.
//!
//! - The first process imports the app. It forks the workers where that is possible, and never
//!   does a job itself; elsewhere each worker is a process that imports the app.
//! - A worker does one job at a time. Which one does a job changes no result.
//! - A worker that dies or takes too long is replaced, so that the jobs of other clients go on
//!   until the event of the one that failed is due.
//! - All end with the run: a worker whose connection closes exits, and the first ends those that
//!   it has forked.

use crate::connection::{self, Stream};
use crate::protocol::{Frame, PROTOCOL};
use crate::region::Region;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use thiserror::Error;

/// The file that has what an app prints.
pub const LOG: &str = "worker.log";
/// Lines of the log that an error cites.
const MOST_LINES: usize = 12;

/// Variables of each worker: one thread, one order of hashes, and kernels that every x86-64 CPU
/// with AVX2 has.
pub const ENVIRONMENT: [(&str, &str); 8] = [
    ("PYTHONHASHSEED", "0"),
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OPENBLAS_CORETYPE", "Haswell"),
    ("MKL_CBWR", "AVX2"),
    ("ATEN_CPU_CAPABILITY", "avx2"),
    ("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
];

/// How worker processes are started.
#[derive(Clone, Debug)]
pub struct Launch {
    pub python: PathBuf,
    /// The module that a process runs.
    pub module: &'static str,
    /// The request that has a process import the app.
    pub app: Frame<'static>,
    /// The folder of the log; `None` for none that stays.
    pub dir: Option<PathBuf>,
    /// How long a job may take, if there is a bound.
    pub timeout: Option<Duration>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// The app's function raised an exception, or returned what cannot be sent.
    #[error("{error}")]
    Raised {
        error: String,
        /// The lines of the app, if it was an exception.
        traceback: Option<String>,
    },
    #[error("its worker process died: {status}")]
    Died {
        /// By which signal or exit code.
        status: String,
    },
    #[error("it took longer than {seconds} s (--job-timeout)")]
    Late { seconds: u64 },
    /// Workers cannot be started or understood.
    #[error("{0}")]
    Pool(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Pool(format!("a worker cannot be reached: {error}"))
    }
}

/// The run's answer to a call.
pub type Answer<'a> = dyn FnMut(Frame<'static>) -> Frame<'static> + 'a;

pub(crate) fn no_calls(_: Frame<'static>) -> Frame<'static> {
    Frame::new("refused", json!({"error": "this request takes no calls"}))
}

/// A process, or one that another has forked.
pub(crate) struct Worker {
    stream: Stream,
    incoming: Option<Region>,
    outgoing: Option<Region>,
    pid: u64,
    /// Unless it was forked.
    child: Option<Child>,
}

impl Worker {
    /// Greets the other side of a connection.
    fn greet(stream: Stream, child: Option<Child>) -> Result<Worker, Trouble> {
        let mut worker = Worker {
            stream,
            incoming: None,
            outgoing: None,
            pid: 0,
            child,
        };
        let hello = worker.read()?;
        let protocol = hello.header.get("protocol").and_then(Value::as_u64);
        if protocol != Some(u64::from(PROTOCOL)) {
            let got = protocol.map_or("none".to_owned(), |n| n.to_string());
            return Err(Trouble::Pool(format!(
                "the worker speaks protocol {got}, and this program protocol {PROTOCOL}; install the package folkmoot of this version"
            )));
        }
        worker.pid = hello.header.get("pid").and_then(Value::as_u64).unwrap_or_default();
        Ok(worker)
    }

    fn read(&mut self) -> Result<Frame<'static>, Trouble> {
        let frame = Frame::read(&mut self.stream, self.incoming.as_ref());
        match frame {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(Trouble::Died { status: String::new() }),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Late {
                    seconds: self.stream.read_timeout().ok().flatten().unwrap_or_default().as_secs(),
                },
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                    Trouble::Died { status: String::new() }
                }
                _ => Trouble::Pool(format!("a worker's answer cannot be read: {error}")),
            }),
        }
    }

    fn write(&mut self, frame: &Frame<'_>) -> Result<(), Trouble> {
        let written = frame.write(&mut self.stream, self.outgoing.as_mut());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Trouble::Died { status: String::new() },
            _ => error.into(),
        })
    }

    /// Its answer to a request.
    fn ask(&mut self, request: &Frame<'_>) -> Result<Frame<'static>, Trouble> {
        self.converse(request, &mut no_calls)
    }

    /// The same, with the run's answers to calls of the function meanwhile.
    fn converse(&mut self, request: &Frame<'_>, answer: &mut Answer<'_>) -> Result<Frame<'static>, Trouble> {
        self.write(request)?;
        let mut reply = self.read()?;
        while reply.kind() == "call" {
            let answer = answer(reply);
            self.write(&answer)?;
            reply = self.read()?;
        }
        match reply.kind() {
            "error" => Err(Trouble::Raised {
                error: reply.text("error").unwrap_or_default().to_owned(),
                traceback: reply.text("traceback").map(str::to_owned),
            }),
            _ => Ok(reply),
        }
    }

    /// Gives it memory that is shared with this process.
    fn share(&mut self, folder: &Path) -> Result<(), Trouble> {
        let [request, reply] = ["request", "reply"].map(|name| folder.join(format!("{name}-{}", self.pid)));
        let (outgoing, incoming) = (Region::create(&request)?, Region::create(&reply)?);
        self.ask(&Frame::new("regions", json!({"request": request, "reply": reply})))?;
        (self.outgoing, self.incoming) = (Some(outgoing), Some(incoming));
        // Both sides have them open.
        connection::forget(&request)?;
        connection::forget(&reply)?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
            // The first process ends those that it has forked once its connection closes.
            for _ in 0..200 {
                if !matches!(child.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The workers that do nothing.
#[derive(Default)]
struct Idle {
    workers: Vec<(usize, Worker)>,
    /// Why there will be no more of them, if a lost one could not be replaced.
    broken: Option<Trouble>,
}

/// Worker processes of one run.
pub struct Pool {
    launch: Launch,
    /// Of the data, and of the log where no other has it; given up once all have the data mapped,
    /// so that a run that is killed leaves nothing there.
    folder: Option<TempDir>,
    forks: bool,
    /// The requests that a process is sent before it works, unless it is forked from one that was.
    opening: Vec<Frame<'static>>,
    first: Mutex<Worker>,
    idle: Mutex<Idle>,
    freed: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts the first process, which imports the app; with its answer.
    ///
    /// # Errors
    ///
    /// When Python cannot be started, lacks the package, or the app cannot be imported.
    pub fn start(launch: Launch) -> Result<(Pool, Frame<'static>), Trouble> {
        let folder = scratch()?;
        let (first, app) = spawn(&launch, folder.path())?;
        let pool = Pool {
            forks: app.header.get("forks").and_then(Value::as_bool) == Some(true),
            first: Mutex::new(first),
            launch,
            folder: Some(folder),
            opening: Vec::new(),
            idle: Mutex::default(),
            freed: Condvar::new(),
        };
        Ok((pool, app))
    }

    /// A path for a file that workers are to open, in memory where there is a file system of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place().join(name)
    }

    /// Its folder; without one, that of the log.
    fn place(&self) -> &Path {
        let folder = self.folder.as_ref().map(TempDir::path);
        folder.or(self.launch.dir.as_deref()).unwrap_or(Path::new("."))
    }

    /// The answer of the first process, before there are workers.
    ///
    /// # Errors
    ///
    /// As the process says.
    pub fn ask_first(&self, request: &Frame<'_>) -> Result<Frame<'static>, Trouble> {
        let asked = lock(&self.first).ask(request);
        asked.map_err(|trouble| self.with_log(trouble))
    }

    /// Has so many workers, that each have been sent this before.
    ///
    /// # Errors
    ///
    /// When a process cannot be started or forked.
    pub fn open(&mut self, opening: Frame<'static>, n_workers: usize) -> Result<(), Trouble> {
        self.ask_first(&opening)?;
        self.opening.push(opening);
        for at in 0..n_workers {
            let worker = self.worker()?;
            lock(&self.idle).workers.push((at, worker));
        }
        if self.forks && self.launch.dir.is_some() {
            self.folder = None;
        }
        Ok(())
    }

    /// One more process, which is none of the workers.
    ///
    /// # Errors
    ///
    /// When it cannot be started or forked.
    pub(crate) fn worker(&self) -> Result<Worker, Trouble> {
        let folder = scratch()?;
        let mut worker = match self.forks {
            true => {
                let first = &mut lock(&self.first);
                let fork = |socket: &Path| {
                    let asked = first.ask(&Frame::new("fork", json!({"n": 1, "socket": socket})));
                    asked.map(drop)
                };
                Worker::greet(connection::forked(folder.path(), fork)?, None)?
            }
            false => {
                let (mut worker, _) = spawn(&self.launch, self.place())?;
                for request in &self.opening {
                    worker.ask(request)?;
                }
                worker
            }
        };
        worker.share(folder.path())?;
        worker.stream.set_read_timeout(self.launch.timeout)?;
        Ok(worker)
    }

    /// The answer of a worker, and which one that was. With `but`, another than that one.
    ///
    /// # Errors
    ///
    /// When the function raises, or the worker dies or is late.
    pub fn ask(&self, request: &Frame<'_>, but: Option<usize>) -> Result<(usize, Frame<'static>), Trouble> {
        self.converse(request, but, &mut no_calls)
    }

    /// The same, with the run's answers to calls that the function makes meanwhile.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub fn converse(
        &self,
        request: &Frame<'_>,
        but: Option<usize>,
        answer: &mut Answer<'_>,
    ) -> Result<(usize, Frame<'static>), Trouble> {
        let (at, worker) = self.take(but)?;
        let mut left = Some(worker);
        let reply = self.ask_process(&mut left, request, answer);
        let worker;
        if let (None, Err(trouble)) = (&left, &reply) {
            match self.worker() {
                Ok(other) => worker = other,
                Err(why) => {
                    let broken = Trouble::Pool(format!("{trouble}; no worker can be started in its place: {why}"));
                    // No worker replaces it, so no job may wait for one.
                    lock(&self.idle).broken = Some(broken.clone());
                    self.freed.notify_all();
                    return Err(broken);
                }
            }
        } else {
            worker = left.expect("a worker that has answered is there");
        }
        lock(&self.idle).workers.push((at, worker));
        self.freed.notify_all();
        reply.map(|reply| (at, reply))
    }

    /// The answer of one process; one that dies or is late is ended, and then there is none.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub(crate) fn ask_process(
        &self,
        process: &mut Option<Worker>,
        request: &Frame<'_>,
        answer: &mut Answer<'_>,
    ) -> Result<Frame<'static>, Trouble> {
        let gone = || Trouble::Pool("the process has ended".to_owned());
        let mut reply = process.as_mut().ok_or_else(gone)?.converse(request, answer);
        if let Err(trouble @ (Trouble::Died { .. } | Trouble::Late { .. } | Trouble::Pool(_))) = &mut reply
            && let Some(worker) = process.take()
        {
            let status = self.end(worker);
            if let Trouble::Died { status: how } = trouble {
                *how = self.cited(&status);
            }
        }
        reply
    }

    fn take(&self, but: Option<usize>) -> Result<(usize, Worker), Trouble> {
        let mut idle = lock(&self.idle);
        loop {
            if let Some(broken) = &idle.broken {
                return Err(broken.clone());
            }
            if let Some(place) = idle.workers.iter().rposition(|(at, _)| Some(*at) != but) {
                return Ok(idle.workers.remove(place));
            }
            idle = self.freed.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends a worker; how it had ended before, if it had.
    fn end(&self, mut worker: Worker) -> String {
        let by_itself = match &mut worker.child {
            Some(child) => {
                let ended = child.try_wait().ok().flatten().map(|status| status.to_string());
                let _ = child.kill();
                ended
            }
            None => {
                let ended = lock(&self.first).ask(&Frame::new("end", json!({"pid": worker.pid})));
                ended.ok().and_then(|ended| ended.text("status").map(str::to_owned))
            }
        };
        by_itself.unwrap_or_else(|| "it closed its connection".to_owned())
    }

    /// How a process ended, with the last lines of its log.
    fn cited(&self, status: &str) -> String {
        let log = log_path(&self.launch, self.place());
        match last_lines(&log).as_str() {
            "" => status.to_owned(),
            lines => format!("{status}; last lines of {LOG}:\n{lines}"),
        }
    }

    fn with_log(&self, trouble: Trouble) -> Trouble {
        match trouble {
            Trouble::Died { .. } => Trouble::Died {
                status: self.cited("while the app was imported or asked"),
            },
            other => other,
        }
    }
}

/// A folder that is removed at the end, in memory where there is a file system of it.
fn scratch() -> Result<TempDir, Trouble> {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    let folder = match memory.is_dir() {
        true => builder.prefix("folkmoot-").tempdir_in(memory),
        false => builder.prefix("folkmoot-").tempdir(),
    };
    folder.map_err(|error| Trouble::Pool(format!("no folder for workers can be made: {error}")))
}

fn log_path(launch: &Launch, folder: &Path) -> PathBuf {
    launch.dir.as_deref().unwrap_or(folder).join(LOG)
}

/// The end of a file of text.
fn last_lines(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(MOST_LINES)..].join("\n")
}

/// Starts a process that imports the app; with its answer.
fn spawn(launch: &Launch, folder: &Path) -> Result<(Worker, Frame<'static>), Trouble> {
    let path = log_path(launch, folder);
    let log = || -> io::Result<File> { OpenOptions::new().create(true).append(true).open(&path) };
    let python = launch.python.display();
    let mut command = Command::new(&launch.python);
    command.args(["-m", launch.module]).envs(ENVIRONMENT);
    command.stdout(log()?).stderr(log()?);
    let told = |trouble| match trouble {
        Trouble::Died { .. } => {
            let lines = last_lines(&path);
            let way_out = match lines.as_str() {
                lines if lines.contains("No module named 'numpy'") => {
                    format!("; install it with: {python} -m pip install numpy")
                }
                lines if lines.contains("No module named") && lines.contains("folkmoot") => {
                    format!("; install it in a clone of the repository: {python} -m pip install ./sim/python")
                }
                _ => String::new(),
            };
            let module = launch.module;
            Trouble::Pool(format!("{python} -m {module} ended at once{way_out}\n{lines}"))
        }
        other => other,
    };
    let (child, stream) = connection::start(command).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionReset => told(Trouble::Died { status: String::new() }),
        _ => Trouble::Pool(format!(
            "Python cannot be started as {python}: {error}; name another with --python or FOLKMOOT_PYTHON"
        )),
    })?;
    let mut worker = Worker::greet(stream, Some(child)).map_err(told)?;
    let app = worker.ask(&launch.app).map_err(|trouble| match trouble {
        Trouble::Died { .. } => told(trouble),
        other => other,
    })?;
    Ok((worker, app))
}
