//! Sparse weights to dense ones.
//!
//! A sparse tensor lists the values that are not 0, and levels that lead to them: each level walks one
//! dimension (or the inside of a block of one), either over all of its places or over listed ones.

use super::super::error::TfliteError;
use super::super::flat::{Field, Table};
use super::super::schema::Tensor;
use super::site::{Files, Site, count, lacks};
use crate::kernel::{Source, row_strides};

/// Levels of one tensor.
const MAX_LEVELS: usize = 16;

/// One level of the walk.
struct Level {
    /// The dimension that it walks.
    dimension: usize,
    /// Places for which there is a value or a further level; all of so many without `listed`.
    places: usize,
    listed: Option<Listed>,
}

/// Places by parent: those of parent p are `places[starts[p]..starts[p + 1]]`.
struct Listed {
    starts: Vec<usize>,
    places: Vec<usize>,
}

/// The dense bytes of a sparse constant.
pub(super) fn densify(
    files: &Files<'_>,
    site: &Site<'_>,
    stored: Option<&Tensor>,
) -> Result<Source, TfliteError> {
    let unknown = |why: &str| Source::Unknown(lacks(site.op, why));
    let (Ok(x), Ok(result), Some(stored)) = (site.operand(0), site.result(), stored) else {
        return Ok(unknown("a use of another kind"));
    };
    let (Some(values), Ok(element)) = (x.contents, result.element()) else {
        return Ok(unknown("values that are not in the file"));
    };
    let table = files.flat.table(stored.at, "a tensor")?;
    let Some(table) = table.table(Field(6, "the sparsity of a tensor"))? else {
        return Ok(unknown("an operand that is not sparse"));
    };
    let Some(levels) = levels(table, result.shape.len())? else {
        return Ok(unknown("a sparsity of another kind"));
    };
    let Ok(elements) = count(&result.shape) else {
        return Ok(unknown("so many elements"));
    };
    let size = elements.checked_mul(element);
    let Some(size) = size.filter(|&size| size as u64 == result.bytes) else {
        return Ok(unknown("a result of another size"));
    };
    files.flat.spend(stored.at, size)?;
    let mut walk = Walk {
        levels: &levels,
        strides: row_strides(&result.shape),
        shape: &result.shape,
        values,
        element,
        dense: vec![0; size],
        steps: elements.saturating_mul(4).saturating_add(1 << 16),
    };
    let start = vec![0; result.shape.len()];
    Ok(match walk.level(0, 0, &start) {
        Some(()) => Source::Bytes(walk.dense.into()),
        None => unknown("a sparsity that leads beyond its values"),
    })
}

/// The levels of a sparsity; nothing where they contradict each other.
fn levels(table: Table<'_, '_>, rank: usize) -> Result<Option<Vec<Level>>, TfliteError> {
    let order = table.ints(Field(0, "the order of a sparsity"))?;
    let blocks = table.ints(Field(1, "the blocks of a sparsity"))?;
    let found = table.each(Field(2, "the dimensions of a sparsity"), |_, table| {
        level(table)
    })?;
    if found.len() != order.len() || found.len() > MAX_LEVELS {
        return Ok(None);
    }
    let dimension = |place: i32| {
        let place = usize::try_from(place).ok()?;
        let block = || blocks.get(place - rank).copied();
        let dimension = if place < rank {
            place
        } else {
            usize::try_from(block()?).ok()?
        };
        (dimension < rank).then_some(dimension)
    };
    let placed = found.into_iter().zip(order).map(|(level, place)| {
        Some(Level {
            dimension: dimension(place)?,
            ..level?
        })
    });
    Ok(placed.collect())
}

fn level(table: Table<'_, '_>) -> Result<Option<Level>, TfliteError> {
    let sparse = table.u8(Field(0, "the format of a dimension"))? == 1;
    let places = table.i32(Field(1, "the size of a dimension"))?;
    let listed = if sparse {
        let starts = list(table, 2, "the segments of a dimension")?;
        let places = list(table, 4, "the indices of a dimension")?;
        let Some((starts, places)) = starts.zip(places) else {
            return Ok(None);
        };
        Some(Listed { starts, places })
    } else {
        None
    };
    let places = usize::try_from(places).ok();
    Ok(places.map(|places| Level {
        dimension: 0,
        places,
        listed,
    }))
}

/// A list of numbers of 8, 16 or 32 bits: its kind in `slot`, the table behind it.
fn list(
    table: Table<'_, '_>,
    slot: u16,
    what: &'static str,
) -> Result<Option<Vec<usize>>, TfliteError> {
    let kind = table.u8(Field(slot, what))?;
    let Some(table) = table.table(Field(slot + 1, what))? else {
        return Ok(None);
    };
    let numbers: Vec<u32> = match kind {
        1 => table
            .ints(Field(0, what))?
            .into_iter()
            .map(i32::cast_unsigned)
            .collect(),
        2 => table.words(Field(0, what))?,
        3 => table.small(Field(0, what))?,
        _ => return Ok(None),
    };
    let numbers = numbers.into_iter().map(|n| usize::try_from(n).ok());
    Ok(numbers.collect())
}

