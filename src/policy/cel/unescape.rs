//! What a quoted literal stands for.

const FAILED: &str = "unable to unescape string";

/// The octets of a string (`bytes` false: UTF-8) or bytes literal, quotes and prefix included.
pub(crate) fn unescape(quoted: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let normal = quoted.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, value) = match normal.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, normal.as_str()),
    };
    let body = if value.len() >= 6 && (value.starts_with("'''") || value.starts_with("\"\"\"")) {
        &value[3..value.len() - 3]
    } else if value.len() >= 2 {
        &value[1..value.len() - 1]
    } else {
        return Err(FAILED);
    };
    if raw || !body.contains('\\') {
        return Ok(body.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c == '\\' {
            escape(&mut rest, bytes, &mut out)?;
        } else {
            push(&mut out, c);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn escape(
    rest: &mut std::str::Chars<'_>,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Some(c) = rest.next() else {
        return Err("unable to unescape string, found '\\' as last character");
    };
    let simple = match c {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => u8::try_from(c).unwrap_or(b'?'),
        'x' | 'X' => return numeric(rest, 2, 16, bytes, out),
        'u' | 'U' if bytes => return Err(FAILED),
        'u' => return numeric(rest, 4, 16, bytes, out),
        'U' => return numeric(rest, 8, 16, bytes, out),
        '0'..='3' => {
            let mut digits = std::iter::once(c).chain(rest.by_ref().take(2));
            return code(&mut digits, 3, 8, bytes, out)
                .map_err(|_| "unable to unescape octal sequence in string");
        }
        _ => return Err(FAILED),
    };
    out.push(simple);
    Ok(())
}

fn numeric(
    rest: &mut std::str::Chars<'_>,
    count: usize,
    radix: u32,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    code(&mut rest.by_ref().take(count), count, radix, bytes, out)
}

fn code(
    digits: &mut dyn Iterator<Item = char>,
    count: usize,
    radix: u32,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let mut value = 0_u32;
    let mut seen = 0;
    for digit in digits {
        let digit = digit.to_digit(radix).ok_or(FAILED)?;
        value = value.wrapping_mul(radix).wrapping_add(digit);
        seen += 1;
    }
    if seen < count {
        return Err(FAILED);
    }
    if bytes {
        out.push(u8::try_from(value & 0xff).unwrap_or_default());
        return Ok(());
    }
    push(out, char::from_u32(value).ok_or("invalid unicode code point")?);
    Ok(())
}
