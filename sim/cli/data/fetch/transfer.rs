//! One file from its host to the disk, whatever the host does: it is asked again where that may
//! help, from where it broke off.

use super::super::sources::Download;
use super::unpack::MOST_BYTES;
use super::{cannot_read, cannot_write, redact_credentials, with_suffix};
use crate::args::FetchArgs;
use crate::exit::Exit;
use crate::output::warn;
use crate::watch::bar;
use indicatif::ProgressBar;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Error, Proxy};

/// How often a host is asked that sends nothing new.
const TRIES: u32 = 3;

/// Nobody waits longer for a host that asks to be left alone; in seconds.
const LONGEST_WAIT_S: u64 = 60;

/// The variables that name a proxy, in the order in which the library asks them.
const VARIABLES: [&str; 6] = [
    "ALL_PROXY",
    "all_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
];

const MAX_REDIRECTS: u32 = 5;

/// Who asks hosts for files.
pub(super) struct Host {
    agent: Agent,
    timeout: Duration,
    quiet: bool,
}

/// Why a file is not there whole.
enum Failed {
    /// It may help to ask again, after so long.
    Again(String, Duration),
    Stop(Exit),
}

impl Host {
    /// By the proxy of `--proxy`, or that of the environment.
    pub(super) fn new(args: &FetchArgs) -> Result<Host, Exit> {
        let timeout = Duration::from_secs(args.timeout_s);
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(MAX_REDIRECTS)
            .timeout_connect(Some(timeout))
            .timeout_recv_response(Some(timeout))
            .timeout_per_read(Some(timeout))
            .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")));
        // The library passes over a variable that it cannot read, and would ask hosts directly.
        let of_environment = || {
            let said = |name: &&'static str| Some((*name, std::env::var(name).ok()?));
            VARIABLES.iter().find_map(said).filter(|(_, proxy)| !proxy.is_empty())
        };
        let asked = args.proxy.clone().map(|proxy| ("--proxy", proxy));
        if let Some((by, proxy)) = asked.or_else(of_environment) {
            let read = Proxy::new(&proxy).map_err(|error| {
                Exit::usage(format!(
                    "error: {by} {}: {error}\nhelp: write http://HOST:PORT or socks5://HOST:PORT",
                    redact_credentials(&proxy)
                ))
            })?;
            if args.proxy.is_some() {
                config = config.proxy(Some(read));
            }
        }
        if let Some(file) = &args.ca_file {
            let text = fs::read(file).map_err(|error| cannot_read(file, &error))?;
            let roots = parse_pem(&text).filter_map(|item| match item {
                Ok(PemItem::Certificate(root)) => Some(root),
                _ => None,
            });
            let roots: Vec<_> = roots.collect();
            if roots.is_empty() {
                return Err(Exit::usage(format!(
                    "error: --ca-file {}: it holds no certificate; name a PEM file",
                    file.display()
                )));
            }
            let tls = TlsConfig::builder().root_certs(RootCerts::from(roots));
            config = config.tls_config(tls.build());
        }
        Ok(Host {
            agent: config.build().new_agent(),
            timeout,
            quiet: args.quiet,
        })
    }

    /// Gets the file of `download` as `part`, and goes on with what is there of it.
    pub(super) fn transfer(&self, download: &Download, part: &Path) -> Result<(), Exit> {
        let (expected, _) = download.served();
        let progress = bar(expected, "bytes", self.quiet);
        let mut furthest = length(part);
        let mut tries = 0;
        let ended = loop {
            match self.ask(download, part, &progress) {
                Ok(()) => break Ok(()),
                Err(Failed::Stop(exit)) => break Err(exit),
                Err(Failed::Again(why, wait)) => {
                    let now = length(part);
                    tries = if now > furthest { 1 } else { tries + 1 };
                    furthest = furthest.max(now);
                    if tries >= TRIES || wait > Duration::from_secs(LONGEST_WAIT_S) {
                        let rest = match now {
                            0 => "nothing has come: is there a network? A proxy is named by --proxy or HTTPS_PROXY"
                                .to_owned(),
                            _ => format!(
                                "the {now} bytes that have come are kept, and the next fetch goes on from there"
                            ),
                        };
                        break Err(Exit::failed(format!("error: {}: {why}\n  {rest}", download.url)));
                    }
                    progress.suspend(|| warn(&format!("{}: {why}; asking again", download.url)));
                    std::thread::sleep(wait);
                }
            }
        };
        progress.finish_and_clear();
        ended
    }

