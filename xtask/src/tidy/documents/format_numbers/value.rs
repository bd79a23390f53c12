//! Numbers of constants, and numbers as people write them.
//!
//! A constant is evaluated if it is made of integers, others of its file, casts, and the operators
//! that formats need. People write `65,536`, `2^29 - 1` and `64 KiB`.

use std::collections::BTreeMap;

pub(super) type Value = i128;

/// The constants of a file that can be evaluated, in order.
pub(super) fn constants(syntax: &syn::File) -> Vec<(String, Value)> {
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    let mut found = Vec::new();
    for item in &syntax.items {
        let syn::Item::Const(constant) = item else { continue };
        let name = constant.ident.to_string();
        if let Some(value) = evaluate(&constant.expr, &known) {
            known.insert(name.clone(), value);
            found.push((name, value));
        }
    }
    found
}

fn evaluate(expression: &syn::Expr, known: &BTreeMap<String, Value>) -> Option<Value> {
    match expression {
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        syn::Expr::Paren(inner) => evaluate(&inner.expr, known),
        syn::Expr::Cast(cast) => evaluate(&cast.expr, known),
        syn::Expr::Path(path) => known.get(&path.path.get_ident()?.to_string()).copied(),
        syn::Expr::Binary(binary) => {
            let (left, right) = (evaluate(&binary.left, known)?, evaluate(&binary.right, known)?);
            match binary.op {
                syn::BinOp::Add(_) => left.checked_add(right),
                syn::BinOp::Sub(_) => left.checked_sub(right),
                syn::BinOp::Mul(_) => left.checked_mul(right),
                syn::BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The name of a file's module.
pub(super) fn stem(path: &str) -> &str {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.rsplit('/').next().unwrap_or(path)
}

/// The number that a text ends with, as it is written.
pub(super) fn at_end(text: &str) -> Option<&str> {
    let mut begin = text.len();
    while let Some(before) = text[..begin].split_whitespace().next_back() {
        if !is_part(before) {
            break;
        }
        begin = text[..begin].trim_end().len() - before.len();
    }
    let number = text[begin..].trim();
    read(number).map(|_| number)
}

fn is_part(word: &str) -> bool {
    matches!(word, "-" | "+" | "KiB" | "MiB" | "GiB") || number(word).is_some()
}

/// A number as people write it.
pub(super) fn read(text: &str) -> Option<Value> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [one] => number(one),
        [count, "KiB"] => Some(number(count)? << 10),
        [count, "MiB"] => Some(number(count)? << 20),
        [count, "GiB"] => Some(number(count)? << 30),
        [left, "-", right] => Some(number(left)? - number(right)?),
        [left, "+", right] => Some(number(left)? + number(right)?),
        _ => None,
    }
}

fn number(word: &str) -> Option<Value> {
    let digits: String = word.chars().filter(|c| *c != ',').collect();
    match digits.split_once('^') {
        Some((base, power)) => base.parse::<Value>().ok()?.checked_pow(power.parse().ok()?),
        None => digits.parse().ok(),
    }
}
