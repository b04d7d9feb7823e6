//! Text that is safe in markup, numbers as people read them, and how wide a word will be.
//!
//! Names come from strangers' files: what leaves here is always well-formed XML text, contains no
//! control or direction-changing characters, and is no longer than asked.

use std::fmt::Write;

/// Escapes text for XML and HTML, in attributes as well as between tags.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_unprintable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// What XML forbids, and what would let a name rearrange the text around it.
fn is_unprintable(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

/// Makes JSON safe between `<script>` tags: no `<`, `>`, `&` or line separators remain as such.
pub(super) fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Bytes with a binary unit and three digits: `512 B`, `1.00 MiB`, `14.4 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    let (value, unit) = scaled(bytes);
    if unit == "B" {
        format!("{bytes} B")
    } else if value < 9.995 {
        format!("{value:.2} {unit}")
    } else if value < 99.95 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// Bytes with a binary unit and no more digits than needed: `0`, `1.5 MiB`. For axis ticks.
pub(super) fn tick_bytes(bytes: u64) -> String {
    let (value, unit) = scaled(bytes);
    match bytes {
        0 => "0".into(),
        _ => format!("{value} {unit}"),
    }
}

fn scaled(bytes: u64) -> (f64, &'static str) {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = bytes.checked_ilog2().unwrap_or(0) / 10;
    let value = bytes as f64 / (1_u64 << (10 * power)) as f64;
    (value, UNITS[power as usize])
}

/// A whole number with its thousands apart: `1,048,576`.
pub(super) fn thousands(number: u64) -> String {
    crate::words::grouped(number)
}

/// `1 buffer`, `2 buffers`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", thousands(number as u64))
}

/// A coordinate with at most `decimals` places and nothing superfluous.
pub(super) fn coordinate(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    if text == "-0" { "0" } else { text }.to_owned()
}

/// A coordinate with two places: plenty where nobody zooms.
pub(super) fn px(value: f64) -> String {
    coordinate(value, 2)
}

/// Width of a text in multiples of its font size, estimated on the wide side: fonts differ.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(char_width).sum()
}

fn char_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.36,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.44,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' => 0.74,
        '\0'..='\u{10ff}' => 0.63,
        _ => 1.1,
    }
}

/// The text, or its beginning and end around a `…`, at most `room` font sizes wide; nothing if that
/// would leave fewer than `least` characters of it.
pub(super) fn shorten(text: &str, room: f64, least: usize) -> Option<String> {
    if width(text) <= room {
        return Some(text.to_owned());
    }
    let chars: Vec<char> = text.chars().collect();
    let (mut front, mut back, mut left) = (0, 0, room - char_width('…'));
    loop {
        // What tells names apart is mostly near their end.
        let from_front = 3 * front <= back;
        let next = if from_front {
            chars[front]
        } else {
            chars[chars.len() - 1 - back]
        };
        left -= char_width(next);
        if left < 0.0 || front + back + 1 >= chars.len() {
            break;
        }
        *(if from_front { &mut front } else { &mut back }) += 1;
    }
    let kept = front + back;
    let ends = [&chars[..front], &chars[chars.len() - back..]];
    (kept >= least).then(|| ends.map(String::from_iter).join("…"))
}

/// The text cut to at most `most` characters, with a `…` in the middle where some are missing.
pub(super) fn limited(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let front: String = text.chars().take(most / 2).collect();
    let back: String = text.chars().skip(count + 1 + most / 2 - most).collect();
    format!("{front}…{back}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_control_characters_are_replaced() {
        assert_eq!(
            escape("<a b=\"c'&\">"),
            "&lt;a b=&quot;c&#39;&amp;&quot;&gt;"
        );
        assert_eq!(escape("x\0y\u{1b}\u{202e}z"), "x\u{fffd}y\u{fffd}\u{fffd}z");
        let safe = script_safe("\"</script><!--\u{2028}\"");
        assert_eq!(safe, "\"\\u003c/script\\u003e\\u003c!--\\u2028\"");
    }

    #[test]
    fn numbers_read_well() {
        let cases = [0, 512, 1024, 2560, 1 << 20, 15_099_494, u64::MAX];
        let all = cases.map(bytes).join(", ");
        let expected = "0 B, 512 B, 1.00 KiB, 2.50 KiB, 1.00 MiB, 14.4 MiB, 16.0 EiB";
        assert_eq!(all, expected);
        assert_eq!(tick_bytes(3 << 19), "1.5 MiB");
        assert_eq!(thousands(1_048_576), "1,048,576");
        assert_eq!([999, 1000].map(thousands), ["999", "1,000"]);
        let cases = [0.0, -0.001, 10.0, 1.5, 2.345_678].map(px).join(" ");
        assert_eq!(cases, "0 0 10 1.5 2.35");
        assert_eq!(coordinate(100.0, 0), "100");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("conv", 9.0, 3).as_deref(), Some("conv"));
        let short = shorten("model/block7/conv2/BiasAdd", 7.0, 4).unwrap();
        assert!(
            short.starts_with("mod") && short.ends_with("asAdd"),
            "{short}"
        );
        assert!(width(&short) <= 7.0);
        assert_eq!(shorten("abcdef", 1.5, 2), None);
        assert_eq!(shorten("", 0.0, 1).as_deref(), Some(""));
        assert_eq!(limited("abcdefghij", 5), "ab…ij");
        assert_eq!(limited("äbc", 3), "äbc");
    }
}