    fn ask(&self, download: &Download, part: &Path, progress: &ProgressBar) -> Result<(), Failed> {
        let url = &download.url;
        let stop = |why: String| Failed::Stop(Exit::failed(format!("error: {url}: {why}")));
        let (expected, sha256) = download.served();
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(part)
            .map_err(written(part))?;
        // Where files cannot be locked at all, nobody is kept out.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let why = format!(
                "error: {} is being written by another fetch; wait for it",
                part.display()
            );
            return Err(Failed::Stop(Exit::usage(why)));
        }
        let mut have = file.metadata().map_err(written(part))?.len();
        if expected == Some(have) {
            return Ok(());
        }
        // Bytes of two versions of a file are not joined: the host says whether it is still the
        // same, or else the sum will.
        let mark_file = with_suffix(part, ".version");
        let mark = fs::read_to_string(&mark_file).ok();
        if expected.is_some_and(|expected| have > expected) || (mark.is_none() && sha256.is_none()) {
            emptied(&file, part)?;
            have = 0;
        }
        // Who was asked for safely is not followed to where anyone can listen.
        let https_only = url.starts_with("https://");
        let mut request = self.agent.get(url).config().https_only(https_only).build();
        if have > 0 {
            request = request.header(header::RANGE, format!("bytes={have}-"));
            if let Some(mark) = &mark {
                request = request.header(header::IF_RANGE, mark.as_str());
            }
        }
        let response = request.call().map_err(|error| self.failed(url, error))?;
        let status = response.status().as_u16();
        match status {
            200 if have == 0 => {}
            200 => {
                emptied(&file, part)?;
                have = 0;
            }
            206 if said(&response, header::CONTENT_RANGE).starts_with(&format!("bytes {have}-")) => {}
            206 => {
                let range = said(&response, header::CONTENT_RANGE);
                return Err(stop(format!(
                    "it was asked for bytes from {have} on, and sends {range:?}; remove {}",
                    part.display()
                )));
            }
            416 => {
                emptied(&file, part)?;
                return Err(Failed::Again(
                    "it has fewer bytes than had come".to_owned(),
                    Duration::ZERO,
                ));
            }
            429 | 500 | 502 | 503 | 504 => {
                let after = said(&response, header::RETRY_AFTER);
                let (wait_s, asked) = match after.parse() {
                    Ok(seconds) => (seconds, format!(", and to come again after {seconds} s")),
                    // A date, which needs a clock that is right, or nothing.
                    Err(_) => (1, String::new()),
                };
                return Err(Failed::Again(
                    format!("the server says {}{asked}", response.status()),
                    Duration::from_secs(wait_s),
                ));
            }
            _ => {
                let way_out = match status {
                    404 | 410 => {
                        "the file has moved: name a table with its new address by --sources, or get it by hand"
                    }
                    401 | 403 | 407 => {
                        "the server or a proxy wants to know who asks: get the file by hand, or name a --proxy that may"
                    }
                    _ => "get the file by hand, or name a table with another address by --sources",
                };
                return Err(stop(format!("the server says {}\n  {way_out}", response.status())));
            }
        }
        let kind = said(&response, header::CONTENT_TYPE);
        if kind.starts_with("text/html") {
            return Err(stop("the server sends a page instead of the file\n  look at the address in a browser: a page that asks for \
                 something stands before the file, or a proxy does".to_owned()));
        }
        let coding = said(&response, header::CONTENT_ENCODING);
        if !["", "identity"].contains(&coding.as_str()) {
            return Err(stop(format!(
                "the server sends {coding}, which was not asked for\n  get the file by hand"
            )));
        }
        let promised = response.body().content_length().map(|rest| have + rest);
        let most = expected.unwrap_or(MOST_BYTES);
        if let Some(promised) = promised.filter(|&promised| promised > most || expected.is_some_and(|n| promised != n))
        {
            let rule = expected.map_or_else(|| format!("at most {most}"), |expected| expected.to_string());
            return Err(stop(format!(
                "the file there has {promised} bytes instead of {rule}\n  it has changed at its host: name a table with its new length \
                 and sum by --sources"
            )));
        }
        if have == 0 {
            note_version(&response, &mark_file).map_err(written(&mark_file))?;
        }
        progress.set_position(have);
        let mut body = response.into_body().into_reader();
        let mut block = vec![0; 1 << 16];
        loop {
            let n = match body.read(&mut block) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(url, Error::from(error))),
            };
            have += n as u64;
            if have > most {
                emptied(&file, part)?;
                return Err(stop(format!(
                    "the server does not end: more than {most} bytes have come, which are removed"
                )));
            }
            file.write_all(&block[..n]).map_err(written(part))?;
            progress.set_position(have);
        }
        if let Some(expected) = expected.or(promised).filter(|&expected| have < expected) {
            return Err(Failed::Again(
                format!("it ended after {have} of {expected} bytes"),
                Duration::ZERO,
            ));
        }
        file.sync_all().map_err(written(part))?;
        // A file without a mark is as good, and the next one would take it for its own.
        let _ = fs::remove_file(&mark_file);
        Ok(())
    }

    /// What an error on the way means.
    fn failed(&self, url: &str, error: Error) -> Failed {
        let why = match &error {
            Error::Timeout(_) => format!("nothing has come for {} s", self.timeout.as_secs()),
            _ => error.to_string(),
        };
        match error {
            Error::RequireHttpsOnly(to) => Failed::Stop(Exit::failed(format!(
                "error: {url}: the server refers to {to}, which anyone on the way could change\n  name a table with another address \
                 by --sources"
            ))),
            Error::TooManyRedirects => Failed::Stop(Exit::failed(format!(
                "error: {url}: the server refers to another address more than {MAX_REDIRECTS} times\n  name a table with another \
                 address by --sources"
            ))),
            Error::Io(_) if why.contains("peer certificate") => Failed::Stop(Exit::failed(format!(
                "error: {url}: {why}\n  if a proxy reads along, name its certificates by --ca-file"
            ))),
            Error::Io(_) | Error::Timeout(_) | Error::HostNotFound | Error::ConnectionFailed => {
                Failed::Again(why, Duration::from_millis(200))
            }
            _ => Failed::Stop(Exit::failed(format!("error: {url}: {why}"))),
        }
    }
}

/// Keeps what tells this version of the file from another: a strong tag, or else its date.
fn note_version(response: &Response<Body>, mark_file: &Path) -> io::Result<()> {
    let tag = said(response, header::ETAG);
    let mark = match tag.starts_with('"') {
        true => tag,
        false => said(response, header::LAST_MODIFIED),
    };
    match mark.is_empty() {
        true if mark_file.exists() => fs::remove_file(mark_file),
        true => Ok(()),
        false => fs::write(mark_file, mark),
    }
}

/// A header's value; empty where there is none.
fn said(response: &Response<Body>, name: header::HeaderName) -> String {
    let value = response.headers().get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn length(part: &Path) -> u64 {
    fs::metadata(part).map_or(0, |data| data.len())
}

fn emptied(file: &File, part: &Path) -> Result<(), Failed> {
    file.set_len(0).map_err(written(part))
}

fn written(path: &Path) -> impl Fn(io::Error) -> Failed + '_ {
    move |error| Failed::Stop(cannot_write(path, &error))
}
