//! A page as it is made of parts, and the one place where parts become markup.

use crate::parts;
use askama::Template;
use folkmoot_metrics::table::number_text;
use folkmoot_metrics::words::visible_lines;
use folkmoot_plots::{Picture, font_face};

/// Rows of a table that a page shows at most; the file behind it has them all.
const MOST_ROWS: usize = 200;
/// Longer tables begin folded, and can be searched.
const FOLDED: usize = 12;

#[derive(Template)]
#[template(path = "page.html")]
pub(crate) struct Page {
    /// What stands above the question: of what it is.
    pub(crate) name: String,
    /// The question, or the name where there is none.
    pub(crate) title: String,
    /// What was done, in a line.
    pub(crate) about: String,
    /// What is to be known of all that follows, such as that it is not finished.
    pub(crate) badges: Vec<String>,
    pub(crate) sections: Vec<Section>,
    /// Makes the page's own style and script known to the browser; see [`Page::html`].
    nonce: String,
    /// Makes the font of the pictures known to the browser, once for all.
    font: String,
    style: &'static str,
    script: &'static str,
}

pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Text(String),
    Warnings(Vec<String>),
    List(Vec<String>),
    Answers(Vec<Answered>),
    Facts(Vec<(String, String)>),
    Table(Table),
    Picture(Picture),
    /// Pictures of two runs: what each is called, and the picture if it has one.
    Pair(Vec<(String, Option<Picture>)>),
    Code(String),
}

impl Block {
    fn pictures(&self) -> Vec<&Picture> {
        match self {
            Block::Picture(picture) => vec![picture],
            Block::Pair(sides) => sides.iter().filter_map(|(_, picture)| picture.as_ref()).collect(),
            _ => Vec::new(),
        }
    }
}

/// A number that answers the question.
pub(crate) struct Answered {
    pub(crate) words: String,
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) beside: Vec<(String, String)>,
    pub(crate) about: String,
}

#[derive(Default)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows that stay below whatever the order.
    pub(crate) sums: Vec<Vec<Cell>>,
    /// What was left out, and what else is to be said.
    pub(crate) notes: Vec<String>,
    pub(crate) is_folded: bool,
}

pub(crate) struct Column {
    pub(crate) text: String,
    pub(crate) about: String,
    pub(crate) is_number: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// By what it is sorted, if not by its text.
    pub(crate) key: Option<String>,
    /// What stands below in small letters.
    pub(crate) detail: String,
    pub(crate) is_best: bool,
}

impl Column {
    pub(crate) fn text(text: &str) -> Column {
        Column {
            text: text.to_owned(),
            about: String::new(),
            is_number: false,
        }
    }

    pub(crate) fn number(text: &str) -> Column {
        Column {
            is_number: true,
            ..Column::text(text)
        }
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// A number as it is read, sorted by what it is.
    pub(crate) fn number(text: impl Into<String>, value: f64) -> Cell {
        Cell {
            // What is no number has no place in an order: it stands last.
            key: Some(if value.is_nan() {
                String::new()
            } else {
                number_text(value)
            }),
            ..Cell::text(text)
        }
    }
}

impl Table {
    /// A table of these rows, cut where they are too many; `file` has them all.
    pub(crate) fn new(caption: &str, columns: Vec<Column>, mut rows: Vec<Vec<Cell>>, file: &str) -> Table {
        let mut notes = Vec::new();
        if rows.len() > MOST_ROWS {
            notes.push(format!(
                "The first {MOST_ROWS} of {} rows; {file} has them all.",
                rows.len()
            ));
            rows.truncate(MOST_ROWS);
        }
        Table {
            caption: caption.to_owned(),
            is_folded: rows.len() > FOLDED,
            columns,
            rows,
            notes,
            ..Table::default()
        }
    }
}

impl Page {
    pub(crate) fn new(name: &str, question: &str, about: String) -> Page {
        Page {
            name: name.to_owned(),
            title: if question.is_empty() { name } else { question }.to_owned(),
            about,
            badges: Vec::new(),
            sections: Vec::new(),
            nonce: String::new(),
            font: String::new(),
            style: include_str!("../templates/page.css"),
            script: include_str!("../templates/page.js"),
        }
    }

    /// Adds a section, unless it is empty.
    pub(crate) fn add(&mut self, id: &'static str, title: &'static str, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.sections.push(Section { id, title, blocks });
        }
    }

    /// The page's text. Its style and script are marked by the hash of all that stands on it, which
    /// no text on it can foretell: a browser runs and shows nothing else, even if a text should
    /// ever get through as markup.
    pub(crate) fn html(mut self) -> String {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        self.font = font_face(blocks.flat_map(Block::pictures));
        let unmarked = self.markup();
        self.nonce = blake3::hash(unmarked.as_bytes()).to_hex()[..32].to_owned();
        self.markup()
    }

    /// Hidden characters, which only a card or a file can have brought, are written as in a card.
    fn markup(&self) -> String {
        let markup = self.render().expect("a template of plain texts always has a text");
        visible_lines(&markup).into_owned()
    }
}
