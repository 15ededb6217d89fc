//! The font of pictures: a part of DejaVu Sans, which has Latin and Greek letters, signs of
//! arithmetic and punctuation. Other characters are drawn as boxes.

use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId};

/// Names of fonts for programs that draw SVG, the one that is measured first. None of the others
/// is wider.
pub(super) const FAMILIES: &str = "'DejaVu Sans', Verdana, sans-serif";

/// The parts of the size of a font above and below the base line.
#[cfg(test)]
pub(super) const ASCENT: f64 = 0.76;
#[cfg(test)]
pub(super) const DESCENT: f64 = 0.24;

const REGULAR: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/fonts/DejaVuSans-Bold.ttf");

static FACES: LazyLock<[Option<Face<'static>>; 2]> =
    LazyLock::new(|| [REGULAR, BOLD].map(|font| Face::parse(font, 0).ok()));

fn face(is_bold: bool) -> Option<&'static Face<'static>> {
    FACES[usize::from(is_bold)].as_ref()
}

/// The glyph of a character; that of unknown ones has the number 0.
fn glyph(face: &Face<'_>, character: char) -> GlyphId {
    face.glyph_index(character).unwrap_or_default()
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f64 {
    f64::from(face.glyph_hor_advance(glyph).unwrap_or_default()) / f64::from(face.units_per_em())
}

/// The room that rounding of widths gets, pixels.
const ROUNDING: f64 = 0.01;

/// The width of a text, pixels.
pub(super) fn width(text: &str, size: f64, is_bold: bool) -> f64 {
    let Some(face) = face(is_bold) else {
        return 0.0;
    };
    let advances = text.chars().map(|one| advance(face, glyph(face, one)));
    advances.sum::<f64>() * size
}

/// A glyph of a text.
pub(super) struct Glyph {
    /// The font.
    pub face: &'static Face<'static>,
    /// Its number in the font.
    pub id: GlyphId,
    /// Its distance from the beginning of the text, in sizes of the font.
    pub offset: f64,
    /// The length of a unit of its outline, in sizes of the font.
    pub unit: f64,
}

/// The glyphs of a text, from the left.
pub(super) fn glyphs(text: &str, is_bold: bool) -> Vec<Glyph> {
    let Some(face) = face(is_bold) else {
        return Vec::new();
    };
    let mut offset = 0.0;
    let glyph = |character| {
        let id = glyph(face, character);
        let from = offset;
        offset += advance(face, id);
        Glyph {
            face,
            id,
            offset: from,
            unit: 1.0 / f64::from(face.units_per_em()),
        }
    };
    text.chars().map(glyph).collect()
}

/// The text as at most so many lines of at most this width, broken at spaces; a word that is wider
/// is shortened, and so is the last line if there is more text.
pub(super) fn wrapped(
    text: &str,
    most_wide: f64,
    most: usize,
    width: impl Fn(&str) -> f64,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer.filter(|longer| width(longer) <= most_wide + ROUNDING) {
            Some(longer) => {
                lines.pop();
                lines.push(longer);
            }
            None => lines.push(shortened(word, most_wide, &width)),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        let mut end = rest.chars().count();
        let cut = |end: usize| rest.chars().take(end).collect::<String>() + "…";
        while end > 0 && width(&cut(end)) > most_wide {
            end -= 1;
        }
        lines.push(cut(end));
    }
    lines
}

/// The text, its middle cut out if it is wider than this: either end may distinguish names.
pub(super) fn shortened(text: &str, most_wide: f64, width: impl Fn(&str) -> f64) -> String {
    if width(text) <= most_wide + ROUNDING {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| {
        let first = &characters[..kept.div_ceil(2)];
        let last = &characters[characters.len() - kept / 2..];
        format!("{}…{}", String::from_iter(first), String::from_iter(last))
    };
    let mut cuts = (0..characters.len()).rev().map(cut);
    cuts.find(|text| width(text) <= most_wide)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ten(text: &str) -> f64 {
        width(text, 10.0, false)
    }

    #[test]
    fn both_fonts_can_be_read_and_bold_is_wider() {
        assert!(FACES.iter().all(Option::is_some));
        // An em of DejaVu Sans has 2,048 units, an m 1,995.
        assert!((of_ten("m") - 1_995.0 / 204.8).abs() < 1e-9);
        assert!(width("lmdb", 10.0, true) > of_ten("lmdb"));
        for one in "aZ09 –…×µ≤·é%".chars() {
            let faces = FACES.iter().flatten();
            assert!(
                faces.into_iter().all(|it| it.glyph_index(one).is_some()),
                "{one}"
            );
        }
    }

    #[test]
    fn text_breaks_at_spaces_and_what_has_no_room_is_cut() {
        let lines = wrapped("leveldb leads rocksdb by 7 to 13 %", 90.0, 9, of_ten);
        assert_eq!(lines, ["leveldb leads", "rocksdb by 7 to", "13 %"]);
        assert!(lines.iter().all(|line| of_ten(line) <= 90.0));
        let cut = wrapped("leveldb leads rocksdb by 7 to 13 %", 90.0, 2, of_ten);
        assert_eq!((cut.len(), cut[0].as_str()), (2, "leveldb leads"));
        assert!(
            cut[1].starts_with("rocksdb by") && cut[1].ends_with('…'),
            "{cut:?}"
        );
        assert_eq!(wrapped("", 90.0, 2, of_ten), [""; 0]);
        let name = shortened("rocksdb cache_size=1048576 compression=none", 120.0, of_ten);
        assert!(
            name.starts_with("rocksdb") && name.ends_with("=none"),
            "{name}"
        );
        assert!(of_ten(&name) <= 120.0);
        assert_eq!(shortened("lmdb", 1.0, of_ten), "");
    }
}
