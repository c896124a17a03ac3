//! The constants of pH's rules, as options.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};

use crate::app::ph::{CONSTANTS, Constant, Constants, SECONDS};

/// The constants of the rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConstantArguments(pub(super) Constants);

impl clap::Args for ConstantArguments {
    fn augment_args(command: Command) -> Command {
        CONSTANTS.into_iter().fold(command, |command, constant| {
            let published = (constant.get)(&Constants::default());
            let value_name = match constant.unit {
                SECONDS => "TIME",
                "" => "N",
                "1/100 s" => "N",
                counted => counted,
            };
            let option = Arg::new(constant.name)
                .long(constant.name)
                .value_name(value_name.to_uppercase())
                .help(constant.description)
                .help_heading("Constants of the rules, as published")
                .default_value(match constant.unit {
                    SECONDS => humantime::format_duration(Duration::from_secs(published.into()))
                        .to_string()
                        .replace("days", "d")
                        .replace("day", "d"),
                    _ => published.to_string(),
                })
                .value_parser(move |text: &str| value(&constant, text));
            command.arg(option)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for ConstantArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut constants = Self(Constants::default());
        constants.update_from_arg_matches(matches)?;
        Ok(constants)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for constant in &CONSTANTS {
            if let Some(value) = matches.get_one::<u32>(constant.name) {
                (constant.set)(&mut self.0, *value);
            }
        }
        Ok(())
    }
}

/// Parses the value of a constant.
fn value(constant: &Constant, text: &str) -> Result<u32, String> {
    let (min, max) = (constant.range.start(), constant.range.end());
    let value = match constant.unit {
        SECONDS => {
            let typed = humantime::parse_duration(text).ok();
            let whole = typed.filter(|time| time.subsec_nanos() == 0);
            whole.and_then(|time| u32::try_from(time.as_secs()).ok())
        }
        _ => text.parse().ok(),
    };
    let in_range = value.filter(|value| constant.range.contains(value));
    in_range.ok_or_else(|| match constant.unit {
        SECONDS => format!("it must be whole seconds such as 7d, 10m or 0s, at most {max}s"),
        _ => format!("it must be a number from {min} to {max}"),
    })
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn read(words: &[&str]) -> Result<Constants, String> {
        let command = ConstantArguments::augment_args(Command::new("ph").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        Ok(ConstantArguments::from_arg_matches(&matches).unwrap().0)
    }

    #[test]
    fn by_default_all_constants_are_as_published() {
        assert_eq!(read(&[]), Ok(Constants::default()));
    }

    #[test]
    fn every_constant_is_an_option_within_its_bounds() {
        for constant in &CONSTANTS {
            for bound in [*constant.range.start(), *constant.range.end()] {
                let mut wanted = Constants::default();
                (constant.set)(&mut wanted, bound);
                let word = format!("--{}={}", constant.name, constant.text(bound));
                assert_eq!(read(&[&word]), Ok(wanted), "{word}");
            }
            let above = u64::from(*constant.range.end()) + 1;
            for wrong in [above.to_string(), format!("{above}s"), "-1".into(), "x".into()] {
                let word = format!("--{}={wrong}", constant.name);
                let error = read(&[&word]).unwrap_err();
                assert!(error.contains(constant.name) && error.contains("it must be"), "{error}");
            }
        }
    }

    #[test]
    fn a_time_needs_its_unit() {
        assert_eq!(read(&["--normal-wait", "7d"]), Ok(Constants::default()));
        assert_eq!(read(&["--normal-wait", "10m"]).map(|it| it.normal_wait_s), Ok(600));
        assert!(read(&["--normal-wait", "1500ms"]).is_err());
        assert!(read(&["--normal-wait", "600"]).is_err());
    }
}
