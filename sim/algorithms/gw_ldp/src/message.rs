//! What GW-LDP adds to the messages of a round: the wish for embeddings, and the embeddings.
//!
//! The wish travels before the weights: a byte, 0 if none are wanted, else 1 and the mechanism with
//! its settings:
//!
//! | release | bytes after the 1 |
//! |---|---|
//! | `Plain` | tag 0 |
//! | `MultiBit` | tag 1, entries `u8`, kind of budget `u8`, budget `f64`, sampled entries `u32` (0: the paper's choice), rectify `u8` |
//! | `Additive` | tag 2, radius `f64` |
//! | `Gaussian` | tag 3, standard deviation `f64` |
//! | any other | tag 4, length `u32`, what a card writes: its name and settings |
//!
//! A client compares them with those of the mechanism in its own settings, and releases nothing by
//! any other.
//!
//! Embeddings follow one another. Each has id `u32`, nodes `u32`, width `u16` and a form `u8`, then
//!
//! | form | body | bytes |
//! |---|---|---|
//! | 0 reals | `f32` for every value | 4 n h |
//! | 1 dense signs | 2 bits for every entry, 0, 1 for +1, 2 for −1, from the low bits up | ceil(n h / 4) |
//! | 2 signs by row | m as `u16`; for each row m times column × 2 + (1 if −1), as `u8` for h ≤ 128, else `u16`, for h ≤ 32768 | 2 + m n or 2 + 2 m n |
//! | 3 signs by place | their number `u32`; for each, place × 2 + (1 if −1) as `u32` | 4 + 4 k |
//! | 4 packed reals | the bytes of the encoding as `u32`, and the encoding | 4 + its encoding |
//!
//! Signs take the shortest form, of equal ones the first. Where nodes weigh by their degrees the
//! form is 8 more, and these, 4 bytes a node, stand before the body.

use super::release::{Embedding, Release, Sent};
use folkmoot_engine::prelude::*;
use folkmoot_parts::{Chosen, text_of};
use folkmoot_rounds::{Extra, Order};
use serde::{Deserialize, Serialize};

/// What the server asks for besides training: embeddings, released so, or none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wish(pub Option<Request>);

/// A mechanism with its settings, as the server asks for it: a tag and what follows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request(Vec<u8>);

/// A client's embeddings, by ascending id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Embeddings(pub Vec<Embedding>);

/// Bytes of settings behind the tag of each short form, by the tag.
const SETTINGS: [usize; 4] = [0, 15, 8, 8];

/// Of mechanisms without a short form.
const TEXT: u8 = 4;

impl Request {
    pub(super) fn short(tag: u8, settings: &[u8]) -> Self {
        Request([&[tag], settings].concat())
    }

    /// The request for a mechanism: its short form, or what a card writes.
    pub(super) fn of(release: &Chosen<dyn Release>) -> Self {
        release.request().unwrap_or_else(|| {
            let text = text_of(release);
            let len = (text.len() as u32).to_le_bytes();
            Request([&[TEXT], &len[..], text.as_bytes()].concat())
        })
    }
}

impl Order for Wish {}

impl Payload for Wish {
    fn encoded_len(&self) -> usize {
        1 + self.0.as_ref().map_or(0, |Request(bytes)| bytes.len())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.0.is_some()));
        out.extend(self.0.iter().flat_map(|Request(bytes)| bytes));
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => return Ok(Wish(None)),
            1 => {}
            _ => return Err(DecodeError::Invalid("a wish is 0 or 1")),
        }
        let mut bytes = vec![reader.u8()?];
        let n_left = match bytes[0] {
            TEXT => {
                let len = reader.u32()?;
                put_u32s(&mut bytes, &[len]);
                len as usize
            }
            tag => *SETTINGS
                .get(usize::from(tag))
                .ok_or(DecodeError::Invalid("there are five kinds of request"))?,
        };
        for _ in 0..n_left {
            bytes.push(reader.u8()?);
        }
        Ok(Wish(Some(Request(bytes))))
    }
}

