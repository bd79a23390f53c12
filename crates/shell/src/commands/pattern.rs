//! Names as `\d` takes them: `*` and `?` stand for anything, a dot parts schema and name.
//!
//! Letters count as small ones unless double quotes stand around them.

/// What a query asks of schema and name.
pub(super) struct Pattern {
    schema: Option<String>,
    name: Option<String>,
}

impl Pattern {
    pub(super) fn new(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self { schema: None, name: None } };
        let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
        for c in text.trim_end_matches(';').chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                c if is_quoted => part += &escaped(c),
                '.' => parts.push(std::mem::take(&mut part)),
                '*' => part += ".*",
                '?' => part.push('.'),
                c => part.extend(c.to_lowercase().map(escaped)),
            }
        }
        parts.push(part);
        let name = parts.pop();
        Self { schema: parts.pop(), name: name.filter(|name| !name.is_empty()) }
    }

    /// The conditions, to stand behind others.
    pub(super) fn conditions(&self, schema: &str, name: &str) -> String {
        let mut text = match &self.schema {
            Some(pattern) => condition(schema, pattern),
            None => format!(" and {schema} not in ('pg_catalog', 'information_schema')"),
        };
        if let Some(pattern) = &self.name {
            text += &condition(name, pattern);
        }
        text
    }

    /// The condition of something without a schema.
    pub(super) fn of_name(&self, name: &str) -> String {
        self.name.as_ref().map_or(String::new(), |pattern| condition(name, pattern))
    }
}

fn condition(of: &str, pattern: &str) -> String {
    format!(" and {of} ~ '^({})$'", pattern.replace('\'', "''"))
}

fn escaped(c: char) -> String {
    let is_plain = c.is_alphanumeric() || c == '_' || !c.is_ascii();
    if is_plain { c.to_string() } else { format!("\\{c}") }
}
