//! A heat map as a part of the page: its colours, names and figures are in the markup. The page's script
//! only reads cells by pointer and keys, and puts rows in another order.

mod cells;
mod data;
mod figures;
mod markup;

pub(super) use self::data::MapData;
pub(super) use self::markup::figure;
