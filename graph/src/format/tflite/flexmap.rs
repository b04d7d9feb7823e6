//! Options of custom operators: a flexbuffer that is a map, read without trusting it.
//!
//! Goes in: the bytes. Comes out: whole numbers by key. Everything else in it is passed over.
//!
//! ```text
//! … keys (offset backwards), width of keys, length, │ values, one type byte for each │ …
//!                                                   ╰─ the map        root, its type, its width ─╯
//! ```
//!
//! Offsets are counted backwards from where they stand. Format: `flatbuffers` `flexbuffers.h`.

/// Entries of one map that are looked at.
const MAX_ENTRIES: u64 = 1 << 10;
const MAP: u8 = 9;
const INT: u8 = 1;
const UINT: u8 = 2;

/// A map.
pub(super) struct FlexMap<'a> {
    bytes: &'a [u8],
    values: usize,
    width: usize,
    length: usize,
    keys: usize,
    key_width: usize,
}

impl<'a> FlexMap<'a> {
    /// The map that `bytes` are; nothing if they are none.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let [.., kind, root_width] = *bytes else {
            return None;
        };
        let root = bytes.len().checked_sub(2 + usize::from(root_width))?;
        if kind >> 2 != MAP {
            return None;
        }
        let width = 1 << (kind & 3);
        let values = back(bytes, root, usize::from(root_width))?;
        let length = unsigned(bytes, values.checked_sub(width)?, width)?;
        let key_width = unsigned(bytes, values.checked_sub(2 * width)?, width)?;
        if length > MAX_ENTRIES {
            return None;
        }
        Some(Self {
            bytes,
            values,
            width,
            length: usize::try_from(length).ok()?,
            keys: back(bytes, values.checked_sub(3 * width)?, width)?,
            key_width: usize::try_from(key_width).ok()?,
        })
    }

    /// The number at `key`, where it is one and not negative.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        let at = (0..self.length).find(|&index| self.is(index, key))?;
        let kind = *self
            .bytes
            .get(self.values + self.length * self.width + at)?;
        let value = unsigned(self.bytes, self.values + at * self.width, self.width)?;
        let negative = value >> (8 * self.width - 1) != 0;
        match kind >> 2 {
            INT if !negative => Some(value),
            UINT => Some(value),
            _ => None,
        }
    }

    fn is(&self, index: usize, key: &str) -> bool {
        let place = index
            .checked_mul(self.key_width)
            .and_then(|inside| self.keys.checked_add(inside));
        let start = place.and_then(|place| back(self.bytes, place, self.key_width));
        let found = start.and_then(|start| self.bytes.get(start..));
        let after = found.and_then(|found| found.strip_prefix(key.as_bytes()));
        after.is_some_and(|after| after.first() == Some(&0))
    }
}

/// Where the offset at `at` leads, backwards.
fn back(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let offset = usize::try_from(unsigned(bytes, at, width)?).ok()?;
    at.checked_sub(offset)
}

fn unsigned(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    if !matches!(width, 1 | 2 | 4 | 8) {
        return None;
    }
    let part = bytes.get(at..at.checked_add(width)?)?;
    let byte = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    Some(part.iter().rev().fold(0, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"b": 300, "a": 5}` as the reference writes it: keys, the vector of keys, the map.
    const SMALL: [u8; 24] = [
        b'a',
        0,
        b'b',
        0,
        2,
        5,
        4, // keys at 0 and 2; two of them, at 5 - 5 and 6 - 4
        0,
        3,
        0,
        1,
        0,
        2,
        0, // a pad; keys at 8 - 3, one byte each, two entries
        5,
        0,
        44,
        1, // the values of the map, at 14
        5,
        5, // their types: INT of two bytes
        6,
        0, // the root at 20: 20 - 6
        MAP << 2 | 1,
        2, // its type and its width
    ];

    #[test]
    fn numbers_are_found_by_key() {
        let map = FlexMap::new(&SMALL).unwrap();
        assert_eq!(map.count("a"), Some(5));
        assert_eq!(map.count("b"), Some(300));
        assert_eq!(map.count("c"), None);
    }

    #[test]
    fn damage_is_no_panic() {
        for end in 0..SMALL.len() {
            let _ = FlexMap::new(&SMALL[..end]).map(|map| map.count("a"));
        }
        for at in 0..SMALL.len() {
            for value in [0, 1, 7, 36, 127, 128, 255] {
                let mut damaged = SMALL;
                damaged[at] = value;
                let _ = FlexMap::new(&damaged).map(|map| map.count("b"));
            }
        }
    }
}