/// A walk to all values.
struct Walk<'a> {
    levels: &'a [Level],
    strides: Vec<usize>,
    shape: &'a [usize],
    values: &'a [u8],
    element: usize,
    dense: Vec<u8>,
    /// Left.
    steps: usize,
}

impl Walk<'_> {
    /// Walks a level. `node`: which parent of it. `place`: how far each dimension is known.
    fn level(&mut self, depth: usize, node: usize, place: &[usize]) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        let levels = self.levels;
        let Some(level) = levels.get(depth) else {
            return self.value(node, place);
        };
        let range = match &level.listed {
            None => {
                let first = node.checked_mul(level.places)?;
                first..first.checked_add(level.places)?
            }
            Some(listed) => *listed.starts.get(node)?..*listed.starts.get(node + 1)?,
        };
        // What is within a block of a dimension comes after the blocks of it.
        let inner = levels[..depth]
            .iter()
            .any(|other| other.dimension == level.dimension);
        let mut next = place.to_vec();
        for (at, node) in range.enumerate() {
            let found = match &level.listed {
                None => at,
                Some(listed) => *listed.places.get(node)?,
            };
            let base = if inner {
                place[level.dimension].checked_mul(level.places)?
            } else {
                0
            };
            next[level.dimension] = base.checked_add(found)?;
            self.level(depth + 1, node, &next)?;
        }
        Some(())
    }

    fn value(&mut self, node: usize, place: &[usize]) -> Option<()> {
        let mut at = 0;
        for ((&place, &size), &stride) in place.iter().zip(self.shape).zip(&self.strides) {
            if place >= size {
                return None;
            }
            at += place * stride;
        }
        let from = node.checked_mul(self.element)?;
        let value = self.values.get(from..from.checked_add(self.element)?)?;
        let to = at * self.element;
        self.dense
            .get_mut(to..to + self.element)?
            .copy_from_slice(value);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(dimension: usize, places: usize) -> Level {
        Level {
            dimension,
            places,
            listed: None,
        }
    }

    fn listed(dimension: usize, starts: &[usize], places: &[usize]) -> Level {
        let listed = Listed {
            starts: starts.to_vec(),
            places: places.to_vec(),
        };
        Level {
            listed: Some(listed),
            ..dense(dimension, 0)
        }
    }

    fn walked(levels: &[Level], shape: &[usize], values: &[u8]) -> Option<Vec<u8>> {
        let mut walk = Walk {
            levels,
            strides: row_strides(shape),
            shape,
            values,
            element: 1,
            dense: vec![0; shape.iter().product()],
            steps: 1000,
        };
        walk.level(0, 0, &vec![0; shape.len()])?;
        Some(walk.dense)
    }

    #[test]
    fn levels_lead_to_values() {
        let rows = [dense(0, 3), listed(1, &[0, 1, 1, 3], &[2, 0, 3])];
        let found = walked(&rows, &[3, 4], &[7, 8, 9]);
        assert_eq!(found, Some(vec![0, 0, 7, 0, 0, 0, 0, 0, 8, 0, 0, 9]));
        let columns = [dense(1, 2), listed(0, &[0, 1, 2], &[1, 0])];
        assert_eq!(walked(&columns, &[2, 2], &[7, 8]), Some(vec![0, 8, 7, 0]));
        // Blocks of 1 × 2 in a matrix of 2 × 4.
        let blocks = [dense(0, 2), listed(1, &[0, 1, 2], &[1, 0]), dense(1, 2)];
        let found = walked(&blocks, &[2, 4], &[5, 6, 7, 8]);
        assert_eq!(found, Some(vec![0, 0, 5, 6, 7, 8, 0, 0]));
    }

    #[test]
    fn levels_that_lead_astray_are_refused() {
        let beyond = [dense(0, 1), listed(1, &[0, 1], &[4])];
        assert_eq!(walked(&beyond, &[1, 4], &[1]), None);
        let few = [dense(0, 1), listed(1, &[0, 2], &[0, 1])];
        assert_eq!(walked(&few, &[1, 4], &[1]), None);
        let endless = [dense(0, 1 << 40), dense(1, 1 << 40)];
        assert_eq!(walked(&endless, &[1, 4], &[1]), None);
        let open = [dense(0, 2), listed(1, &[0, 1], &[0])];
        assert_eq!(walked(&open, &[2, 4], &[1]), None);
    }
}
