//! A flatbuffer, read without trusting it.
//!
//! Goes in: the bytes of a file. Comes out: tables and vectors, each checked against the file before
//! anything of it is read. Nothing here allocates by a length that the file has not backed with
//! bytes, and what a file unfolds to is limited by its own length ([`Flat::spend`]): a flatbuffer
//! may refer to one part many times.
//!
//! ```text
//! table ──(i32, backwards)─→ vtable: u16 own bytes, u16 bytes of the table, u16 place of field 0, …
//! field of kind table, vector, string ──(u32, forwards)─→ target; vector: u32 length, elements
//! ```

use super::error::TfliteError;
use std::cell::Cell;
use std::ops::Range;

/// A field: its slot, and its name for messages.
#[derive(Clone, Copy)]
pub(super) struct Field(pub(super) u16, pub(super) &'static str);

/// Elements of one vector of tables.
const MAX_TABLES: usize = 1 << 22;
/// Bytes of one string.
const MAX_STRING: usize = 1 << 16;

/// A file and what may still be unfolded from it.
pub(super) struct Flat<'a> {
    bytes: &'a [u8],
    limit: u64,
    left: Cell<u64>,
}

impl<'a> Flat<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let limit = (bytes.len() as u64)
            .saturating_mul(4)
            .saturating_add(1 << 20);
        Self::with_limit(bytes, limit)
    }

    /// For those that count what they unfold themselves, up to `limit`.
    pub(super) fn with_limit(bytes: &'a [u8], limit: u64) -> Self {
        let left = Cell::new(limit);
        Self { bytes, limit, left }
    }

    /// Length of the file.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The table that the file begins with.
    pub(super) fn root(&self, what: &'static str) -> Result<Table<'_, 'a>, TfliteError> {
        self.follow(0, what).and_then(|at| self.table(at, what))
    }

    /// Counts `bytes` that are about to be kept.
    pub(super) fn spend(&self, at: usize, bytes: usize) -> Result<(), TfliteError> {
        let left = self.left.get().checked_sub(bytes as u64);
        let limit = self.limit;
        self.left
            .set(left.ok_or(TfliteError::Amplified { at, limit })?);
        Ok(())
    }

    fn read<const N: usize>(&self, at: usize, what: &'static str) -> Result<[u8; N], TfliteError> {
        let end = at.checked_add(N);
        let part = end.and_then(|end| self.bytes.get(at..end));
        let array = part.and_then(|part| <[u8; N]>::try_from(part).ok());
        array.ok_or(TfliteError::Malformed {
            at,
            what,
            why: "lies beyond the end of the file",
        })
    }

    fn u16(&self, at: usize, what: &'static str) -> Result<usize, TfliteError> {
        Ok(usize::from(u16::from_le_bytes(self.read(at, what)?)))
    }

    /// Where the offset stored at `at` leads.
    fn follow(&self, at: usize, what: &'static str) -> Result<usize, TfliteError> {
        let offset = u32::from_le_bytes(self.read(at, what)?);
        let target = usize::try_from(offset).ok().and_then(|o| at.checked_add(o));
        let inside = target.filter(|&target| offset != 0 && target < self.bytes.len());
        inside.ok_or(TfliteError::Malformed {
            at,
            what,
            why: "points outside the file",
        })
    }

    /// The table at a byte offset.
    pub(super) fn table(
        &self,
        at: usize,
        what: &'static str,
    ) -> Result<Table<'_, 'a>, TfliteError> {
        self.spend(at, 16)?;
        let malformed = |why| TfliteError::Malformed { at, what, why };
        let back = i32::from_le_bytes(self.read(at, what)?);
        let vtable = i64::try_from(at).ok().map(|at| at - i64::from(back));
        let vtable = vtable.and_then(|vtable| usize::try_from(vtable).ok());
        let vtable = vtable.ok_or(malformed("has its vtable outside the file"))?;
        let (slots, size) = (self.u16(vtable, what)?, self.u16(vtable + 2, what)?);
        if slots < 4 || slots % 2 != 0 || vtable + slots > self.bytes.len() {
            return Err(malformed("has a vtable of impossible length"));
        }
        if size < 4 || at + size > self.bytes.len() {
            return Err(malformed("does not fit in the file"));
        }
        Ok(Table {
            flat: self,
            at,
            vtable,
            slots,
            size,
        })
    }

    /// First element and length of the vector at `at`, whose elements are `width` bytes.
    fn vector(
        &self,
        at: usize,
        width: usize,
        what: &'static str,
    ) -> Result<(usize, usize), TfliteError> {
        let len = u32::from_le_bytes(self.read(at, what)?);
        let first = at + 4;
        let room = (self.bytes.len() - first) / width;
        let len = usize::try_from(len).ok().filter(|&len| len <= room);
        let why = "is longer than the file";
        len.map(|len| (first, len))
            .ok_or(TfliteError::Malformed { at, what, why })
    }
}