/// Bytes before the body of an embedding.
const HEAD: usize = 11;

/// Added to the form where degrees follow.
const WITH_DEGREES: u8 = 8;

/// Few bytes may stand for many zeros; no more than these.
const MAX_ENTRIES: usize = 1 << 27;

/// How signs are written.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Dense,
    Rows { m: usize },
    Places { k: usize },
}

/// More columns do not fit two bytes with their sign.
const MAX_COLUMNS: usize = 1 << 15;

/// Bytes of a column with its sign.
fn column_len(width: usize) -> usize {
    if width <= 128 { 1 } else { 2 }
}

impl Form {
    fn of(signs: &[i8], width: usize) -> Form {
        let set = |row: &[i8]| row.iter().filter(|sign| **sign != 0).count();
        let mut rows = signs.chunks_exact(width).map(set);
        let m = rows.next().unwrap_or(0);
        let even = rows.all(|other| other == m) && width <= MAX_COLUMNS;
        let mut form = Form::Dense;
        let others = [even.then_some(Form::Rows { m }), Some(Form::Places { k: set(signs) })];
        for other in others.into_iter().flatten() {
            if other.len(signs.len(), width) < form.len(signs.len(), width) {
                form = other;
            }
        }
        form
    }

    fn len(self, n_entries: usize, width: usize) -> usize {
        match self {
            Form::Dense => n_entries.div_ceil(4),
            Form::Rows { m } => 2 + n_entries / width * m * column_len(width),
            Form::Places { k } => 4 + 4 * k,
        }
    }
}

fn is_negative(sign: i8) -> u32 {
    u32::from(sign < 0)
}

impl Extra for Embeddings {
    const NAME: &'static str = "embeddings";
}

impl Payload for Embeddings {
    fn encoded_len(&self) -> usize {
        let body = |embedding: &Embedding| match &embedding.sent {
            Sent::Reals(reals) => 4 * reals.len(),
            Sent::Packed { bytes, .. } => 4 + bytes.len(),
            Sent::Signs(signs) => {
                let width = embedding.width as usize;
                Form::of(signs, width).len(signs.len(), width)
            }
        };
        let degrees = |embedding: &Embedding| 4 * embedding.degrees.as_ref().map_or(0, Vec::len);
        let all = self.0.iter();
        all.map(|embedding| HEAD + degrees(embedding) + body(embedding)).sum()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for embedding in &self.0 {
            let width = embedding.width as usize;
            put_u32s(out, &[embedding.id, embedding.n_nodes() as u32]);
            out.extend_from_slice(&(embedding.width as u16).to_le_bytes());
            let mut begin = |form: u8| match &embedding.degrees {
                None => out.push(form),
                Some(degrees) => {
                    out.push(form + WITH_DEGREES);
                    put_u32s(out, degrees);
                }
            };
            let signs = match &embedding.sent {
                Sent::Reals(reals) => {
                    begin(0);
                    put_f32s(out, reals);
                    continue;
                }
                Sent::Packed { bytes, .. } => {
                    begin(4);
                    put_u32s(out, &[bytes.len() as u32]);
                    out.extend_from_slice(bytes);
                    continue;
                }
                Sent::Signs(signs) => signs,
            };
            match Form::of(signs, width) {
                Form::Dense => {
                    begin(1);
                    let bits = |sign: &i8| (*sign != 0) as u8 + is_negative(*sign) as u8;
                    let byte = |four: &[i8]| {
                        let shifted = four.iter().enumerate().map(|(at, sign)| bits(sign) << (2 * at));
                        shifted.fold(0, |byte, bits| byte | bits)
                    };
                    out.extend(signs.chunks(4).map(byte));
                }
                Form::Rows { m } => {
                    begin(2);
                    out.extend_from_slice(&(m as u16).to_le_bytes());
                    for row in signs.chunks_exact(width) {
                        for (column, sign) in row.iter().enumerate().filter(|(_, sign)| **sign != 0) {
                            let code = column as u32 * 2 + is_negative(*sign);
                            out.extend_from_slice(&code.to_le_bytes()[..column_len(width)]);
                        }
                    }
                }
                Form::Places { k } => {
                    begin(3);
                    put_u32s(out, &[k as u32]);
                    for (place, sign) in signs.iter().enumerate().filter(|(_, sign)| **sign != 0) {
                        put_u32s(out, &[place as u32 * 2 + is_negative(*sign)]);
                    }
                }
            }
        }
    }

    fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.rest();
        let mut reader = WireReader::new(bytes);
        let mut left = bytes.len();
        let mut embeddings = Vec::new();
        while left > 0 {
            let (embedding, taken) = decode_one(&mut reader, left)?;
            embeddings.push(embedding);
            left -= taken;
        }
        Ok(Embeddings(embeddings))
    }
}

/// Reads an embedding of at most `left` bytes, and says how many it took.
fn decode_one(reader: &mut WireReader<'_>, left: usize) -> Result<(Embedding, usize), DecodeError> {
    let u16 = |reader: &mut WireReader<'_>| Ok(usize::from(reader.u8()?) | usize::from(reader.u8()?) << 8);
    let (id, n_nodes) = (reader.u32()?, reader.u32()? as usize);
    let width = u16(reader)?;
    if width == 0 {
        return Err(DecodeError::Invalid("a row has at least one column"));
    }
    let form = reader.u8()?;
    let n_entries = n_nodes.checked_mul(width).filter(|n| *n <= MAX_ENTRIES);
    let n_entries = n_entries.ok_or(DecodeError::Invalid("an embedding has at most 2^27 entries"))?;
    // A length that the bytes cannot hold is refused before memory is taken for it.
    let room = |len: usize| match left.checked_sub(HEAD) {
        Some(room) if len <= room => Ok(()),
        room => Err(DecodeError::TooShort {
            missing: len - room.unwrap_or(0),
        }),
    };
    let mut degrees = None;
    if form & WITH_DEGREES != 0 {
        room(4 * n_nodes)?;
        degrees = Some((0..n_nodes).map(|_| reader.u32()).collect::<Result<Vec<u32>, _>>()?);
    }
    let head = HEAD + 4 * degrees.as_ref().map_or(0, Vec::len);
    let sign = |code: u32| if code & 1 == 1 { -1 } else { 1 };
    let (sent, body) = match form & !WITH_DEGREES {
        0 => {
            room(4 * n_entries)?;
            let reals = (0..n_entries).map(|_| reader.f32()).collect::<Result<_, _>>()?;
            (Sent::Reals(reals), 4 * n_entries)
        }
        1 => {
            let len = n_entries.div_ceil(4);
            room(len)?;
            let mut signs = Vec::with_capacity(4 * len);
            for _ in 0..len {
                let byte = reader.u8()?;
                for at in 0..4 {
                    signs.push(match byte >> (2 * at) & 3 {
                        0 => 0,
                        1 => 1,
                        2 => -1,
                        _ => return Err(DecodeError::Invalid("an entry is 0, +1 or -1")),
                    });
                }
            }
            if signs[n_entries..].iter().any(|sign| *sign != 0) {
                return Err(DecodeError::Invalid("bits behind the last entry are 0"));
            }
            signs.truncate(n_entries);
            (Sent::Signs(signs), len)
        }
        2 => {
            let m = u16(reader)?;
            let of_column = column_len(width);
            let body = 2 + n_nodes * m * of_column;
            if m > width {
                return Err(DecodeError::Invalid("a row has no more signs than columns"));
            }
            room(body)?;
            let mut signs = vec![0; n_entries];
            for row in 0..n_nodes * usize::from(m > 0) {
                for _ in 0..m {
                    let code = match of_column {
                        1 => u32::from(reader.u8()?),
                        _ => u16(reader)? as u32,
                    };
                    let column = code as usize / 2;
                    if column >= width {
                        return Err(DecodeError::Invalid("a column lies within the row"));
                    }
                    signs[row * width + column] = sign(code);
                }
            }
            (Sent::Signs(signs), body)
        }
        3 => {
            let k = reader.u32()? as usize;
            let body = 4 + 4 * k;
            room(body)?;
            let mut signs = vec![0; n_entries];
            for _ in 0..k {
                let code = reader.u32()?;
                let place = signs.get_mut(code as usize / 2);
                *place.ok_or(DecodeError::Invalid("a place lies within the embedding"))? = sign(code);
            }
            (Sent::Signs(signs), body)
        }
        4 => {
            let len = reader.u32()? as usize;
            room(4 + len)?;
            let bytes = (0..len).map(|_| reader.u8()).collect::<Result<_, _>>()?;
            let n_entries = n_entries as u32;
            (Sent::Packed { n_entries, bytes }, 4 + len)
        }
        _ => return Err(DecodeError::Invalid("there are five forms of an embedding")),
    };
    let width = width as u32;
    let embedding = Embedding {
        id,
        width,
        sent,
        degrees,
    };
    Ok((embedding, head + body))
}

