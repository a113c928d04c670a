//! The acceptance criteria of supervision, through the whole tree on a paused clock. A number in a comment is the
//! criterion's; `D` and a number is a defect of the first designs that must not come back.

#![cfg(test)]

mod children;
mod circuit;
mod crowd;
mod down;
mod explain;
mod leaving;
mod logs;
mod property;
mod recorded;
mod remembered;
mod rules;
mod shared;
mod tick;
mod timelines;
mod traps;
mod troubles;
