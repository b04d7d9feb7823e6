//! The plan that a file already carries for the stock Micro runtime: metadata entry
//! `OfflineMemoryAllocation`.
//!
//! Its buffer holds little-endian 32-bit integers: version, number of subgraphs, n, then n offsets, one
//! for each tensor of each subgraph in order (constants too); -1 leaves the place to the runtime.

/// Name of the metadata entry.
pub const OFFLINE_PLAN: &str = "OfflineMemoryAllocation";

/// A plan in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflinePlan {
    /// 0 as Vela writes it, or 1; the stock runtime does not look at it.
    pub version: i32,
    /// By subgraph and tensor: offset from the start of the arena's head; nothing where the runtime
    /// places the tensor.
    pub offsets: Vec<Vec<Option<u64>>>,
}

/// Why a plan in a file is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OfflinePlanError {
    /// Too short for what it announces.
    #[error("byte {at}: the offline plan has {found} numbers, it needs {needed}")]
    Short {
        /// Byte offset.
        at: usize,
        /// In the file.
        found: usize,
        /// Needed.
        needed: usize,
    },
    /// A version that is not known.
    #[error("byte {at}: the offline plan has version {found}; only 0 (Vela) and 1 are known")]
    Version {
        /// Byte offset.
        at: usize,
        /// As stated.
        found: i32,
    },
    /// For another number of subgraphs or tensors.
    #[error("byte {at}: the offline plan is for {found} {what}, the file has {expected}")]
    Count {
        /// Byte offset.
        at: usize,
        /// `subgraphs` or `tensors`.
        what: &'static str,
        /// As stated.
        found: i32,
        /// In the file.
        expected: usize,
    },
    /// An offset below -1.
    #[error("byte {at}: the offline plan puts tensor {tensor} of subgraph {subgraph} at {offset}")]
    Offset {
        /// Byte offset.
        at: usize,
        /// Its position.
        subgraph: usize,
        /// Its position.
        tensor: usize,
        /// As stated.
        offset: i32,
    },
}

/// Reads the plan in `data`, which stands at byte `at`, for subgraphs of so many tensors.
pub(super) fn read(
    data: &[u8],
    at: usize,
    tensors: &[usize],
) -> Result<OfflinePlan, OfflinePlanError> {
    let (words, _) = data.as_chunks::<4>();
    let number = |index: usize| words.get(index).map(|&word| i32::from_le_bytes(word));
    let total: usize = tensors.iter().sum();
    let short = |needed| OfflinePlanError::Short {
        at,
        found: words.len(),
        needed,
    };
    let [Some(version), Some(subgraphs), Some(count)] = [number(0), number(1), number(2)] else {
        return Err(short(3));
    };
    if !matches!(version, 0 | 1) {
        let found = version;
        return Err(OfflinePlanError::Version { at, found });
    }
    let counts = [
        (1, "subgraphs", subgraphs, tensors.len()),
        (2, "tensors", count, total),
    ];
    for (word, what, found, expected) in counts {
        if usize::try_from(found) != Ok(expected) {
            return Err(OfflinePlanError::Count {
                at: at + 4 * word,
                what,
                found,
                expected,
            });
        }
    }
    let mut index = 3;
    let mut offsets = Vec::with_capacity(tensors.len());
    for (subgraph, &tensors) in tensors.iter().enumerate() {
        let mut places = Vec::with_capacity(tensors);
        for tensor in 0..tensors {
            let offset = number(index).ok_or(short(3 + total))?;
            places.push(match u64::try_from(offset) {
                Ok(place) => Some(place),
                Err(_) if offset == -1 => None,
                Err(_) => {
                    let at = at + 4 * index;
                    return Err(OfflinePlanError::Offset {
                        at,
                        subgraph,
                        tensor,
                        offset,
                    });
                }
            });
            index += 1;
        }
        offsets.push(places);
    }
    Ok(OfflinePlan { version, offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[i32]) -> Result<OfflinePlan, OfflinePlanError> {
        let data: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        read(&data, 100, &[2, 1])
    }

    #[test]
    fn only_a_plan_for_exactly_these_tensors_is_read() {
        let good = plan(&[1, 2, 3, 0, -1, 64]).unwrap();
        assert_eq!(good.offsets, [vec![Some(0), None], vec![Some(64)]]);
        for (words, expected) in [
            (&[1, 2][..], "has 2 numbers, it needs 3"),
            (&[2, 2, 3, 0, 0, 0], "version 2"),
            (&[1, 1, 3, 0, 0, 0], "for 1 subgraphs, the file has 2"),
            (
                &[1, 2, 4, 0, 0, 0, 0],
                "byte 108: the offline plan is for 4 tensors, the file has 3",
            ),
            (&[1, 2, 3, 0, 0], "has 5 numbers, it needs 6"),
            (&[1, 2, 3, 0, 0, -2], "puts tensor 0 of subgraph 1 at -2"),
        ] {
            let message = plan(words).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
