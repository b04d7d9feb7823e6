//! Numbers in messages.

/// `1,048,576`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `` `sram` ``, `` `sram` and `ram` ``, `` `a`, `b` and `c` ``.
pub(crate) fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        for (number, text) in [
            (0_u64, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1 << 20, "1,048,576"),
        ] {
            assert_eq!(grouped(number), text);
        }
        let names = ["a", "b", "c"].map(str::to_owned);
        let told = |count: usize| listed(&names[..count]);
        assert_eq!(told(1), "`a`");
        assert_eq!(
            (told(2), told(3)),
            ("`a` and `b`".into(), "`a`, `b` and `c`".into())
        );
    }
}