#[cfg(test)]
mod tests {
    use super::super::release::{Additive, Epsilon, Gaussian, MultiBit, Plain, Sampled, Table};
    use super::*;
    use folkmoot_parts::{Component, component};
    use folkmoot_privacy::ParameterError;
    use proptest::prelude::*;

    fn round_trip(embeddings: &Embeddings) -> Vec<u8> {
        let mut bytes = Vec::new();
        embeddings.encode(&mut bytes);
        assert_eq!(embeddings.encoded_len(), bytes.len());
        let mut reader = WireReader::new(&bytes);
        assert_eq!(Embeddings::decode(&mut reader).unwrap(), *embeddings);
        bytes
    }

    fn signs(width: u32, signs: Vec<i8>) -> Embedding {
        Embedding {
            id: 3,
            width,
            sent: Sent::Signs(signs),
            degrees: None,
        }
    }

    #[test]
    fn signs_take_the_shortest_form() {
        // Two classes, one sign a row: half a byte a row.
        let dense = round_trip(&Embeddings(vec![signs(2, [1, 0, 0, -1].repeat(5))]));
        assert_eq!((dense.len(), dense[10]), (HEAD + 5, 1));
        assert_eq!(dense[HEAD], 0b1000_0001);
        // Sixteen columns, one sign a row: a byte a row.
        let mut row = [0; 16];
        row[9] = -1;
        let rows = round_trip(&Embeddings(vec![signs(16, row.repeat(6))]));
        assert_eq!((rows.len(), rows[10], rows[HEAD + 2]), (HEAD + 2 + 6, 2, 19));
        // One sign in all.
        let mut one = vec![0; 400];
        one[250] = 1;
        let places = round_trip(&Embeddings(vec![signs(2, one)]));
        assert_eq!((places.len(), places[10]), (HEAD + 8, 3));
        // More columns than a byte counts.
        let mut wide = vec![0; 300];
        wide[299] = 1;
        let wide = round_trip(&Embeddings(vec![signs(300, wide.repeat(2))]));
        assert_eq!(wide.len(), HEAD + 2 + 4);
        // More than two bytes count, with a sign.
        let mut widest = vec![0; 40_000];
        widest[39_999] = -1;
        let widest = round_trip(&Embeddings(vec![signs(40_000, widest.repeat(2))]));
        assert_eq!((widest.len(), widest[10]), (HEAD + 4 + 8, 3));
    }

