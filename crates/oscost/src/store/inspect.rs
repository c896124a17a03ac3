//! Checks every number and text of a value, whatever its type.
//!
//! It is a serializer that writes nothing. So fields that are added to the record later are checked
//! without further code, and a record with millions of samples is checked without a copy.

use std::fmt;

use serde::Serialize;
use serde::ser;

/// A rule for texts: given the key of a text, or that of its list, and the text; the error says
/// what is wrong with it.
pub(super) type TextRule = fn(key: &str, text: &str) -> Result<(), String>;

/// The rule that accepts every text.
pub(super) fn any_text(_key: &str, _text: &str) -> Result<(), String> {
    Ok(())
}

/// An invalid part of a value.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// Where: `results[3].reason`.
    pub(super) at: String,
    /// What is wrong with it.
    pub(super) why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` {}", self.at, self.why)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault { at: String::new(), why: message.to_string() }
    }
}

/// Checks all of `value`. The error is the first number that is not finite, the first interval that
/// ends before it begins, or the first text that `rule` refuses.
pub(super) fn inspect<T: Serialize>(value: &T, rule: TextRule) -> Result<(), Fault> {
    value.serialize(&mut Inspector { rule, path: Vec::new(), low: f64::NEG_INFINITY })
}

struct Inspector {
    rule: TextRule,
    path: Vec<Step>,
    /// The lower end of the interval that is being checked.
    low: f64,
}

#[derive(Clone, Copy)]
enum Step {
    /// Into a field.
    Key(&'static str),
    /// Into a list.
    Index(usize),
    /// Into a map, whose keys are not quoted, since they are untrusted.
    Map,
}

impl Inspector {
    fn fault(&self, why: String) -> Fault {
        let mut at = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if at.is_empty() => at.push_str(key),
                Step::Key(key) => at.extend([".", key]),
                Step::Index(index) => at.push_str(&format!("[{index}]")),
                Step::Map => at.push_str("{}"),
            }
        }
        Fault { at, why }
    }

    fn below<T: Serialize + ?Sized>(&mut self, step: Step, value: &T) -> Result<(), Fault> {
        self.path.push(step);
        value.serialize(&mut *self)?;
        self.path.pop();
        Ok(())
    }
}

/// A list that is being checked.
struct List<'a> {
    inspector: &'a mut Inspector,
    next: usize,
}

impl List<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let index = self.next;
        self.next += 1;
        self.inspector.below(Step::Index(index), value)
    }
}

/// Types whose values are always valid.
macro_rules! always_valid {
    ($($name:ident($($kind:ty)?)),*) => {
        $(fn $name(self $(, _: $kind)?) -> Result<(), Fault> {
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Inspector {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    always_valid!(
        serialize_bool(bool),
        serialize_char(char),
        serialize_bytes(&[u8]),
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_none(),
        serialize_unit(),
        serialize_unit_struct(&'static str)
    );

    fn serialize_f32(self, number: f32) -> Result<(), Fault> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Fault> {
        if !number.is_finite() {
            return Err(self.fault(format!("is {number}")));
        }
        match self.path[..] {
            [.., Step::Key("ci95"), Step::Index(0)] => self.low = number,
            [.., Step::Key("ci95"), Step::Index(_)] if number < self.low => {
                return Err(self.fault(format!("is {number}, below {} where it begins", self.low)));
            }
            _ => {}
        }
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Fault> {
        let key = self.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Index(_) | Step::Map => None,
        });
        (self.rule)(key.unwrap_or(""), text).map_err(|why| self.fault(why))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Fault> {
        Ok(List { inspector: self, next: 0 })
    }

    fn serialize_tuple(self, length: usize) -> Result<List<'a>, Fault> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<List<'a>, Fault> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        length: usize,
    ) -> Result<List<'a>, Fault> {
        self.serialize_seq(Some(length))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Fault> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Fault> {
        Ok(self)
    }
}

/// The ways in which serde hands over the parts of a list.
macro_rules! lists {
    ($($kind:ident $part:ident),*) => {
        $(impl ser::$kind for List<'_> {
            type Ok = ();
            type Error = Fault;

            fn $part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
                self.element(value)
            }

            fn end(self) -> Result<(), Fault> {
                Ok(())
            }
        })*
    };
}

lists!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field
);

/// The ways in which it hands over those of a struct.
macro_rules! structs {
    ($($kind:ident),*) => {
        $(impl ser::$kind for &mut Inspector {
            type Ok = ();
            type Error = Fault;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Fault> {
                self.below(Step::Key(key), value)
            }

            fn end(self) -> Result<(), Fault> {
                Ok(())
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for &mut Inspector {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        self.below(Step::Map, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.below(Step::Map, value)
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
