//! `folkmoot data fetch` from a server on this machine that serves files and misbehaves.

mod planetoid;
mod server;
mod sets;

use crate::support::{Ended, TempDir, files};
use server::{Server, packed, reply, serve, sha256, zipped};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Enough for several reads, and nothing twice.
fn content() -> Vec<u8> {
    (0..60_000_u32).flat_map(u32::to_le_bytes).collect()
}

/// A table with one set `S` of these downloads.
fn table(temp: &TempDir, downloads: &str) {
    table_with(temp, downloads, "");
}

/// With more fields of the set.
fn table_with(temp: &TempDir, downloads: &str, more: &str) {
    let set = "name: \"S\", about: \"a set\", source: \"a test\", licence: \"CC0\"";
    temp.write("table.ron", format!("[({set}, downloads: [{downloads}]{more})]"));
}

/// A download of `content` to `x/file.bin`.
fn pinned(temp: &TempDir, server: &Server, content: &[u8]) {
    let (bytes, sum) = (content.len(), sha256(content));
    let file = format!("(path: \"x/file.bin\", bytes: {bytes}, sha256: \"{sum}\")");
    table(
        temp,
        &format!("(url: \"http://{}/file.bin\", files: [{file}])", server.address),
    );
}

/// `folkmoot data fetch S`, without the proxies of the machine.
fn fetch_with(temp: &TempDir, more: &[&str], variables: &[(&str, &str)]) -> Ended {
    let args = [&["data", "fetch", "S", "--sources", "table.ron", "--data", "d"], more].concat();
    let mut command = temp.command(&args);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command.envs(variables.iter().copied());
    Ended::of(&args, command.output().unwrap())
}

fn fetch(temp: &TempDir) -> Ended {
    fetch_with(temp, &[], &[])
}

/// Code 1, each of `words`, and the way to go on.
#[track_caller]
fn failed(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    for word in words
        .iter()
        .chain(&["repeat with: folkmoot data fetch S --data d --sources table.ron"])
    {
        assert!(ended.stderr.contains(word), "no {word:?} in {ended:#?}");
    }
}

/// What lies below the data folder.
fn names(temp: &TempDir) -> Vec<String> {
    files(&temp.join("d")).into_keys().collect()
}

#[test]
fn what_is_fetched_is_whole_said_and_left_alone_afterwards() {
    let temp = TempDir::new();
    let server = Server::serving(content());
    pinned(&temp, &server, &content());
    let said = fetch(&temp).done();
    for word in [
        "S: a set",
        "from a test; licence: CC0",
        "x/file.bin: fetched, 240 000 bytes, its sha256 is right",
    ] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(files(&temp.join("d"))["x/file.bin"], content());
    assert_eq!(names(&temp), ["x/file.bin"]);
    let again = fetch(&temp).done();
    assert!(again.contains("x/file.bin: is there"), "{again}");
    assert_eq!(server.asked().len(), 1);
    // Other bytes of the same name are nobody's to write over.
    temp.write("d/x/file.bin", "mine");
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("d/x/file.bin exists, but differs from the published"),
        "{ended:#?}"
    );
    assert_eq!(files(&temp.join("d"))["x/file.bin"], b"mine");
}

#[test]
fn what_has_no_sum_is_said_to_have_none() {
    let temp = TempDir::new();
    let server = Server::serving(content());
    table(
        &temp,
        &format!("(url: \"http://{}/f?a=b\", files: [(path: \"f\")])", server.address),
    );
    let said = fetch(&temp).done();
    assert!(
        said.contains(&format!(
            "not verified, as no checksum is published; sha256 {}",
            sha256(&content())
        )),
        "{said}"
    );
    assert_eq!(names(&temp), ["f"]);
}

