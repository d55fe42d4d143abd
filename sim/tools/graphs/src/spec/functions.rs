//! The published sets of function graphs: their binaries, and which folder serves which range of
//! sizes.

use folkmoot_parts::component;

use crate::readers::{self, Binary, FunctionOptions};
use crate::{CountScaling, DataDirs, DataError, Dataset};

/// Control-flow graph sets used by PPGM and earlier matching networks.
#[component]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// 24 binaries: version 1.0.1f or 1.0.1u, for armeb, i586 or mips, at levels O0 to O3; 4,308
    /// graphs of 50 to 200 blocks of 338 functions, 15,800 of 20 to 200 of 1,073.
    OpenSSL,
    /// 8 binaries: gcc or clang at levels O0 to O3; 10,824 graphs of 50 to 200 blocks of 3,178
    /// functions. The public copy lacks both at O0: 7,262 graphs of 2,365 functions, and notes say
    /// so.
    FFmpeg,
}

/// The sizes that folders were published for, the narrowest first.
const PUBLISHED: [(u32, u32); 2] = [(50, 200), (20, 200)];

/// The widest range that a card may ask for.
pub(super) const WIDEST: (u32, u32) = PUBLISHED[1];

const LEVELS: [&str; 4] = ["O0", "O1", "O2", "O3"];

impl Functions {
    pub(super) fn name(self, (least, most): (u32, u32)) -> String {
        format!("{self:?}-{least}-{most}")
    }

    /// The folder with graphs of these sizes, below a data folder.
    fn folder(self, (least, most): (u32, u32)) -> String {
        match self {
            Functions::OpenSSL => format!("acfg/OpenSSL_6ACFG_min{least}_max{most}/acfgSSL_6"),
            Functions::FFmpeg => format!("acfg/ffmpeg_6ACFG_min{least}_max{most}"),
        }
    }

    fn facets(self) -> &'static [&'static str] {
        match self {
            Functions::OpenSSL => &["version", "architecture", "level"],
            Functions::FFmpeg => &["compiler", "level"],
        }
    }

    /// Every binary of the published set, in ascending order of file names.
    fn binaries(self) -> Vec<Binary> {
        let mut binaries = Vec::new();
        let mut add = |file: String, property: &[&str]| {
            let property = property.iter().map(|value| (*value).to_string()).collect();
            binaries.push(Binary { file, property });
        };
        match self {
            Functions::OpenSSL => {
                for version in ["1.0.1f", "1.0.1u"] {
                    for architecture in ["armeb", "i586", "mips"] {
                        for level in LEVELS {
                            let file = format!("filter_openssl-{version}-{architecture}-linux-{level}v54.json.gz");
                            add(file, &[version, architecture, level]);
                        }
                    }
                }
            }
            Functions::FFmpeg => {
                for compiler in ["clang", "gcc"] {
                    for level in LEVELS {
                        add(format!("ACFG_ffmpeg_g_{compiler}_{level}.json.gz"), &[compiler, level]);
                    }
                }
            }
        }
        binaries
    }

    /// Reads the graphs of `n_nodes.0..=n_nodes.1` blocks from the narrowest folder at hand that
    /// has them all.
    pub(super) fn load(
        self,
        n_nodes: (u32, u32),
        scaling: CountScaling,
        dirs: &DataDirs,
    ) -> Result<Dataset, DataError> {
        let holds = |sizes: &(u32, u32)| sizes.0 <= n_nodes.0 && n_nodes.1 <= sizes.1;
        let mut first_error = None;
        for sizes in PUBLISHED.into_iter().filter(holds) {
            match dirs.locate(self.folder(sizes)) {
                Ok(dir) => {
                    let options = FunctionOptions {
                        n_nodes,
                        facets: self.facets(),
                        binaries: &self.binaries(),
                        whole: sizes == n_nodes,
                    };
                    let mut dataset = readers::read_function_graphs(&self.name(n_nodes), &dir, &options)?;
                    dataset.features = dataset.features.map(|counts| scaling.apply(counts));
                    return Ok(dataset);
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.expect("the check allows no range that no published folder holds"))
    }
}
