//! The glyphs that some texts show, as a font of their own to be embedded in a file.

use super::{BYTES, FAMILY, Font, GlyphId, STAND_INS, font, units_per_em};
use crate::sfnt;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::collections::{BTreeMap, BTreeSet};
use subsetter::GlyphRemapper;

/// A font of the glyphs that some texts show.
pub(crate) struct Subset {
    /// The glyph of each character; that of a missing character, 0, where the font lacks it.
    glyphs: BTreeMap<char, u16>,
    /// The glyphs by their numbers here, with their numbers in the whole font.
    whole: Vec<GlyphId>,
    /// How far pairs of glyphs that follow each other are moved together, in units of the font.
    kerning: BTreeMap<(u16, u16), i16>,
    /// The font as a TrueType file without the tables that map characters to glyphs.
    file: Vec<u8>,
}

impl Subset {
    pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Subset {
        let mut characters = BTreeSet::new();
        let mut pairs = BTreeSet::new();
        for text in texts {
            characters.extend(text.chars());
            pairs.extend(text.chars().zip(text.chars().skip(1)));
        }
        let mut numbers = GlyphRemapper::new();
        let glyphs: BTreeMap<char, u16> = characters
            .into_iter()
            .map(|c| (c, numbers.remap(font().glyph_id(c).0)))
            .collect();
        let kern = |(left, right): &(char, char)| {
            let [whole_left, whole_right] = [left, right].map(|c| font().glyph_id(*c));
            let moved = font().kern_unscaled(whole_left, whole_right) as i16;
            (moved != 0).then_some(((glyphs[left], glyphs[right]), moved))
        };
        Subset {
            kerning: pairs.iter().filter_map(kern).collect(),
            file: subsetter::subset(BYTES, 0, &numbers).expect("the font shipped with the crate can be cut down"),
            whole: numbers.remapped_gids().map(GlyphId).collect(),
            glyphs,
        }
    }

    pub(crate) fn file(&self) -> &[u8] {
        &self.file
    }

    /// The glyphs of a text that the font is made for, each with how far it moves left towards the
    /// one before, in thousandths of an em.
    pub(crate) fn shown(&self, text: &str) -> Vec<(u16, f32)> {
        let mut before = None;
        let glyph = |c: char| {
            let glyph = self.glyphs[&c];
            let moved = before.and_then(|before| self.kerning.get(&(before, glyph)));
            before = Some(glyph);
            (glyph, -f32::from(moved.copied().unwrap_or_default()) * per_mille())
        };
        text.chars().map(glyph).collect()
    }

    /// The character that each glyph stands for: the first where there are several, none for that
    /// of missing characters.
    pub(crate) fn characters(&self) -> BTreeMap<u16, char> {
        let shown = self.glyphs.iter().rev().filter(|(_, glyph)| **glyph != 0);
        shown.map(|(c, glyph)| (*glyph, *c)).collect()
    }

    /// The widths of the glyphs by number, in thousandths of an em.
    pub(crate) fn widths(&self) -> impl Iterator<Item = f32> {
        self.whole
            .iter()
            .map(|glyph| font().h_advance_unscaled(*glyph) * per_mille())
    }

    /// How far the font reaches: left, below, right and above the origin of a glyph, in thousandths
    /// of an em.
    pub(crate) fn bounds(&self) -> [f32; 4] {
        let head = sfnt::tables(&self.file)
            .find(|(name, _)| name == b"head")
            .map(|(_, head)| head);
        let bound = |at: usize| {
            let bytes = head.and_then(|head| head.get(at..at + 2)?.try_into().ok());
            f32::from(i16::from_be_bytes(bytes.unwrap_or_default())) * per_mille()
        };
        [36, 38, 40, 42].map(bound)
    }

    /// Height above and depth below the baseline, in thousandths of an em.
    pub(crate) fn heights(&self) -> [f32; 2] {
        [font().ascent_unscaled(), font().descent_unscaled()].map(|height| height * per_mille())
    }

    /// Rules of CSS that make the font known to a browser, and name those that stand in for it.
    pub(crate) fn rules(&self) -> String {
        let bytes = BASE64_STANDARD.encode(self.woff());
        format!(
            "@font-face{{font-family:\"{FAMILY}\";src:url(data:font/woff;base64,{bytes})}}\n\
             g[font-family=\"{FAMILY}\"]{{font-family:\"{FAMILY}\",{STAND_INS}}}"
        )
    }

    /// The font as a browser takes it: with the tables that a PDF has in another form.
    fn woff(&self) -> Vec<u8> {
        // For those that the font lacks, a browser looks elsewhere.
        let there = self.glyphs.iter().filter(|(_, glyph)| **glyph != 0);
        let characters: Vec<(char, u16)> = there.map(|(c, glyph)| (*c, *glyph)).collect();
        let kept = |(name, _): &([u8; 4], &[u8])| !matches!(name, b"name" | b"post");
        let mut tables: BTreeMap<[u8; 4], Vec<u8>> = sfnt::tables(&self.file)
            .filter(kept)
            .map(|(name, table)| (name, table.to_vec()))
            .collect();
        let whole = sfnt::tables(BYTES).filter(|(name, _)| matches!(name, b"OS/2" | b"post"));
        tables.extend(whole.map(|(name, table)| (name, table.to_vec())));
        tables.entry(*b"post").and_modify(|post| *post = sfnt::nameless(post));
        // Readers reckon the checksum of the file themselves.
        tables.entry(*b"head").and_modify(|head| head[8..12].fill(0));
        tables.insert(*b"cmap", sfnt::cmap(&characters));
        tables.insert(
            *b"name",
            sfnt::name(&[(0, COPYRIGHT), (1, FAMILY), (2, "Book"), (14, LICENCE)]),
        );
        if !self.kerning.is_empty() {
            tables.insert(*b"kern", sfnt::kern(&self.kerning));
        }
        sfnt::woff(&tables)
    }
}

/// From units of the font to thousandths of an em.
fn per_mille() -> f32 {
    1000.0 / units_per_em()
}

/// Whose the font is, as its own table says it.
const COPYRIGHT: &str = "Copyright (c) 2003 by Bitstream, Inc. All Rights Reserved.\n\
    Copyright (c) 2006 by Tavmjong Bah. All Rights Reserved.\n\
    DejaVu changes are in public domain\n";
const LICENCE: &str = "http://dejavu.sourceforge.net/wiki/index.php/License";

#[cfg(test)]
mod tests;
