//! The sets of the table that ships: listed, and their sums held against the files at hand.

use super::server::{Server, packed, serve, sha256, zipped};
use super::{content, names};
use crate::support::{TempDir, files, real_data, root};
use std::fs;
use std::io::Read;
use std::path::Path;

#[test]
fn who_asks_for_what_is_not_there_is_told_what_is() {
    let temp = TempDir::new();
    temp.run(&["data", "fetch", "Cor"])
        .refused(&["no downloadable data set \"Cor\"", "did you mean `Cora`"]);
    let by_hand = "flickr8000 cannot be fetched: no host serves this form of it";
    let args = ["data", "fetch", "Mat(path: \"flickr8000/flickr8000.mat\")"];
    let ended = temp.run(&args);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    for word in [by_hand, "put it at data/flickr8000/flickr8000.mat"] {
        assert!(ended.stderr.contains(word), "{ended:#?}");
    }
    temp.run(&["data", "list", "--sources", "no.ron"])
        .refused(&["no.ron cannot be read"]);
    temp.write("t.ron", "[(name: \"a\")]");
    temp.run(&["data", "list", "--sources", "t.ron"])
        .refused(&["t.ron: ", "about"]);
    // A card without its data says how to get them.
    temp.run(&["run", "fed-avg/cuts-cora"])
        .refused(&["folkmoot data fetch cora"]);
}

#[test]
fn the_list_says_what_is_there() {
    let temp = TempDir::new();
    temp.write("d/moleculenet/BBBP.csv", "");
    temp.write("d/blogcatalog/blogcatalog.mat", "");
    let list = temp.run(&["data", "list", "--data", "d"]).done();
    let there = |name: &str| {
        let line = list
            .lines()
            .find(|line| line.starts_with(&format!("  {name} ")))
            .unwrap();
        line.split("  ")
            .filter(|word| !word.is_empty())
            .nth(1)
            .unwrap()
            .trim()
            .to_owned()
    };
    assert_eq!(
        [there("BBBP"), there("BlogCatalog"), there("MUTAG")],
        ["in part", "yes", "no"]
    );
    assert!(
        list.contains("licence: none stated; the repository is GPL-3.0"),
        "{list}"
    );
    assert!(list.contains("at moleculenet/BBBP.csv and so on, 2 files\n"), "{list}");
    super::table(&temp, "(url: \"https://h/f\", files: [(path: \"f\")])");
    let unpinned = temp.run(&["data", "list", "--sources", "table.ron"]).done();
    assert!(unpinned.contains("at f; not verified"), "{unpinned}");
    let json = temp.run(&["data", "list", "--data", "d", "--format", "json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (json[0]["name"].as_str(), json[0]["there"].as_str()),
        (Some("BlogCatalog"), Some("yes"))
    );
    assert_eq!(json[0]["downloads"][0]["files"][0]["bytes"], 1_255_783);
}

/// The table that ships, with this server in place of every host, against the copies at hand.
#[test]
fn the_sums_that_ship_are_those_of_the_files_at_hand() {
    let Some(data) = real_data() else {
        return;
    };
    let read = |path: &str| fs::read(data.join(path)).unwrap();
    let members =
        |name: &str| -> Vec<(String, Vec<u8>)> { files(&data.join("tudataset").join(name)).into_iter().collect() };
    let unpacked = |bytes: Vec<u8>| {
        let mut content = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..])
            .read_to_end(&mut content)
            .unwrap();
        content
    };
    let content_of = |url: &str| match url.rsplit('/').next().unwrap() {
        "MUTAG.zip" => {
            let members = members("MUTAG");
            let members: Vec<(&str, &[u8])> = members
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
                .collect();
            zipped(&members)
        }
        "NCI1.zip" => read("tudataset-zip/NCI1.zip"),
        "bace.csv" => read("moleculenet/bace.csv"),
        "sider.csv.gz" => packed(&read("moleculenet/sider.csv")),
        "class_perm.npy" => read("acfg/ffmpeg_6ACFG_min50_max200/class_perm.npy"),
        graphs => unpacked(read(&format!("acfg/ffmpeg_6ACFG_min50_max200/{graphs}.gz"))),
    };
    let shipped = fs::read_to_string(root().join("sim/cli/data/sources.ron")).unwrap();
    let mut contents = std::collections::BTreeMap::new();
    for url in shipped.split('"').filter(|text| text.starts_with("https://")) {
        let name = url.rsplit('/').next().unwrap();
        let is_wanted =
            ["MUTAG.zip", "NCI1.zip", "bace.csv", "sider.csv.gz"].contains(&name) || url.contains("/ffmpeg_");
        if is_wanted {
            contents.insert(url.split_once("//").unwrap().1.to_owned(), content_of(url));
        }
    }
    let server = Server::start(move |request, stream| serve(request, stream, &contents[&request.path[1..]], "\"v1\""));
    let temp = TempDir::new();
    temp.write(
        "table.ron",
        shipped.replace("https://", &format!("http://{}/", server.address)),
    );
    let names = ["MUTAG", "NCI1", "BACE", "SIDER", "FFmpeg-50-200"];
    let args = [
        &["data", "fetch"],
        &names[..],
        &["--sources", "table.ron", "--data", "d"],
    ]
    .concat();
    temp.run(&args).done();
    for dataset in [
        "TuDataset(name: \"MUTAG\")",
        "Molecules(name: SIDER)",
        "FunctionGraphs(name: FFmpeg)",
    ] {
        let described = |data: &Path| {
            let data = data.to_string_lossy();
            temp.run(&["data", "describe", dataset, "--data", &data]).done()
        };
        assert_eq!(described(&temp.join("d")), described(&data));
    }
}

#[test]
fn a_set_that_fails_does_not_make_the_others_forgotten() {
    let temp = TempDir::new();
    let server = Server::serving(content());
    let set = |name: &str, sum: &str| {
        let about = "about: \"a set\", source: \"a test\", licence: \"CC0\"";
        let file = format!(
            "(path: \"x/{name}.bin\", bytes: {}, sha256: \"{sum}\")",
            content().len()
        );
        let downloads = format!("(url: \"http://{}/file.bin\", files: [{file}])", server.address);
        format!("(name: \"{name}\", {about}, downloads: [{downloads}])")
    };
    let right = sha256(&content());
    let sets = [set("S", &right), set("T", &sha256(b"another")), set("U", &right)];
    temp.write("table.ron", format!("[{}]", sets.join(", ")));
    let ended = temp.run(&["data", "fetch", "S", "T", "U", "--sources", "table.ron", "--data", "d"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let repeat = "repeat with: folkmoot data fetch T U --data d --sources table.ron";
    assert!(ended.stderr.contains(repeat), "{ended:#?}");
    assert_eq!(names(&temp), ["x/S.bin"]);
}
