//! Large random inputs as CSV, the same on every machine.
//!
//! `cargo run --release --example synthetic -- KIND COUNT [SEED]` prints `COUNT` buffers (about as many
//! for `pin`):
//!
//! - `nn`: one tensor a step, two with probability 0.2; 85 % live 2 to 4 steps, 12 % 2 + Exp(40), 3 % 2
//!   to 4000; 64 sizes;
//! - `unif`: starts anywhere, lives 1 + Exp(64), sizes 2^U(6, 20);
//! - `guil`: a rectangle cut from edge to edge, the largest piece next, so that the optimum is known (2^30);
//! - `pin`: the same, but half of the cuts are pinwheels of five pieces, which no cut from edge to edge makes.
//!
//! The generator is mt19937-64 (Matsumoto and Nishimura 2000).

// Draws are small, and where one is rounded does not matter.
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::collections::BinaryHeap;
use std::io::Write;

struct Twister {
    state: [u64; 312],
    at: usize,
}

impl Twister {
    fn new(seed: u64) -> Self {
        let mut state = [seed; 312];
        for i in 1..312 {
            let before = state[i - 1];
            state[i] = 6_364_136_223_846_793_005_u64
                .wrapping_mul(before ^ (before >> 62))
                .wrapping_add(i as u64);
        }
        Self { state, at: 312 }
    }

    fn refill(&mut self) {
        for i in 0..312 {
            let word =
                (self.state[i] & 0xFFFF_FFFF_8000_0000) | (self.state[(i + 1) % 312] & 0x7FFF_FFFF);
            let twist = (word >> 1) ^ (0xB502_6F5A_A966_19E9 * (word & 1));
            self.state[i] = self.state[(i + 156) % 312] ^ twist;
        }
        self.at = 0;
    }

    fn next(&mut self) -> u64 {
        if self.at == 312 {
            self.refill();
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= (word >> 29) & 0x5555_5555_5555_5555;
        word ^= (word << 17) & 0x71D6_7FFF_EDA6_0000;
        word ^= (word << 37) & 0xFFF7_EEE0_0000_0000;
        word ^ (word >> 43)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    fn exponential(&mut self, mean: f64) -> u32 {
        (-mean * (1.0 - self.unit()).ln()) as u32
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// 2^U, rounded down to a multiple of 64.
    fn size(&mut self, from: f64, to: f64) -> u64 {
        (self.between(from, to).exp2() as u64) / 64 * 64
    }
}

/// Start, end, bytes.
type Row = (u32, u32, u64);

fn nn(count: usize, random: &mut Twister) -> Vec<Row> {
    let palette: Vec<u64> = (0..64).map(|_| random.size(8.0, 22.0)).collect();
    let mut rows = Vec::new();
    for step in 0.. {
        let tensors = if random.unit() < 0.2 { 2 } else { 1 };
        for _ in 0..tensors {
            let kind = random.unit();
            let life = if kind < 0.85 {
                2 + random.below(3) as u32
            } else if kind < 0.97 {
                2 + random.exponential(40.0)
            } else {
                2 + random.below(3999) as u32
            };
            rows.push((step, step + life, palette[random.below(64) as usize]));
        }
        if rows.len() >= count {
            break;
        }
    }
    rows.truncate(count);
    rows
}

fn unif(count: usize, random: &mut Twister) -> Vec<Row> {
    let row = |random: &mut Twister| {
        let start = random.below(count as u64) as u32;
        let life = 1 + random.exponential(64.0);
        (start, start + life, random.size(6.0, 20.0).max(64))
    };
    (0..count).map(|_| row(random)).collect()
}

fn cut(count: usize, pinwheels: bool, random: &mut Twister) -> Vec<Row> {
    let mut pieces = BinaryHeap::from([sized((0, 4 * count as u32, 1 << 30))]);
    while pieces.len() < count {
        let Some((_, row)) = pieces.pop() else { break };
        let width = row.1 - row.0;
        let turn = pinwheels && (4..=4000).contains(&width) && row.2 >= 4 && random.unit() < 0.5;
        let parts = if turn {
            pinwheel(row, random)
        } else {
            halves(row, random)
        };
        pieces.extend(parts.into_iter().map(sized));
    }
    let mut rows: Vec<Row> = pieces.into_vec().into_iter().map(|piece| piece.1).collect();
    for last in (1..rows.len()).rev() {
        rows.swap(last, random.below(last as u64 + 1) as usize);
    }
    rows
}

fn sized(row: Row) -> (u64, Row) {
    (u64::from(row.1 - row.0) * row.2, row)
}

fn halves((start, end, bytes): Row, random: &mut Twister) -> Vec<Row> {
    let (width, share) = (end - start, random.between(0.25, 0.75));
    let chance = if width > 4000 { 0.95 } else { 0.5 };
    if (random.unit() < chance || bytes < 2) && width >= 2 {
        let at = start + (f64::from(width) * share).max(1.0) as u32;
        vec![(start, at, bytes), (at, end, bytes)]
    } else {
        let below = ((bytes as f64 * share) as u64).max(1);
        vec![(start, end, below), (start, end, bytes - below)]
    }
}

/// Four pieces around a fifth one.
fn pinwheel((start, end, bytes): Row, random: &mut Twister) -> Vec<Row> {
    let mut at =
        |size: f64| [random.between(0.25, 0.45), random.between(0.55, 0.75)].map(|s| s * size);
    let [left, right] = at(f64::from(end - start)).map(|at| start + at as u32);
    let [low, high] = at(bytes as f64).map(|at| at as u64);
    let left = left.max(start + 1);
    let (right, high) = (
        right.clamp(left + 1, end - 1),
        high.clamp(low + 1, bytes - 1),
    );
    vec![
        (start, right, low.max(1)),
        (right, end, high),
        (left, end, bytes - high),
        (start, left, bytes - low.max(1)),
        (left, right, high - low.max(1)),
    ]
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    let random = &mut Twister::new(number(3).unwrap_or(1));
    let count = number(2).unwrap_or(1000) as usize;
    let rows = match arguments.get(1).map(String::as_str) {
        Some("nn") => nn(count, random),
        Some("unif") => unif(count, random),
        Some("guil") => cut(count, false, random),
        Some("pin") => cut(count, true, random),
        _ => {
            return Err(std::io::Error::other(
                "synthetic nn|unif|guil|pin COUNT [SEED]",
            ));
        }
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "id,lower,upper,size")?;
    for (id, (start, end, bytes)) in rows.into_iter().filter(|row| row.2 > 0).enumerate() {
        writeln!(out, "{id},{start},{end},{bytes}")?;
    }
    out.flush()
}