#[test]
fn a_file_is_packed_and_unpacked_as_the_readers_expect() {
    let temp = TempDir::new();
    let mutag: &[(&str, &[u8])] = &[
        ("T//T_A.txt", b"1, 2\n2, 1\n3, 4\n4, 3\n"),
        ("T//T_graph_indicator.txt", b"1\n1\n2\n2\n"),
        // Where an archive wants its files is not asked.
        ("../../../T_graph_labels.txt", b"1\n2\n"),
        ("T//not-wanted.txt", b"x"),
    ];
    let archive = zipped(mutag);
    let server = Server::start(move |request, stream| match request.path.as_str() {
        "/t.zip" => serve(request, stream, &archive, "\"v1\""),
        "/a.gz" => serve(request, stream, &packed(b"unpacked"), "\"v1\""),
        _ => serve(request, stream, b"packed", "\"v1\""),
    });
    let url = |name: &str, form: &str| format!("url: \"http://{}/{name}\", form: {form}", server.address);
    let files_of_set: Vec<String> = mutag[..3]
        .iter()
        .map(|(name, bytes)| {
            let name = name.rsplit('/').next().unwrap();
            format!("(path: \"tudataset/T/{name}\", sha256: \"{}\")", sha256(bytes))
        })
        .collect();
    let downloads = [
        format!("({}, files: [{}])", url("t.zip", "Unzip"), files_of_set.join(", ")),
        format!(
            "({}, files: [(path: \"a/a\", sha256: \"{}\")])",
            url("a.gz", "Gunzip"),
            sha256(b"unpacked")
        ),
        format!(
            "({}, files: [(path: \"b/b.gz\", sha256: \"{}\")])",
            url("b", "Gzip"),
            sha256(b"packed")
        ),
    ];
    table(&temp, &downloads.join(", "));
    fetch(&temp).done();
    let found = files(&temp.join("d"));
    let labels = "tudataset/T/T_graph_labels.txt";
    let all = [
        "a/a",
        "b/b.gz",
        "tudataset/T/T_A.txt",
        "tudataset/T/T_graph_indicator.txt",
        labels,
    ];
    assert_eq!(names(&temp), all);
    assert_eq!(
        (found["a/a"].as_slice(), found[labels].as_slice()),
        (&b"unpacked"[..], &b"1\n2\n"[..])
    );
    let mut text = String::new();
    flate2::read::GzDecoder::new(&found["b/b.gz"][..])
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "packed");
    assert_eq!(temp.names(), ["d", "table.ron"]);
    // And the reader takes it.
    let described = temp
        .run(&["data", "describe", "TuDataset(name: \"T\")", "--data", "d"])
        .done();
    assert!(
        described.contains("nodes of a graph  2 to 2, mean 2.00, median 2"),
        "{described}"
    );
    // What is missing comes anew, what is there stays.
    fs::remove_file(temp.join("d").join(labels)).unwrap();
    let again = fetch(&temp).done();
    assert!(
        again.contains(&format!("{labels}: fetched")) && again.contains("b/b.gz: is there"),
        "{again}"
    );
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn archives_that_lie_leave_nothing() {
    let temp = TempDir::new();
    let spoilt = |archive: Vec<u8>, form: &str, file: &str, words: &[&str]| {
        let server = Server::serving(archive);
        table(
            &temp,
            &format!("(url: \"http://{}/t\", form: {form}, files: [{file}])", server.address),
        );
        failed(&fetch(&temp), words);
        assert_eq!(names(&temp), Vec::<String>::new());
    };
    let bomb = vec![0; 1 << 22];
    let short = "(path: \"a\", bytes: 1000)";
    spoilt(zipped(&[("a", &bomb)]), "Unzip", short, &["a has more than 1000 bytes"]);
    spoilt(packed(&bomb), "Gunzip", short, &["a has more than 1000 bytes"]);
    spoilt(
        zipped(&[("b", b"")]),
        "Unzip",
        short,
        &["the archive has 0 files of that name"],
    );
    spoilt(
        zipped(&[("x/a", b""), ("y/a", b"")]),
        "Unzip",
        short,
        &["2 files of that name"],
    );
    spoilt(b"PK no archive".to_vec(), "Unzip", short, &["a cannot be unpacked"]);
    spoilt(
        packed(&content())[..1000].to_vec(),
        "Gunzip",
        "(path: \"a\")",
        &["a cannot be unpacked"],
    );
    let other = format!("(path: \"a\", sha256: \"{}\")", sha256(b"other"));
    spoilt(
        zipped(&[("a", b"this")]),
        "Unzip",
        &other,
        &["a: its sha256 is", "instead of", &sha256(b"other")],
    );
}

#[test]
fn a_transfer_that_breaks_off_goes_on_where_it_was() {
    let temp = TempDir::new();
    let server = Server::start(|request, stream| match request.n_before {
        // Half of what was promised.
        0 => reply(
            stream,
            "200 ok",
            "Content-Length: 240000\r\nETag: \"v1\"\r\n",
            &content()[..100_000],
        ),
        1 => reply(stream, "503 later", "Retry-After: 0\r\n", b""),
        _ => serve(request, stream, &content(), "\"v1\""),
    });
    pinned(&temp, &server, &content());
    let ended = fetch(&temp);
    assert!(
        ended.stderr.contains("asking again") && ended.stderr.contains("503"),
        "{ended:#?}"
    );
    ended.done();
    assert_eq!(files(&temp.join("d"))["x/file.bin"], content());
    assert_eq!(names(&temp), ["x/file.bin"]);
    let last = server.asked().pop().unwrap().to_lowercase();
    assert!(
        last.contains("range: bytes=100000-") && last.contains("if-range: \"v1\""),
        "{last}"
    );
}

