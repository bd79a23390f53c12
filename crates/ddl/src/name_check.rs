//! Names: which may not be used in generated code, and which was probably meant.
//!
//! Generated headers compile as C11 and as C++17, so the keywords of both are refused for what
//! becomes an identifier of its own. Nothing here knows a grammar or a model.

/// The keywords of C11 and C++17, sorted.
const KEYWORDS: [&str; 104] = [
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_Bool",
    "_Complex",
    "_Generic",
    "_Imaginary",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "errno",
    "linux",
    "main",
    "offsetof",
    "stdin",
    "stdout",
    "unix",
];

/// Keywords of C++ alone that are harmless as a part of a longer name.
const HARMLESS_WITHIN: [&str; 4] = ["new", "delete", "class", "this"];

/// What generated code and its runtime call their own things.
const RESERVED_PREFIXES: [&str; 5] = ["rem_", "REM_", "mco_", "MCO_", "__"];

/// Why this cannot be the name of a type, a struct's field or anything else that stands alone in
/// C, if it cannot.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    if KEYWORDS.contains(&name) {
        return Some("is a word of C or C++");
    }
    refused_everywhere(name)
}

/// The same for a name that generated code uses as a part of a longer one.
pub(crate) fn refused_within(name: &str) -> Option<&'static str> {
    if HARMLESS_WITHIN.contains(&name) { None } else { refused(name) }
}

fn refused_everywhere(name: &str) -> Option<&'static str> {
    RESERVED_PREFIXES
        .iter()
        .any(|prefix| name.starts_with(prefix))
        .then_some("begins like the names of the runtime")
}

/// The known name that is most like this one, if one is like it at all.
pub(crate) fn nearest<N: AsRef<str>>(
    name: &str,
    known: impl IntoIterator<Item = N>,
) -> Option<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let distances = known.into_iter().take(2_000).filter_map(|candidate| {
        let text = candidate.as_ref();
        let close = text.len().abs_diff(name.len()) <= 2 * limit;
        let distance = if close { distance(name, text, limit) } else { None };
        distance.map(|distance| (distance, text.to_owned()))
    });
    distances.min().map(|(_, name)| name)
}

/// The number of characters to change or to exchange with their neighbours (Damerau 1964),
/// capitals counting nothing; `None` above the limit.
fn distance(left: &str, right: &str, limit: usize) -> Option<usize> {
    let lower = |text: &str| text.to_ascii_lowercase().chars().take(64).collect::<Vec<_>>();
    let (left, right) = (lower(left), lower(right));
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    rows[0] = (0..=right.len()).collect();
    for i in 1..=left.len() {
        rows[i][0] = i;
        for j in 1..=right.len() {
            let changed = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            let is_swapped =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if is_swapped {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    Some(rows[left.len()][right.len()]).filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests;
