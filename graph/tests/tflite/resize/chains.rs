//! Shapes that are computed with, and what of that only the run knows.

use super::*;

/// A graph that is written down tensor by tensor.
#[derive(Default)]
struct Chain {
    tensors: Vec<Fields>,
    buffers: Vec<Fields>,
    kinds: Vec<i32>,
    ops: Vec<Fields>,
}

impl Chain {
    fn tensor(&mut self, kind: char, shape: &[i32]) -> i32 {
        self.tensors.push(typed(kind, shape));
        i32::try_from(self.tensors.len()).unwrap() - 1
    }

    fn bytes(&mut self, kind: char, shape: &[i32], bytes: Vec<u8>) -> i32 {
        self.buffers.push(vec![(0, Value::Bytes(bytes))]);
        let buffer = i32::try_from(self.buffers.len()).unwrap();
        let index = self.tensor(kind, shape);
        let place = usize::try_from(index).unwrap();
        self.tensors[place].push((2, Value::I32(buffer)));
        index
    }

    fn ints(&mut self, shape: &[i32], values: &[i64]) -> i32 {
        self.bytes('i', shape, contents('i', shape, values))
    }

    fn float(&mut self, value: f32) -> i32 {
        self.bytes('f', &[], value.to_le_bytes().to_vec())
    }

    /// An operator with one result, declared as a scalar (or `declared`); options as in the table.
    fn op(&mut self, code: i32, inputs: &[i32], result: (char, &[i32]), table: &str) -> i32 {
        let output = self.tensor(result.0, result.1);
        let kind = i32::try_from(self.kinds.len()).unwrap();
        self.kinds.push(code);
        self.ops
            .push(with(op(kind, inputs, &[output]), &options(table)));
        output
    }

    fn main(&self, inputs: &[i32], outputs: &[i32]) -> Fields {
        subgraph(&self.tensors, inputs, outputs, &self.ops)
    }

    /// The shape of the last tensor, where input 0 is given another one.
    fn last(&self, shape: &[u64]) -> Result<Vec<u64>, TfliteError> {
        let last = i32::try_from(self.tensors.len()).unwrap() - 1;
        let bytes = file(&model(
            &self.kinds,
            &[self.main(&[0], &[last])],
            &self.buffers,
        ));
        let found = resized(&bytes, &BTreeMap::from([("#0".to_owned(), shape.to_vec())]))?;
        Ok(shapes(&found).pop().unwrap())
    }
}

/// `x`, its shape, and dimension `place` of that as a scalar.
fn sized(declared: &[i32], place: i64) -> (Chain, i32, i32) {
    let mut chain = Chain::default();
    let x = chain.tensor('f', declared);
    let rank = i32::try_from(declared.len()).unwrap();
    let dims = chain.op(SHAPE, &[x], ('i', &[rank]), "55");
    let begin = chain.ints(&[1], &[place]);
    let end = chain.ints(&[1], &[place + 1]);
    let one = chain.ints(&[1], &[1]);
    let size = chain.op(
        STRIDED_SLICE,
        &[dims, begin, end, one],
        ('i', &[]),
        "32 4=i1",
    );
    (chain, dims, size)
}

/// A bit of everything that shapes are computed with.
pub(super) fn sample() -> Vec<u8> {
    let (mut chain, dims, batch) = sized(&[1, 6, 4], 0);
    let (rest, half) = (chain.ints(&[], &[24]), chain.float(0.5));
    let shape = chain.op(PACK, &[batch, rest], ('i', &[2]), "59 0=i2");
    let flat = chain.op(RESHAPE, &[0, shape], ('f', &[1, 24]), "");
    let numbers = chain.op(CAST, &[dims], ('f', &[3]), "");
    let numbers = chain.op(MUL, &[numbers, half], ('f', &[3]), "21");
    let sizes = chain.op(CAST, &[numbers], ('i', &[3]), "");
    let begins = chain.ints(&[3], &[0, 0, 0]);
    chain.op(SLICE, &[0, begins, sizes], ('f', &[0, 3, 2]), "");
    let filled = chain.op(FILL, &[dims, half], ('f', &[1, 6, 4]), "");
    let cut = chain.op(RESHAPE, &[filled, shape], ('f', &[1, 24]), "");
    let last = chain.op(ADD, &[cut, flat], ('f', &[1, 24]), "");
    let main = chain.main(&[0], &[last]);
    file(&model(&chain.kinds, &[main], &chain.buffers))
}

