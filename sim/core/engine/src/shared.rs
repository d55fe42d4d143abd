//! Content that many parties hold, such as a model or a tree: one table of it by name, for all that
//! writes states and messages.
//!
//! What lies behind an `Arc` is written once however many hold it. Where a state or a message has
//! such an `Arc`, its name is written: a digest of the content and its type. The content itself
//! goes into a table beside, and whoever reads finds one `Arc` for one name. A name means the same
//! wherever it was written, so what threads or ranks have written apart can be put together as it
//! is.
//!
//! Three write and read by such a table: checkpoints, ranks that send each other messages, and
//! `--wire-check`.
//!
//! A state says so at each of its `Arc`s: `#[serde(with = "shared")]`. One that forgets it does not
//! compile: serde's own way, which writes the content once more for every holder, is switched off
//! in this workspace. Messages do it by themselves.

use crate::wire::{DecodeError, WireReader};
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;
use std::any::{Any, TypeId, type_name};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What content is called: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Name([u8; 16]);

impl Name {
    fn of<T: ?Sized>(content: &[u8]) -> Name {
        let mut digest = blake3::Hasher::new();
        digest.update(type_name::<T>().as_bytes()).update(&[0]).update(content);
        let mut name = [0; 16];
        digest.finalize_xof().fill(&mut name);
        Name(name)
    }
}

/// Content by its name.
pub(crate) type Contents = BTreeMap<Name, ByteBuf>;

/// How content of messages is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// As that of states, by serde: an `Arc` that a state and a message hold is one.
    #[default]
    State,
    /// As it would travel.
    Wire,
}

/// Content by its name: what is written, and what is read.
#[derive(Default)]
pub(crate) struct Table {
    form: Form,
    /// By address and type, the name of what lies there, and a hold on it, so that nothing else
    /// comes to lie there.
    names: BTreeMap<(usize, TypeId), (Name, Box<dyn Any + Send>)>,
    /// The names of all content that was written.
    known: BTreeSet<Name>,
    /// That of it which nobody has taken.
    written: Contents,
    n_written: usize,
    /// Content that can be read, and that was.
    unread: Contents,
    held: BTreeMap<Name, Box<dyn Any + Send>>,
    /// By how much messages are shorter where names stand for content.
    elided: isize,
    /// Why content could not be written, the first time.
    failed: Option<String>,
}

thread_local! {
    static OPEN: RefCell<Option<Table>> = const { RefCell::new(None) };
}

impl Table {
    /// An empty table where content of messages has that form.
    pub(crate) fn new(form: Form) -> Table {
        Table {
            form,
            ..Table::default()
        }
    }

    /// Writes or reads states and messages by this table.
    ///
    /// # Errors
    ///
    /// When content could not be written.
    pub(crate) fn within<T>(&mut self, act: impl FnOnce() -> T) -> Result<T, String> {
        /// Closes the table, after a panic too.
        struct Scope<'a>(&'a mut Table);
        impl Drop for Scope<'_> {
            fn drop(&mut self) {
                *self.0 = OPEN.take().unwrap_or_default();
            }
        }
        OPEN.set(Some(std::mem::take(self)));
        let scope = Scope(self);
        let done = act();
        drop(scope);
        self.failed.take().map_or(Ok(done), Err)
    }

    /// What was written since it was last taken.
    pub(crate) fn take_written(&mut self) -> Contents {
        std::mem::take(&mut self.written)
    }

    /// How many bytes of content were written.
    pub(crate) fn n_written(&self) -> usize {
        self.n_written
    }

    /// By how many bytes messages were shorter since this was last asked.
    pub(crate) fn take_elided(&mut self) -> isize {
        std::mem::take(&mut self.elided)
    }

    /// Adds content that can be read.
    pub(crate) fn learn(&mut self, contents: Contents) {
        self.unread.extend(contents);
    }
}

/// Does something with the open table, if one is.
fn with_open<T>(act: impl FnOnce(&mut Table) -> T) -> Option<T> {
    OPEN.with_borrow_mut(|table| table.as_mut().map(act))
}

