//! The contents of constants: in the model's file where they can be, beside it where not.
//!
//! Goes in: a program and the bytes of its model's file. Comes out: [`Weights`]: bytes for every constant that
//! the program reads. Those in the file are not copied; those that are computed at load are computed once.

use crate::program::{Program, Read};
use crate::reference::{self, Operand};
use crate::run::KernelFault;
use bayplan_graph::bytes::Mapped;
use bayplan_graph::kernel::{Constant, ConstantId, Kernel, MAX_OPERANDS, Part, Source};
use bayplan_planner::Table;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Why constants could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// Bytes that the file does not have.
    #[error("`{name}`: its {bytes} bytes at {offset} end beyond the file, which has {file}")]
    Outside {
        /// The constant.
        name: String,
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Length of the file.
        file: u64,
    },
    /// A file of elements that cannot be read.
    #[error("`{name}`: {path} cannot be read: {error}")]
    File {
        /// The constant.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It should be computed, but that contradicts itself.
    #[error("`{name}` cannot be computed: {why}")]
    Compute {
        /// The constant.
        name: String,
        /// Why.
        why: String,
    },
    /// Computing it went wrong.
    #[error("`{name}` cannot be computed: {fault}")]
    Kernel {
        /// The constant.
        name: String,
        /// Why.
        fault: KernelFault,
    },
}

/// Where a constant's bytes are.
#[derive(Debug)]
enum Held {
    /// Not read by anyone.
    Nowhere,
    /// In the model's file.
    File(usize, usize),
    /// In the file with this number.
    External(usize, usize, usize),
    /// Here.
    Own(Arc<[u8]>),
}

/// Bytes of every constant that a program reads.
#[derive(Debug)]
pub struct Weights<'f> {
    file: &'f [u8],
    external: Vec<Mapped>,
    held: Table<ConstantId, Held>,
}

impl<'f> Weights<'f> {
    /// Finds or computes them. `file` is the model's file; `tick` is told how many are done, of how many.
    pub fn load(
        program: &Program,
        file: &'f [u8],
        tick: &dyn Fn(usize, usize),
    ) -> Result<Self, WeightsError> {
        let constants = &program.constants;
        let mut weights = Self {
            file,
            external: Vec::new(),
            held: constants.values().map(|_| Held::Nowhere).collect(),
        };
        let wanted = wanted(program);
        let all = wanted.values().filter(|&&wanted| wanted).count();
        let mut paths = BTreeMap::new();
        let mut done = 0;
        for (id, constant) in constants.iter().filter(|(id, _)| wanted[*id]) {
            weights.held[id] = weights.find(constant, &mut paths)?;
            done += 1;
            tick(done, all);
        }
        for (id, held) in constants.ids().zip(weights.held.values_mut()) {
            if program.used.binary_search(&id).is_err() {
                *held = Held::Nowhere;
            }
        }
        Ok(weights)
    }

    /// The bytes of a constant that the program reads.
    pub fn bytes(&self, id: ConstantId) -> &[u8] {
        match &self.held[id] {
            Held::Nowhere => &[],
            Held::File(start, end) => &self.file[*start..*end],
            Held::External(file, start, end) => &self.external[*file][*start..*end],
            Held::Own(bytes) => bytes,
        }
    }

    /// Copies constants whose bytes do not begin at a multiple of 4 in memory, so that they do; but for those that
    /// `spared(kernel, position)` holds of wherever they are read.
    pub fn align(&mut self, program: &Program, spared: &dyn Fn(&Kernel, usize) -> bool) {
        for dispatch in program.dispatches() {
            for (position, read) in dispatch.reads.iter().enumerate() {
                let Read::Constant(id) = *read else { continue };
                let bytes = self.bytes(id);
                let aligned = bytes.as_ptr().addr().is_multiple_of(4);
                if !aligned && !spared(&dispatch.kernel, position) {
                    self.held[id] = Held::Own(bytes.into());
                }
            }
        }
    }

    /// Bytes that are held beside the files.
    pub fn own_bytes(&self) -> u64 {
        let own = self.held.values().map(|held| match held {
            Held::Own(bytes) => bytes.len() as u64,
            _ => 0,
        });
        own.sum()
    }

