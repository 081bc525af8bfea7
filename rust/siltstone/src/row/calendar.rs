//! Days and the proleptic Gregorian calendar, for any day an i64 of milliseconds can name.

const DAYS_IN_ERA: i64 = 146_097;

/// Year, month (1-12) and day (1-31) of a day since 1970-01-01.
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // an era is 400 years that begin on 1 March, so that the leap day is the last one
    let day = days + 719_468;
    let era = day.div_euclid(DAYS_IN_ERA);
    let of_era = day.rem_euclid(DAYS_IN_ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 1970-01-01; `None` for a date that the calendar does not have.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(-300_000_000..=300_000_000).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = era * DAYS_IN_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    // a day that the month does not have comes back as another date
    let (_, found_month, found_day) = civil_from_days(days);
    (found_month == month && found_day == day).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_to_days_and_back() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (19_857, (2024, 5, 14)),
            (19_782, (2024, 2, 29)),
            (-1, (1969, 12, 31)),
            (-719_528, (0, 1, 1)),
            (2_932_897, (10_000, 1, 1)),
        ] {
            assert_eq!(civil_from_days(days), date);
            assert_eq!(days_from_civil(date.0, date.1, date.2), Some(days));
        }
    }

    #[test]
    fn a_date_that_does_not_exist_is_refused() {
        for (y, m, d) in [(2023, 2, 29), (2024, 2, 30), (2024, 13, 1), (2024, 4, 31), (2024, 1, 0), (2024, 1, 32)] {
            assert_eq!(days_from_civil(y, m, d), None, "{y}-{m}-{d}");
        }
    }
}
