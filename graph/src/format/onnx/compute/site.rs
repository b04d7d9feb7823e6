//! One use of an operator as rules see it, and what they answer.

use crate::dtype::DType;
use crate::infer::{Call, Fact, InferError};
use crate::kernel::{Kernel, Part, Target};
use std::cell::Cell;

/// Why there are no parts, in words.
#[derive(Debug)]
pub(super) struct Why(pub(super) String);

impl From<&str> for Why {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<String> for Why {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<InferError> for Why {
    fn from(why: InferError) -> Self {
        match why {
            InferError::NeedsValue { operand } => {
                Self(format!("only the run knows the value of operand {operand}"))
            }
            why => Self(why.to_string()),
        }
    }
}

/// What a rule answers.
pub(super) type Parts = Result<Vec<Part>, Why>;

/// From a use of an operator to its parts.
pub(super) type Rule = fn(&Site<'_>) -> Parts;

/// A result.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    /// Its type and shape.
    pub(super) fact: &'a Fact,
    /// Its position among the node's results.
    pub(super) at: usize,
    /// Whether somebody reads it.
    pub(super) read: bool,
}

/// One use of an operator.
pub(super) struct Site<'a> {
    /// Operands and attributes.
    pub(super) call: Call<'a>,
    /// Results by their positions in the file.
    pub(super) results: &'a [Option<Made<'a>>],
    /// Entries that tables may still have.
    pub(super) tables: &'a Cell<usize>,
}

/// Sizes for kernels.
pub(super) fn dims(fact: &Fact) -> Vec<usize> {
    sizes(&fact.shape)
}

/// Sizes for kernels.
pub(super) fn sizes(shape: &[u64]) -> Vec<usize> {
    shape.iter().map(|&size| number(size)).collect()
}

/// A size for kernels; what no memory holds is the largest one.
pub(super) fn number<T: TryInto<usize>>(size: T) -> usize {
    size.try_into().unwrap_or(usize::MAX)
}

/// How many elements these sizes make.
pub(super) fn count(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |all, &size| all.saturating_mul(size))
}

/// Bytes of an element that has whole ones.
pub(super) fn element(fact: &Fact) -> Result<usize, Why> {
    match fact.dtype {
        DType::I4 | DType::U4 => Err(elements(fact.dtype)),
        dtype => Ok(number(dtype.bits() / 8)),
    }
}

/// Elements of a type that the kernel does not know.
pub(super) fn elements(dtype: DType) -> Why {
    Why(format!("no kernel for elements of type {dtype}"))
}

/// One part that makes the first result of the operands at these positions.
pub(super) fn one(kernel: Kernel, reads: &[usize]) -> Vec<Part> {
    vec![Part {
        kernel,
        reads: reads.to_vec(),
        write: Target::Result(0),
    }]
}

impl<'a> Site<'a> {
    /// The operand at `position`.
    pub(super) fn input(&self, position: usize) -> Result<&'a Fact, Why> {
        Ok(self.call.input(position)?)
    }

    /// The operand at `position`, 32-bit floats.
    pub(super) fn floats(&self, position: usize) -> Result<&'a Fact, Why> {
        let fact = self.input(position)?;
        match fact.dtype {
            DType::F32 => Ok(fact),
            dtype => Err(elements(dtype)),
        }
    }

    /// The first result.
    pub(super) fn result(&self) -> Result<&'a Fact, Why> {
        let made = self.results.first().copied().flatten();
        Ok(made.ok_or("its first result has no name")?.fact)
    }

    /// Whether there is nothing to compute.
    pub(super) fn is_empty(&self) -> bool {
        let mut results = self.results.iter().flatten();
        results.all(|made| made.fact.elements() == 0)
    }

    /// Only the first result is read by somebody.
    pub(super) fn one_result(&self) -> Result<(), Why> {
        let others = self.results.iter().enumerate().skip(1);
        let mut read = others.filter(|(_, made)| made.is_some_and(|made| made.read));
        match read.next() {
            Some((position, _)) => Err(format!("result {position} has no kernel").into()),
            None => Ok(()),
        }
    }

    /// A float attribute for a kernel.
    #[expect(clippy::cast_possible_truncation, reason = "the file has 32 bits")]
    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.call.attr_float(name, f64::from(default)) as f32
    }

    /// Whether a flag is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.call.attr_int(name, 0) != 0
    }

    /// Room for a table of so many entries.
    pub(super) fn table(&self, entries: usize) -> Result<(), Why> {
        let left = self.tables.get().checked_sub(entries);
        self.tables
            .set(left.ok_or("its tables would be too large")?);
        Ok(())
    }

    /// Whether a part stays within the tensors that it reads and writes.
    pub(super) fn holds(&self, part: &Part) -> bool {
        let Some(needs) = part.kernel.needs() else {
            return false;
        };
        let reads = part.reads.iter().zip(&needs.reads).all(|(&at, &bytes)| {
            let operand = self.call.optional(at);
            operand.is_some_and(|fact| bytes <= fact.bytes())
        });
        let written = match part.write {
            Target::Result(at) => {
                let mut results = self.results.iter().flatten();
                results.any(|made| made.at == at && needs.write <= made.fact.bytes())
            }
            Target::State(_) => false,
        };
        reads && written && part.reads.len() == needs.reads.len()
    }
}