#[test]
fn what_a_killed_fetch_has_left_is_gone_on_with_if_it_is_of_the_same_file() {
    let half = &content()[..100_000];
    let other = [b"new".as_slice(), &content()].concat();
    // (tag in the half, what is served now, its tag, whether the half is used)
    let cases: [(Option<&str>, &[u8], &str, bool); 4] = [
        (Some("\"v1\""), &content(), "\"v1\"", true),
        (Some("\"v1\""), &other, "\"v2\"", false),
        // Without a tag the sum tells.
        (None, &content(), "\"v1\"", true),
        // Weak tags are not for ranges.
        (None, &content(), "W/\"v1\"", true),
    ];
    for (mark, now, tag, is_used) in cases {
        let temp = TempDir::new();
        temp.write("d/x/file.bin.part", half);
        if let Some(mark) = mark {
            temp.write("d/x/file.bin.part.version", mark);
        }
        let (served, tag) = (now.to_vec(), tag.to_owned());
        let server = Server::start(move |request, stream| serve(request, stream, &served, &tag));
        pinned(&temp, &server, now);
        fetch(&temp).done();
        assert_eq!(
            files(&temp.join("d")).into_iter().collect::<Vec<_>>(),
            [("x/file.bin".to_owned(), now.to_vec())]
        );
        let asked = server.asked();
        assert!(asked[0].to_lowercase().contains("range: bytes=100000-"), "{asked:?}");
        assert_eq!(asked.len(), 1, "{is_used} {asked:?}");
    }
    // A half of which nothing is known, neither tag nor sum, is not used.
    let temp = TempDir::new();
    temp.write("d/f.part", b"other");
    let server = Server::serving(content());
    table(
        &temp,
        &format!("(url: \"http://{}/f\", files: [(path: \"f\")])", server.address),
    );
    fetch(&temp).done();
    assert_eq!(files(&temp.join("d"))["f"], content());
    assert!(
        !server.asked()[0].to_lowercase().contains("range"),
        "{:?}",
        server.asked()
    );
}

#[test]
fn a_half_that_was_damaged_costs_one_fetch_and_no_more() {
    let temp = TempDir::new();
    temp.write("d/x/file.bin.part", b"damaged");
    let server = Server::serving(content());
    pinned(&temp, &server, &content());
    failed(&fetch(&temp), &["its sha256 is", "what was sent is removed"]);
    assert_eq!(names(&temp), Vec::<String>::new());
    fetch(&temp).done();
    // Longer than the file itself, it is not even asked about; whole, nothing is asked.
    fs::remove_file(temp.join("d/x/file.bin")).unwrap();
    temp.write("d/x/file.bin.part", vec![0; 240_001]);
    fetch(&temp).done();
    assert_eq!(server.asked().len(), 3);
    fs::rename(temp.join("d/x/file.bin"), temp.join("d/x/file.bin.part")).unwrap();
    fetch(&temp).done();
    assert_eq!(server.asked().len(), 3);
    // Of a file whose length is not known, the server says that there is no more of it.
    let temp = TempDir::new();
    temp.write("d/f.part", content());
    temp.write("d/f.part.version", "\"v1\"");
    table(
        &temp,
        &format!("(url: \"http://{}/f\", files: [(path: \"f\")])", server.address),
    );
    fetch(&temp).done();
    assert_eq!(files(&temp.join("d"))["f"], content());
}

#[test]
fn a_server_that_ignores_ranges_sends_all_again() {
    let temp = TempDir::new();
    let server = Server::start(|request, stream| {
        let sent = if request.n_before == 0 { 100_000 } else { 240_000 };
        reply(
            stream,
            "200 ok",
            "Content-Length: 240000\r\nETag: \"v1\"\r\n",
            &content()[..sent],
        );
    });
    pinned(&temp, &server, &content());
    fetch(&temp).done();
    assert_eq!(files(&temp.join("d"))["x/file.bin"], content());
    // One that breaks off at the same place for ever is left at last.
    let stubborn =
        Server::start(|_, stream| reply(stream, "200 ok", "Content-Length: 240000\r\n", &content()[..100_000]));
    let temp = TempDir::new();
    pinned(&temp, &stubborn, &content());
    failed(&fetch(&temp), &["the 100000 bytes that have come are kept"]);
    assert_eq!(names(&temp), ["x/file.bin.part"]);
    assert_eq!(stubborn.asked().len(), 3);
}