    #[test]
    fn several_embeddings_follow_one_another() {
        let reals = Embedding {
            id: 9,
            width: 2,
            sent: Sent::Reals(vec![0.5, -0.0, 1.0, 2.0]),
            degrees: None,
        };
        let bytes = round_trip(&Embeddings(vec![signs(2, vec![0, 1]), reals.clone(), signs(2, vec![])]));
        assert_eq!(bytes.len(), 3 * HEAD + 1 + 16);
        let packed = Embedding {
            sent: Sent::Packed {
                n_entries: 4,
                bytes: vec![7; 9],
            },
            ..reals.clone()
        };
        let bytes = round_trip(&Embeddings(vec![packed, signs(2, vec![0, 1])]));
        assert_eq!((bytes.len(), bytes[10]), (2 * HEAD + 4 + 9 + 1, 4));
        let degrees = |embedding: Embedding| Embedding {
            degrees: Some(vec![300; embedding.n_nodes()]),
            ..embedding
        };
        let with_degrees = round_trip(&Embeddings(vec![degrees(reals), degrees(signs(2, vec![0, 1]))]));
        assert_eq!((with_degrees.len(), with_degrees[10]), (2 * HEAD + 8 + 16 + 4 + 1, 8));
        assert_eq!(round_trip(&Embeddings::default()), Vec::<u8>::new());
    }

    fn wish_for(wish: &Wish) -> Vec<u8> {
        let mut bytes = Vec::new();
        wish.encode(&mut bytes);
        assert_eq!(bytes.len(), wish.encoded_len(), "{wish:?}");
        // What follows is the next one's.
        let behind = [&bytes[..], &[9]].concat();
        let mut reader = WireReader::new(&behind);
        assert_eq!(Wish::decode(&mut reader).unwrap(), *wish);
        assert_eq!(reader.rest(), [9]);
        bytes
    }

    fn asked<P: Component + Release>(release: P) -> Vec<u8> {
        wish_for(&Wish(Some(Request::of(&Chosen::new(release)))))
    }

    #[test]
    fn requests_are_those_of_the_table() {
        let multi_bit = |epsilon, n_sampled| MultiBit {
            entries: Sampled::TotalAsPublished,
            epsilon,
            n_sampled,
            rectify: true,
        };
        assert_eq!(wish_for(&Wish(None)), [0]);
        assert_eq!(asked(Plain {}), [1, 0]);
        assert_eq!(asked(MultiBit::default()), [&[1, 1][..], &[0; 15]].concat());
        assert_eq!(
            asked(multi_bit(Epsilon::Graph(2.0), Some(4))),
            [1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0x40, 4, 0, 0, 0, 1]
        );
        assert_eq!(
            asked(multi_bit(Epsilon::Node(1.0), None)),
            [1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 1]
        );
        assert_eq!(asked(Additive { radius: 2.0 }), [1, 2, 0, 0, 0, 0, 0, 0, 0, 0x40]);
        assert_eq!(asked(Gaussian { std: Some(1.0) }), [1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(asked(Other { share: 0.5 }), *b"\x01\x04\x11\0\0\0Other(share: 0.5)");
    }

    /// A mechanism without a short form.
    #[component(name = "Other", about = "a mechanism without a short form")]
    #[derive(Clone, Debug)]
    struct Other {
        #[component(required)]
        share: f64,
    }

    impl Release for Other {
        fn mechanism(&self) -> &'static str {
            "none: other"
        }

        fn table(&self, n_nodes: usize, width: usize) -> Result<Table, ParameterError> {
            Plain {}.table(n_nodes, width)
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoders_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), form in 0u8..14) {
            let _ = Wish::decode(&mut WireReader::new(&bytes));
            let _ = Embeddings::decode(&mut WireReader::new(&bytes));
            // The same behind a head that is in order.
            let mut behind = vec![1, 0, 0, 0, 3, 0, 0, 0, 2, 0, form];
            behind.extend(bytes);
            if let Ok(embeddings) = Embeddings::decode(&mut WireReader::new(&behind)) {
                prop_assert!(embeddings.0.iter().all(|embedding| embedding.n_nodes() <= MAX_ENTRIES));
            }
        }

        #[test]
        fn any_signs_come_back(width in 1u32..40, rows in prop::collection::vec(-1i8..=1, 0..200)) {
            let whole = rows.len() / width as usize * width as usize;
            round_trip(&Embeddings(vec![signs(width, rows[..whole].to_vec())]));
        }
    }
}
