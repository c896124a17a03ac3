//! The keys of the record and their values with their meanings, from its schema.

use serde_json::Value;

use super::render::json;
use super::view::words::files::RecordWord;

/// Deeper than any record is.
const MAX_DEPTH: usize = 16;

/// Every key of the record, at each place where it is, and the words that it may have there.
pub fn record_words() -> Vec<RecordWord> {
    let schema = json::schema_value();
    let mut found = Vec::new();
    collect(&SchemaPath { schema: &schema, path: String::new(), depth: 0 }, &schema, &mut found);
    found
}

/// Where a part of the schema stands.
struct SchemaPath<'a> {
    schema: &'a Value,
    path: String,
    depth: usize,
}

impl SchemaPath<'_> {
    fn below(&self, path: String) -> Self {
        Self { schema: self.schema, path, depth: self.depth + 1 }
    }

    /// The definition that a part refers to.
    fn resolve<'v>(&'v self, part: &'v Value) -> &'v Value {
        let name = part["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
        name.map_or(part, |name| &self.schema["$defs"][name])
    }
}

fn collect(at: &SchemaPath<'_>, part: &Value, found: &mut Vec<RecordWord>) {
    if at.depth > MAX_DEPTH {
        return;
    }
    let resolved = at.resolve(part);
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        for one in resolved[alternatives].as_array().into_iter().flatten() {
            collect(&at.below(at.path.clone()), one, found);
        }
    }
    if resolved["items"].is_object() {
        collect(&at.below(format!("{}[]", at.path)), &resolved["items"], found);
    }
    if resolved["additionalProperties"].is_object() {
        let path = format!("{}.*", at.path);
        collect(&at.below(path), &resolved["additionalProperties"], found);
    }
    let constant = [&resolved["const"]].into_iter();
    let values = resolved["enum"].as_array().into_iter().flatten().chain(constant);
    found.extend(values.filter_map(Value::as_str).map(|value| RecordWord {
        name: value.to_owned(),
        path: at.path.clone(),
        means: text(&resolved["description"]),
        is_value: true,
    }));
    for (name, part) in resolved["properties"].as_object().into_iter().flatten() {
        let dot = if at.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{name}", at.path);
        let described = [part, at.resolve(part)].into_iter().map(|it| &it["description"]);
        let means = described.map(text).find(|text| !text.is_empty()).unwrap_or_default();
        let (name, path_text) = (name.clone(), path.clone());
        found.push(RecordWord { name, path: path_text, means, is_value: false });
        collect(&at.below(path), part, found);
    }
}

/// A description in one line.
fn text(description: &Value) -> String {
    description.as_str().unwrap_or_default().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_at_each_of_their_places_with_their_meanings() {
        let keys = record_words();
        let paths = |name: &str| {
            let named = keys.iter().filter(|key| key.name == name);
            named.map(|key| key.path.as_str()).collect::<Vec<_>>()
        };
        assert!(paths("median").contains(&"results[].estimate.median"), "{:?}", paths("median"));
        assert!(paths("verdict").contains(&"comparisons[].verdict"), "{:?}", paths("verdict"));
        let complete = keys.iter().find(|key| key.path == "complete").unwrap();
        assert!(complete.means.starts_with("Whether everything"), "{complete:?}");
        let skipped = keys.iter().find(|word| word.name == "skipped" && word.is_value).unwrap();
        assert_eq!(skipped.path, "results[].outcome");
    }
}
