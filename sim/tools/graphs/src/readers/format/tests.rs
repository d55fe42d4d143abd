use super::super::edge_list::{EdgeListOptions, read_edge_list};
use super::super::test_files::Folder;
use super::super::text::Text;
use super::*;
use std::io::Write;

fn plain() -> EdgeListOptions {
    EdgeListOptions {
        labels: None,
        features: None,
        split: None,
        directed: false,
        weighted: false,
        first_id: 0,
        renumber: false,
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff)
        .chain(text.encode_utf16())
        .flat_map(bytes)
        .collect()
}

#[test]
fn encodings_packings_and_line_ends_are_read_alike() {
    let folder = Folder::new("format-alike");
    let text = "0 1\n1 2\n2 0\n2 3\n";
    let crlf = text.replace('\n', "\r\n");
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("lf", text.into()),
        ("crlf", crlf.clone().into()),
        ("cr", text.replace('\n', "\r").into()),
        ("mixed", "0 1\r1 2\r\n2 0\n2 3".into()),
        ("bom", format!("\u{feff}{text}").into()),
        ("utf16le", utf16(&crlf, u16::to_le_bytes)),
        ("utf16be", utf16(text, u16::to_be_bytes)),
        ("gzip", gzip(text.as_bytes())),
        ("two-gzips", [gzip(b"0 1\n1 2\n"), gzip(b"2 0\n2 3\n")].concat()),
        ("bom-gzip", gzip(format!("\u{feff}{crlf}").as_bytes())),
        ("commas", text.replace(' ', ",").into()),
        ("semicolons", text.replace(' ', " ; ").into()),
        ("floats", "0.0 1.0\n1.0 2e0\n2.0 0.0\n2.0 3.0\n".into()),
        (
            "savetxt",
            "0.000000000000000000e+00 1.000000000000000000e+00\n1 2\n2 0\n2 3\n".into(),
        ),
        ("quoted", "\"0\",\"1\"\n\"1\",\"2\"\n2,0\n2,3\n".into()),
        ("networkx", "0 1 {}\n1 2 {}\n2 0 {}\n2 3 {}\n".into()),
        ("comments", "# all\n0 1 # first\n1 2\t% second\n2 0\n2 3\n".into()),
    ];
    let read = |name: &str, content: &[u8]| {
        let path = folder.file(&format!("{name}.txt"), content);
        read_edge_list("test", &path, &plain()).map(|dataset| (dataset.fingerprint(), dataset.notes))
    };
    let expected = read("expected", text.as_bytes()).unwrap();
    for (name, content) in &files {
        let (fingerprint, notes) = read(name, content).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((fingerprint, notes.len()), (expected.0.clone(), 0), "{name}: {notes:?}");
    }
    for header in ["source,target", "u v", "\"from\";\"to\"", "Source\tTarget"] {
        let (fingerprint, notes) = read("header", format!("{header}\n{text}").as_bytes()).unwrap();
        assert_eq!(fingerprint, expected.0);
        assert!(notes[0].contains("names columns and is not data"), "{notes:?}");
    }
}

