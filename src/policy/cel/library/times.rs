//! The parts of timestamps and durations.

use super::{Binding, Function, text};
use crate::policy::cel::{
    error::{Error, fail, no_overload},
    time::{self, Civil},
    value::{Timestamp, Value},
};

pub(crate) fn implementation(id: &str) -> Option<(Function, Binding)> {
    let body: Function = match id {
        "timestamp_to_year" | "timestamp_to_year_with_tz" => |_, args| part(args, |c, _| c.year),
        "timestamp_to_month" | "timestamp_to_month_with_tz" => {
            |_, args| part(args, |c, _| c.month - 1)
        }
        "timestamp_to_day_of_year" | "timestamp_to_day_of_year_with_tz" => {
            |_, args| part(args, |c, _| c.year_day - 1)
        }
        "timestamp_to_day_of_month" | "timestamp_to_day_of_month_with_tz" => {
            |_, args| part(args, |c, _| c.day - 1)
        }
        "timestamp_to_day_of_month_1_based" | "timestamp_to_day_of_month_1_based_with_tz" => {
            |_, args| part(args, |c, _| c.day)
        }
        "timestamp_to_day_of_week" | "timestamp_to_day_of_week_with_tz" => {
            |_, args| part(args, |c, _| c.week_day)
        }
        "timestamp_to_hours" | "timestamp_to_hours_with_tz" => |_, args| part(args, |c, _| c.hour),
        "timestamp_to_minutes" | "timestamp_to_minutes_with_tz" => {
            |_, args| part(args, |c, _| c.minute)
        }
        "timestamp_to_seconds" | "timestamp_to_seconds_tz" => |_, args| part(args, |c, _| c.second),
        "timestamp_to_milliseconds" | "timestamp_to_milliseconds_with_tz" => {
            |_, args| part(args, |_, t| i64::from(t.nanos / 1_000_000))
        }
        "duration_to_hours" => |_, args| duration(args, 3_600_000_000_000),
        "duration_to_minutes" => |_, args| duration(args, 60_000_000_000),
        "duration_to_seconds" => |_, args| duration(args, 1_000_000_000),
        "duration_to_milliseconds" => |_, args| duration(args, 1_000_000),
        _ => return None,
    };
    Some((body, Binding::Direct))
}

fn part<'a>(args: &[Value<'a>], of: fn(&Civil, Timestamp) -> i64) -> Result<Value<'a>, Error> {
    let Some(Value::Timestamp(t)) = args.first() else { return Err(no_overload()) };
    let offset =
        if args.len() > 1 { time::offset_in(text(args, 1)?, t.seconds).map_err(fail)? } else { 0 };
    Ok(Value::Int(of(&time::civil(t.seconds, offset), *t)))
}

fn duration<'a>(args: &[Value<'a>], unit: i64) -> Result<Value<'a>, Error> {
    match args.first() {
        Some(Value::Duration(nanos)) => Ok(Value::Int(nanos / unit)),
        _ => Err(no_overload()),
    }
}
