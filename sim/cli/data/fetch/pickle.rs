//! Reads the few pickles that data sets were published as: dictionaries of lists, numpy arrays and scipy matrices.
//!
//! A pickle is a program. This one runs none of it: it knows the instructions that write data and the six names that such data
//! need, and refuses every other. It follows no sharing of lists and dictionaries, which those files have none of, and nests no
//! deeper than a matrix does.

use std::collections::BTreeMap;

/// What a pickle holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Nothing,
    Int(i64),
    Bytes(Vec<u8>),
    Tuple(Vec<Value>),
    List(Vec<i64>),
    /// In the order in which it was written.
    Dict(Vec<(Value, Value)>),
    Array(Array),
    /// A sparse matrix by the names of its parts.
    Matrix(BTreeMap<Vec<u8>, Value>),
    /// What is called or made.
    Name(String),
    /// What an array is made of, as `i4`.
    Kind(Vec<u8>),
}

/// An array of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    kind: Vec<u8>,
    /// Whether columns come one after the other.
    is_by_column: bool,
    data: Vec<u8>,
}

const RECONSTRUCT: &str = "numpy.core.multiarray _reconstruct";
const KIND: &str = "numpy dtype";
const MATRIX: &str = "scipy.sparse.csr csr_matrix";
const DICT: &str = "collections defaultdict";
const NAMES: [&str; 6] = [RECONSTRUCT, KIND, MATRIX, DICT, "numpy ndarray", "__builtin__ list"];

/// No file needs more; each may hold the one before.
const MOST_TUPLES: usize = 1000;

impl Array {
    /// Its numbers, row by row; none if they are of a kind or an order that no such file has.
    pub(super) fn numbers(&self) -> Option<Vec<f64>> {
        let numbers: Vec<f64> = match self.kind.as_slice() {
            b"i4" => self.each(|b| i32::from_le_bytes(b).into()),
            b"i8" => self.each(|b| i64::from_le_bytes(b) as f64),
            b"f4" => self.each(|b| f32::from_le_bytes(b).into()),
            b"f8" => self.each(f64::from_le_bytes),
            _ => return None,
        };
        let n: usize = self.shape.iter().try_fold(1_usize, |n, &size| n.checked_mul(size))?;
        let is_one = self.shape.len() == 1;
        (numbers.len() == n && (is_one || !self.is_by_column)).then_some(numbers)
    }

    fn each<const N: usize>(&self, number: fn([u8; N]) -> f64) -> Vec<f64> {
        self.data
            .as_chunks::<N>()
            .0
            .iter()
            .map(|bytes| number(*bytes))
            .collect()
    }
}

