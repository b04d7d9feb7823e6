//! Long lines, broken between words.

use super::grid::visible;

/// Characters of a line where nothing says how many there are.
pub(crate) const COLUMNS: usize = 80;

/// `text` behind `head`; further lines begin below its first word. A word that is too long for a line has one of
/// its own.
pub(crate) fn hung(head: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = head.chars().count();
    let mut lines = vec![head.to_owned()];
    let mut used = indent;
    let mut fresh = true;
    for word in visible(text).split(' ') {
        let length = word.chars().count();
        if !fresh && used + 1 + length > columns {
            lines.push(" ".repeat(indent));
            (used, fresh) = (indent, true);
        }
        let line = lines.last_mut().expect("there is one");
        if !fresh {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        fresh = false;
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_to_further_lines() {
        let lines = hung("moved     ", "a from 0 to 16: it would meet b", 26);
        assert_eq!(
            lines,
            ["moved     a from 0 to 16:", "          it would meet b"]
        );
        assert_eq!(hung("x  ", "short", 80), ["x  short"]);
        assert_eq!(hung("x  ", "", 80), ["x"]);
        let long = hung("x  ", "a/word/that/is/too/long for a line", 10);
        assert_eq!(long, ["x  a/word/that/is/too/long", "   for a", "   line"]);
    }
}