#[test]
fn foreign_formats_are_named_with_the_way_out() {
    let folder = Folder::new("format-foreign");
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let files: Vec<(&[u8], &[&str])> = vec![
        (
            b"%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n2 3\n",
            &["Matrix Market", "scipy.io.mmread(sys.argv[1])"],
        ),
        (b"graph [\n  node [\n id 0\n ]\n]\n", &["GML", "read_gml"]),
        (b"Creator \"me\"\ngraph\n[\n  node [ id 0 ]\n]\n", &["GML", "read_gml"]),
        (b"# made by me\ngraph [\n]\n", &["GML"]),
        (
            b"<?xml version=\"1.0\"?>\n<graphml xmlns=\"x\">",
            &["GraphML", "GraphMl(path: …)"],
        ),
        (b"<gexf>", &["GEXF", "read_gexf"]),
        (b"<!DOCTYPE html><html>404</html>", &["web page"]),
        (b"{\"nodes\": []}", &["JSON"]),
        (b"[[0, 1], [1, 2]]", &["JSON"]),
        (b"{\r\n  \"directed\": false\r\n}", &["JSON"]),
        (b"{\t\"directed\": false}", &["JSON"]),
        (
            b"% made by me\n*Vertices 2\n1 \"a\"\n*Edges\n1 2\n",
            &["Pajek", "read_pajek"],
        ),
        (b"/* a\ncomment */\n// two\ndigraph G {\n 0 -> 1;\n}\n", &["Graphviz"]),
        (b"PK\x03\x04..archive/data.pkl", &["torch.save", "folkmoot.save"]),
        (b"PK\x03\x04..[Content_Types].xml", &["Excel", "CSV"]),
        (b"PK\x03\x04..adj_indptr.npy", &["NumPy archive", "Npz(path: …)"]),
        (b"PK\x03\x04..edges.txt", &["a zip archive", "unzip"]),
        (b"*Vertices 3\n1 \"a\"\n*Edges\n1 2\n", &["Pajek", "read_pajek"]),
        (b"graph G {\n 0 -- 1;\n}\n", &["Graphviz"]),
        (b"digraph {\n 0 -> 1;\n}\n", &["Graphviz"]),
        (b"c a comment\np edge 3 2\ne 1 2\ne 2 3\n", &["DIMACS"]),
        (b"DL n=3 format=edgelist\n", &["UCINET"]),
        (b">>graph6<<C~\n", &["graph6", "read_graph6"]),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            &["Git LFS", "git lfs pull"],
        ),
        (b"\x28\xb5\x2f\xfd....", &["zstd"]),
        (b"\xfd7zXZ\0....", &["xz -d"]),
        (b"PK\x03\x04....", &["zip archive", "unzip"]),
        (b"BZh9....", &["bzip2"]),
        (b"\x89HDF\r\n\x1a\n", &["HDF5"]),
        (b"\x93NUMPY\x01\0", &["NumPy array", "savetxt"]),
        (b"\x80\x04\x95....", &["pickle"]),
        (b"PAR1....", &["Parquet", "to_csv"]),
        (b"MATLAB 5.0 MAT-file", &["MATLAB", "Mat(path"]),
        (&tar, &["tar archive"]),
        (b"0\x001\x00", &["binary file"]),
        (b"\xff\xfe\x00\xd8", &["UTF-16 is damaged"]),
    ];
    for (content, words) in &files {
        for packed in [content.to_vec(), gzip(content)] {
            let path = folder.file("edges.txt", &packed);
            let error = read_edge_list("test", &path, &plain()).unwrap_err().to_string();
            for word in *words {
                assert!(error.contains(word), "{word}: {error}");
            }
        }
    }
    let path = folder.file("edges.txt.gz", b"\x1f\x8b\x08cut");
    let error = read_edge_list("test", &path, &plain()).unwrap_err().to_string();
    assert!(error.contains("gzip file is damaged"), "{error}");
    let path = folder.file("other.txt", "*Vertices 3\n");
    let error = Text::open(&path).err().unwrap().to_string();
    assert!(
        error.contains("Pajek") && error.contains("plain text or CSV"),
        "{error}"
    );
}

#[test]
fn ordinary_text_is_no_foreign_format() {
    for text in [
        "graph,client\n0,0\n",
        "graph client\n0 0\n",
        "c,smiles\nCC,1\n",
        "smiles\n[13CH4]\n",
        "p q\n",
        "0 1\n",
        "{C}\n",
    ] {
        assert_eq!(foreign(text.as_bytes()), None, "{text}");
    }
}

/// A command takes a path as it is, whatever the shell would make of it.
#[test]
fn a_path_in_a_command_is_one_word() {
    assert_eq!(in_shell(Path::new("data/edges.txt")), "data/edges.txt");
    assert_eq!(in_shell(Path::new("my 'edges'.txt")), r"'my '\''edges'\''.txt'");
}

#[test]
fn a_matrix_is_converted_with_its_weights_if_it_is_square() {
    let of = |text: &str| converts_matrix(Path::new("m.mtx"), text.as_bytes());
    let real = of("%%MatrixMarket matrix coordinate real symmetric\n% remark\n3 3 2\n2 1 0.5\n3 2 7\n");
    assert!(
        real.contains("state `weighted: true`") && real.contains("m.data"),
        "{real}"
    );
    let pattern = of("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n");
    assert!(
        !pattern.contains("m.data") && pattern.ends_with("\" m.mtx"),
        "{pattern}"
    );
    let oblong = of("%%MatrixMarket matrix coordinate pattern general\n3 5 1\n1 5\n");
    assert!(oblong.contains("3 rows and 5 columns is none of a graph"), "{oblong}");
}