/// The name of content by the open table, if one is. Content that has none yet is written, and may
/// hold other content.
fn name_of<T, E>(held: &Arc<T>, write: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Option<Name>, E>
where
    T: ?Sized + Send + Sync + 'static,
{
    // Empty lists of different types may share an address.
    let place = (Arc::as_ptr(held).cast::<()>().addr(), TypeId::of::<T>());
    match with_open(|table| table.names.get(&place).map(|(name, _)| *name)) {
        None => return Ok(None),
        Some(Some(name)) => return Ok(Some(name)),
        Some(None) => {}
    }
    let content = write()?;
    Ok(with_open(|table| {
        let name = Name::of::<T>(&content);
        table.names.insert(place, (name, Box::new(Arc::clone(held))));
        if table.known.insert(name) {
            table.n_written += content.len();
            table.written.insert(name, ByteBuf::from(content));
        }
        name
    }))
}

/// The content of a name by the open table, if it has any.
fn content_of<T, E>(name: Name, read: impl FnOnce(&[u8]) -> Result<Arc<T>, E>) -> Result<Option<Arc<T>>, E>
where
    T: ?Sized + Send + Sync + 'static,
{
    let held = with_open(|table| table.held.get(&name)?.downcast_ref::<Arc<T>>().cloned()).flatten();
    if held.is_some() {
        return Ok(held);
    }
    let Some(content) = with_open(|table| table.unread.remove(&name)).flatten() else {
        return Ok(None);
    };
    let held = read(&content)?;
    with_open(|table| table.held.insert(name, Box::new(Arc::clone(&held))));
    Ok(Some(held))
}

fn from_bytes<T: ?Sized>(content: &[u8]) -> Result<Arc<T>, postcard::Error>
where
    Box<T>: DeserializeOwned,
{
    match postcard::take_from_bytes::<Box<T>>(content)? {
        (content, []) => Ok(Arc::from(content)),
        _ => Err(postcard::Error::DeserializeBadEncoding),
    }
}

/// Writes an `Arc` of a message: its name where a table is open, else what it holds, of that length
/// and as `plain` writes it.
pub(crate) fn put<T>(held: &Arc<T>, len: usize, plain: impl Fn(&mut Vec<u8>), out: &mut Vec<u8>)
where
    T: ?Sized + Serialize + Send + Sync + 'static,
{
    let write = || match with_open(|table| (table.form, table.elided)) {
        Some((Form::Wire, before)) => {
            let mut content = Vec::with_capacity(len);
            plain(&mut content);
            // Names in it are its own: it is written beside the message.
            let inside = with_open(|table| std::mem::replace(&mut table.elided, before) - before);
            match content.len() as isize + inside.unwrap_or(0) == len as isize {
                true => Ok(content),
                false => Err(crate::wire::WRONG_LEN.to_owned()),
            }
        }
        _ => postcard::to_allocvec(&**held).map_err(|error| error.to_string()),
    };
    match name_of(held, write) {
        Ok(None) => plain(out),
        Ok(Some(Name(name))) => {
            out.extend_from_slice(&name);
            with_open(|table| table.elided += len as isize - name.len() as isize);
        }
        Err(error) => {
            with_open(|table| {
                table.failed.get_or_insert(error);
            });
        }
    }
}

/// Reads what [`put`] has written.
pub(crate) fn take<T>(
    reader: &mut WireReader<'_>,
    plain: impl Fn(&mut WireReader<'_>) -> Result<Arc<T>, DecodeError>,
) -> Result<Arc<T>, DecodeError>
where
    T: ?Sized + Send + Sync + 'static,
    Box<T>: DeserializeOwned,
{
    let Some(form) = with_open(|table| table.form) else {
        return plain(reader);
    };
    let name = Name(reader.take()?);
    let content = content_of(name, |content| match form {
        Form::Wire => {
            let mut reader = WireReader::new(content);
            let held = plain(&mut reader)?;
            reader.finish().map(|()| held)
        }
        Form::State => {
            from_bytes(content).map_err(|_| DecodeError::Invalid("what a name stands for is something else"))
        }
    });
    content?.ok_or(DecodeError::Invalid("a name stands for nothing"))
}

/// Who asks for shared content where no table is open.
const OUTSIDE: &str = "a state with shared content is written and read in checkpoints alone";

/// An `Arc`, or perhaps one.
pub trait Holder: Sized {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// As its content, and outside of a checkpoint.
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads it.
    ///
    /// # Errors
    ///
    /// As its content, where a name stands for nothing, and outside of a checkpoint.
    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<T> Holder for Arc<T>
where
    T: ?Sized + Serialize + Send + Sync + 'static,
    Box<T>: DeserializeOwned,
{
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = name_of(self, || postcard::to_allocvec(&**self)).map_err(S::Error::custom)?;
        name.ok_or_else(|| S::Error::custom(OUTSIDE))?.serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Name::deserialize(deserializer)?;
        let content = content_of(name, from_bytes).map_err(D::Error::custom)?;
        content.ok_or_else(|| D::Error::custom("a name stands for nothing"))
    }
}

impl<H: Holder> Holder for Option<H> {
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Saved<'a, H>(&'a H);
        impl<H: Holder> Serialize for Saved<'_, H> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.save(serializer)
            }
        }
        self.as_ref().map(Saved).serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Loaded<H>(H);
        impl<'de, H: Holder> Deserialize<'de> for Loaded<H> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                H::load(deserializer).map(Loaded)
            }
        }
        Ok(Option::<Loaded<H>>::deserialize(deserializer)?.map(|Loaded(held)| held))
    }
}