#[test]
fn each_way_of_a_server_to_fail_has_its_own_words() {
    let refused = |status: &'static str, headers: &'static str, body: &'static [u8], words: &[&str], n_asked: usize| {
        let temp = TempDir::new();
        let server = Server::start(move |_, stream| reply(stream, status, headers, body));
        pinned(&temp, &server, &content());
        let ended = fetch(&temp);
        failed(&ended, &[words, &[&server.address]].concat());
        assert_eq!(server.asked().len(), n_asked, "{ended:#?}");
        // Nothing has the file's name, or bytes of something else.
        let left = files(&temp.join("d"));
        assert!(!left.contains_key("x/file.bin"), "{ended:#?}");
        assert!(left.values().all(Vec::is_empty), "{left:?}");
    };
    refused("404 gone", "", b"", &["404", "the file has moved", "--sources"], 1);
    refused("403 no", "", b"", &["403", "wants to know who asks", "--proxy"], 1);
    refused("418 teapot", "", b"", &["418", "by hand"], 1);
    refused(
        "429 slow",
        "Retry-After: 3600\r\n",
        b"",
        &["429", "to come again after 3600 s"],
        1,
    );
    refused("503 later", "Retry-After: 0\r\n", b"", &["503"], 3);
    let page = "Content-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n";
    refused("200 ok", page, b"<html>", &["sends a page instead of the file"], 1);
    refused(
        "200 ok",
        "Content-Length: 3\r\n",
        b"abc",
        &["has 3 bytes instead of 240000"],
        1,
    );
    refused(
        "200 ok",
        "Content-Encoding: br\r\n",
        b"abc",
        &["sends br, which was not asked for"],
        1,
    );
    let elsewhere = "Content-Range: bytes 7-9/240000\r\nContent-Length: 3\r\n";
    refused("206 rest", elsewhere, b"abc", &["asked for bytes from 0 on"], 1);
    refused(
        "302 there",
        "Location: /again\r\n",
        b"",
        &["refers to another address more than 5 times"],
        6,
    );
}

#[test]
fn a_file_that_changed_is_refused_and_removed() {
    let temp = TempDir::new();
    let mut other = content();
    other[7] ^= 1;
    let expected = format!("its sha256 is {} instead of {}", sha256(&other), sha256(&content()));
    let server = Server::serving(other);
    pinned(&temp, &server, &content());
    failed(&fetch(&temp), &["is not what the table of sources names", &expected]);
    assert_eq!(names(&temp), Vec::<String>::new());
}

#[test]
fn a_body_without_an_end_is_left_at_the_length_that_is_known() {
    let temp = TempDir::new();
    let server = Server::start(|_, stream| {
        reply(stream, "200 ok", "", b"");
        while stream.write_all(&[7; 4096]).is_ok() {}
    });
    pinned(&temp, &server, &content());
    failed(
        &fetch(&temp),
        &["the server does not end: more than 240000 bytes have come"],
    );
    assert_eq!(files(&temp.join("d"))["x/file.bin.part"], b"");
}

#[test]
fn a_server_that_falls_silent_is_left_after_the_time_given() {
    let temp = TempDir::new();
    let server = Server::start(|_, stream| {
        reply(stream, "200 ok", "Content-Length: 240000\r\n", b"abc");
        std::thread::sleep(Duration::from_secs(3));
    });
    pinned(&temp, &server, &content());
    let ended = fetch_with(&temp, &["--timeout-s", "1"], &[]);
    failed(
        &ended,
        &["nothing has come for 1 s", "the 3 bytes that have come are kept"],
    );
    assert_eq!(files(&temp.join("d"))["x/file.bin.part"], b"abc");
    // And one that is not there at all.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    table(&temp, &format!("(url: \"http://{address}/f\", files: [(path: \"f\")])"));
    failed(&fetch(&temp), &["nothing has come: is there a network?"]);
}

