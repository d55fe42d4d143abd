//! Where the files of published data sets lie below a data folder, and how to get them.

use std::path::Path;

pub(crate) const BLOG_CATALOG: &str = "blogcatalog/blogcatalog.mat";
pub(crate) const EMAIL_EDGES: &str = "small-graphs/email-eu-core/email-Eu-core.txt";
pub(crate) const EMAIL_LABELS: &str = "small-graphs/email-eu-core/email-Eu-core-department-labels.txt";

pub(crate) const GET_BLOG_CATALOG: &str = "help: folkmoot data fetch BlogCatalog\n  or put `blogcatalog.mat`, the file that DeepWalk's repository \
    has among its example graphs, at `blogcatalog/blogcatalog.mat` below a data folder";
pub(crate) const GET_EMAIL: &str = "help: folkmoot data fetch EmailEuCore\n  or unpack SNAP's `email-Eu-core.txt.gz` and \
    `email-Eu-core-department-labels.txt.gz` into `small-graphs/email-eu-core/` below a data folder";
pub(crate) const GET_PLANETOID: &str = "help: folkmoot data fetch NAME\n  then `python -m folkmoot planetoid FOLDER` with \
    the folder `planetoid` below the data folder, which converts the pickles of Planetoid's repository; or put an archive \
    in gnn-benchmark layout (`adj_*`, `attr_*`, `labels`, masks) into `planetoid/` below a data folder";
pub(crate) const GET_TU: &str = "help: folkmoot data fetch NAME\n  or unpack the set's zip file of the TUDataset collection, so that `NAME_A.txt` \
    lies in `tudataset/NAME/` below a data folder";
pub(crate) const GET_MUSAE: &str = "help: folkmoot data fetch FacebookPages\n  (or TwitchGb); or put the three files of MUSAE's repository (`input/edges`, \
    `input/features`, `input/target`), such as `facebook_edges.csv`, `facebook.json` and `facebook_target.csv`, into `musae/facebook/` \
    (or `musae/ENGB/`) below a data folder";
pub(crate) const GET_ACFG: &str = "help: folkmoot data fetch OpenSSL-50-200\n  (or OpenSSL-20-200, FFmpeg-50-200); or put the set's folder in the \
    repository of MGMN (Ling et al., `data/CFG`), such as `OpenSSL_6ACFG_min50_max200`, into `acfg/` below a data folder, \
    each file compressed by gzip as `NAME.json.gz`";
pub(crate) const GET_MOLECULES: &str = "help: folkmoot data fetch NAME\n  or put MoleculeNet's CSV file (`bace.csv`, `BBBP.csv`, \
    `clintox.csv`, `sider.csv`, `tox21.csv`), unpacked, into `moleculenet/` below a data folder; chemprop's \
    cleaned files go into `moleculenet/chemprop-cleaned/`";
pub(crate) const GET_TRACES: &str = "help: folkmoot data fetch Flash\n  (or FlHetBench, Bandwidth3g, Bandwidth4g); for Venn's table of phones, which no \
    host has as a text, `folkmoot data list` says what to do; the files lie in `fl-traces/` below a data folder";
pub(crate) const GET_OWN: &str = "help: check the path, which is relative to the card (or the current folder) or to a data folder \
    (--data DIR or FOLKMOOT_DATA) unless it is absolute";

pub(crate) const GET_MAPPED: &str =
    "make it: `folkmoot data generate 'Rmat()' --to FILE`, or `folkmoot data convert` for any other set";

/// The sentence for a missing file, told by its path below the data folder.
pub(crate) fn how_to_get(relative: &Path) -> String {
    let below = |folder: &str| relative.starts_with(folder);
    let known = if relative == Path::new(BLOG_CATALOG) {
        GET_BLOG_CATALOG
    } else if relative == Path::new(EMAIL_EDGES) || relative == Path::new(EMAIL_LABELS) {
        GET_EMAIL
    } else if below("planetoid") {
        GET_PLANETOID
    } else if below("tudataset") {
        GET_TU
    } else if below("musae") {
        GET_MUSAE
    } else if below("acfg") {
        GET_ACFG
    } else if below("moleculenet") {
        GET_MOLECULES
    } else if below("fl-traces") {
        GET_TRACES
    } else {
        GET_OWN
    };
    // The folder of a set of TUDataset, the file of another one.
    let name = match below("tudataset") {
        true => relative.components().nth(1).map(|part| part.as_os_str()),
        false => relative.file_stem(),
    };
    match name.filter(|_| below("tudataset") || below("planetoid") || below("moleculenet")) {
        Some(name) => known.replace("NAME", &name.to_string_lossy()),
        None => known.to_owned(),
    }
}