#[test]
fn shapes_are_computed_with() {
    // The batch, kept in front of what is flattened.
    let (mut chain, _, batch) = sized(&[1, 6, 4], 0);
    let rest = chain.ints(&[], &[24]);
    let shape = chain.op(PACK, &[batch, rest], ('i', &[2]), "59 0=i2");
    chain.op(RESHAPE, &[0, shape], ('f', &[1, 24]), "");
    assert_eq!(chain.last(&[3, 6, 4]).unwrap(), [3, 24]);
    let error = chain.last(&[3, 5, 4]).unwrap_err().to_string();
    assert!(
        error.contains("`RESHAPE#3` cannot follow the given input: [3, 5, 4] has 60 elements"),
        "{error}"
    );
    // A tensor of ones like x.
    let (mut chain, dims, _) = sized(&[1, 6], 0);
    let one = chain.float(1.0);
    let ones = chain.op(FILL, &[dims, one], ('f', &[1, 6]), "");
    chain.op(ADD, &[0, ones], ('f', &[1, 6]), "");
    assert_eq!(chain.last(&[5, 7]).unwrap(), [5, 7]);
    // The dimensions in reverse.
    let (mut chain, dims, _) = sized(&[1, 6], 0);
    let (one, zero) = (chain.float(1.0), chain.ints(&[1], &[0]));
    let turned = chain.op(REVERSE, &[dims, zero], ('i', &[2]), "");
    chain.op(FILL, &[turned, one], ('f', &[6, 1]), "");
    assert_eq!(chain.last(&[5, 7]).unwrap(), [7, 5]);
    // Positions 0, 2, 4, … below the length.
    let (mut chain, _, length) = sized(&[1, 6], 1);
    let (zero, two) = (chain.ints(&[], &[0]), chain.ints(&[], &[2]));
    chain.op(RANGE, &[zero, length, two], ('i', &[3]), "");
    assert_eq!(chain.last(&[1, 9]).unwrap(), [5]);
    // Half the height and a third of the width, by floats and by integers.
    let (mut chain, dims, _) = sized(&[1, 6, 6, 2], 0);
    let (one, half, three) = (
        chain.ints(&[1], &[1]),
        chain.float(0.5),
        chain.ints(&[1], &[3]),
    );
    let two = chain.ints(&[1], &[2]);
    let height = chain.op(GATHER, &[dims, one], ('i', &[1]), "23");
    let height = chain.op(CAST, &[height], ('f', &[1]), "");
    let height = chain.op(MUL, &[height, half], ('f', &[1]), "21");
    let height = chain.op(CAST, &[height], ('i', &[1]), "");
    let width = chain.op(GATHER, &[dims, two], ('i', &[1]), "23");
    let width = chain.op(FLOOR_DIV, &[width, three], ('i', &[1]), "");
    let size = chain.op(CONCATENATION, &[height, width], ('i', &[2]), "10");
    chain.op(RESIZE_NEAREST, &[0, size], ('f', &[1, 3, 2, 2]), "74");
    assert_eq!(chain.last(&[2, 9, 10, 2]).unwrap(), [2, 4, 3, 2]);
    // All elements in one dimension.
    let (mut chain, dims, _) = sized(&[2, 3], 0);
    let zero = chain.ints(&[1], &[0]);
    let all = chain.op(REDUCE_PROD, &[dims, zero], ('i', &[1]), "27 0=b1");
    chain.op(RESHAPE, &[0, all], ('f', &[6]), "");
    assert_eq!(chain.last(&[5, 7]).unwrap(), [35]);
}

#[test]
fn what_only_the_run_knows_is_refused() {
    let mut chain = Chain::default();
    let x = chain.tensor('i', &[2]);
    let y = chain.op(RELU, &[x], ('i', &[2]), "");
    let one = chain.float(1.0);
    chain.op(FILL, &[y, one], ('f', &[3, 4]), "");
    let error = chain.last(&[2]).unwrap_err().to_string();
    let expected =
        "`FILL#1` cannot follow the given input: its shape depends on the value of operand 0";
    assert!(error.contains(expected), "{error}");
    // Slices to fixed sizes keep what is behind them.
    let mut chain = Chain::default();
    let x = chain.tensor('f', &[4, 4]);
    let (begin, size) = (chain.ints(&[2], &[0, 0]), chain.ints(&[2], &[2, 2]));
    let cut = chain.op(SLICE, &[x, begin, size], ('f', &[2, 2]), "");
    chain.op(CUSTOM, &[cut], ('f', &[9]), "");
    assert_eq!(chain.last(&[7, 5]).unwrap(), [9]);
    let mut chain = Chain::default();
    let x = chain.tensor('f', &[4, 4]);
    chain.op(CUSTOM, &[x], ('f', &[9]), "");
    let error = chain.last(&[7, 5]).unwrap_err().to_string();
    let expected = "`CUSTOM:#0` cannot follow the given input: its rule is not known; its result `` is declared as [9]";
    assert!(error.contains(expected), "{error}");
    assert_eq!(chain.last(&[4, 4]).unwrap(), [9]);
    // A shape as a value: it changed although it has as many numbers as before.
    let mut chain = Chain::default();
    let x = chain.tensor('f', &[4, 4]);
    let dims = chain.op(SHAPE, &[x], ('i', &[2]), "55");
    chain.op(CUSTOM, &[dims], ('f', &[9]), "");
    let error = chain.last(&[7, 5]).unwrap_err().to_string();
    assert!(error.contains("`CUSTOM:#1` cannot follow"), "{error}");
}

#[test]
fn sizes_that_grow_beyond_the_format_are_refused() {
    let mut chain = Chain::default();
    let x = chain.tensor('f', &[2, 2]);
    let all = chain.ints(&[1], &[-1]);
    chain.op(RESHAPE, &[x, all], ('f', &[4]), "");
    let error = chain.last(&[65_536, 65_536]).unwrap_err().to_string();
    assert!(
        error.contains("a dimension would be 4294967296; at most 2147483647"),
        "{error}"
    );
    let mut chain = Chain::default();
    let x = chain.tensor('f', &[1, 1, 1]);
    chain.op(ADD, &[x, x], ('f', &[1, 1, 1]), "");
    let error = chain.last(&[1 << 30; 3]).unwrap_err().to_string();
    assert!(
        error.contains("more bytes than 64 bits can count"),
        "{error}"
    );
}
