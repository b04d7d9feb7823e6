//! Options of operators, which shapes and kernels are read from.

use super::error::TfliteError;
use super::flat::{Field, Table};

/// Options of an operator; absent ones have their defaults.
pub(super) struct Options<'a>(Option<Table<'a, 'a>>);

impl<'a> Options<'a> {
    /// Those of an operator's table, where they are of the kind with this number in the schema.
    pub(super) fn of(operator: &Table<'a, 'a>, kind: u8) -> Result<Self, TfliteError> {
        let found = operator.u8(Field(3, "the kind of an operator's options"))?;
        if found != kind {
            return Ok(Self(None));
        }
        let table = operator.table(Field(4, "the options of an operator"))?;
        Ok(Self(table))
    }
}

impl Options<'_> {
    /// A number.
    pub(super) fn int(
        &self,
        slot: u16,
        name: &'static str,
        default: i32,
    ) -> Result<i64, TfliteError> {
        let table = self.0.as_ref();
        let value = table.map_or(Ok(default), |t| t.i32_or(Field(slot, name), default));
        Ok(i64::from(value?))
    }

    /// A real number, 0 where it is not written.
    pub(super) fn real(&self, slot: u16, name: &'static str) -> Result<f32, TfliteError> {
        let bits = self.0.as_ref().map_or(Ok(0), |t| t.u32(Field(slot, name)));
        Ok(f32::from_bits(bits?))
    }

    /// A byte: a switch or an enumeration.
    pub(super) fn byte(&self, slot: u16, name: &'static str) -> Result<u8, TfliteError> {
        self.0.as_ref().map_or(Ok(0), |t| t.u8(Field(slot, name)))
    }

    /// A switch that is on where it is not written.
    pub(super) fn on(&self, slot: u16, name: &'static str) -> Result<bool, TfliteError> {
        let table = self.0.as_ref();
        let value = table.map_or(Ok(1), |t| t.u8_or(Field(slot, name), 1));
        Ok(value? != 0)
    }

    /// A list of numbers.
    pub(super) fn ints(&self, slot: u16, name: &'static str) -> Result<Vec<i64>, TfliteError> {
        let table = self.0.as_ref();
        let list = table.map_or(Ok(Vec::new()), |t| t.ints(Field(slot, name)))?;
        Ok(list.into_iter().map(i64::from).collect())
    }
}

/// Which positions of the lists of a `STRIDED_SLICE` are special.
pub(super) struct Masks {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) ellipsis: i64,
    pub(super) new: i64,
    pub(super) shrink: i64,
    /// Ends count from the begins.
    pub(super) offset: bool,
}

impl Masks {
    pub(super) fn new(options: &Options<'_>) -> Result<Self, TfliteError> {
        let mask = |slot| options.int(slot, "a mask of a STRIDED_SLICE", 0);
        Ok(Self {
            begin: mask(0)?,
            end: mask(1)?,
            ellipsis: mask(2)?,
            new: mask(3)?,
            shrink: mask(4)?,
            offset: options.byte(5, "whether ends are offsets")? != 0,
        })
    }
}

/// Whether a mask names a position.
pub(super) fn set(mask: i64, position: usize) -> bool {
    position < 32 && mask >> position & 1 == 1
}
