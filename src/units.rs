//! Bytes for people and back.

pub(crate) use bayplan_planner::words::grouped;

/// `1.00 MiB`, `5.74 MiB`, `980 B`: four significant characters at most.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64;
    let mut unit = 0;
    // 1023.5 would be shown as 1024: go to the next unit before.
    while value >= 999.5 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// `6.32 MiB (6,623,232 bytes)`, `490 bytes`, `1 byte`.
pub(crate) fn both(number: u64) -> String {
    if number < 1024 {
        return exact(number);
    }
    format!("{} ({})", bytes(number), exact(number))
}

/// `6,623,232 bytes`, `1 byte`.
pub(crate) fn exact(number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} byte{plural}", grouped(number))
}

/// `1 buffer`, `3 buffers`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// `12.3 %`. Less than all is never shown as 100.0 %.
pub(crate) fn percent(part: f64) -> String {
    let percent = part * 100.0;
    let shown = if part < 1.0 {
        percent.min(99.9)
    } else {
        percent
    };
    format!("{shown:.1} %")
}

/// Reads `65536`, `64KiB`, `64K` (= KiB), `64kb` is refused as ambiguous, `1.5MiB` is exact or refused.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.replace('_', "");
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 1,
        "m" | "mib" => 2,
        "g" | "gib" => 3,
        "t" | "tib" => 4,
        "kb" | "mb" | "gb" | "tb" => {
            return Err(format!("`{unit}` is read as 1000 by some and as 1024 by others; write {}iB or whole bytes", &unit[..1].to_ascii_uppercase()));
        }
        _ => return Err("a size is a number with B, KiB, MiB, GiB or TiB (K, M, G, T mean the same), such as 64KiB".into()),
    };
    let scale = 1_u128 << (10 * power);
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let bad = || "a size is a number with a unit, such as 64KiB or 65536".to_owned();
    if whole.is_empty() || fraction.len() > 9 || fraction.contains('.') {
        return Err(bad());
    }
    let whole: u128 = whole.parse().map_err(|_| bad())?;
    let parts = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| bad())?);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| bad())?
    };
    if !(fraction * scale).is_multiple_of(parts) {
        return Err("that is no whole number of bytes".into());
    }
    let bytes = whole
        .checked_mul(scale)
        .and_then(|b| b.checked_add(fraction * scale / parts));
    bytes
        .and_then(|b| u64::try_from(b).ok())
        .ok_or_else(|| "that is more than 2^64 - 1 bytes".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_for_people() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (6_021_120, "5.74 MiB"),
            (1_048_576, "1.00 MiB"),
            (1_047_552, "1.00 MiB"),
            (15_099_494, "14.4 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(grouped(1_048_576_u64), "1,048,576");
        assert_eq!(grouped(0_u64), "0");
        assert_eq!(
            (count(1, "op"), count(1000, "op")),
            ("1 op".into(), "1,000 ops".into())
        );
    }

    #[test]
    fn sizes_are_exact_or_refused() {
        for (text, size) in [
            ("65536", 65536),
            ("64KiB", 65536),
            ("64K", 65536),
            ("64 k", 65536),
            ("1.5M", 1_572_864),
            ("32MiB", 33_554_432),
            ("0", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in [
            "",
            "x",
            "1.5",
            "64KB",
            "-1",
            "1e3",
            "18446744073709551616",
            "99999999T",
            "1..5K",
            "KiB",
            "0.0000000000001T",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
