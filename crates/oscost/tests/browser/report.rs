//! Pages of runs and comparisons, by mouse and by keyboard.

mod comparisons;
mod controls;
mod media;
mod run;