/// A table whose vtable and extent lie in the file.
#[derive(Clone, Copy)]
pub(super) struct Table<'f, 'a> {
    flat: &'f Flat<'a>,
    /// Its byte offset.
    pub(super) at: usize,
    vtable: usize,
    slots: usize,
    size: usize,
}

impl<'f, 'a> Table<'f, 'a> {
    /// The file that it is in.
    pub(super) fn flat(&self) -> &'f Flat<'a> {
        self.flat
    }

    /// Where a field of `width` bytes stands; nothing where it is absent.
    fn place(&self, field: Field, width: usize) -> Result<Option<usize>, TfliteError> {
        let slot = 4 + 2 * usize::from(field.0);
        if slot + 2 > self.slots {
            return Ok(None);
        }
        let inside = self.flat.u16(self.vtable + slot, field.1)?;
        if inside == 0 {
            return Ok(None);
        }
        if inside < 4 || inside + width > self.size {
            return Err(TfliteError::Malformed {
                at: self.vtable + slot,
                what: field.1,
                why: "lies outside its table",
            });
        }
        Ok(Some(self.at + inside))
    }

    fn scalar<const N: usize>(&self, field: Field) -> Result<[u8; N], TfliteError> {
        let place = self.place(field, N)?;
        place.map_or(Ok([0; N]), |at| self.flat.read(at, field.1))
    }

    pub(super) fn u8(&self, field: Field) -> Result<u8, TfliteError> {
        Ok(u8::from_le_bytes(self.scalar(field)?))
    }

    pub(super) fn i8(&self, field: Field) -> Result<i8, TfliteError> {
        Ok(i8::from_le_bytes(self.scalar(field)?))
    }

    pub(super) fn u32(&self, field: Field) -> Result<u32, TfliteError> {
        Ok(u32::from_le_bytes(self.scalar(field)?))
    }

    pub(super) fn i32(&self, field: Field) -> Result<i32, TfliteError> {
        Ok(i32::from_le_bytes(self.scalar(field)?))
    }

    /// A byte whose absence means `default`.
    pub(super) fn u8_or(&self, field: Field, default: u8) -> Result<u8, TfliteError> {
        let place = self.place(field, 1)?;
        place.map_or(Ok(default), |at| {
            Ok(u8::from_le_bytes(self.flat.read(at, field.1)?))
        })
    }

    /// A number whose absence means `default`.
    pub(super) fn i32_or(&self, field: Field, default: i32) -> Result<i32, TfliteError> {
        let place = self.place(field, 4)?;
        place.map_or(Ok(default), |at| {
            Ok(i32::from_le_bytes(self.flat.read(at, field.1)?))
        })
    }

    pub(super) fn u64(&self, field: Field) -> Result<u64, TfliteError> {
        Ok(u64::from_le_bytes(self.scalar(field)?))
    }

    /// Where the offset in `field` leads.
    fn target(&self, field: Field) -> Result<Option<usize>, TfliteError> {
        let place = self.place(field, 4)?;
        place.map(|at| self.flat.follow(at, field.1)).transpose()
    }

    /// Whether the field is there.
    pub(super) fn has(&self, field: Field) -> Result<bool, TfliteError> {
        Ok(self.target(field)?.is_some())
    }

    pub(super) fn table(&self, field: Field) -> Result<Option<Self>, TfliteError> {
        let target = self.target(field)?;
        target.map(|at| self.flat.table(at, field.1)).transpose()
    }

