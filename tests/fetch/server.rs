//! A server on this machine that does what a test wants of it, and what it serves.

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::Digest as _;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What was asked for.
pub(super) struct Request {
    /// How many came before it.
    pub(super) n_before: usize,
    pub(super) path: String,
    /// The lines of its head.
    head: Vec<String>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let value = |line: &String| Some(line.split_once(": ")?.0.eq_ignore_ascii_case(name));
        let line = self.head.iter().find(|line| value(line) == Some(true))?;
        Some(line.split_once(": ").unwrap().1)
    }

    pub(super) fn range(&self) -> Option<usize> {
        let range = self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?;
        Some(range.parse().unwrap())
    }
}

/// A server until the test ends, and the heads of what it was asked.
pub(super) struct Server {
    pub(super) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One request a connection; as a proxy it is itself every host.
    pub(super) fn start(answer: impl Fn(&Request, &mut TcpStream) + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut n_before = 0;
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                while let Some(head) = head(&stream) {
                    log.lock().unwrap().push(head.join("\n"));
                    let mut words = head[0].split(' ');
                    if words.next() == Some("CONNECT") {
                        stream.write_all(b"HTTP/1.1 200 go on\r\n\r\n").unwrap();
                        continue;
                    }
                    let path = words.next().unwrap().to_owned();
                    answer(&Request { n_before, path, head }, &mut stream);
                    n_before += 1;
                    break;
                }
            }
        });
        Server { address, asked }
    }

    /// Serves one content as it should be.
    pub(super) fn serving(content: Vec<u8>) -> Server {
        Server::start(move |request, stream| serve(request, stream, &content, "\"v1\""))
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// The head of a request; none where the client has gone.
fn head(stream: &TcpStream) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    // One byte at a time: what follows may be another request.
    let mut reader = BufReader::with_capacity(1, stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => return Some(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

pub(super) fn reply(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n");
    // Who has heard enough goes away.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// A file as a good server gives it, from where it is asked for if it is still the same.
pub(super) fn serve(request: &Request, stream: &mut TcpStream, content: &[u8], tag: &str) {
    let is_same = request.header("if-range").is_none_or(|asked| asked == tag);
    match request.range().filter(|_| is_same) {
        Some(from) if from >= content.len() => reply(stream, "416 no such range", "", b""),
        Some(from) => {
            let rest = &content[from..];
            let range = format!(
                "Content-Range: bytes {from}-{}/{}\r\n",
                content.len() - 1,
                content.len()
            );
            let headers = format!("Content-Length: {}\r\nETag: {tag}\r\n{range}", rest.len());
            reply(stream, "206 rest", &headers, rest);
        }
        None => {
            let headers = format!("Content-Length: {}\r\nETag: {tag}\r\n", content.len());
            reply(stream, "200 ok", &headers, content);
        }
    }
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    let sum = sha2::Sha256::digest(bytes);
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub(super) fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A SOCKS5 proxy (RFC 1928) without passwords that leads every connection to `host`, and how many
/// it has led.
pub(super) fn socks(host: &str) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (host, n_led) = (host.to_owned(), Arc::new(AtomicU32::new(0)));
    let count = Arc::clone(&n_led);
    let take = |mut stream: &TcpStream, n: usize| {
        let mut bytes = vec![0; n];
        stream.read_exact(&mut bytes).unwrap();
        bytes
    };
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let n_methods = take(&client, 2)[1];
            take(&client, n_methods.into());
            client.write_all(&[5, 0]).unwrap();
            // An address of 4 or 16 bytes, or a name with its length; then the port.
            let n = match take(&client, 4)[3] {
                1 => 4,
                4 => 16,
                _ => usize::from(take(&client, 1)[0]),
            };
            take(&client, n + 2);
            client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0]).unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let mut server = TcpStream::connect(&host).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let _ = std::io::copy(&mut server, &mut client);
        }
    });
    (address, n_led)
}
