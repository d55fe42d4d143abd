//! The connection to a worker process: a Unix socket where the system has them, and a TCP socket of
//! this machine elsewhere.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command};

#[cfg(not(unix))]
pub(crate) use std::net::TcpStream as Stream;
#[cfg(unix)]
pub(crate) use std::os::unix::net::UnixStream as Stream;

/// Starts a process that has the other end of a connection.
///
/// # Errors
///
/// When the process cannot be started, or does not connect.
pub(crate) fn start(mut command: Command) -> io::Result<(Child, Stream)> {
    #[cfg(unix)]
    {
        let (mine, theirs) = Stream::pair()?;
        let child = command.stdin(std::os::fd::OwnedFd::from(theirs)).spawn()?;
        Ok((child, mine))
    }
    #[cfg(not(unix))]
    tcp::start(&mut command)
}

/// The connection of a process that another one has forked, which `fork` is asked for with the path
/// of a socket in `folder`.
///
/// # Errors
///
/// When it does not connect, and on systems where no process forks.
pub(crate) fn forked<E: From<io::Error>>(
    folder: &Path,
    fork: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<Stream, E> {
    #[cfg(unix)]
    {
        let socket = folder.join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&socket)?;
        fork(&socket)?;
        Ok(listener.accept()?.0)
    }
    #[cfg(not(unix))]
    {
        let _ = (folder, fork);
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }
}

/// Reads as many bytes as there is place for, from an offset of a file.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset);
    #[cfg(not(unix))]
    {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }
}

/// Writes all bytes at an offset of a file.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }
}

/// Removes a file that both sides have open. Where an open file cannot be removed it goes with its
/// folder.
pub(crate) fn forget(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => std::fs::remove_file(path),
        false => Ok(()),
    }
}

/// Connections over TCP of this machine alone.
#[cfg(any(test, not(unix)))]
mod tcp {
    use super::{Child, Command, io};
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::time::Duration;

    /// The variable by which a process knows where to connect, and the secret that it says first.
    const CONNECT: &str = "FOLKMOOT_CONNECT";

    pub(super) fn start(command: &mut Command) -> io::Result<(Child, TcpStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        command.env(CONNECT, format!("{port} {secret}"));
        let mut child = command.stdin(std::process::Stdio::null()).spawn()?;
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Some(stream) = trusted(stream, &secret) {
                        return Ok((child, stream));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if child.try_wait()?.is_some() {
                        return Err(io::ErrorKind::ConnectionReset.into());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A connection that begins with the secret on a line; a worker's greeting follows the line.
    fn trusted(stream: TcpStream, secret: &str) -> Option<TcpStream> {
        stream.set_nonblocking(false).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let mut said = Vec::new();
        while !said.ends_with(b"\n") && said.len() <= secret.len() {
            // One byte at a time, so that none behind the line is taken.
            let mut byte = [0];
            (&stream).read_exact(&mut byte).ok()?;
            said.extend(byte);
        }
        stream.set_read_timeout(None).ok()?;
        (said.trim_ascii_end() == secret.as_bytes()).then_some(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    /// As a worker connects where there are no Unix sockets; a stranger comes first.
    const CLIENT: &str = "\
import os, socket
port, _, secret = os.environ['FOLKMOOT_CONNECT'].partition(' ')
for word in ('nothing', secret):
    connection = socket.create_connection(('127.0.0.1', int(port)))
    connection.sendall(word.encode() + b'\\n')
    if word == 'nothing':
        assert connection.recv(1) == b'', 'a stranger is answered'
connection.sendall(b'hello')
assert connection.recv(1) == b'x'
";

    fn python() -> Command {
        Command::new(std::env::var_os("FOLKMOOT_PYTHON").unwrap_or_else(|| "python3".into()))
    }

    #[test]
    fn over_tcp_only_who_knows_the_secret_is_heard() {
        let (mut child, mut stream) = tcp::start(python().args(["-c", CLIENT])).unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).unwrap();
        assert_eq!(&hello, b"hello");
        stream.write_all(b"x").unwrap();
        assert!(child.wait().unwrap().success());
        let gone = tcp::start(python().args(["-c", "pass"])).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::ConnectionReset);
    }
}