    /// The bytes of a vector of bytes, as a range of the file. Empty where absent.
    pub(super) fn bytes(&self, field: Field) -> Result<Range<usize>, TfliteError> {
        let Some(at) = self.target(field)? else {
            return Ok(0..0);
        };
        let (first, len) = self.flat.vector(at, 1, field.1)?;
        Ok(first..first + len)
    }

    /// Text; what is no UTF-8 in it becomes U+FFFD.
    pub(super) fn string(&self, field: Field) -> Result<String, TfliteError> {
        let range = self.bytes(field)?;
        if range.len() > MAX_STRING {
            return Err(TfliteError::TooMany {
                at: range.start,
                what: "bytes of a string",
                found: range.len() as u64,
                limit: MAX_STRING as u64,
            });
        }
        self.flat.spend(range.start, range.len())?;
        Ok(String::from_utf8_lossy(&self.flat.bytes[range]).into_owned())
    }

    pub(super) fn bools(&self, field: Field) -> Result<Vec<bool>, TfliteError> {
        let range = self.bytes(field)?;
        self.flat.spend(range.start, range.len())?;
        Ok(self.flat.bytes[range].iter().map(|&b| b != 0).collect())
    }

    /// A vector of 32-bit integers. Empty where absent.
    pub(super) fn ints(&self, field: Field) -> Result<Vec<i32>, TfliteError> {
        let Some(at) = self.target(field)? else {
            return Ok(Vec::new());
        };
        let (first, len) = self.flat.vector(at, 4, field.1)?;
        self.flat.spend(at, 4 * len)?;
        let number = |i| Ok(i32::from_le_bytes(self.flat.read(first + 4 * i, field.1)?));
        (0..len).map(number).collect()
    }

    /// A vector of 64-bit integers. Empty where absent.
    pub(super) fn longs(&self, field: Field) -> Result<Vec<i64>, TfliteError> {
        let Some(at) = self.target(field)? else {
            return Ok(Vec::new());
        };
        let (first, len) = self.flat.vector(at, 8, field.1)?;
        self.flat.spend(at, 8 * len)?;
        let number = |i| Ok(i64::from_le_bytes(self.flat.read(first + 8 * i, field.1)?));
        (0..len).map(number).collect()
    }

    /// A vector of 16-bit numbers. Empty where absent.
    pub(super) fn words(&self, field: Field) -> Result<Vec<u32>, TfliteError> {
        let Some(at) = self.target(field)? else {
            return Ok(Vec::new());
        };
        let (first, len) = self.flat.vector(at, 2, field.1)?;
        self.flat.spend(at, 4 * len)?;
        let number = |i| {
            Ok(u32::from(u16::from_le_bytes(
                self.flat.read(first + 2 * i, field.1)?,
            )))
        };
        (0..len).map(number).collect()
    }

    /// A vector of 8-bit numbers. Empty where absent.
    pub(super) fn small(&self, field: Field) -> Result<Vec<u32>, TfliteError> {
        let range = self.bytes(field)?;
        self.flat.spend(range.start, 4 * range.len())?;
        Ok(self.flat.bytes[range]
            .iter()
            .map(|&b| u32::from(b))
            .collect())
    }

    /// Every table of a vector of tables, in order, made by `make`.
    pub(super) fn each<T>(
        &self,
        field: Field,
        mut make: impl FnMut(usize, Table<'f, 'a>) -> Result<T, TfliteError>,
    ) -> Result<Vec<T>, TfliteError> {
        let Some(at) = self.target(field)? else {
            return Ok(Vec::new());
        };
        let (first, len) = self.flat.vector(at, 4, field.1)?;
        if len > MAX_TABLES {
            let (found, limit) = (len as u64, MAX_TABLES as u64);
            let what = field.1;
            return Err(TfliteError::TooMany {
                at,
                what,
                found,
                limit,
            });
        }
        let table = |index| {
            let target = self.flat.follow(first + 4 * index, field.1)?;
            self.flat.table(target, field.1)
        };
        (0..len).map(|index| make(index, table(index)?)).collect()
    }
}
