use super::super::test_files::Folder;
use super::*;

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key id="d0" for="node" attr.name="label" attr.type="string"/>
<key id="d1" for="node" attr.name="size" attr.type="double"><default>1.5</default></key>
<key id="d2" for="edge" attr.name="weight" attr.type="double"/>
<key id="d3" for="node" yfiles.type="nodegraphics"/>
"#;

fn read(body: &str) -> Result<Dataset, String> {
    let folder = Folder::new(&format!("graphml-{}", blake3::hash(body.as_bytes()).to_hex()));
    let path = folder.file("g.graphml", format!("{HEAD}{body}"));
    read_graphml("g", &path, &Columns::default()).map_err(|error| error.to_string())
}

#[test]
fn nodes_and_edges_have_their_data_and_defaults() {
    let set = read(
        r#"<graph edgedefault="directed">
        <node id="a &amp; b"><data key="d0">red</data><data key="d3"><y:ShapeNode><y:Fill/></y:ShapeNode></data></node>
        <node id="c"><data key="d0"><![CDATA[<blue>]]></data><data key="d1">3</data></node>
        <edge source="c" target="a &amp; b"><data key="d2">2.5</data></edge>
        </graph></graphml>"#,
    )
    .unwrap();
    assert!(set.graph().is_directed());
    assert_eq!(set.graph().weights(1), Some(&[2.5][..]));
    assert_eq!(set.node_names.as_deref().unwrap(), ["a & b", "c"]);
    assert_eq!(
        set.features
            .as_ref()
            .unwrap()
            .to_dense(&[0, 1])
            .into_raw_vec_and_offset()
            .0,
        [1.5, 3.0]
    );
    assert!(
        set.notes
            .contains(&"node labels <blue>, red became classes 0 to 1".to_owned()),
        "{:?}",
        set.notes
    );
    assert!(
        set.notes
            .contains(&"1 elements that are not GraphML are not read".to_owned()),
        "{:?}",
        set.notes
    );
}

#[test]
fn what_is_no_simple_graph_is_refused_by_its_line() {
    let refused = |body: &str, words: &str| {
        let error = read(body).unwrap_err();
        assert!(error.contains(words), "{error}");
    };
    let graph = |inner: &str| format!("<graph edgedefault=\"undirected\">\n{inner}\n</graph></graphml>");
    refused(
        &graph("<node id=\"a\"><graph edgedefault=\"directed\"/></node>"),
        "g.graphml:8: a graph within a node",
    );
    refused(&graph("<hyperedge/>"), "a hyperedge");
    refused(
        &graph("<node id=\"a\"/><edge source=\"a\" target=\"b\"/>"),
        "g.graphml:8: column `target`: \"b\" is no node",
    );
    refused(
        &graph("<node id=\"a\"/><edge source=\"a\" target=\"a\" directed=\"true\"/>"),
        "another direction",
    );
    refused(&graph("<node/>"), "<node> has no attribute `id`");
    refused(
        &graph("<node id=\"a\"/><edge source=\"a\" target=\"a\" directed=\"1\"/>"),
        "another direction",
    );
    let keys = "<key id=\"k1\" for=\"node\" attr.name=\"k\"/><key id=\"k2\" for=\"node\" attr.name=\"k\"/>";
    let both = "<node id=\"a\"><data key=\"k1\">x</data><data key=\"k2\">y</data></node>";
    refused(&(keys.to_owned() + &graph(both)), "a second key has the name `k`");
    refused(
        &graph("<node id=\"a\"><data key=\"q\">1</data></node>"),
        "there is no <key id=\"q\">",
    );
    refused("</graphml>", "there is no <graph>");
    refused(&graph("<node id=\"a\">"), "the XML is damaged or cut short");
    refused(
        "<graph edgedefault=\"directed\">",
        "the file ends within <graphml> <graph>",
    );
    refused(
        &format!(
            "{}<graph edgedefault=\"directed\"/>",
            graph("").trim_end_matches("</graphml>")
        ),
        "a second <graph>",
    );
}