/// What the attribute `with` writes by.
///
/// # Errors
///
/// As [`Holder::save`].
pub fn serialize<H: Holder, S: Serializer>(held: &H, serializer: S) -> Result<S::Ok, S::Error> {
    held.save(serializer)
}

/// What the attribute `with` reads by.
///
/// # Errors
///
/// As [`Holder::load`].
pub fn deserialize<'de, H: Holder, D: Deserializer<'de>>(deserializer: D) -> Result<H, D::Error> {
    H::load(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Party {
        #[serde(with = "super")]
        model: Arc<[f32]>,
        #[serde(with = "super")]
        kept: Option<Arc<Inner>>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        n: u32,
        #[serde(with = "super")]
        model: Arc<[f32]>,
    }

    fn written(parties: &[Party]) -> (Vec<u8>, Contents) {
        let mut table = Table::default();
        let bytes = table.within(|| postcard::to_allocvec(parties).unwrap()).unwrap();
        (bytes, table.take_written())
    }

    fn read<T: DeserializeOwned>((bytes, contents): &(Vec<u8>, Contents)) -> Result<T, postcard::Error> {
        let mut table = Table::default();
        table.learn(contents.clone());
        table.within(|| postcard::from_bytes(bytes)).unwrap()
    }

    #[test]
    fn content_of_many_is_written_once_and_one_again_when_read() {
        let model: Arc<[f32]> = vec![0.5; 5_000].into();
        let inner = Arc::new(Inner {
            n: 7,
            model: Arc::clone(&model),
        });
        let party = |i: usize| Party {
            model: Arc::clone(&model),
            kept: (i % 2 == 1).then(|| Arc::clone(&inner)),
        };
        let parties: Vec<Party> = (0..100).map(party).collect();
        let both = written(&parties);
        assert_eq!(both.0.len(), 1 + 100 * 17 + 50 * 16);
        assert_eq!(both.1.values().map(|content| content.len()).sum::<usize>(), 20_002 + 17);
        let back: Vec<Party> = read(&both).unwrap();
        assert_eq!(back, parties);
        assert_eq!(written(&back), both, "the same is shared again");
        // Nobody else holds it, so whoever lets go last may change it in place.
        assert_eq!(Arc::strong_count(&back[0].model), 101);
    }

    /// Equal content has one name; lists of other types that are empty are not mixed up.
    #[test]
    fn a_name_is_that_of_content_and_type() {
        let party = || Party {
            model: [1.0, 2.0].into(),
            kept: Some(Arc::new(Inner {
                n: 1,
                model: Arc::default(),
            })),
        };
        let both = written(&[party(), party()]);
        assert_eq!(both.1.len(), 3);
        let back: Vec<Party> = read(&both).unwrap();
        assert!(Arc::ptr_eq(&back[0].model, &back[1].model));
        let empty: (Nothing<u8>, Nothing<u32>) = Default::default();
        let mut table = Table::default();
        let bytes = table.within(|| postcard::to_allocvec(&empty).unwrap()).unwrap();
        let contents = table.take_written();
        assert_eq!(contents.len(), 2);
        let back: (Nothing<u8>, Nothing<u32>) = read(&(bytes, contents)).unwrap();
        assert!(back.0.0.is_empty() && back.1.0.is_empty());
    }

    #[derive(Default, Serialize, Deserialize)]
    #[serde(bound = "T: Serialize + DeserializeOwned + Send + Sync + 'static")]
    struct Nothing<T>(#[serde(with = "super")] Arc<[T]>);

    #[test]
    fn a_name_without_content_and_a_state_where_no_table_is_open_are_refused() {
        let party = || Party {
            model: [1.0].into(),
            kept: None,
        };
        let (bytes, contents) = written(&[party()]);
        let empty = (bytes, Contents::new());
        assert!(read::<Vec<Party>>(&empty).is_err());
        assert!(postcard::from_bytes::<Vec<Party>>(&empty.0).is_err());
        assert!(postcard::to_allocvec(&[party()]).is_err());
        // Content that is cut off, or goes on.
        for change in [
            |content: &mut Vec<u8>| content.truncate(4),
            |content: &mut Vec<u8>| content.push(0),
        ] {
            let mut other = contents.clone();
            other.values_mut().for_each(|content| change(content));
            assert!(read::<Vec<Party>>(&(empty.0.clone(), other)).is_err());
        }
    }

    /// Content of a message and of a state is one, and messages in the form of the wire say how
    /// long they would be.
    #[test]
    fn messages_name_what_they_share() {
        let model: Arc<[f32]> = vec![0.5; 100].into();
        let mut table = Table::default();
        let party = Party {
            model: Arc::clone(&model),
            kept: None,
        };
        let write = || {
            let mut letter = Vec::new();
            model.encode(&mut letter);
            (postcard::to_allocvec(&party).unwrap(), letter)
        };
        let (state, letter) = table.within(write).unwrap();
        assert_eq!((letter.len(), table.take_elided()), (16, 384));
        let contents = table.take_written();
        assert_eq!(contents.len(), 1);
        let mut table = Table::default();
        table.learn(contents);
        let read = || {
            let heard: Arc<[f32]> = Payload::decode(&mut WireReader::new(&letter)).unwrap();
            (postcard::from_bytes::<Party>(&state).unwrap(), heard)
        };
        let (party, heard) = table.within(read).unwrap();
        assert!(Arc::ptr_eq(&party.model, &heard));

        let mut table = Table::new(Form::Wire);
        let nested = Arc::new(Around(Arc::clone(&model)));
        let write = || {
            let mut letter = Vec::new();
            nested.encode(&mut letter);
            letter
        };
        let letter = table.within(write).unwrap();
        assert_eq!(letter.len() as isize + table.take_elided(), 400);
        let contents = table.take_written();
        assert_eq!(
            contents.values().map(|content| content.len()).collect::<BTreeSet<_>>(),
            [16, 400].into()
        );
        table.learn(contents);
        let heard = table.within(|| Arc::<Around>::decode(&mut WireReader::new(&letter)));
        let heard = heard.unwrap().unwrap();
        assert!(heard == nested && !Arc::ptr_eq(&heard, &nested));
        let unheard = Table::default().within(|| Arc::<[f32]>::decode(&mut WireReader::new(&letter)));
        assert_eq!(unheard, Ok(Err(DecodeError::Invalid("a name stands for nothing"))));
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Around(#[serde(with = "super")] Arc<[f32]>);

    impl Payload for Around {
        fn encoded_len(&self) -> usize {
            self.0.encoded_len()
        }

        fn encode(&self, out: &mut Vec<u8>) {
            self.0.encode(out);
        }

        fn decode(reader: &mut WireReader<'_>) -> Result<Self, DecodeError> {
            Payload::decode(reader).map(Around)
        }
    }

    struct Liar;

    impl Payload for Liar {
        fn encoded_len(&self) -> usize {
            4
        }

        fn encode(&self, out: &mut Vec<u8>) {
            out.push(0);
        }

        fn decode(_: &mut WireReader<'_>) -> Result<Self, DecodeError> {
            Ok(Liar)
        }
    }

    #[test]
    fn content_of_another_length_than_it_says_is_noticed() {
        let mut table = Table::new(Form::Wire);
        let liar = Arc::new([0_u8; 3]);
        let written = table.within(|| put(&liar, 4, |out| Liar.encode(out), &mut Vec::new()));
        assert_eq!(written, Err(crate::wire::WRONG_LEN.to_owned()));
    }
}
