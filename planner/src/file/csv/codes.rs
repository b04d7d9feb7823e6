//! The codes of CSV errors and what each means.

pub(super) const NO_HEADER: &str = "E0201";
pub(super) const NOT_A_NUMBER: &str = "E0202";
pub(super) const EMPTY_LIFETIME: &str = "E0203";
pub(super) const TOO_LARGE: &str = "E0204";
pub(super) const UNKNOWN_COLUMN: &str = "E0205";
pub(super) const COLUMN_TWICE: &str = "E0206";
pub(super) const MISSING_COLUMN: &str = "E0207";
pub(super) const TWO_ENDS: &str = "E0208";
pub(super) const FIELD_COUNT: &str = "E0209";
pub(super) const ALIGNMENT_ZERO: &str = "E0210";
pub(super) const SAME_ID: &str = "E0211";
pub(super) const COMMENT: &str = "E0212";
pub(super) const QUOTE: &str = "E0213";
pub(super) const BAD_ID: &str = "E0214";
pub(super) const GAP_SYNTAX: &str = "E0215";
pub(super) const GAP_OUTSIDE: &str = "E0216";
pub(super) const GAP_ORDER: &str = "E0217";
pub(super) const WINDOW: &str = "E0218";
pub(super) const SUMS: &str = "E0219";
pub(super) const OFFSETS: &str = "E0220";
pub(super) const NOT_IN_CSV: &str = "E0221";

/// Each code with a paragraph of explanation and an example.
pub const CODES: &[(&str, &str)] = &[
    (
        NO_HEADER,
        "A CSV of buffers begins with a line that names its columns, in any order; this file is \
         empty or begins with something else. Put the names above the first buffer:\n\n\
         id,lower,upper,size\na,0,3,4096",
    ),
    (
        NOT_A_NUMBER,
        "Lifetimes, sizes, alignments and offsets are whole numbers in decimal digits: no sign, \
         point, unit or separator. Write `65536`, not `64KiB`, `65536.0` or `65_536`. Only \
         `alignment` and `offset` may be left empty.",
    ),
    (
        EMPTY_LIFETIME,
        "A buffer must be live for at least one step. Lifetimes are half-open: `lower` is the first \
         step at which the buffer is live and `upper` the first at which it is dead, so `upper` is \
         greater than `lower`. A buffer used only in step 5 is `b,5,6,64`; `b,5,5,64` and \
         `b,7,6,64` are never live. Where the file names the last live step instead, call that \
         column `end`: under `id,start,end,size` the row `b,5,5,64` is live in step 5.",
    ),
    (
        TOO_LARGE,
        "Sizes, alignments and offsets must fit in 64 bits, and time steps must be below 2^32 = \
         4294967296. Only the order of steps matters, so steps that are clock times can be numbered \
         anew: 1000000000000 and 1000000000512 become 0 and 1.",
    ),
    (
        UNKNOWN_COLUMN,
        "Columns are `id` (or `buffer`, `buffer_id`), `lower` (or `begin`, `start`), `upper` or \
         `end`, `size`, and optionally `alignment`, `offset`, `gaps`, `hint`. Any other name is \
         refused, because ignoring it could change the meaning: in `id,lower,upper,size,bank` the \
         column `bank` has to go.",
    ),
    (
        COLUMN_TWICE,
        "Two columns have the same meaning, so it is not clear which one counts: in \
         `id,start,begin,end,size` both `start` and `begin` give the first live step. Remove one.",
    ),
    (
        MISSING_COLUMN,
        "Every buffer needs an id, a first live step, an end and a size: the header must name `id`, \
         `lower`, one of `upper` and `end`, and `size`, for example `id,lower,upper,size`.",
    ),
    (
        TWO_ENDS,
        "`upper` is the first step at which a buffer is dead, `end` the last at which it is live. A \
         file has one or the other: the rows `a,0,3,4096` under `id,lower,upper,size` and \
         `a,0,2,4096` under `id,lower,end,size` say the same.",
    ),
    (
        FIELD_COUNT,
        "Every row has as many fields as the header names columns. Under \
         `id,lower,upper,size,alignment` the row `a,0,3,4096` is one short; leave a field empty by \
         its comma: `a,0,3,4096,`. Ids cannot contain commas.",
    ),
    (
        ALIGNMENT_ZERO,
        "A buffer's offset must be a multiple of its alignment, and 0 has no multiple but 0. Where \
         any offset will do, leave the cell empty or write 1: `b,0,2,20,1`.",
    ),
    (
        SAME_ID,
        "Two rows have the same id, so a plan for them could not be told apart. Give each buffer \
         its own id; a buffer that is absent for a while is one row with a gap: \
         `a,0,9,4096,3-5` under `id,lower,upper,size,gaps`.",
    ),
    (
        COMMENT,
        "This format has no comments: lines that begin with `#` or `//` are refused rather than \
         guessed at. Remove them; blank lines are fine.",
    ),
    (
        QUOTE,
        "This format has no quoting: write `a,0,3,4096`, not `\"a\",0,3,4096`. Ids can therefore \
         contain neither commas nor quotes.",
    ),
    (
        BAD_ID,
        "Every buffer needs an id, and it may not contain control characters. `,0,3,4096` has \
         none; `a,0,3,4096` does.",
    ),
    (
        GAP_SYNTAX,
        "The `gaps` cell is a list separated by blanks. `3-5` says that the buffer is absent in the \
         steps 3 and 4; `3-5@0:1024` that only its bytes 0..1024 are in use then. Several: \
         `3-5@0:1024 7-8`. In a file with a column `end` the second step is the last of the gap.",
    ),
    (
        GAP_OUTSIDE,
        "A gap interrupts a buffer's lifetime, so it must lie inside it. `a,2,9,64,1-3` under \
         `id,lower,upper,size,gaps` begins before the buffer does; if it is not there in step 2, \
         let it begin at 3.",
    ),
    (
        GAP_ORDER,
        "Gaps have at least one step, come in the order of time, and do not overlap: write `2-3 5-7`, \
         not `5-7 2-3`, `2-6 5-7` or `3-3`. They may touch: `2-5 5-7@0:64`.",
    ),
    (
        WINDOW,
        "A window `@first:end` names the bytes in use during the gap, counted from the buffer's \
         offset: at least one byte, none beyond the size. For a buffer of 64 bytes `3-5@16:64` is \
         right and `3-5@16:65` is not. Without `@` the buffer is absent.",
    ),
    (
        SUMS,
        "Offsets are 64-bit numbers, so all sizes together (each rounded up for its alignment) must \
         be below 2^64. Two buffers of 9223372036854775807 bytes and one of 4 that are live \
         together need 2^64 + 2 bytes; no such arena exists.",
    ),
    (
        OFFSETS,
        "The offsets given in the file contradict each other or an alignment: two buffers share a \
         byte while both are live, as `a,0,2,2048,0` and `d,1,3,2048,1024` under \
         `id,lower,upper,size,offset`, or an offset is no multiple of the buffer's alignment. \
         Empty an `offset` cell to let the planner choose.",
    ),
    (
        NOT_IN_CSV,
        "The field's CSV knows one arena and buffers of one size with gaps. It cannot say several \
         arenas, an arena's limits, pairs that may overlap, extents with two parts at one step, or \
         ids that are repeated, empty, or contain a comma, a quote or a control character. Write a \
         plan file (`.ron` or `.json`) instead.",
    ),
];