    fn find(
        &mut self,
        constant: &Constant,
        paths: &mut BTreeMap<PathBuf, usize>,
    ) -> Result<Held, WeightsError> {
        match &constant.source {
            Source::File { offset } => {
                let (start, end) = range(constant, *offset, self.file)?;
                Ok(Held::File(start, end))
            }
            Source::External { path, offset } => {
                let file = self.open(constant, path, paths)?;
                let (start, end) = range(constant, *offset, &self.external[file])?;
                Ok(Held::External(file, start, end))
            }
            Source::Bytes(bytes) if bytes.len() as u64 == constant.bytes => {
                Ok(Held::Own(bytes.clone()))
            }
            Source::Bytes(bytes) => Err(compute(
                constant,
                &format!("{} bytes are held", bytes.len()),
            )),
            Source::Computed { operands, parts } => self.compute(constant, operands, parts),
            Source::Unknown(why) => Err(compute(constant, &why.to_string())),
        }
    }

    fn open(
        &mut self,
        constant: &Constant,
        path: &PathBuf,
        paths: &mut BTreeMap<PathBuf, usize>,
    ) -> Result<usize, WeightsError> {
        if let Some(&known) = paths.get(path) {
            return Ok(known);
        }
        let opened = Mapped::open(path, 0).map_err(|error| WeightsError::File {
            name: constant.name.clone(),
            path: path.clone(),
            error,
        })?;
        self.external.push(opened);
        paths.insert(path.clone(), self.external.len() - 1);
        Ok(self.external.len() - 1)
    }

    fn compute(
        &self,
        constant: &Constant,
        operands: &[ConstantId],
        parts: &[Part],
    ) -> Result<Held, WeightsError> {
        let bytes = usize::try_from(constant.bytes).ok();
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes =
            bytes.ok_or_else(|| compute(constant, "it is larger than this machine can address"))?;
        let mut result = Vec::new();
        result.try_reserve_exact(bytes).map_err(|_| {
            compute(
                constant,
                &format!("this machine does not have its {bytes} bytes"),
            )
        })?;
        result.resize(bytes, 0);
        for part in parts {
            let unsound = || compute(constant, "the numbers of its kernel contradict each other");
            let needs = part.kernel.needs().ok_or_else(unsound)?;
            let reads: Option<Vec<&[u8]>> = part
                .reads
                .iter()
                .map(|&at| Some(self.bytes(*operands.get(at)?)))
                .collect();
            let reads = reads.ok_or_else(unsound)?;
            let enough = reads
                .iter()
                .zip(&needs.reads)
                .all(|(read, &need)| read.len() as u64 >= need);
            let fits = needs.reads.len() == reads.len() && reads.len() <= MAX_OPERANDS;
            if !enough || !fits || needs.write > constant.bytes {
                return Err(unsound());
            }
            let reads: Vec<Operand<'_>> = reads.into_iter().map(Operand::Apart).collect();
            let done = reference::dispatch(&part.kernel, &reads, &mut result);
            done.map_err(|fault| WeightsError::Kernel {
                name: constant.name.clone(),
                fault,
            })?;
        }
        Ok(Held::Own(result.into()))
    }
}

fn compute(constant: &Constant, why: &str) -> WeightsError {
    WeightsError::Compute {
        name: constant.name.clone(),
        why: why.to_owned(),
    }
}

fn range(constant: &Constant, offset: u64, file: &[u8]) -> Result<(usize, usize), WeightsError> {
    let end = offset.checked_add(constant.bytes);
    let inside = end.filter(|&end| end <= file.len() as u64);
    let range =
        inside.and_then(|end| Some((usize::try_from(offset).ok()?, usize::try_from(end).ok()?)));
    range.ok_or_else(|| WeightsError::Outside {
        name: constant.name.clone(),
        offset,
        bytes: constant.bytes,
        file: file.len() as u64,
    })
}

/// The constants that the program reads, and those that these are computed from.
fn wanted(program: &Program) -> Table<ConstantId, bool> {
    let constants = &program.constants;
    let mut wanted = Table::filled(false, constants.len());
    for &id in &program.used {
        wanted[id] = true;
    }
    for (id, constant) in constants.iter().rev() {
        if let (true, Source::Computed { operands, .. }) = (wanted[id], &constant.source) {
            for &operand in operands.iter().filter(|&&operand| operand < id) {
                wanted[operand] = true;
            }
        }
    }
    wanted
}
