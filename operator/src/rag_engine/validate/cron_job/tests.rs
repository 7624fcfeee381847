use super::*;

#[test]
fn what_kubernetes_accepts_is_accepted() {
    for schedule in [
        "30 2 * * *",
        "*/15 8-18/2 ? * ?",
        "0,30 2 1,15 JAN-mar,12 MON-FRI,SUN",
        "0 0 31 * 0",
        "59 23 1-31 1-12 0-6",
        "0 2 * * 0,5,6",
        "05 02 * * sat",
    ] {
        assert_eq!(refused(schedule), None, "{schedule}");
    }
}

#[test]
fn what_only_other_programs_know_is_refused_with_what_to_write() {
    for (schedule, wrong, advice) in [
        ("30 2 * * 7", "7 as the day of the week", "0 for Sunday"),
        ("30 2 * * 5-7", "5-7 as the day of the week", "0,5,6 for Friday to Sunday"),
        ("30 2 * * FRI-SUN", "FRI-SUN as the day of the week", "0,5,6 for Friday to Sunday"),
        ("30 2 * * 1,7", "7 as the day of the week", "0 for Sunday"),
        ("0 2 * * 1#2", "1#2 as the day of the week", "neither 7 nor L nor #"),
        ("0 2 * * 5L", "5L as the day of the week", "neither 7 nor L nor #"),
        ("0 2 * * +1", "+1 as the day of the week", "write 0 to 6"),
        ("0 2 L * *", "L as the day of the month", "neither L nor W"),
        ("0 2 15W * *", "15W as the day of the month", "from 1 to 31"),
        ("0 2 LW * *", "LW as the day of the month", "from 1 to 31"),
        ("0 MON * * *", "MON as the hour", "from 0 to 23"),
        ("60 2 * * *", "60 as the minute", "from 0 to 59"),
        ("*/0 2 * * *", "*/0 as the minute", "from 0 to 59"),
        ("0 2 * MON *", "MON as the month", "JAN to DEC"),
    ] {
        let message = refused(schedule).unwrap();
        assert!(message.starts_with(&format!("schedule '{schedule}' is invalid, because of {wrong}: ")), "{message}");
        assert!(message.contains(advice), "{message}");
    }
}