/// The one value of a pickle of protocol 2.
///
/// # Errors
/// With where it is and what is wrong.
pub(super) fn read(bytes: &[u8]) -> Result<Value, String> {
    let mut machine = Machine {
        bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        kept: BTreeMap::new(),
        n_tuples: 0,
    };
    loop {
        let at = machine.at;
        match machine.step() {
            Some(true) => return machine.stack.pop().ok_or_else(|| "holds nothing".to_owned()),
            Some(false) => {}
            None => return Err(format!("byte {at} is no instruction that data are written with")),
        }
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    kept: BTreeMap<u32, Value>,
    n_tuples: usize,
}

impl Machine<'_> {
    /// Follows one instruction; whether it was the last, or none if it cannot be followed.
    fn step(&mut self) -> Option<bool> {
        match self.take(1)?[0] {
            b'.' => return Some(true),
            0x80 => (self.take(1)? == [2]).then_some(())?,
            b'c' => {
                let name = format!("{} {}", self.line()?, self.line()?);
                NAMES.contains(&name.as_str()).then_some(())?;
                self.stack.push(Value::Name(name));
            }
            b'q' => self.keep(1)?,
            b'r' => self.keep(4)?,
            b'h' => self.fetch(1)?,
            b'j' => self.fetch(4)?,
            b'(' => self.marks.push(self.stack.len()),
            b')' => self.tuple(self.stack.len())?,
            how @ 0x85..=0x87 => self.tuple(self.stack.len().checked_sub(usize::from(how - 0x84))?)?,
            b't' => {
                let mark = self.marks.pop()?;
                self.tuple(mark)?;
            }
            b']' => self.stack.push(Value::List(Vec::new())),
            b'a' => self.append(self.stack.len().checked_sub(1)?)?,
            b'e' => {
                let mark = self.marks.pop()?;
                self.append(mark)?;
            }
            b'}' => self.stack.push(Value::Dict(Vec::new())),
            b's' => self.set(self.stack.len().checked_sub(2)?)?,
            b'u' => {
                let mark = self.marks.pop()?;
                self.set(mark)?;
            }
            b'K' => self.int(1)?,
            b'M' => self.int(2)?,
            b'J' => {
                let bytes = self.take(4)?.try_into().ok()?;
                self.stack.push(Value::Int(i32::from_le_bytes(bytes).into()));
            }
            b'U' => self.text(1)?,
            b'T' | b'X' => self.text(4)?,
            b'N' => self.stack.push(Value::Nothing),
            0x88 => self.stack.push(Value::Int(1)),
            0x89 => self.stack.push(Value::Int(0)),
            b'R' | 0x81 => self.call()?,
            b'b' => self.build()?,
            _ => return None,
        }
        Some(false)
    }

    fn take(&mut self, n: usize) -> Option<&[u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(bytes)
    }

    fn number(&mut self, n_bytes: usize) -> Option<u32> {
        let bytes = self.take(n_bytes)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | u32::from(byte)),
        )
    }

    fn line(&mut self) -> Option<String> {
        let n = self.bytes.get(self.at..)?.iter().position(|&byte| byte == b'\n')?;
        let line = String::from_utf8(self.take(n)?.to_vec()).ok();
        self.at += 1;
        line
    }

    /// What can change afterwards is not kept: then nobody can ask for it.
    fn keep(&mut self, n_bytes: usize) -> Option<()> {
        let key = self.number(n_bytes)?;
        if let value @ (Value::Name(_) | Value::Kind(_) | Value::Bytes(_) | Value::Int(_)) = self.stack.last()? {
            self.kept.insert(key, value.clone());
        }
        Some(())
    }

    fn fetch(&mut self, n_bytes: usize) -> Option<()> {
        let key = self.number(n_bytes)?;
        self.stack.push(self.kept.get(&key)?.clone());
        Some(())
    }

    fn int(&mut self, n_bytes: usize) -> Option<()> {
        let number = self.number(n_bytes)?;
        self.stack.push(Value::Int(number.into()));
        Some(())
    }

    fn text(&mut self, n_bytes: usize) -> Option<()> {
        let n = self.number(n_bytes)? as usize;
        let text = self.take(n)?.to_vec();
        self.stack.push(Value::Bytes(text));
        Some(())
    }

    /// What has been put on the stack since it was `mark` high.
    fn since(&mut self, mark: usize) -> Option<Vec<Value>> {
        (mark <= self.stack.len()).then(|| self.stack.split_off(mark))
    }

    fn tuple(&mut self, mark: usize) -> Option<()> {
        self.n_tuples += 1;
        let items = self.since(mark).filter(|_| self.n_tuples <= MOST_TUPLES)?;
        self.stack.push(Value::Tuple(items));
        Some(())
    }

    fn append(&mut self, mark: usize) -> Option<()> {
        let items = self.since(mark)?;
        let Value::List(list) = self.stack.last_mut()? else {
            return None;
        };
        for item in items {
            let Value::Int(item) = item else {
                return None;
            };
            list.push(item);
        }
        Some(())
    }

    fn set(&mut self, mark: usize) -> Option<()> {
        let mut items = self.since(mark)?.into_iter();
        let Value::Dict(dict) = self.stack.last_mut()? else {
            return None;
        };
        while let Some(key) = items.next() {
            let value = items.next()?;
            if matches!(value, Value::Dict(_) | Value::Matrix(_)) {
                return None;
            }
            dict.push((key, value));
        }
        Some(())
    }

    /// Makes something of a name, before it is told what it holds.
    fn call(&mut self) -> Option<()> {
        let (given, name) = (self.stack.pop()?, self.stack.pop()?);
        let (Value::Tuple(given), Value::Name(name)) = (given, name) else {
            return None;
        };
        let made = match name.as_str() {
            RECONSTRUCT => Value::Array(Array::default()),
            MATRIX => Value::Matrix(BTreeMap::new()),
            DICT => Value::Dict(Vec::new()),
            KIND => match given.first()? {
                Value::Bytes(kind) => Value::Kind(kind.clone()),
                _ => return None,
            },
            _ => return None,
        };
        self.stack.push(made);
        Some(())
    }

    /// Tells it.
    fn build(&mut self) -> Option<()> {
        let state = self.stack.pop()?;
        match (self.stack.last_mut()?, state) {
            // The order of bytes; that of any other machine is refused.
            (Value::Kind(_), Value::Tuple(state)) => {
                let is_little = |order: &Value| *order == Value::Bytes(b"<".to_vec());
                state.get(1).is_some_and(is_little).then_some(())?;
            }
            (Value::Array(array), Value::Tuple(state)) => {
                let Ok(
                    [
                        _,
                        Value::Tuple(shape),
                        Value::Kind(kind),
                        Value::Int(order),
                        Value::Bytes(data),
                    ],
                ) = <[Value; 5]>::try_from(state)
                else {
                    return None;
                };
                let size = |size: &Value| match size {
                    Value::Int(size) => usize::try_from(*size).ok(),
                    _ => None,
                };
                *array = Array {
                    shape: shape.iter().map(size).collect::<Option<_>>()?,
                    kind,
                    is_by_column: order != 0,
                    data,
                };
            }
            (Value::Matrix(parts), Value::Dict(state)) => {
                for (name, part) in state {
                    let Value::Bytes(name) = name else {
                        return None;
                    };
                    parts.insert(name, part);
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{0: [1, 2], 3: []}` as a defaultdict of lists, and its like.
    const GRAPH: &[u8] = b"\x80\x02ccollections\ndefaultdict\nq\x01c__builtin__\nlist\nq\x02\x85Rq\x03\
        (K\x00]q\x04(K\x01K\x02eK\x03]q\x05u.";

    fn array(kind: &str, shape: &[u8], data: &[u8]) -> Vec<u8> {
        let mut bytes =
            b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(".to_vec();
        shape.iter().for_each(|&size| bytes.extend([b'K', size]));
        bytes.extend(b"tcnumpy\ndtype\nU\x02");
        bytes.extend(kind.bytes());
        bytes.extend(b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U");
        bytes.push(data.len() as u8);
        bytes.extend(data);
        bytes.extend(b"tb.");
        bytes
    }

    #[test]
    fn dictionaries_of_lists_and_arrays_are_read() {
        let pair = |key, list: &[i64]| (Value::Int(key), Value::List(list.to_vec()));
        assert_eq!(read(GRAPH), Ok(Value::Dict(vec![pair(0, &[1, 2]), pair(3, &[])])));
        let numbers = |kind: &str, shape: &[u8], data: &[u8]| match read(&array(kind, shape, data)) {
            Ok(Value::Array(array)) => array.numbers(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            numbers("i4", &[2], &[1, 0, 0, 0, 255, 255, 255, 255]),
            Some(vec![1.0, -1.0])
        );
        assert_eq!(numbers("f8", &[1], &1.5_f64.to_le_bytes()), Some(vec![1.5]));
        // A shape that the data do not fill, and a kind that nobody writes.
        assert_eq!(numbers("i4", &[2, 2], &[0; 8]), None);
        assert_eq!(numbers("c8", &[1], &[0; 8]), None);
    }

    #[test]
    fn nothing_is_run_and_nothing_panics() {
        for other in ["os\nsystem", "numpy.core.multiarray\nscalar", "builtins\neval"] {
            assert!(read(format!("\x02c{other}\n(U\x01xtR.").as_bytes()).is_err());
            let why = read(&[b"\x80\x02c", other.as_bytes(), b"\n(U\x01xtR."].concat()).unwrap_err();
            assert_eq!(why, "byte 2 is no instruction that data are written with");
        }
        for whole in [GRAPH.to_vec(), array("i4", &[1], &[0; 4])] {
            for end in 0..whole.len() {
                assert!(read(&whole[..end]).is_err(), "{end}");
            }
            for at in 0..whole.len() {
                for byte in 0..=255 {
                    let mut damaged = whole.clone();
                    damaged[at] = byte;
                    let _ = read(&damaged);
                }
            }
        }
        let deep = [b"\x80\x02)".to_vec(), vec![0x85; 1_000_000], b".".to_vec()].concat();
        assert!(read(&deep).is_err());
    }
}