#[test]
fn redirects_are_followed_with_the_range_asked_for() {
    let temp = TempDir::new();
    temp.write("d/x/file.bin.part", &content()[..100_000]);
    let server = Server::start(|request, stream| match request.path.as_str() {
        "/file.bin" => reply(stream, "302 there", "Location: /elsewhere\r\n", b""),
        _ => serve(request, stream, &content(), "\"v1\""),
    });
    pinned(&temp, &server, &content());
    fetch(&temp).done();
    assert_eq!(files(&temp.join("d"))["x/file.bin"], content());
    assert!(
        server.asked()[1].to_lowercase().contains("range: bytes=100000-"),
        "{:?}",
        server.asked()
    );
}

#[test]
fn a_socks_proxy_is_asked_as_told() {
    for (by_option, variable) in [(true, "X"), (false, "ALL_PROXY"), (false, "HTTPS_PROXY")] {
        let temp = TempDir::new();
        let host = Server::serving(content());
        let (address, n_led) = server::socks(&host.address);
        let socks = format!("socks5://{address}");
        pinned(&temp, &host, &content());
        let more = if by_option {
            &["--proxy", socks.as_str()] as &[&str]
        } else {
            &[]
        };
        fetch_with(&temp, more, &[(variable, &socks)]).done();
        assert_eq!(n_led.load(Ordering::SeqCst), 1, "{variable}");
        // Where no proxy is, the host is not asked directly.
        fs::remove_dir_all(temp.join("d")).unwrap();
        let refused = fetch_with(&temp, &["--proxy", "socks5://127.0.0.1:1"], &[]);
        assert_eq!((refused.code, host.asked().len()), (Some(1), 1), "{refused:#?}");
    }
}

#[test]
fn a_proxy_is_asked_as_told() {
    let through = |more: &[&str], variables: &[(&str, &str)]| {
        let temp = TempDir::new();
        let proxy = Server::serving(content());
        let proxy_url = format!("http://{}", proxy.address);
        let args: Vec<&str> = more
            .iter()
            .map(|word| if *word == "PROXY" { &proxy_url } else { *word })
            .collect();
        let set: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (*name, if *value == "PROXY" { &proxy_url } else { *value }))
            .collect();
        let host = Server::serving(content());
        pinned(&temp, &host, &content());
        fetch_with(&temp, &args, &set).done();
        (!proxy.asked().is_empty(), !host.asked().is_empty())
    };
    assert_eq!(through(&["--proxy", "PROXY"], &[]), (true, false));
    assert_eq!(through(&[], &[("HTTP_PROXY", "PROXY")]), (true, false));
    assert_eq!(
        through(&[], &[("HTTP_PROXY", "PROXY"), ("NO_PROXY", "127.0.0.1")]),
        (false, true)
    );
    assert_eq!(through(&[], &[]), (false, true));
    let temp = TempDir::new();
    pinned(&temp, &Server::serving(content()), &content());
    fetch_with(&temp, &["--proxy", "gopher://x"], &[]).refused(&["--proxy gopher://x", "help: write http://HOST:PORT"]);
    // One that cannot be read is not passed over.
    let variables = [("HTTPS_PROXY", "gopher://x")];
    fetch_with(&temp, &[], &variables).refused(&["HTTPS_PROXY gopher://x", "help: write http://HOST:PORT"]);
    // No password is said again.
    let ended = fetch_with(&temp, &["--proxy", "http://me:secret@127.0.0.1:1"], &[]);
    failed(
        &ended,
        &["nothing has come", "--proxy 'http://USER:PASSWORD@127.0.0.1:1'"],
    );
    assert!(!ended.stderr.contains("secret"), "{ended:#?}");
    fetch_with(&temp, &["--ca-file", "table.ron"], &[]).refused(&["it holds no certificate; name a PEM file"]);
}

#[test]
fn a_full_disk_and_another_fetch_are_named() {
    let server = Server::serving(content());
    let temp = TempDir::new();
    pinned(&temp, &server, &content());
    let held = temp.write("d/x/file.bin.part", "");
    let lock = File::open(&held).unwrap();
    lock.lock().unwrap();
    let ended = fetch(&temp);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.stderr.contains("is being written by another fetch"), "{ended:#?}");
    drop(lock);
    #[cfg(target_os = "linux")]
    {
        fs::remove_file(&held).unwrap();
        std::os::unix::fs::symlink("/dev/full", &held).unwrap();
        let ended = fetch(&temp);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        let words = [
            "d/x/file.bin.part cannot be written",
            "free disk space",
            "the partial download is kept",
            "repeat with",
        ];
        assert!(words.iter().all(|word| ended.stderr.contains(word)), "{ended:#?}");
    }
    let temp = TempDir::new();
    pinned(&temp, &server, &content());
    temp.write("d", "a file");
    assert_eq!(fetch(&temp).code, Some(2));
}
